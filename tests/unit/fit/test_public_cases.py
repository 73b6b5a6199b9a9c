"""How real users hit it: the public cases of reference/capacity.md §4 that concern preflight, by their numbers there.

Each has the shape of the case in values of our own. Those that must be allowed are marked so: whatever else is said of
them, nobody is denied.
"""

from typing import Any

import msgspec
import pytest

from classifier import api
from classifier.fit import Outcome, Verdict, World
from classifier.fit.gang import Runtimes
from classifier.fit.setup import setup_faults
from classifier.objects import NodePool, RayJob, TrainJob
from tests.builders import (
    GPU,
    GPU_NODE,
    NAMESPACE,
    T0,
    Builder,
    check,
    cluster_queue,
    flavor,
    gpu_profile,
    gpu_world,
    job,
    node,
    profile,
    topology,
)
from tests.unit.fit.cases import FITS, GROWS, MISCONFIGURED, NEVER, SKIPPED, UNKNOWN, train, verdict
from tests.unit.fit.facts.statuses import AKS, backing_off, document, group, old_text, pool, status_map, told
from tests.unit.fit.gangs import gang, part
from tests.unit.fit.kinds.test_trainjob import runtime, step

Json = dict[str, Any]
#: Taken of a node, by whoever runs there: preflight must not care.
BUSY = {"cpu": "1", "memory": "1Gi", GPU: "0", "pods": "1"}


def allowed(found: Verdict, outcome: Outcome, line: str | None = None) -> None:
    assert (found.outcome, found.denied) == (outcome, False)
    if line is not None:
        assert found.line == line


def denied(found: Verdict, binding: str, line: str) -> None:
    assert (found.outcome, found.denied, found.binding) == (NEVER, True, binding)
    assert found.line == line


def standing(*names: str, ready: bool = True) -> list[Builder[Any]]:
    return [node(name, agentpool="gpupool").ready(ready) for name in names]


def ray_job(name: str, gpus: int) -> RayJob:
    container = {"name": "ray", "resources": {"requests": {GPU: gpus}, "limits": {GPU: gpus}}}
    head = {"name": "ray", "resources": {"requests": {"cpu": "1"}}}
    raw = {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": {api.QUEUE_NAME: "gpu"}},
        "spec": {
            "suspend": True,
            "submissionMode": "HTTPMode",
            "rayClusterSpec": {
                "headGroupSpec": {"template": {"spec": {"containers": [head]}}},
                "workerGroupSpecs": [
                    {"groupName": "gpu", "replicas": 1, "template": {"spec": {"containers": [container]}}}
                ],
            },
        },
    }
    return msgspec.convert(raw, RayJob)


# 4.1 ProvisioningRequest and autoscaler.


def test_C02_three_ray_jobs_in_a_row_for_a_pool_of_one_must_be_allowed() -> None:
    """The pool is at its maximum, held by a finished RayJob: each of them would fit by itself."""
    cluster = gpu_world(
        *standing("held"),
        status_map(document(group(most=1, target=1, ready=1))),
        profile=profile().closed().mode("Enforce").pool(max_nodes=1, nodeGroups=[AKS]),
    )
    for name in ("first", "second", "third"):
        allowed(verdict(ray_job(name, 8), cluster), FITS, "preflight: gang needs 1 node(s) of gpupool (max 1): fits")
    empty = gpu_world(profile=profile().closed().mode("Enforce").pool(max_nodes=1))
    allowed(verdict(ray_job("alone", 8), empty), GROWS, "preflight: gang needs 1 node(s) of gpupool (max 1): fits")


def test_C08_free_devices_say_nothing_and_must_be_allowed() -> None:
    """Seven of eight nodes stand, all full of others' pods and bookings: 64 jobs' worth is 64 jobs' worth."""
    eight = profile().closed().mode("Enforce").pool(max_nodes=8)
    line = "preflight: gang needs 8 node(s) of gpupool (max 8): fits"
    for up in (0, 7):
        cluster = gpu_world(*standing(*(f"n{at}" for at in range(up))), profile=eight)
        allowed(verdict(train(64, 1), cluster), GROWS, line)
        assert verdict(train(65, 1), cluster).denied  # the 256 of the case as one gang do not fit either
    assert verdict(train(256, 1), gpu_world(profile=eight)).binding == "nodes"


