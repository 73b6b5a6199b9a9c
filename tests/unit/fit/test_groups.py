"""A podset that takes flavors of several resource groups: every one of them adds to what its nodes must be."""

import pytest

from classifier.fit import Outcome, Verdict, World, judge
from tests.builders import (
    GPU,
    GPU_NODE,
    FlavorBuilder,
    ProfileBuilder,
    cluster_queue,
    flavor,
    gpu_world,
    job,
    node,
    profile,
)

UNKNOWN, GROWS = Outcome.UNKNOWN, Outcome.FITS_AFTER_SCALE_UP
CPU_NODE = {"cpu": "16", "memory": "64Gi", "pods": "110"}


def two_groups(cpu: FlavorBuilder | None = None, *more: ProfileBuilder) -> World:
    """cpu and memory from flavor ``default``, GPUs from ``a100-scale``, whose pool of 2 nodes is all there is."""
    queue = cluster_queue().group(["cpu", "memory"], "default").group([GPU], "a100-scale")
    return gpu_world(queue, cpu or flavor("default"), *more)


def cpu_pool(max_nodes: int = 10) -> ProfileBuilder:
    return profile("cpu", "default").closed().mode("Enforce").pool("cpupool", max_nodes, CPU_NODE)


def verdict(cluster: World, pods: int = 2, cpu: int = 1, gpus: int = 8) -> Verdict:
    return judge(job().queue("gpu").pods(pods).requests({"cpu": cpu, GPU: gpus}).done(), cluster, now=0)


ROOMY = {**CPU_NODE, "cpu": "94", GPU: "8"}


@pytest.mark.parametrize(
    ("cluster", "pods", "cpu"),
    [
        # Nodes of the GPU flavor have the cpus that those of the cpu flavor lack.
        (two_groups(None, cpu_pool()), 2, 64),
        (two_groups(None, cpu_pool(max_nodes=1)), 2, 9),
        (two_groups(flavor("default").node_labels(tier="general"), cpu_pool()), 2, 64),
        # Neither group's figures are the other's.
        (two_groups(), 3, 1),
        (two_groups(None, profile("cpu", "default").closed().mode("Enforce").pool("cpupool", 1, ROOMY)), 3, 64),
    ],
)
def test_no_flavor_alone_proves_anything(cluster: World, pods: int, cpu: int) -> None:
    found = verdict(cluster, pods, cpu)
    assert found.outcome is UNKNOWN
    assert not found.denied
    assert found.reason.endswith(", but main takes flavors of 2 resource groups, which are not judged together")


def test_what_no_flavor_of_a_group_takes_is_ruled_out_all_the_same() -> None:
    tainted = two_groups(flavor("default").taint("sku", "cpu"), cpu_pool())
    assert verdict(tainted).denied  # the profile stands behind the flavor Kueue never gives
    assert verdict(two_groups(None, cpu_pool()), gpus=8).outcome is UNKNOWN
    part = job().queue("gpu").requests({"cpu": 1, GPU: "1500m"}).done()
    assert judge(part, two_groups(None, cpu_pool()), now=0).denied


def test_a_podset_that_touches_one_of_the_groups_is_judged_as_ever() -> None:
    cluster = two_groups(None, cpu_pool())
    assert judge(job().queue("gpu").pods(11).requests({"cpu": 16}).done(), cluster, now=0).denied
    assert judge(job().queue("gpu").pods(3).gpus(8).done(), cluster, now=0).denied


def test_a_group_nobody_described_keeps_quiet() -> None:
    assert verdict(two_groups()).outcome is GROWS
    assert judge(job().queue("gpu").pods(300).requests({"cpu": 1}).done(), two_groups(), 0).outcome is Outcome.SKIPPED


@pytest.mark.parametrize(
    ("cpu", "outcome"),
    [
        (flavor("default").node_labels(agentpool="gpupool"), GROWS),
        (flavor("default").node_labels(agentpool="cpupool"), UNKNOWN),  # no node is of both
        (flavor("default").node_labels(tier="general"), UNKNOWN),  # perhaps none is
    ],
)
def test_a_fit_needs_nodes_that_are_of_both_flavors(cpu: FlavorBuilder, outcome: Outcome) -> None:
    found = verdict(two_groups(cpu))
    assert found.outcome is outcome
    if outcome is UNKNOWN:
        assert found.reason == "pool gpupool does not say whether its nodes are those of flavor default"


def test_live_nodes_of_both_flavors_do() -> None:
    """The same, where no pool is declared for them: what stands is told by its labels."""
    queue = cluster_queue().group(["cpu"], "default").group([GPU], "a100-scale")
    gpus = flavor().node_labels(sku="gpu")
    told = profile().closed().pool("elsewhere", 0)
    both = [node(name, sku="gpu", tier="general").allocatable(GPU_NODE) for name in ("a", "b")]
    one = [node(name, sku="gpu").allocatable(GPU_NODE) for name in ("a", "b")]
    general = flavor("default").node_labels(tier="general")
    assert verdict(gpu_world(queue, gpus, general, *both, profile=told)).outcome is Outcome.FITS
    assert verdict(gpu_world(queue, gpus, general, *one, profile=told)).outcome is UNKNOWN


def test_the_other_group_may_give_any_of_its_flavors() -> None:
    queue = cluster_queue().group(["cpu"], "default", "spot").group([GPU], "a100-scale")
    spot = flavor("spot").node_labels(tier="spot")
    assert verdict(gpu_world(queue, flavor("default"), spot)).outcome is UNKNOWN
    assert verdict(gpu_world(queue, flavor("default"), spot.taint("sku", "spot"))).outcome is GROWS  # never given
    assert verdict(gpu_world(queue, flavor("default"))).outcome is UNKNOWN  # a flavor that is not found
