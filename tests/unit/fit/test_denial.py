"""Who is denied: only a proof, in a closed world, in Enforce, on fresh data, by nobody's objection."""

from typing import Any

import pytest

from classifier import api
from classifier.fit import Mode, Outcome, Verdict, World, judge
from classifier.instant import MINUTE
from tests.builders import (
    GPU,
    Builder,
    JobBuilder,
    ProfileBuilder,
    check,
    cluster_queue,
    flavor,
    gpu_profile,
    gpu_world,
    job,
    local_queue,
    namespace,
    profile,
    world,
)

NOW = 100 * MINUTE


def too_large() -> JobBuilder:
    return job().queue("gpu").pods(3).gpus(8)


def verdict(built: JobBuilder, cluster: World) -> Verdict:
    return judge(built.done(), cluster, NOW)


def test_a_proof_in_enforce_denies_and_says_everything() -> None:
    found = verdict(too_large(), gpu_world())
    assert found.denied
    assert found.warnings == []
    [podset] = found.pod_sets
    assert (podset.name, podset.count, podset.verdict) == ("main", 3, Outcome.NEVER_FITS)
    assert (podset.binding, podset.needs, podset.limit) == ("nodes", 3, 2)
    assert (podset.pool, podset.flavor, podset.resource) == ("gpupool", "a100-scale", GPU)
    assert (podset.source, podset.age_seconds) == ("CapacityProfile/gpu-a100-8", 0)
    assert found.profile == "gpu-a100-8"
    assert found.advice == "request at most 16 nvidia.com/gpu or raise the pool's maximum"


@pytest.mark.parametrize(("mode", "denied"), [("Enforce", True), ("Warn", False), ("enforce", False)])
def test_the_profile_decides(mode: str, denied: bool) -> None:
    assert verdict(too_large(), gpu_world(profile=gpu_profile().mode(mode))).denied is denied


def test_warn_tells_the_user_what_to_change() -> None:
    found = verdict(too_large(), gpu_world(profile=gpu_profile().mode("Warn")))
    assert (found.outcome, found.mode) == (Outcome.NEVER_FITS, "Warn")
    assert found.warnings == [
        "preflight: gang needs 3 node(s) of gpupool (max 2): cannot fit",
        "request at most 16 nvidia.com/gpu or raise the pool's maximum",
    ]


@pytest.mark.parametrize(
    ("policy", "mode"),
    [
        (local_queue().annotate(api.PREFLIGHT_MODE, "Warn"), "Warn"),
        (namespace().annotate(api.PREFLIGHT_MODE, "Warn"), "Warn"),
        (namespace().annotate(api.PREFLIGHT_MODE, "Enforce"), "Enforce"),
        (namespace().annotate(api.PREFLIGHT_MODE, "nonsense"), "Enforce"),
    ],
)
def test_administrators_weaken_never_strengthen(policy: Builder[Any], mode: Mode) -> None:
    found = verdict(too_large(), gpu_world(policy))
    assert found.mode == mode
    assert found.denied is (mode == "Enforce")
    lax = verdict(too_large(), gpu_world(policy, profile=gpu_profile().mode("Warn")))
    assert not lax.denied


@pytest.mark.parametrize("text", ["off", "OFF", "warn", "nonsense", "", " Off"])
@pytest.mark.parametrize("kind", ["LocalQueue", "ClusterQueue", "Namespace", "Job"])
def test_a_mode_that_is_none_weakens_nothing_and_is_told(kind: str, text: str) -> None:
    objects: dict[str, Builder[Any]] = {
        "LocalQueue": local_queue(),
        "ClusterQueue": cluster_queue().group([GPU], "a100-scale"),
        "Namespace": namespace(),
    }
    names = {"LocalQueue": "LocalQueue/gpu", "ClusterQueue": "ClusterQueue/gpu-a100", "Namespace": "Namespace/team"}
    built = too_large() if kind in objects else too_large().annotate(api.PREFLIGHT_MODE, text)
    more = [objects[kind].annotate(api.PREFLIGHT_MODE, text)] if kind in objects else []
    told = f"{names.get(kind, 'job')}: muster.dev/preflight-mode: {text!r} is not Enforce, Warn or Off"
    found = verdict(built, gpu_world(*more))
    assert found.denied
    assert found.warnings == [told]
    assert verdict(built, gpu_world(*more, profile=gpu_profile().mode("Warn"))).warnings == [
        told,
        "preflight: gang needs 3 node(s) of gpupool (max 2): cannot fit",
    ]