def test_C08_one_gpu_jobs_of_a_topology_are_judged_by_the_whole_pool() -> None:
    placed = flavor().node_labels(agentpool="gpupool")
    placed.spec["topologyName"] = "hosts"
    cluster = gpu_world(
        placed,
        topology("hosts", "kubernetes.io/hostname"),
        profile=profile().closed().mode("Enforce").pool(max_nodes=8),
    )
    allowed(verdict(train(64, 1), cluster), GROWS)
    assert verdict(train(65, 1), cluster).denied


def test_C09_a_pool_of_fixed_size_is_judged_by_its_declaration() -> None:
    """Nothing scales it; its nodes may be down, or not seen at all, and it is still three nodes."""
    fixed = profile().closed().mode("Enforce").pool(max_nodes=3)
    line = "preflight: gang needs 3 node(s) of gpupool (max 3): fits"
    allowed(verdict(train(3), gpu_world(*standing("a", "b", "c"), profile=fixed)), FITS, line)
    allowed(verdict(train(3), gpu_world(*standing("a", ready=False), profile=fixed)), GROWS, line)
    denied(
        verdict(train(4), gpu_world(*standing("a", "b", "c"), profile=fixed)),
        "nodes",
        "preflight: gang needs 4 node(s) of gpupool (max 3): cannot fit; "
        "request at most 24 nvidia.com/gpu or raise the pool's maximum",
    )


def test_C12_a_gang_above_the_autoscalers_largest_step_is_warned_of() -> None:
    told = gpu_profile()
    told.spec["pools"] = []
    told.pool(max_nodes=2000)
    told.spec["provisioning"] = {"maxNodesPerScaleUp": 1000}
    large = gpu_world(cluster_queue().group(["cpu", "memory", GPU], "a100-scale", quota=100_000), profile=told)
    found = verdict(train(1001), large)
    allowed(found, GROWS)
    assert found.warnings == [
        "gang needs 1001 nodes, the autoscaler adds at most 1000 at once (--max-nodes-per-scaleup)"
    ]
    assert verdict(train(1000), large).warnings == []


def test_C13_a_maximum_below_the_need_is_denied_with_nothing_running() -> None:
    line = (
        "preflight: gang needs 5 node(s) of gpupool (max 2): cannot fit; "
        "request at most 16 nvidia.com/gpu or raise the pool's maximum"
    )
    denied(verdict(train(5)), "nodes", line)
    denied(verdict(train(5), gpu_world(*standing("a", "b"))), "nodes", line)
    # At its maximum now, with others on it, is no reason.
    allowed(verdict(train(2), gpu_world(*standing("a", "b"))), FITS)


def test_C14_a_gpu_pool_that_does_not_scale_from_zero_is_allowed() -> None:
    """Only the cloud's tag is missing: where the shape is declared the job fits, elsewhere nothing is known."""
    allowed(verdict(train(2)), GROWS, "preflight: gang needs 2 node(s) of gpupool (max 2): fits")
    shapeless = profile().closed().mode("Enforce").pool(allocatable={"cpu": "94", "pods": "110"})
    allowed(verdict(train(2), gpu_world(profile=shapeless)), UNKNOWN)


@pytest.mark.parametrize("resource", ["amd.com/gpu", "example.com/fpga", "rdma/hca"])
def test_C15_a_custom_resource_of_an_empty_pool_is_allowed(resource: str) -> None:
    queue = cluster_queue().group(["cpu", resource], "a100-scale")
    fpga = job().queue("gpu").pods(2).requests({"cpu": "1", resource: "2"}, {resource: "2"})
    shown = {"cpu": "16", resource: "2", "pods": "110"}
    silent = {"cpu": "16", "pods": "110"}
    allowed(verdict(fpga, gpu_world(queue, profile=profile().closed().mode("Enforce").pool(allocatable=shown))), GROWS)
    allowed(
        verdict(fpga, gpu_world(queue, profile=profile().closed().mode("Enforce").pool(allocatable=silent))), UNKNOWN
    )
    # Only a list that is said to be complete rules it out.
    complete = profile().closed().mode("Enforce").pool(allocatable=silent, allocatableComplete=True)
    assert verdict(fpga, gpu_world(queue, profile=complete)).denied


