"""The messages are a contract (design §4): every one of them, word for word."""

import pytest

from classifier.fit import Outcome, World, judge
from tests.builders import (
    GPU,
    GPU_NODE,
    JobBuilder,
    cluster_queue,
    flavor,
    gpu_profile,
    gpu_world,
    job,
    local_queue,
    node,
    profile,
    world,
)

RAISE = "raise the pool's maximum"
ZONE = "topology.kubernetes.io/zone"


def gang(pods: int = 2, gpus: int | str = 8) -> JobBuilder:
    return job().queue("gpu").pods(pods).gpus(gpus)


def cpu_gang(pods: int, cpu: str) -> JobBuilder:
    return job().queue("gpu").pods(pods).requests({"cpu": cpu})


def two_pools() -> World:
    half = {**GPU_NODE, GPU: "4"}
    labels = {"agentpool": "gpupool"}
    return gpu_world(profile=profile().closed().pool("big", 1, labels=labels).pool("small", 2, half, labels=labels))


def one_queue(flavor_taint: bool = False) -> World:
    a100 = flavor().node_labels(agentpool="gpupool")
    return gpu_world(a100.taint("sku", "gpu") if flavor_taint else a100)


CASES: dict[str, tuple[JobBuilder, World, str, str]] = {
    "fits after scale-up": (
        gang(2),
        gpu_world(),
        "fits-after-scale-up",
        "gang needs 2 node(s) of gpupool (max 2): fits",
    ),
    "fits what stands ready": (
        gang(2),
        gpu_world(node("a", agentpool="gpupool"), node("b", agentpool="gpupool")),
        "fits",
        "gang needs 2 node(s) of gpupool (max 2): fits",
    ),
    "a node that is not ready is still to come": (
        gang(2),
        gpu_world(node("a", agentpool="gpupool"), node("b", agentpool="gpupool").ready(False)),
        "fits-after-scale-up",
        "gang needs 2 node(s) of gpupool (max 2): fits",
    ),
    "several pods a node": (
        gang(8, 2),
        gpu_world(),
        "fits-after-scale-up",
        "gang needs 2 node(s) of gpupool (max 2): fits",
    ),
    "pools of one flavor add up": (
        gang(4, 4),
        two_pools(),
        "fits-after-scale-up",
        "gang needs 3 node(s) of big, small (max 3): fits",
    ),
    "no pods": (gang(0), gpu_world(), "fits", "gang has no pods: fits"),
    "too many nodes": (
        gang(3),
        gpu_world(),
        "never-fits",
        f"gang needs 3 node(s) of gpupool (max 2): cannot fit; request at most 16 {GPU} or {RAISE}",
    ),
    "the advice is what does fit, not the pool's total": (
        gang(9, 3),
        gpu_world(),
        "never-fits",
        f"gang needs 5 node(s) of gpupool (max 2): cannot fit; request at most 12 {GPU} or {RAISE}",
    ),
    "too many nodes over several pools": (
        gang(5, 4),
        two_pools(),
        "never-fits",
        f"gang needs 4 node(s) of big, small (max 3): cannot fit; request at most 16 {GPU} or raise a pool's maximum",
    ),
    "too many nodes for cpu": (
        cpu_gang(3, "60"),
        gpu_world(),
        "never-fits",
        f"gang needs 3 node(s) of gpupool (max 2): cannot fit; request at most 120 cpu or {RAISE}",
    ),
    "too many pods": (
        cpu_gang(300, "1m"),
        gpu_world(),
        "never-fits",
        f"gang needs 3 node(s) of gpupool (max 2): cannot fit; request at most 220 pod(s) or {RAISE}",
    ),
    "one pod a node": (
        gang(3, 1).pod_spec(hostNetwork=True).ports(8080),
        gpu_world(),
        "never-fits",
        f"gang needs 3 node(s) of gpupool (max 2): cannot fit; request at most 2 pod(s) or {RAISE}",
    ),
    "a pool of none": (
        gang(1),
        gpu_world(profile=profile().closed().pool(max_nodes=0)),
        "never-fits",
        f"gang needs 1 node(s) of gpupool (max 0): cannot fit; {RAISE}",
    ),
    "partial admission is judged at its least": (
        gang(9).annotate("kueue.x-k8s.io/job-min-parallelism", "4"),
        gpu_world(),
        "never-fits",
        f"gang needs at least 4 node(s) of gpupool (max 2): cannot fit; request at most 16 {GPU} or {RAISE}",
    ),
    "a pod larger than a node": (
        gang(1, 16),
        gpu_world(),
        "never-fits",
        f"each pod of main needs 16 {GPU}, a node of gpupool has 8: cannot fit; request at most 8 {GPU} a pod",
    ),
    "a pod with more memory than a node": (
        job().queue("gpu").requests({"memory": "1Ti"}),
        gpu_world(),
        "never-fits",
        "each pod of main needs 1Ti memory, a node of gpupool has 860Gi: cannot fit; "
        "request at most 860Gi memory a pod",
    ),
    "a device no node has": (
        job().queue("gpu").requests({"cpu": 1, "example.com/fpga": 1}),
        gpu_world(profile=profile().closed().pool(allocatableComplete=True)),
        "never-fits",
        "each pod of main needs 1 example.com/fpga, a node of gpupool has none: cannot fit; "
        "use a queue whose nodes have it",
    ),
    "part of a device": (
        gang(1, "1500m"),
        gpu_world(),
        "never-fits",
        f"each pod of main asks for 1500m {GPU}, not a whole number: cannot fit; request whole {GPU}",
    ),
    "a selector against the flavor": (
        gang(1).pod_spec(nodeSelector={"agentpool": "cpupool"}),
        gpu_world(),
        "never-fits",
        "main selects agentpool=cpupool, flavor a100-scale has agentpool=gpupool: cannot fit; "
        "select agentpool=gpupool or use another queue",
    ),
    "a selector against the pool": (
        gang(1).pod_spec(nodeSelector={"gpu-model": "h100"}),
        gpu_world(profile=profile().closed().pool(labels={"agentpool": "gpupool", "gpu-model": "a100"})),
        "never-fits",
        "main selects gpu-model=h100, which pool gpupool does not have: cannot fit; "
        "change the node selector or affinity, or use another queue",
    ),
    "a taint of the flavor": (
        gang(1),
        one_queue(flavor_taint=True),
        "never-fits",
        "main does not tolerate sku=gpu:NoSchedule of flavor a100-scale: cannot fit; add the toleration",
    ),
    "a taint of the pool is no proof": (
        gang(1),
        gpu_world(profile=profile().closed().pool(taints=[{"key": "sku", "value": "gpu", "effect": "NoSchedule"}])),
        "unknown",
        "could not decide: main does not tolerate sku=gpu:NoSchedule of pool gpupool",
    ),
    "a label nobody declares": (
        gang(1).pod_spec(nodeSelector={ZONE: "a"}),
        gpu_world(),
        "unknown",
        f"could not decide: pool gpupool does not say whether its nodes meet {ZONE}=a",
    ),
    "a resource nobody declares": (
        job().queue("gpu").requests({"cpu": 1, "ephemeral-storage": "1Gi"}),
        gpu_world(cluster_queue().group(["cpu", "ephemeral-storage"], "a100-scale")),
        "unknown",
        "could not decide: pool gpupool does not say how much ephemeral-storage a node has",
    ),
    "a resource no quota covers": (
        job().queue("gpu").requests({"cpu": 1, "ephemeral-storage": "1Gi"}),
        gpu_world(),
        "misconfigured",
        "misconfigured: ClusterQueue gpu-a100 does not cover ephemeral-storage, which main requests",
    ),
    "too much for the quota": (
        gang(3),
        gpu_world(
            cluster_queue().group(["cpu", "memory", GPU], "a100-scale", quota=16),
            profile=profile().mode("Enforce").pool(max_nodes=9),
        ),
        "never-fits",
        f"gang needs 24 {GPU} of flavor a100-scale, quota of gpu-a100 is 16: cannot fit; "
        f"request at most 16 {GPU} or use another queue",
    ),
    "no quota at all for a pool that may grow": (
        gang(1),
        gpu_world(cluster_queue().group(["cpu", "memory", GPU], "a100-scale", quota=0)),
        "misconfigured",
        f"misconfigured: ClusterQueue gpu-a100 has no quota of {GPU} in flavor a100-scale, whose pool may have nodes",
    ),
    "a pool without maximum": (
        gang(1),
        gpu_world(profile=profile().closed().pool(max_nodes=None)),
        "unknown",
        "could not decide: pool gpupool does not say its maximum",
    ),
    "a volume": (
        gang(1).pod_spec(volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]),
        gpu_world(),
        "unknown",
        "could not decide: main mounts a persistent volume, which may tie it to a zone or node",
    ),
    "an open world": (
        gang(3),
        gpu_world(profile=gpu_profile().closed(False)),
        "unknown",
        "could not decide: gang needs 3 node(s) of gpupool (max 2), and gpu-a100-8 is not closed: "
        "there may be other pools",
    ),
    "partly fits": (
        gang(3).annotate("kueue.x-k8s.io/job-min-parallelism", "2"),
        gpu_world(),
        "unknown",
        "could not decide: room for 2 of 3 pods; the queue may start as few as 2",
    ),
    "live nodes larger than declared": (
        gang(2, 16),
        gpu_world(node("a", agentpool="gpupool").allocatable({**GPU_NODE, GPU: "16"})),
        "unknown",
        "could not decide: live nodes of flavor a100-scale are larger than declared, which has room for 0 pods",
    ),
    "a quantity that is none": (
        gang(1, "eight"),
        gpu_world(),
        "unknown",
        f"could not decide: main: containers[0].resources.limits[{GPU}]: 'eight' is not a quantity "
        "such as 500m, 16 or 860Gi",
    ),
    "a negative count": (gang(-1), gpu_world(), "unknown", "could not decide: spec.parallelism is -1, less than 0"),
    "nothing the queue counts": (
        job().queue("gpu"),
        gpu_world(),
        "unknown",
        "could not decide: ClusterQueue gpu-a100 covers nothing that main requests",
    ),
    "no LocalQueue": (
        gang().queue("other"),
        gpu_world(),
        "unknown",
        "could not decide: LocalQueue team/other is not found",
    ),
    "no ClusterQueue": (
        gang(),
        world(local_queue()),
        "unknown",
        "could not decide: ClusterQueue gpu-a100 of LocalQueue team/gpu is not found",
    ),
    "no ResourceFlavor": (
        gang(),
        world(local_queue(), cluster_queue().group([GPU], "a100-scale"), gpu_profile()),
        "unknown",
        "could not decide: ResourceFlavor a100-scale is not found",
    ),
    "no AdmissionCheck": (
        gang(3),
        gpu_world(cluster_queue().group(["cpu", "memory", GPU], "a100-scale").checks("capacity", "other")),
        "unknown",
        "could not decide: gang needs 3 node(s) of gpupool (max 2), but AdmissionCheck other of ClusterQueue gpu-a100 "
        "is not found",
    ),
    "a profile at fault": (
        gang(3),
        gpu_world(profile=gpu_profile().pool("other", -1, labels={"agentpool": "gpupool"})),
        "misconfigured",
        "misconfigured: CapacityProfile gpu-a100-8: spec.pools[1].maxNodes is -1",
    ),
    "no profile": (
        gang(),
        world(local_queue(), cluster_queue().group([GPU], "a100-scale"), flavor()),
        "skipped",
        "skipped: no CapacityProfile speaks for ClusterQueue gpu-a100",
    ),
}


@pytest.mark.parametrize(("gang", "cluster", "outcome", "line"), CASES.values(), ids=CASES)
def test_line(gang: JobBuilder, cluster: World, outcome: str, line: str) -> None:
    verdict = judge(gang.done(), cluster, now=0)
    assert verdict.line == f"preflight: {line}"
    assert verdict.outcome is Outcome(outcome)


@pytest.mark.parametrize(("gang", "cluster", "outcome", "line"), CASES.values(), ids=CASES)
def test_the_annotation_is_outcome_and_statement(gang: JobBuilder, cluster: World, outcome: str, line: str) -> None:
    verdict = judge(gang.done(), cluster, now=0)
    assert verdict.annotation == f"{outcome}: {verdict.reason}"
    assert verdict.reason in line


@pytest.mark.parametrize(("gang", "cluster", "outcome", "line"), CASES.values(), ids=CASES)
def test_warnings_are_few_and_short(gang: JobBuilder, cluster: World, outcome: str, line: str) -> None:
    warnings = judge(gang.done(), cluster, now=0).warnings
    assert len(warnings) <= 2
    assert all(0 < len(warning) <= 120 for warning in warnings)
