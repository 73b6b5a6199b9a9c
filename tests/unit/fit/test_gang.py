"""Gangs of several podsets: each by itself, all of them in quota, and all of them in the nodes at once."""

import pytest

from classifier.fit import Outcome, Verdict, World, judge
from classifier.objects import ContainerPort, JobSet
from tests.builders import (
    GPU,
    ProfileBuilder,
    cluster_queue,
    flavor,
    gpu_profile,
    gpu_world,
    kueue_config,
    node,
    profile,
    topology,
)
from tests.unit.fit.gangs import after, gang, part

NEVER, UNKNOWN, GROWS = Outcome.NEVER_FITS, Outcome.UNKNOWN, Outcome.FITS_AFTER_SCALE_UP
CPU_NODE = {"cpu": "16", "memory": "64Gi", "pods": "110"}
RESOURCES = ["cpu", "memory", GPU]


def verdict(job: JobSet, cluster: World | None = None) -> Verdict:
    return judge(job, cluster or gpu_world(), now=0)


def two_flavors(cpu_nodes: int = 3, quota: str = "1000Ti") -> World:
    """GPU nodes (at most 2) and cpu nodes, of one group: a podset gets one of the two flavors."""
    cpu = profile("cpu", "cpu").closed().mode("Enforce").pool("cpupool", cpu_nodes, CPU_NODE, allocatableComplete=True)
    return gpu_world(
        cluster_queue().group(RESOURCES, "a100-scale", "cpu", quota=quota),
        flavor("cpu").node_labels(agentpool="cpupool"),
        cpu,
    )


@pytest.mark.parametrize(
    ("job", "line"),
    [
        # A head that fits beside a worker needs no node of its own.
        (gang(part("head", 1, {"cpu": 4}), part("work", 2, {GPU: 8})), "gang needs 2 node(s) of gpupool (max 2): fits"),
        (
            gang(part("head", 1, {GPU: 8}), part("work", 2, {GPU: 8})),
            "gang needs 3 node(s) of gpupool (max 2): cannot fit; request less or raise the pool's maximum",
        ),
        (
            # 15 GPUs of 16, but no two of these pods share a node.
            gang(part("one", 1, {GPU: 5}), part("two", 2, {GPU: 5})),
            "gang needs 3 node(s) of gpupool (max 2): cannot fit; request less or raise the pool's maximum",
        ),
        (
            gang(part("head", 1, {"cpu": 4}), part("work", 3, {GPU: 8})),
            "gang needs 3 node(s) of gpupool (max 2): cannot fit; "
            f"request at most 16 {GPU} or raise the pool's maximum",
        ),
        (
            gang(part("head", 1, {"cpu": 200}), part("work", 2, {GPU: 8})),
            "each pod of head needs 200 cpu, a node of gpupool has 94: cannot fit; request at most 94 cpu a pod",
        ),
    ],
)
def test_podsets_share_the_nodes(job: JobSet, line: str) -> None:
    found = verdict(job)
    assert found.line == f"preflight: {line}"
    assert found.denied is (found.outcome is NEVER)


def test_the_gang_is_bound_by_nodes_though_each_podset_fits() -> None:
    found = verdict(gang(part("head", 1, {GPU: 8}), part("work", 2, {GPU: 8})))
    assert (found.binding, found.profile) == ("nodes", "gpu-a100-8")
    assert [(one.name, one.verdict, one.needs, one.limit) for one in found.pod_sets] == [
        ("head", GROWS, 1, 2),
        ("work", GROWS, 2, 2),
    ]


def test_of_a_gang_that_fits_podsets_tell_the_nodes_that_they_add() -> None:
    """Together they are the gang's: a head beside a worker adds none."""
    found = verdict(gang(part("head", 1, {"cpu": 4}), part("work", 2, {GPU: 8})))
    assert [(one.name, one.needs) for one in found.pod_sets] == [("head", 0), ("work", 2)]


def test_podsets_that_never_run_at_once_do_not_share_nodes() -> None:
    prepare, train = part("prepare", 2, {GPU: 8}), part("train", 2, {GPU: 8})
    assert verdict(gang(prepare, train)).outcome is NEVER
    assert verdict(gang(prepare, after(train, "prepare"))).outcome is GROWS
    assert verdict(gang(prepare, after(part("train", 3, {GPU: 8}), "prepare"))).denied


@pytest.mark.parametrize(("other", "outcome"), [(4711, NEVER), (4712, GROWS)])
def test_podsets_of_one_host_port_exclude_each_other(other: int, outcome: Outcome) -> None:
    ports = [{"containerPort": 80, "hostPort": port} for port in (4711, other)]
    parts = [
        part(name, 2, {"cpu": 1}, containers=[{"name": "c", "resources": {"requests": {"cpu": 1}}, "ports": [port]}])
        for name, port in zip(("one", "two"), ports, strict=True)
    ]
    assert verdict(gang(*parts)).outcome is outcome


