"""Nodes that a flavor's pods may use though its own profile does not list them: another profile declares them.

Kueue ties a pod to a flavor by the flavor's labels and by nothing else: whatever node has them all takes it.
"""

import pytest

from classifier.fit import Outcome
from tests.builders import (
    GPU,
    GPU_NODE,
    FlavorBuilder,
    ProfileBuilder,
    cluster_queue,
    flavor,
    job,
    local_queue,
    namespace,
    node,
    profile,
    world,
)
from tests.unit.fit.cases import FITS, GROWS, NEVER, UNKNOWN, verdict
from tests.unit.fit.gangs import gang, part

PLAIN = flavor("plain")


def plain_profile() -> ProfileBuilder:
    return profile("plain", "plain").closed().mode("Enforce").pool("cpupool", 2)


def gpu_profile(nodes: int | None = 4, **labels: str) -> ProfileBuilder:
    return (
        profile("gpu", "gpu").closed().mode("Enforce").pool("gpupool", nodes, labels={"agentpool": "gpupool", **labels})
    )


def outcome(pods: int, plain: FlavorBuilder, other: ProfileBuilder, *nodes: str) -> Outcome:
    """Of pods that take a node each, in a queue that offers the plain flavor alone."""
    built = job().queue("gpu").pods(pods).requests({"cpu": "90"})
    cluster = world(
        local_queue(),
        cluster_queue().group(["cpu"], "plain"),
        namespace(),
        plain,
        flavor("gpu").node_labels(agentpool="gpupool"),
        plain_profile(),
        other,
        *(node(name, agentpool="gpupool").allocatable(GPU_NODE) for name in nodes),
    )
    return verdict(built, cluster).outcome


@pytest.mark.parametrize("standing", [(), ("gpu-1",), ("gpu-1", "gpu-2", "gpu-3", "gpu-4")])
def test_a_flavor_without_labels_may_use_every_pool_there_is(standing: tuple[str, ...]) -> None:
    """Whether the nodes of the other pool stand at the moment is no matter."""
    assert outcome(2, flavor("plain"), gpu_profile(), *standing) in (FITS, GROWS)
    assert outcome(6, flavor("plain"), gpu_profile(), *standing) in (UNKNOWN, GROWS)
    assert outcome(7, flavor("plain"), gpu_profile(), *standing) is NEVER


def test_more_of_them_standing_than_declared_count() -> None:
    assert outcome(5, flavor("plain"), gpu_profile(2), "gpu-1", "gpu-2", "gpu-3") is GROWS
    assert outcome(6, flavor("plain"), gpu_profile(2), "gpu-1", "gpu-2", "gpu-3") is NEVER


@pytest.mark.parametrize("shown", [None, "7"])
def test_a_node_of_another_pool_that_shows_few_devices_as_yet_does_not_stand_for_what_is_declared(
    shown: str | None,
) -> None:
    """It has just come up, or one of its devices is sick: no more is said of the node there may be in its place."""
    offer = {name: amount for name, amount in GPU_NODE.items() if name != GPU}
    bare = profile("plain", "plain").closed().mode("Enforce").pool("cpupool", 2, offer, allocatableComplete=True)
    cluster = world(
        local_queue(),
        cluster_queue().group([GPU], "plain"),
        namespace(),
        flavor("plain"),
        flavor("gpu").node_labels(agentpool="gpupool"),
        bare,
        gpu_profile(1),
        node("gpu-1", agentpool="gpupool").allocatable(offer if shown is None else {**offer, GPU: shown}),
    )
    assert verdict(job().queue("gpu").pods(1).gpus(8), cluster).outcome is UNKNOWN
    assert verdict(job().queue("gpu").pods(2).gpus(8), cluster).outcome is NEVER


def test_of_a_pool_without_a_maximum_there_may_be_nodes_for_all() -> None:
    assert outcome(1000, flavor("plain"), gpu_profile(None)) is UNKNOWN


def test_a_pool_elsewhere_that_surely_has_the_labels_counts_and_no_other() -> None:
    tiered = flavor("plain").node_labels(tier="batch")
    assert outcome(6, tiered, gpu_profile(tier="batch")) is UNKNOWN
    assert outcome(3, tiered, gpu_profile(tier="serving")) is NEVER
    assert outcome(3, tiered, gpu_profile()) is NEVER


def test_a_profile_without_its_flavor_counts_too() -> None:
    other = profile("old", "gone").pool("oldpool", 1, labels={"agentpool": "oldpool"})
    assert outcome(3, flavor("plain"), other) is UNKNOWN
    assert outcome(4, flavor("plain"), other) is NEVER


@pytest.mark.parametrize(("pods", "found"), [(3, UNKNOWN), (4, NEVER)])
def test_so_they_do_for_podsets_together(pods: int, found: Outcome) -> None:
    """Of two podsets that need a node for each pod, 6 nodes are enough for no more than 6."""
    cluster = world(
        local_queue(),
        cluster_queue().group(["cpu"], "plain"),
        namespace(),
        flavor("plain"),
        flavor("gpu").node_labels(agentpool="gpupool"),
        plain_profile(),
        gpu_profile(),
    )
    both = gang(part("a", 3, {"cpu": "90"}), part("b", pods, {"cpu": "80"}))
    assert verdict(both, cluster).outcome is found


def test_a_pool_that_two_profiles_describe_in_the_same_words_is_one() -> None:
    twice = profile("gpu", "gpu").closed().pool("cpupool", 2, labels={"agentpool": "cpupool"})
    assert outcome(3, flavor("plain"), twice) is NEVER