def test_C17_a_volume_in_another_zone_is_unknown_and_must_be_allowed() -> None:
    """One pool a zone; that of the volume's zone is empty."""
    zones = profile().closed().mode("Enforce")
    for zone in ("1", "2"):
        zones.pool(f"gpu-{zone}", 2, labels={"agentpool": "gpupool", "topology.kubernetes.io/zone": f"west-{zone}"})
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "data-west-2"}}
    found = verdict(train(2).pod_spec(volumes=[volume]), gpu_world(*standing("west-1"), profile=zones))
    allowed(found, UNKNOWN)
    assert "persistent volume" in found.reason
    # Too many for both zones together is still too many.
    assert verdict(train(5).pod_spec(volumes=[volume]), gpu_world(profile=zones)).denied


def test_C19_a_spot_pool_in_backoff_is_warned_of_and_must_be_allowed() -> None:
    spot = profile().closed().mode("Enforce").pool(nodeGroups=[AKS])
    found = verdict(train(2), gpu_world(status_map(document(backing_off(most=2, target=0, ready=0))), profile=spot))
    allowed(found, GROWS, "preflight: gang needs 2 node(s) of gpupool (max 2): fits")
    [warning] = found.warnings
    assert warning.startswith(f"preflight: fits; node group {AKS} in backoff since ")
    assert warning.endswith("; expect a wait")


@pytest.mark.parametrize(
    "text",
    ["", "no status", old_text()[:200], "nodeGroups: [", "nodeGroups: 7", "\x00", "autoscalerStatus: Initializing\n"],
)
def test_C25_a_status_that_cannot_be_read_says_nothing_and_breaks_nothing(text: str) -> None:
    assert told(text) is None
    allowed(verdict(train(2), gpu_world(status_map(text))), GROWS)
    assert verdict(train(3), gpu_world(status_map(text))).denied


def test_C25_both_forms_of_the_status_are_read() -> None:
    for text in (document(group(most=2)), old_text(most=2)):
        found = told(text, pool(node_groups=[AKS]))
        assert found is not None
        assert found.max_nodes == 2


def test_C26_pods_larger_than_any_node_are_denied() -> None:
    two = profile().closed().mode("Enforce").pool("large", 9).pool("small", 9, {**GPU_NODE, "cpu": "16"})
    for declared in two.spec["pools"]:
        declared["nodeLabels"] = {"agentpool": "gpupool", "size": declared["name"]}
    denied(
        verdict(job().queue("gpu").requests({"cpu": "120"}), gpu_world(profile=two)),
        "pod-size",
        "preflight: each pod of main needs 120 cpu, a node of large has 94: cannot fit; request at most 94 cpu a pod",
    )


# 4.2 Admitted or queued, and never runs.


def test_C27_an_eight_gpu_pod_beside_scattered_free_ones_must_be_allowed() -> None:
    """Each node has four free, none eight: that passes."""
    allowed(
        verdict(train(1), gpu_world(*standing("a", "b"))),
        FITS,
        "preflight: gang needs 1 node(s) of gpupool (max 2): fits",
    )


def test_C28_a_pod_larger_than_what_is_free_on_any_node_must_be_allowed() -> None:
    small = node("busy", agentpool="gpupool").allocatable(BUSY)
    found = verdict(train(1), gpu_world(small))
    assert not found.denied
    assert found.outcome is not NEVER