@pytest.mark.parametrize("kind", ["LocalQueue", "ClusterQueue", "Namespace"])
def test_off_is_not_judged(kind: str) -> None:
    objects: dict[str, Builder[Any]] = {
        "LocalQueue": local_queue(),
        "ClusterQueue": cluster_queue().group([GPU], "a100-scale"),
        "Namespace": namespace(),
    }
    found = verdict(too_large(), gpu_world(objects[kind].annotate(api.PREFLIGHT_MODE, "Off")))
    assert found.outcome is Outcome.SKIPPED
    assert f"of {kind}/" in found.line


def test_a_profile_that_is_off_is_not_judged() -> None:
    found = verdict(too_large(), gpu_world(profile=gpu_profile().mode("Off")))
    assert found.line == "preflight: skipped: preflight is Off for flavor a100-scale"


def test_break_glass_where_the_namespace_allows_it() -> None:
    held = too_large().annotate(api.PREFLIGHT_MODE, "Off")
    optional = namespace().annotate(api.PREFLIGHT_OPTIONAL, "true")
    assert verdict(held, gpu_world(optional)).outcome is Outcome.SKIPPED
    everywhere = gpu_world()
    everywhere.preflight_optional = True
    assert verdict(held, everywhere).outcome is Outcome.SKIPPED


def test_break_glass_elsewhere_changes_nothing_and_says_so() -> None:
    found = verdict(too_large().annotate(api.PREFLIGHT_MODE, "Off"), gpu_world())
    assert found.denied
    assert found.warnings == ["muster.dev/preflight-mode: Off is not honoured in namespace team"]


@pytest.mark.parametrize(("age", "outcome"), [(9, Outcome.NEVER_FITS), (11, Outcome.UNKNOWN)])
def test_stale_facts_prove_nothing(age: int, outcome: Outcome) -> None:
    cluster = gpu_world()
    cluster.observed_at = NOW - age * MINUTE
    found = verdict(too_large(), cluster)
    assert found.outcome is outcome
    assert found.denied is (outcome is Outcome.NEVER_FITS)


def test_the_age_of_the_facts_is_told() -> None:
    cluster = gpu_world()
    cluster.observed_at = NOW - 42_000
    assert verdict(too_large(), cluster).pod_sets[0].age_seconds == 42


# Two flavors in one group: a podset gets one of them.


def two_flavors(second: Builder[Any] | None = None) -> World:
    b = flavor("b").node_labels(agentpool="b")
    more = [second] if second is not None else []
    return gpu_world(cluster_queue().group([GPU], "a100-scale", "b"), b, *more)


def test_a_flavor_nobody_described_might_take_it() -> None:
    found = verdict(too_large(), two_flavors())
    assert found.outcome is Outcome.UNKNOWN
    assert found.reason == "no CapacityProfile speaks for flavor b"


def test_any_flavor_that_fits_is_enough() -> None:
    large = profile("b-8", "b").closed().mode("Enforce").pool("b", 4)
    assert verdict(too_large(), two_flavors(large)).outcome is Outcome.FITS_AFTER_SCALE_UP


def test_every_flavor_must_be_ruled_out_and_enforced() -> None:
    small = profile("b-8", "b").closed().pool("b", 1)
    lax = verdict(too_large(), two_flavors(small))
    assert (lax.outcome, lax.denied, lax.mode) == (Outcome.NEVER_FITS, False, "Warn")
    strict = verdict(too_large(), two_flavors(small.mode("Enforce")))
    assert strict.denied
    assert strict.profile == "gpu-a100-8, b-8"
    assert "gpupool (max 2)" in strict.line  # the flavor with the most room speaks


def test_an_open_flavor_is_not_ruled_out() -> None:
    small = profile("b-8", "b").mode("Enforce").pool("b", 1)
    assert verdict(too_large(), two_flavors(small)).outcome is Outcome.UNKNOWN


def test_a_flavor_the_podset_may_not_get_needs_no_profile() -> None:
    pinned = too_large().pod_spec(nodeSelector={"agentpool": "gpupool"})
    assert verdict(pinned, two_flavors()).denied