def test_each_podset_may_get_another_flavor() -> None:
    workers = part("work", 2, {GPU: 8, "cpu": 90})
    found = verdict(gang(part("head", 3, {"cpu": 12}), workers), two_flavors())
    assert found.line == "preflight: gang needs 5 node(s) of cpupool, gpupool (max 5): fits"
    assert [one.flavor for one in found.pod_sets] == ["cpu", "a100-scale"]
    assert verdict(gang(part("head", 4, {"cpu": 12}), workers), two_flavors()).denied
    # Neither flavor takes all of a podset, and none is split between two.
    assert verdict(gang(part("head", 14, {"cpu": 12}), workers), two_flavors(12)).denied
    assert verdict(gang(part("head", 14, {"cpu": 12}), part("more", 2, {"cpu": 1})), two_flavors(14)).outcome is GROWS


@pytest.mark.parametrize("quota", ["16", "17"])
def test_quota_is_asked_for_all_podsets_together(quota: str) -> None:
    cluster = gpu_world(
        cluster_queue().group(["cpu", GPU], "a100-scale", quota=quota), profile=gpu_profile().closed(False)
    )
    found = verdict(gang(part("head", 1, {"cpu": 15}), part("work", 2, {"cpu": 1, GPU: 8})), cluster)
    if quota == "17":
        assert found.outcome is GROWS
        return
    assert (found.outcome, found.denied, found.binding) == (NEVER, True, "quota")  # which needs no closed profile
    assert found.reason == "gang needs 17 cpu of flavor a100-scale, quota of gpu-a100 is 16"


def test_quota_is_never_summed_over_flavors() -> None:
    assert verdict(gang(part("work", 3, {"cpu": 10})), two_flavors(9, quota="20")).binding == "quota"
    assert (
        verdict(gang(part("a", 1, {"cpu": 15}), part("b", 1, {"cpu": 15})), two_flavors(9, quota="20")).outcome is GROWS
    )


def test_nobody_is_denied_for_quota_without_a_profile_for_every_flavor() -> None:
    queue = cluster_queue().group(RESOURCES, "a100-scale", "cpu", quota=8)
    found = verdict(gang(part("work", 2, {"cpu": 6})), gpu_world(queue, flavor("cpu")))
    assert (found.outcome, found.denied) == (NEVER, False)


def test_a_podset_nobody_described_keeps_quiet() -> None:
    queue = cluster_queue().group(["cpu"], "default").group([GPU], "a100-scale")
    found = verdict(gang(part("head", 1, {"cpu": 1}), part("work", 2, {GPU: 8})), gpu_world(queue, flavor("default")))
    assert found.line == "preflight: gang needs 2 node(s) of gpupool (max 2): fits"
    assert found.pod_sets[0].verdict is Outcome.SKIPPED


def test_mode_is_that_of_the_podset_that_binds() -> None:
    lax = profile("cpu", "cpu").closed().pool("cpupool", 3, CPU_NODE, allocatableComplete=True)
    queue = cluster_queue().group(["cpu"], "cpu").group([GPU], "a100-scale")
    cluster = gpu_world(queue, flavor("cpu").node_labels(agentpool="cpupool"), lax)
    assert verdict(gang(part("head", 1, {"cpu": 1}), part("work", 3, {GPU: 8})), cluster).denied
    heads = verdict(gang(part("head", 4, {"cpu": 16}), part("work", 2, {GPU: 8})), cluster)
    assert (heads.outcome, heads.denied, heads.mode) == (NEVER, False, "Warn")


def test_ready_nodes_are_enough_together() -> None:
    two = [node(name, agentpool="gpupool") for name in "ab"]
    job = gang(part("head", 1, {"cpu": 4}), part("work", 2, {GPU: 8}))
    assert verdict(job, gpu_world(*two)).outcome is Outcome.FITS
    assert verdict(job, gpu_world(*two[:1])).outcome is GROWS


# Pools that two flavors describe may be the same nodes: no promise counts them twice, no proof once.


def twice(labels: dict[str, str], gpus: bool = False) -> World:
    allocatable = {"cpu": "94", "memory": "860Gi", "pods": "110"} | ({GPU: "8"} if gpus else {})
    other = profile("cpu", "cpu").closed().mode("Enforce").pool("other", 2, allocatable, labels=labels)
    queue = cluster_queue().group(["memory"], "cpu").group([GPU], "a100-scale")
    return gpu_world(queue, flavor("cpu"), other)


@pytest.mark.parametrize(
    ("labels", "outcome"), [({"agentpool": "other"}, GROWS), ({}, UNKNOWN), ({"zone": "a"}, UNKNOWN)]
)
def test_pools_of_two_flavors_add_up_where_a_label_tells_them_apart(labels: dict[str, str], outcome: Outcome) -> None:
    job = gang(part("one", 2, {"memory": "800Gi"}), part("two", 2, {GPU: 8, "memory": "800Gi"}))
    assert verdict(job, twice(labels, gpus=True)).outcome is outcome


