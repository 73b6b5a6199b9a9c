"""Profiles of one flavor that name different queues: what stands behind the flavor is everybody's, the mode is not."""

import pytest

from classifier.fit import Outcome, Verdict, World, judge
from tests.builders import ProfileBuilder, cluster_queue, flavor, gpu_profile, gpu_world, job, local_queue, profile

FITS = Outcome.FITS_AFTER_SCALE_UP
RESOURCES = ["cpu", "memory", "nvidia.com/gpu"]


def shared(other: ProfileBuilder, own: ProfileBuilder | None = None) -> World:
    """Two queues that offer one flavor. Our own has 2 nodes by ``own``, the ``other`` queue what its profile says."""
    return gpu_world(
        flavor(),
        cluster_queue("other").group(RESOURCES, "a100-scale"),
        other.queues("other"),
        profile=(own or gpu_profile()).queues("gpu-a100"),
    )


def others(max_nodes: int | None = 10) -> ProfileBuilder:
    return profile("others").mode("Enforce").pool("theirs", max_nodes)


def verdict(cluster: World, pods: int = 3) -> Verdict:
    return judge(job().queue("gpu").pods(pods).gpus(8).done(), cluster, now=0)


def test_pools_of_another_queues_profile_are_the_flavors() -> None:
    found = verdict(shared(others()))
    assert found.outcome is FITS
    assert found.line == "preflight: gang needs 3 node(s) of gpupool, theirs (max 12): fits"


@pytest.mark.parametrize("max_nodes", [10, 1, None])
def test_another_queues_profile_may_leave_the_flavor_open(max_nodes: int | None) -> None:
    assert verdict(shared(others(max_nodes)), 99).outcome is Outcome.UNKNOWN
    assert verdict(shared(others(max_nodes)), 99).denied is False


def test_the_open_one_is_named() -> None:
    assert verdict(shared(others()), 99).reason.endswith(", and others is not closed: there may be other pools")


def test_two_profiles_cannot_both_close_a_flavor_whatever_queues_they_name() -> None:
    found = verdict(shared(others().closed()), 99)
    assert found.outcome is Outcome.MISCONFIGURED
    assert found.reason == "CapacityProfiles gpu-a100-8, others each say that flavor a100-scale is closed"
    assert verdict(shared(others().closed())).outcome is FITS
    second = profile("second").closed().mode("Enforce").pool("second", 1, labels={"agentpool": "gpupool"})
    assert verdict(gpu_world(second), 9).outcome is Outcome.MISCONFIGURED
    assert verdict(gpu_world(second)).outcome is FITS


def test_a_fault_of_another_queues_profile_denies_nobody() -> None:
    broken = others().pool("broken", -1)
    assert verdict(shared(broken), 99).outcome is Outcome.MISCONFIGURED


@pytest.mark.parametrize("mode", ["Off", "Warn", "Enforce"])
def test_the_mode_is_that_of_the_profiles_that_speak_for_the_queue(mode: str) -> None:
    found = verdict(shared(others().mode(mode)))
    assert (found.mode, found.profile) == ("Enforce", "gpu-a100-8")
    lax = verdict(shared(others(), gpu_profile().mode("Warn")))
    assert (lax.mode, lax.profile) == ("Warn", "gpu-a100-8")


def test_another_queues_profile_alone_does_not_speak() -> None:
    only = gpu_world(local_queue(), profile=gpu_profile().queues("other"))
    assert verdict(only).outcome is Outcome.SKIPPED