def test_C29_preflight_is_the_static_half_of_a_check_of_nodes() -> None:
    """What fits an empty cluster and what never does; who is there now is no part of it."""
    for nodes in ([], standing("a"), standing("a", "b")):
        assert verdict(train(2), gpu_world(*nodes)).outcome in (FITS, GROWS)
        assert verdict(train(3), gpu_world(*nodes)).denied


def test_C30_the_number_of_pods_a_node_takes_counts() -> None:
    tiny = job().queue("gpu").pods(221).requests({"cpu": "1m"})
    denied(
        verdict(tiny),
        "nodes",
        "preflight: gang needs 3 node(s) of gpupool (max 2): cannot fit; "
        "request at most 220 pod(s) or raise the pool's maximum",
    )
    allowed(verdict(job().queue("gpu").pods(220).requests({"cpu": "1m"})), GROWS)


def test_C31_a_quota_that_is_set_too_small_is_told_at_submit() -> None:
    queue = cluster_queue().group(["cpu", "memory", GPU], "a100-scale", quota="12")
    found = verdict(train(2), gpu_world(queue))
    denied(
        found,
        "quota",
        "preflight: gang needs 16 nvidia.com/gpu of flavor a100-scale, quota of gpu-a100 is 12: cannot fit; "
        "request at most 12 nvidia.com/gpu or use another queue",
    )


def test_C33_a_quota_above_what_the_pool_can_ever_hold_changes_no_verdict() -> None:
    """It is no promise of nodes."""
    generous = cluster_queue().group(["cpu", "memory", GPU], "a100-scale", quota="1000000")
    assert verdict(train(3), gpu_world(generous)).binding == "nodes"
    allowed(verdict(train(2), gpu_world(generous)), GROWS)


def test_C36_current_capacity_never_gates() -> None:
    """Whoever waits for nodes before there are pods waits for ever: an empty pool is as good as a full one."""
    lines = {
        verdict(train(2), gpu_world(*nodes)).line
        for nodes in ([], standing("a"), standing("a", ready=False), standing("a", "b"))
    }
    assert lines == {"preflight: gang needs 2 node(s) of gpupool (max 2): fits"}


def test_C38_insufficient_resources_although_the_autoscaler_would_add_nodes_must_be_allowed() -> None:
    line = "preflight: gang needs 2 node(s) of gpupool (max 2): fits"
    quiet = document(group(most=2, target=0, ready=0))
    told_of = gpu_profile()
    told_of.spec["pools"][0]["nodeGroups"] = [AKS]
    allowed(verdict(train(2), gpu_world(status_map(quiet), profile=told_of)), GROWS, line)
    allowed(verdict(train(2), gpu_world(*standing("low"), profile=told_of)), GROWS, line)


def test_C39_a_pod_within_quota_and_larger_than_a_node_is_denied() -> None:
    denied(
        verdict(train(1, 16)),
        "pod-size",
        "preflight: each pod of main needs 16 nvidia.com/gpu, a node of gpupool has 8: cannot fit; "
        "request at most 8 nvidia.com/gpu a pod",
    )


def test_C40_can_never_run_names_the_resource_and_whose_it_is_to_change() -> None:
    none = cluster_queue().group(["cpu", "memory", GPU], "a100-scale", quota=0)
    found = verdict(train(1), gpu_world(none))
    allowed(found, MISCONFIGURED)
    fault = f"ClusterQueue gpu-a100 has no quota of {GPU} in flavor a100-scale, whose pool may have nodes"
    assert found.reason == fault
    assert fault in setup_faults(gpu_world(none), T0)["gpu-a100-8"]
    # Where there is some, the job is what to change.
    some = verdict(train(2), gpu_world(cluster_queue().group(["cpu", GPU], "a100-scale", quota=8)))
    assert some.advice == "request at most 8 nvidia.com/gpu or use another queue"
    assert (some.pod_sets[0].resource, some.pod_sets[0].source) == (GPU, "ClusterQueue/gpu-a100")


