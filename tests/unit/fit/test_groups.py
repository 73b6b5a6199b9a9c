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
    gpu_profile,
    gpu_world,
    job,
    node,
    profile,
)

NEVER, UNKNOWN, GROWS = Outcome.NEVER_FITS, Outcome.UNKNOWN, Outcome.FITS_AFTER_SCALE_UP
CPU_NODE = {"cpu": "16", "memory": "64Gi", "pods": "110"}
ROOMY = {**CPU_NODE, "cpu": "94", GPU: "8"}


def two_groups(cpu: FlavorBuilder | None = None, *more: ProfileBuilder) -> World:
    """cpu and memory from flavor ``default``, GPUs from ``a100-scale``, whose pool of 2 nodes is all there is."""
    queue = cluster_queue().group(["cpu", "memory"], "default").group([GPU], "a100-scale")
    return gpu_world(queue, cpu or flavor("default"), *more)


def cpu_pool(max_nodes: int = 10) -> ProfileBuilder:
    return profile("cpu", "default").closed().mode("Enforce").pool("cpupool", max_nodes, CPU_NODE)


def verdict(cluster: World, pods: int = 2, cpu: int = 1, gpus: int = 8) -> Verdict:
    return judge(job().queue("gpu").pods(pods).requests({"cpu": cpu, GPU: gpus}).done(), cluster, now=0)


@pytest.mark.parametrize(
    ("cluster", "pods", "cpu", "outcome"),
    [
        # Nodes of the GPU flavor have the cpus that those of the cpu flavor lack.
        (two_groups(None, cpu_pool()), 2, 64, GROWS),
        (two_groups(None, cpu_pool(max_nodes=1)), 2, 9, GROWS),
        # cpupool is not of the GPU flavor, however roomy.
        (two_groups(None, profile("cpu", "default").closed().mode("Enforce").pool("cpupool", 9, ROOMY)), 3, 64, NEVER),
        (two_groups(None, cpu_pool()), 3, 1, NEVER),
        (two_groups(None, cpu_pool()), 2, 95, NEVER),
    ],
)
def test_a_podset_stands_on_nodes_of_all_its_flavors(cluster: World, pods: int, cpu: int, outcome: Outcome) -> None:
    found = verdict(cluster, pods, cpu)
    assert found.outcome is outcome
    assert found.denied is (outcome is NEVER)


def test_pools_of_both_flavors_may_hold_it() -> None:
    """The nodes of one flavor may well be described by the profile of another."""
    shared = profile("cpu", "default").closed().mode("Enforce").pool("more", 3, ROOMY, labels={"agentpool": "gpupool"})
    assert verdict(two_groups(None, shared), 5).outcome is not NEVER
    assert verdict(two_groups(None, shared), 6).denied
    silent = profile("cpu", "default").closed().mode("Enforce").pool("more", 3, ROOMY, labels={})
    assert verdict(two_groups(None, silent), 5).outcome is UNKNOWN  # perhaps they are of the GPU flavor


def test_a_pool_that_two_profiles_describe_is_promised_once() -> None:
    again = profile("cpu", "default").closed().mode("Enforce").pool("gpupool", 2, ROOMY)
    assert verdict(two_groups(None, again), 2).outcome is GROWS
    reason = "pools of flavors default, a100-scale may be the same nodes, which have room for 2 pods"
    assert verdict(two_groups(None, again), 3).reason == reason
    assert verdict(two_groups(None, again), 5).denied


@pytest.mark.parametrize(
    ("cpu", "reason"),
    [
        (None, "no CapacityProfile describes flavor default: there may be other pools"),
        (cpu_pool().closed(False), "cpu is not closed: there may be other pools"),
        (cpu_pool().queues("other"), "no CapacityProfile speaks for flavor default"),
    ],
)
def test_a_proof_needs_every_flavor_closed(cpu: ProfileBuilder | None, reason: str) -> None:
    found = verdict(two_groups(None, *([cpu] if cpu else [])), 3)
    assert (found.outcome, found.denied) == (UNKNOWN, False)
    assert found.reason == f"gang needs 3 node(s) of gpupool (max 2), and {reason}"


def test_what_no_flavor_of_a_group_takes_is_ruled_out_all_the_same() -> None:
    tainted = two_groups(flavor("default").taint("sku", "cpu"), cpu_pool())
    assert verdict(tainted).denied  # the profile stands behind the flavor Kueue never gives
    part = job().queue("gpu").requests({"cpu": 1, GPU: "1500m"}).done()
    assert judge(part, two_groups(None, cpu_pool()), now=0).denied


