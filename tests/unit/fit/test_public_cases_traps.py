"""The traps of reference/capacity.md §3.12b, which the real Kueue and kube-scheduler showed, a case each."""

from typing import Any

import msgspec
import pytest

from classifier import api
from classifier.fit import Verdict, World
from classifier.fit.gang import Runtimes
from classifier.objects import Meta, RayCluster, RayJob, TrainJob
from tests.builders import (
    GPU,
    GPU_NODE,
    NAMESPACE,
    ProfileBuilder,
    cluster_queue,
    cohort,
    flavor,
    gpu_profile,
    gpu_world,
    job,
    node,
    profile,
    topology,
)
from tests.unit.fit.cases import FITS, GROWS, MISCONFIGURED, NEVER, SKIPPED, UNKNOWN, train, verdict
from tests.unit.fit.gangs import after, gang, part
from tests.unit.fit.kinds.shapes import template
from tests.unit.fit.kinds.test_trainjob import runtime, step

Json = dict[str, Any]
TAINT = {"key": "sku", "value": "gpu", "effect": "NoSchedule"}


def made(struct: type[Meta], resource: api.Resource, spec: Json, **metadata: Any) -> Meta:
    names = {"name": "train", "namespace": NAMESPACE, "labels": {api.QUEUE_NAME: "gpu"}, **metadata}
    raw = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": names, "spec": spec}
    return msgspec.convert(raw, struct)


def told(**node: Any) -> ProfileBuilder:
    """A closed profile of the demonstration's pool, with further fields of its node's shape."""
    return profile().closed().mode("Enforce").pool(**node)


def test_a_taint_of_the_pool_is_a_proof_only_where_the_flavor_lists_it() -> None:
    """A RuntimeClass or an admission plugin may still tolerate it; what Kueue compares is the flavor's list."""
    tainted = told(taints=[TAINT])
    assert verdict(train(), gpu_world(profile=tainted)).outcome is UNKNOWN
    listed = flavor().node_labels(agentpool="gpupool").taint("sku", "gpu")
    found = verdict(train(), gpu_world(listed, profile=tainted))
    assert (found.denied, found.binding) == (True, "taint")
    assert (
        found.line == "preflight: main does not tolerate sku=gpu:NoSchedule of flavor a100-scale: cannot fit; "
        "add the toleration"
    )


@pytest.mark.parametrize(
    "key",
    [
        "kubernetes.io/arch",
        "kubernetes.io/os",
        "kubernetes.io/hostname",
        "topology.kubernetes.io/zone",
        "topology.kubernetes.io/region",
        "node.kubernetes.io/instance-type",
    ],
)
def test_a_complete_list_of_labels_does_not_speak_for_those_that_kubelet_or_cloud_sets(key: str) -> None:
    pinned = train().pod_spec(nodeSelector={key: "x"})
    assert verdict(pinned, gpu_world(profile=told(labelsComplete=True))).outcome is UNKNOWN


def test_a_complete_list_of_labels_does_not_speak_against_a_live_node() -> None:
    pinned = train().pod_spec(nodeSelector={"team": "a"})
    assert verdict(pinned, gpu_world(profile=told(labelsComplete=True))).denied
    shown = gpu_world(node("odd", agentpool="gpupool", team="a"), profile=told(labelsComplete=True))
    assert verdict(pinned, shown).outcome is UNKNOWN


def test_host_network_makes_container_ports_host_ports() -> None:
    pods = train(3, 1).ports(8080)
    assert verdict(pods).outcome is GROWS
    assert verdict(pods.pod_spec(hostNetwork=True)).binding == "nodes"


def test_stages_of_a_job_set_share_nodes_and_add_up_in_quota() -> None:
    stages = gang(part("load", 2, {GPU: 8}), after(part("work", 2, {GPU: 8}), "load"))
    assert verdict(stages).line == "preflight: gang needs 2 node(s) of gpupool (max 2): fits"
    assert verdict(gang(part("load", 2, {GPU: 8}), part("work", 2, {GPU: 8}))).binding == "nodes"
    poor = gpu_world(cluster_queue().group(["cpu", GPU], "a100-scale", quota=16))
    assert verdict(stages, poor).binding == "quota"