def two_queues_worth(quota: Json) -> World:
    """Two flavors with a quota each, GPUs of both sorts."""
    spot = profile("spot", "spot").closed().mode("Enforce").pool("spotpool", 9)
    queue = cluster_queue()
    queue.spec["resourceGroups"] = [
        {
            "coveredResources": [GPU],
            "flavors": [
                {"name": name, "resources": [{"name": GPU, "nominalQuota": amount}]} for name, amount in quota.items()
            ],
        }
    ]
    wide = profile().closed().mode("Enforce").pool(max_nodes=9)
    return gpu_world(queue, flavor("spot").node_labels(agentpool="spotpool"), spot, profile=wide)


def test_C41_quota_is_judged_for_each_flavor_and_not_over_all() -> None:
    found = verdict(train(3), two_queues_worth({"a100-scale": 16, "spot": 8}))
    denied(
        found,
        "quota",
        "preflight: gang needs 24 nvidia.com/gpu of flavor a100-scale, quota of gpu-a100 is 16: cannot fit; "
        "request at most 16 nvidia.com/gpu or use another queue",
    )
    allowed(verdict(train(3), two_queues_worth({"a100-scale": 16, "spot": 24})), GROWS)


def test_C41_a_job_pinned_to_one_flavor_has_only_its_quota() -> None:
    pinned = train(2).pod_spec(nodeSelector={"agentpool": "spotpool"})
    assert verdict(pinned, two_queues_worth({"a100-scale": 64, "spot": 8})).binding == "quota"
    allowed(verdict(pinned, two_queues_worth({"a100-scale": 0, "spot": 16})), GROWS)


def test_C44_the_limits_of_a_karpenter_node_pool_are_soft_and_must_be_allowed() -> None:
    """``limits.cpu`` stands for a number of nodes, and not well."""
    cluster = gpu_world(profile=profile().closed().mode("Enforce").pool(max_nodes=None, nodeGroups=["gpupool"]))
    raw = {"metadata": {"name": "gpupool"}, "spec": {"limits": {"cpu": "94", "nodes": "1"}, "template": {}}}
    cluster.node_pools = {"gpupool": msgspec.convert(raw, NodePool)}
    found = verdict(train(4), cluster)
    assert not found.denied
    assert found.outcome is not NEVER


def train_job(gpus: int | None = 8) -> TrainJob:
    trainer: Json = {"numNodes": 3}
    if gpus is not None:
        trainer["resourcesPerNode"] = {"requests": {GPU: gpus}, "limits": {GPU: gpus}}
    raw = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "train", "namespace": NAMESPACE, "labels": {api.QUEUE_NAME: "gpu"}},
        "spec": {"runtimeRef": {"name": "rt"}, "suspend": True, "trainer": trainer},
    }
    return msgspec.convert(raw, TrainJob)


def test_C45_a_train_job_is_judged_by_what_its_runtime_makes_of_it() -> None:
    found = verdict(train_job())
    allowed(found, UNKNOWN)  # its runtime is not known
    assert "rt" in found.reason
    cluster = gpu_world()
    cluster.runtimes = Runtimes({}, {"rt": runtime(step("node", "trainer"))})
    denied(
        verdict(train_job(), cluster),
        "nodes",
        "preflight: gang needs 3 node(s) of gpupool (max 2): cannot fit; "
        "request at most 16 nvidia.com/gpu or raise the pool's maximum",
    )
    assert not verdict(train_job(None), cluster).denied  # without GPUs it is three small pods


def test_C46_a_server_that_is_no_gang_is_not_judged() -> None:
    server = job("predictor").gpus(1)
    found = verdict(server)
    allowed(found, SKIPPED)
    assert found.warnings == []


def test_C59_a_queue_that_sends_its_jobs_to_other_clusters_is_not_judged() -> None:
    remote = cluster_queue().group(["cpu", GPU], "a100-scale").checks("multikueue")
    cluster = gpu_world(remote, check("multikueue", api.MULTIKUEUE_CONTROLLER))
    for obj in (train(99), gang(part("work", 99, {GPU: 8}))):
        found = verdict(obj, cluster)
        allowed(found, SKIPPED)
        assert found.reason == "ClusterQueue gpu-a100 runs its jobs in other clusters"