def test_a_podset_that_touches_one_of_the_groups_is_judged_as_ever() -> None:
    """Without GPUs it may use the nodes of both: those of the GPU flavor have room for ten of its pods."""
    cluster = two_groups(None, cpu_pool())
    assert not judge(job().queue("gpu").pods(20).requests({"cpu": 16}).done(), cluster, now=0).denied
    assert judge(job().queue("gpu").pods(21).requests({"cpu": 16}).done(), cluster, now=0).denied
    assert judge(job().queue("gpu").pods(3).gpus(8).done(), cluster, now=0).denied


def test_a_group_nobody_described_keeps_quiet() -> None:
    assert verdict(two_groups()).outcome is GROWS
    assert judge(job().queue("gpu").pods(300).requests({"cpu": 1}).done(), two_groups(), 0).outcome is Outcome.SKIPPED


@pytest.mark.parametrize(
    ("cpu", "outcome"),
    [
        (flavor("default").node_labels(agentpool="gpupool"), GROWS),
        (flavor("default").node_labels(tier="general"), UNKNOWN),  # perhaps none is
    ],
)
def test_a_fit_needs_nodes_that_are_of_both_flavors(cpu: FlavorBuilder, outcome: Outcome) -> None:
    found = verdict(two_groups(cpu))
    assert found.outcome is outcome
    if outcome is UNKNOWN:
        assert found.reason == "pool gpupool does not say whether its nodes have tier=general"


@pytest.mark.parametrize("complete", [False, True])
def test_flavors_that_no_node_can_have_both_of_are_the_administrators_to_mend(complete: bool) -> None:
    cpu = flavor("default").node_labels(**({"tier": "general"} if complete else {"agentpool": "cpupool"}))
    told = gpu_profile() if not complete else profile().closed().mode("Enforce").pool(labelsComplete=True)
    queue = cluster_queue().group(["cpu", "memory"], "default").group([GPU], "a100-scale")
    described = profile("cpu", "default").closed().mode("Enforce").pool("cpupool", 9, labels={"agentpool": "cpupool"})
    found = verdict(gpu_world(queue, cpu, described, profile=told), 3)
    assert (found.outcome, found.denied) == (Outcome.MISCONFIGURED, False)
    if not complete:
        assert found.reason == (
            "ResourceFlavor default has agentpool=cpupool, a100-scale has agentpool=gpupool: no node is of both"
        )


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
    """One assignment that fits is enough, whichever Kueue tries first."""
    spot = flavor("spot").node_labels(tier="spot")
    for names in (("default", "spot"), ("spot", "default")):
        queue = cluster_queue().group(["cpu"], *names).group([GPU], "a100-scale")
        assert verdict(gpu_world(queue, flavor("default"), spot)).outcome is GROWS
    spot_only = cluster_queue().group(["cpu"], "spot").group([GPU], "a100-scale")
    assert verdict(gpu_world(spot_only, spot)).outcome is UNKNOWN
    assert verdict(gpu_world(spot_only)).outcome is UNKNOWN  # a flavor that is not found


def twice(*, pods: int, memory: str = "860Gi", cpu_labels: dict[str, str] | None = None) -> Verdict:
    """The GPU pool of two nodes, in the profiles of both flavors."""
    queue = cluster_queue().group(["cpu"], "default").group([GPU], "a100-scale")
    described = profile("cpu", "default").closed().mode("Enforce").pool(allocatable={**GPU_NODE, "memory": memory})
    cluster = gpu_world(queue, flavor("default").node_labels(**(cpu_labels or {})), described)
    return verdict(cluster, pods)


def test_a_pool_that_both_profiles_describe_in_the_same_words_is_one_pool() -> None:
    assert twice(pods=2).line == "preflight: gang needs 2 node(s) of gpupool (max 2): fits"
    found = twice(pods=3)
    assert found.denied
    assert found.reason == "gang needs 3 node(s) of gpupool (max 2)"


def test_of_a_pool_described_in_two_ways_nothing_is_taken_to_be_the_same() -> None:
    assert twice(pods=3, memory="900Gi").outcome is UNKNOWN


def test_the_profile_that_knows_more_of_such_a_pool_speaks_for_it() -> None:
    assert twice(pods=2, cpu_labels={"tier": "general"}).outcome is GROWS
    assert twice(pods=3, cpu_labels={"tier": "general"}).denied