def test_with_a_launcher_among_them_an_mpi_runtime_makes_as_many_pods_as_nodes() -> None:
    launcher = step("launcher", "trainer")
    policy = {"numNodes": 1, "mpi": {"runLauncherAsNode": True}}
    cluster = gpu_world()
    cluster.runtimes = Runtimes({}, {"rt": runtime(launcher, step("node"), mlPolicy=policy)})
    each = {"resourcesPerNode": {"requests": {GPU: 8}}}

    def nodes(number: int) -> Verdict:
        spec = {"runtimeRef": {"name": "rt"}, "trainer": {"numNodes": number, **each}}
        return verdict(made(TrainJob, api.TRAIN_JOBS, spec), cluster)

    assert [(one.name, one.count) for one in nodes(3).pod_sets] == [("launcher", 1), ("node", 2)]
    assert nodes(2).outcome is GROWS  # a launcher and one node, of 8 GPUs each
    assert nodes(3).denied


def ray(head: Json | None = None, **spec: Any) -> Json:
    return {"headGroupSpec": {"template": template(head or {"cpu": "1"})}, **spec}


def workers(**fields: Any) -> Json:
    return {"workerGroupSpecs": [{"groupName": "gpu", "template": template({GPU: 8}), **fields}]}


def test_ray_workers_without_a_number_are_none() -> None:
    found = verdict(made(RayCluster, api.RAY_CLUSTERS, ray(**workers())))
    assert [(one.name, one.count) for one in found.pod_sets] == [("head", 1), ("gpu", 0)]
    assert found.outcome is GROWS
    assert verdict(made(RayCluster, api.RAY_CLUSTERS, ray(**workers(replicas=3)))).denied


def quota_of(cpu: str) -> World:
    return gpu_world(cluster_queue().group(["cpu", "memory", GPU], "a100-scale", quota=cpu))


def test_the_submitter_of_a_ray_job_takes_quota_as_well() -> None:
    spec = {"rayClusterSpec": ray({"cpu": "1"})}
    submitter = {"submitterPodTemplate": template({"cpu": "1"})}
    without = made(RayJob, api.RAY_JOBS, {**spec, "submissionMode": "HTTPMode"})
    by_job = made(RayJob, api.RAY_JOBS, {**spec, **submitter})
    assert verdict(without, gpu_world(cluster_queue().group(["cpu"], "a100-scale", quota=1))).outcome is GROWS
    found = verdict(by_job, gpu_world(cluster_queue().group(["cpu"], "a100-scale", quota=1)))
    assert (found.denied, found.binding) == (True, "quota")
    assert verdict(by_job, gpu_world(cluster_queue().group(["cpu"], "a100-scale", quota=2))).outcome is GROWS


@pytest.mark.parametrize(
    ("extra", "needs"),
    [({}, 100), ({"enableInTreeAutoscaling": True}, 600), ({"gcsFaultToleranceOptions": {}}, 200)],
)
def test_what_ray_adds_to_its_head_takes_quota(extra: Json, needs: int) -> None:
    """Since Kueue 0.19 or so: no proof rests on it, and no promise either."""
    notes = {"kueue.x-k8s.io/elastic-job": "true"} if "enableInTreeAutoscaling" in extra else {}
    cluster = made(RayCluster, api.RAY_CLUSTERS, ray({"cpu": "100m"}, **extra), annotations=notes)

    def within(cpu: int) -> Verdict:
        queue = cluster_queue().group(["cpu"], "a100-scale", quota=f"{cpu}m").group(["memory"], "a100-memory")
        memory = profile("memory", "a100-memory").closed().mode("Enforce").pool()
        return verdict(cluster, gpu_world(queue, flavor("a100-memory"), memory))

    assert (within(99).outcome, within(99).binding) == (NEVER, "quota")
    assert within(99).reason.startswith("gang needs 100m cpu")
    assert within(needs - 1).outcome is (UNKNOWN if needs > 100 else NEVER)
    assert within(needs).outcome is GROWS


def test_a_job_of_another_manager_is_not_ours_though_kueue_queues_it() -> None:
    found = verdict(train(9).managed_by("example.com/other"))
    assert (found.outcome, found.denied) == (SKIPPED, False)