def test_no_flavor_at_all_denies_only_where_each_is_enforced() -> None:
    nowhere = too_large().pod_spec(nodeSelector={"agentpool": "nowhere"})
    found = verdict(nowhere, two_flavors())
    assert (found.outcome, found.denied, found.binding) == (Outcome.NEVER_FITS, False, "selector")
    assert verdict(nowhere, gpu_world()).denied


# Profiles at fault deny nothing.


@pytest.mark.parametrize(
    ("told", "fault"),
    [
        (gpu_profile().pool("x", -1), "spec.pools[1].maxNodes is -1"),
        (gpu_profile().pool("gpupool", 1), "spec.pools lists 'gpupool' twice"),
        (profile().closed().mode("Enforce"), "spec.pools is empty"),
        (
            profile().closed().mode("Enforce").pool(allocatable={GPU: "eight"}),
            f"spec.pools[0].node.allocatable[{GPU}] is 'eight'",
        ),
        (
            profile().closed().mode("Enforce").pool(allocatable={GPU: "-8"}),
            f"spec.pools[0].node.allocatable[{GPU}] is '-8'",
        ),
        (
            profile().closed().mode("Enforce").pool(daemonSetReserve={"cpu": "x"}),
            "spec.pools[0].node.daemonSetReserve[cpu] is 'x'",
        ),
        (
            profile().closed().mode("Enforce").pool(labels={"agentpool": "cpupool"}),
            "spec.pools[0] has agentpool=cpupool, ResourceFlavor a100-scale has agentpool=gpupool",
        ),
        (gpu_profile().mode("Maybe"), "spec.preflight is 'Maybe', not Enforce, Warn or Off"),
    ],
)
def test_a_profile_at_fault_is_named_and_denies_nothing(told: ProfileBuilder, fault: str) -> None:
    found = verdict(too_large().pods(30), gpu_world(profile=told))
    assert found.outcome is Outcome.MISCONFIGURED
    assert found.reason == f"CapacityProfile gpu-a100-8: {fault}"
    assert not found.denied
    assert found.warnings


# Objects nobody judges.


@pytest.mark.parametrize(
    ("built", "cluster", "reason"),
    [
        (job().gpus(8), gpu_world(), "Job has no kueue.x-k8s.io/queue-name label"),
        (
            too_large().label(api.MULTIKUEUE_ORIGIN, "manager"),
            gpu_world(),
            "Job is MultiKueue's copy of a job of another cluster",
        ),
        (too_large().managed_by(api.MULTIKUEUE_CONTROLLER), gpu_world(), "Job is managed by kueue.x-k8s.io/multikueue"),
        (
            too_large().label(api.PREBUILT_WORKLOAD, "mine"),
            gpu_world(),
            "Job runs a prebuilt Workload, which is judged instead",
        ),
        (too_large().metadata(deletionTimestamp="2026-11-29T10:00:00Z"), gpu_world(), "Job is being deleted"),
        (
            too_large().metadata(
                ownerReferences=[
                    {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "name": "set", "controller": True}
                ]
            ),
            gpu_world(),
            "Job is part of JobSet/set",
        ),
        (
            too_large(),
            gpu_world(check(controller=api.MULTIKUEUE_CONTROLLER)),
            "ClusterQueue gpu-a100 runs its jobs in other clusters",
        ),
    ],
)
def test_not_judged(built: JobBuilder, cluster: World, reason: str) -> None:
    found = verdict(built, cluster)
    assert (found.outcome, found.denied, found.pod_sets) == (Outcome.SKIPPED, False, [])
    assert found.line == f"preflight: skipped: {reason}"


def test_other_kinds_are_not_judged() -> None:
    found = judge(local_queue().done(), world(), NOW)
    assert found.line == "preflight: skipped: kind LocalQueue is not judged"


def test_items_of_a_list_are_judged_without_their_kind() -> None:
    item = too_large().done()
    item.api_version = item.kind = None
    assert judge(item, gpu_world(), NOW).denied


@pytest.mark.parametrize("manager", [api.JOB_CONTROLLER, ""])
def test_the_built_in_controller_is_nobody_foreign(manager: str) -> None:
    assert verdict(too_large().managed_by(manager), gpu_world()).denied


def test_a_cron_jobs_job_is_a_gang_of_its_own() -> None:
    owner = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "nightly", "controller": True}
    assert verdict(too_large().metadata(ownerReferences=[owner]), gpu_world()).denied