# Topology.


def racks(*domains: tuple[str, int], mode: str = "Enforce") -> ProfileBuilder:
    told = profile().closed().mode(mode).pool(max_nodes=sum(nodes for _, nodes in domains))
    told.spec["pools"][0]["domains"] = [{"name": name, "maxNodes": nodes} for name, nodes in domains]
    told.spec["topology"] = {"nodeLabel": "rack"}
    return told


def placed(told: ProfileBuilder) -> World:
    tree = flavor().node_labels(agentpool="gpupool")
    tree.spec["topologyName"] = "tree"
    return gpu_world(tree, topology("tree", "rack", "kubernetes.io/hostname"), profile=told)


def near(pods: int, level: str = "rack") -> JobSet:
    return gang(part("work", pods, {GPU: 8}, {"kueue.x-k8s.io/podset-required-topology": level}))


def test_a_podset_that_needs_one_domain_is_held_against_the_largest() -> None:
    cluster = placed(racks(("r1", 2), ("r2", 1)))
    assert verdict(near(2), cluster).outcome is GROWS
    found = verdict(near(3), cluster)
    assert (found.denied, found.binding) == (True, "topology")
    assert found.reason == "gang needs 3 node(s) in one domain of rack (max 2)"
    assert verdict(near(2, "kubernetes.io/hostname"), cluster).denied
    assert verdict(near(3), placed(racks(("r1", 3)))).outcome is GROWS


def test_placement_by_topology_that_is_blind_to_ports_is_told() -> None:
    cluster = placed(racks(("r1", 2)))
    assert verdict(near(2), cluster).warnings == []
    alone = gang(part("work", 2, {GPU: 8}, {"kueue.x-k8s.io/podset-required-topology": "rack"}, hostNetwork=True))
    raw = alone.spec.replicated_jobs[0].template.spec.template.spec.containers[0]  # type: ignore[union-attr,index]
    raw.ports = [ContainerPort(container_port=80)]
    assert [text[:43] for text in verdict(alone, cluster).warnings] == ["placement by topology is blind to host port"]


def test_placement_by_topology_counts_nodes_that_stand_where_nobody_brings_more() -> None:
    tree = flavor().node_labels(agentpool="gpupool")
    tree.spec["topologyName"] = "tree"
    queue = cluster_queue().group(RESOURCES, "a100-scale")
    told = racks(("r1", 2))
    one, two = (node(name, agentpool="gpupool", rack="r1") for name in "ab")
    levels = topology("tree", "rack", "kubernetes.io/hostname")
    assert verdict(near(2), gpu_world(tree, levels, queue, one, profile=told)).outcome is UNKNOWN
    assert verdict(near(2), gpu_world(tree, levels, queue, one, two, profile=told)).outcome is Outcome.FITS
    assert verdict(near(2), gpu_world(tree, levels, queue, profile=told)).outcome is Outcome.MISCONFIGURED


def test_placement_by_topology_gives_nodes_to_what_starts_later_at_once() -> None:
    level = {"kueue.x-k8s.io/podset-required-topology": "rack"}
    first, second = part("work", 2, {GPU: 8}, level), after(part("more", 2, {GPU: 8}, level), "work")
    cluster = placed(racks(("r1", 2)))
    found = verdict(gang(first, second), cluster)
    assert found.outcome is UNKNOWN
    assert found.reason == "Kueue places all podsets by topology at once, though some start when others have ended"
    small = after(part("more", 2, {"cpu": 2}), "work")
    assert verdict(gang(first, small), cluster).outcome is GROWS
    cluster.kueue_config = kueue_config(BLIND).done()
    assert verdict(gang(first, second), cluster).outcome is GROWS


#: Kueue with JobSets and without placement by topology.
BLIND = """
featureGates: {TopologyAwareScheduling: false}
integrations: {frameworks: [jobset.x-k8s.io/jobset]}
"""


@pytest.mark.parametrize("config", [None, BLIND])
def test_no_topology_proves_anything_where_kueue_may_not_look_at_it(config: str | None) -> None:
    cluster = placed(racks(("r1", 2), ("r2", 1)))
    cluster.kueue_config = kueue_config(config).done() if config is not None else None
    found = verdict(near(3), cluster)
    assert found.outcome is (GROWS if config else UNKNOWN)


def test_domains_nobody_declared_prove_nothing() -> None:
    told = gpu_profile()
    assert verdict(near(2), placed(told)).outcome is UNKNOWN
    assert verdict(near(3), placed(told)).denied  # there are no 3 nodes at all


def test_a_level_the_flavor_does_not_have_is_the_administrators_to_mend() -> None:
    found = verdict(near(2, "block"), placed(racks(("r1", 2))))
    assert found.reason == "Topology tree of flavor a100-scale has no level block"
    assert (found.outcome, found.denied) == (Outcome.MISCONFIGURED, False)
    plain = verdict(near(2), gpu_world())
    assert plain.outcome is Outcome.MISCONFIGURED