@pytest.mark.parametrize("stopped", [None, "Hold", "HoldAndDrain"])
def test_quota_of_a_stopped_member_still_counts_for_borrowing(stopped: str | None) -> None:
    own = cluster_queue().group(["cpu", "memory", GPU], "a100-scale", quota=8)
    lender = cluster_queue("lender").group(["cpu", "memory", GPU], "a100-scale", quota=8)
    lender.spec["stopPolicy"] = stopped
    lender.condition(api.ACTIVE, stopped is None, "Stopped")
    assert verdict(train(2), gpu_world(own)).binding == "quota"
    for queue in (own, lender):
        queue.spec["cohortName"] = "all"
    assert verdict(train(2), gpu_world(own, lender, cohort("all"))).outcome is GROWS


def test_the_best_assignment_counts_not_the_one_kueue_tries_first() -> None:
    """Greedy in the order of flavors, the first podset would take what only the second needs."""
    second = profile("spot", "spot").closed().mode("Enforce").pool("spotpool", 2, {**GPU_NODE, GPU: "4"})
    queue = cluster_queue().group(["cpu", "memory", GPU], "a100-scale", "spot", quota=16)
    cluster = gpu_world(queue, flavor("spot").node_labels(agentpool="spotpool"), second)
    assert verdict(gang(part("small", 2, {GPU: 4}), part("large", 2, {GPU: 8})), cluster).outcome is GROWS


def test_flavors_that_contradict_each_other_are_the_administrators_to_mend() -> None:
    queue = cluster_queue().group(["cpu"], "cpu").group([GPU], "a100-scale")
    other = profile("cpu", "cpu").closed().mode("Enforce").pool("cpupool", 9)
    both = job().queue("gpu").requests({"cpu": 1, GPU: 8})
    found = verdict(both, gpu_world(queue, flavor("cpu").node_labels(agentpool="cpupool"), other))
    assert (found.outcome, found.denied) == (MISCONFIGURED, False)
    assert found.reason == (
        "ResourceFlavor cpu has agentpool=cpupool, a100-scale has agentpool=gpupool: no node is of both"
    )


def test_a_topology_without_nodes_and_nobody_who_brings_them_is_the_administrators_to_mend() -> None:
    placed = flavor().node_labels(agentpool="gpupool")
    placed.spec["topologyName"] = "tree"
    tree = topology("tree", "example.com/rack", "kubernetes.io/hostname")
    bare = cluster_queue().group(["cpu", "memory", GPU], "a100-scale")
    found = verdict(train(1), gpu_world(bare, placed, tree))
    assert (found.outcome, found.denied, found.binding) == (MISCONFIGURED, False, "topology")
    standing = node("a", **{"agentpool": "gpupool", "example.com/rack": "r1"})
    assert verdict(train(1), gpu_world(bare, placed, tree, standing)).outcome is FITS
    assert verdict(train(1), gpu_world(placed, tree)).outcome is GROWS  # its queue has a provisioning check


def test_a_missing_runtime_class_is_warned_of() -> None:
    found = verdict(train(1).pod_spec(runtimeClassName="kata"))
    assert not found.denied
    assert "RuntimeClass kata of main is not found: its pods will be refused after quota is reserved" in found.warnings


def test_a_packing_that_greed_would_miss_is_a_fit_and_is_called_tight() -> None:
    """First-fit by size puts 4 beside 3 and needs a third node; 4+2+2 and 3+3+2 are two."""
    tight = gpu_profile()
    pods = gang(part("a", 1, {GPU: 4}), part("b", 2, {GPU: 3}), part("c", 3, {GPU: 2}))
    found = verdict(pods, gpu_world(profile=tight))
    assert found.line == "preflight: gang needs 2 node(s) of gpupool (max 2): fits"
    assert not found.denied


def test_what_kueue_counts_and_what_the_scheduler_counts_are_two_vectors() -> None:
    """A pod-level limit is a request for Kueue alone (120 cpu against 32, seen), and for Kueue since 0.18.3 only."""

    def within(cpu: int, limit: str) -> Verdict:
        pods = job().queue("gpu").pods(2).requests({"cpu": "32"}).pod_spec(resources={"limits": {"cpu": limit}})
        return verdict(pods, gpu_world(cluster_queue().group(["cpu"], "a100-scale", quota=cpu)))

    assert within(63, "90").outcome is NEVER
    assert (within(100, "90").outcome, within(100, "90").binding) == (UNKNOWN, "quota")
    assert within(180, "90").outcome is GROWS
    assert within(240, "120").outcome is not NEVER  # 120 would not fit a node of 94
