"""What already waits is judged again: shown as a figure, told once a change of verdict, and never written to."""

import asyncio
from contextlib import AsyncExitStack
from itertools import pairwise
from typing import Any

import pytest

from classifier import api
from classifier.cluster.following import Following
from classifier.fit import judge_waiting
from classifier.objects import Workload
from controller import preflight as module
from tests.apiserver import Call, answer
from tests.builders import (
    GPU,
    WorkloadBuilder,
    cluster_queue,
    gpu_profile,
    gpu_queues,
    job,
    kueue_config,
    local_queue,
    namespace,
    workload,
)
from tests.unit.controller.inmemory import EVENTS, JOB, WORKLOAD, Cluster, Controller

PROFILE = api.CAPACITY_PROFILES.path(name="gpu-a100-8")
CLUSTER_QUEUE = api.CLUSTER_QUEUES.path(name="gpu-a100")
KUEUE_CONFIG = api.CONFIG_MAPS.path("kueue-system", "kueue-manager-config")
AUTOSCALER = api.CONFIG_MAPS.path("kube-system", "cluster-autoscaler-status")
NEVER, FITS = "PreflightNeverFits", "PreflightFits"


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SETTLE", 0.0)
    monkeypatch.setattr(module, "TRY_AGAIN", 0.02)
    monkeypatch.setattr(module, "REST", 0)


@pytest.fixture
def world(cluster: Cluster) -> Cluster:
    """A pool of two nodes under a closed profile, and a Job of two pods that waits for them."""
    for builder in (*gpu_queues(), gpu_profile()):
        raw = builder.raw()
        resource = next(r for r in _RESOURCES if r.kind == raw["kind"])
        cluster.put(resource.path(raw["metadata"].get("namespace"), raw["metadata"]["name"]), raw)
    cluster.put(KUEUE_CONFIG, kueue_config().raw())
    cluster.put(JOB, job().raw())
    cluster.put(WORKLOAD, workload().podset("main", 2).raw())
    return cluster


_RESOURCES = (
    api.LOCAL_QUEUES,
    api.CLUSTER_QUEUES,
    api.ADMISSION_CHECKS,
    api.RESOURCE_FLAVORS,
    api.NAMESPACES,
    api.CAPACITY_PROFILES,
)


def growing_to(most: int) -> dict[str, Any]:
    raw = gpu_profile().raw()
    raw["spec"]["pools"][0]["maxNodes"] = most
    return raw


def figure(controller: Controller) -> float:
    return controller.value("muster_never_fits_workloads", cluster_queue="gpu-a100")


def rests(controller: Controller) -> bool:
    """Whether nothing is left to be looked at."""
    preflight = controller.engine._preflight
    heard = preflight._wake.is_set() or preflight._news._there.is_set()
    return not (heard or preflight._all or preflight._touched)


def told(cluster: Cluster) -> list[str]:
    return [str(event["reason"]) for event in cluster.events]


async def test_what_waits_is_told_when_its_pool_becomes_too_small_and_when_it_is_large_again(
    world: Cluster, start: Any
) -> None:
    async with start() as controller:
        await controller.until(lambda: controller.engine._preflight._looked > 0)
        assert controller.value("muster_never_fits_workloads", cluster_queue="gpu-a100") == 0
        world.put(PROFILE, growing_to(1))
        await controller.until(lambda: told(world) == [NEVER])
        assert figure(controller) == 1
        world.put(PROFILE, growing_to(2))
        await controller.until(lambda: told(world) == [NEVER, FITS])
        assert figure(controller) == 0
    first, second = world.events
    assert (first["type"], second["type"]) == ("Warning", "Normal")
    assert first["regarding"] | {"apiVersion": ""} == {
        "apiVersion": "",
        "kind": "Job",
        "namespace": "team",
        "name": "train",
        "uid": "uid-of-train",
    }
    assert first["related"]["name"] == "job-train-1a2b3"
    assert first["note"].startswith("preflight: gang needs 2 node(s) of gpupool (max 1): cannot fit; ")
    assert second["note"] == "preflight: gang needs 2 node(s) of gpupool (max 2): fits"


async def test_nothing_is_written_to_jobs_and_workloads(world: Cluster, start: Any) -> None:
    world.put(PROFILE, growing_to(1))
    world.put(api.LOCAL_QUEUES.path("team", "gpu"), local_queue().running().raw())  # no bound: nothing else to write
    async with start() as controller:
        await controller.until(lambda: told(world) == [NEVER])
    assert [(c.method, c.path) for c in world.writes if c.path != f"{PROFILE}/status"] == [("POST", EVENTS)]


async def test_a_restart_does_not_tell_it_again(world: Cluster, start: Any) -> None:
    world.put(PROFILE, growing_to(1))
    for _ in range(2):
        async with start() as controller:
            await controller.until(lambda: bool(posts(world)) and figure(controller) == 1)
            world.calls.clear()
    assert told(world) == [NEVER]


def posts(cluster: Cluster) -> list[Call]:
    return [call for call in cluster.writes if call.path == EVENTS]


async def test_the_next_leader_does_not_tell_it_again(world: Cluster, start: Any) -> None:
    world.put(PROFILE, growing_to(1))
    async with AsyncExitStack() as first:
        one = await first.enter_async_context(start())
        await one.until(lambda: figure(one) == 1 and len(posts(world)) == 1)
        async with start("--retry-period=50ms") as other:
            await first.aclose()
            await other.until(lambda: figure(other) == 1 and len(posts(world)) == 2)
    assert figure(one) == 0
    assert told(world) == [NEVER]


async def test_a_verdict_that_comes_back_is_told_again(world: Cluster, start: Any) -> None:
    async with start() as controller:
        for number, most in enumerate((1, 2, 1, 2), 1):
            world.put(PROFILE, growing_to(most))
            await controller.until(lambda: len(told(world)) == number)  # noqa: B023
    assert told(world) == [NEVER, FITS, NEVER, FITS]


@pytest.mark.parametrize(
    "gone",
    [
        workload().podset("main", 2).condition(api.QUOTA_RESERVED, True),
        workload().podset("main", 2).active(False),
        workload().podset("main", 2).condition(api.FINISHED, True),
        workload().podset("main", 1),
        None,
    ],
    ids=["admitted", "inactive", "finished", "smaller", "deleted"],
)
async def test_what_waits_no_more_is_no_longer_counted(
    world: Cluster, start: Any, gone: WorkloadBuilder | None
) -> None:
    world.put(PROFILE, growing_to(1))
    async with start() as controller:
        await controller.until(lambda: figure(controller) == 1)
        if gone is None:
            world.remove(WORKLOAD)
        else:
            world.put(WORKLOAD, gone.raw())
        await controller.until(lambda: figure(controller) == 0)


async def test_quota_is_judged_too(world: Cluster, start: Any) -> None:
    async with start() as controller:
        small = cluster_queue().group(["cpu", "memory", GPU], "a100-scale", quota=8).checks("capacity")
        world.put(CLUSTER_QUEUE, small.raw())
        await controller.until(lambda: told(world) == [NEVER])
        assert "quota" in world.events[0]["note"]


async def test_a_workload_without_a_job_bears_its_event_itself(world: Cluster, start: Any) -> None:
    world.put(PROFILE, growing_to(1))
    world.put(WORKLOAD, workload().metadata(ownerReferences=None).podset("main", 2).raw())
    async with start() as controller:
        await controller.until(lambda: told(world) == [NEVER])
    assert world.events[0]["regarding"] == world.events[0]["related"]


async def test_a_job_that_asks_not_to_be_judged_is_left_alone_where_it_may_ask(world: Cluster, start: Any) -> None:
    world.put(PROFILE, growing_to(1))
    async with start() as controller:
        await controller.until(lambda: figure(controller) == 1)
        world.put(api.NAMESPACES.path(name="team"), namespace().annotate(api.PREFLIGHT_OPTIONAL, "true").raw())
        world.put(JOB, job().annotate(api.PREFLIGHT_MODE, "Off").raw())
        await controller.until(lambda: figure(controller) == 0)


async def test_the_figure_stands_where_events_are_refused(world: Cluster, start: Any) -> None:
    world.put(PROFILE, growing_to(1))
    world.fault, world.faulty = answer(403), lambda call: call.method == "POST" and call.path == EVENTS
    async with start() as controller:
        await controller.until(lambda: figure(controller) == 1 and bool(posts(world)))


async def test_every_queue_has_a_figure_from_the_start(world: Cluster, start: Any) -> None:
    async with start() as controller:
        await controller.until(lambda: controller.engine._preflight._looked > 0)
        sample = controller._metrics.registry.get_sample_value
        assert sample("muster_never_fits_workloads", {"cluster_queue": "gpu-a100"}) == 0


async def test_what_is_alike_is_judged_once_and_not_for_an_autoscalers_status(
    world: Cluster, start: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged: list[str] = []

    def judging(of: Any, *rest: Any, **options: Any) -> Any:
        judged.append(of.namespace)
        return judge_waiting(of, *rest, **options)

    monkeypatch.setattr(module, "judge_waiting", judging)
    world.put(PROFILE, growing_to(1))
    for number in range(50):
        one = job(f"train-{number}")
        world.put(api.JOBS.path("team", f"train-{number}"), one.raw())
        its = workload(f"job-train-{number}").owner(one).podset("main", 2)
        its.spec["podSets"][0]["template"]["metadata"] = {"labels": {"batch.kubernetes.io/job-name": f"train-{number}"}}
        world.put(api.WORKLOADS.path("team", f"job-train-{number}"), its.raw())
    async with start() as controller:
        await controller.until(lambda: figure(controller) == 51)
        assert len(judged) < 10
        await controller.until(lambda: rests(controller))
        before = len(judged)
        world.put(AUTOSCALER, {"metadata": {"name": "cluster-autoscaler-status", "namespace": "kube-system"}})
        world.put(api.WORKLOADS.path("team", "job-new"), workload("job-new").podset("main", 2).raw())
        await controller.until(lambda: figure(controller) == 52)
        assert len(judged) == before
        world.put(KUEUE_CONFIG, kueue_config("quotaCheckStrategy: IgnoreUndeclared").raw())
        await controller.until(lambda: len(judged) > before)


async def test_others_get_their_turn_between_any_two_judgements(
    world: Cluster, start: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns, seen = 0, []

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    def judging(*given: Any, **options: Any) -> Any:
        seen.append(turns)
        return judge_waiting(*given, **options)

    monkeypatch.setattr(module, "STRETCH", 0.0)
    monkeypatch.setattr(module, "judge_waiting", judging)
    for number in range(20):
        its = workload(f"job-{number}").podset("main", 3 + number)
        world.put(api.WORKLOADS.path("team", f"job-{number}"), its.raw())
    async with start() as controller:
        task = asyncio.create_task(others())
        await controller.until(lambda: figure(controller) == 20)
        task.cancel()
    assert len(seen) >= 20
    assert all(later > earlier for earlier, later in pairwise(seen))


async def test_a_fault_in_one_judgement_keeps_no_other_from_being_judged(
    world: Cluster, start: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def judging(of: Workload, *rest: Any, **options: Any) -> Any:
        if of.spec and of.spec.pod_sets and of.spec.pod_sets[0].count == 7:
            raise ZeroDivisionError
        return judge_waiting(of, *rest, **options)

    monkeypatch.setattr(module, "judge_waiting", judging)
    for pods in (6, 7, 8):
        world.put(api.WORKLOADS.path("team", f"job-{pods}"), workload(f"job-{pods}").podset("main", pods).raw())
    async with start() as controller:
        await controller.until(lambda: figure(controller) == 2)
        assert controller.value("muster_report_failures_total", part="preflight") >= 1


async def test_every_job_may_ask_where_the_installation_says_so(world: Cluster, start: Any) -> None:
    world.put(PROFILE, growing_to(1))
    world.put(JOB, job().annotate(api.PREFLIGHT_MODE, "Off").raw())
    async with start("--preflight-optional=true") as controller:
        await controller.until(lambda: controller.engine._preflight._looked > 0)
        world.put(JOB, job().raw())
        await controller.until(lambda: figure(controller) == 1)
        world.put(JOB, job().annotate(api.PREFLIGHT_MODE, "Off").raw())
        await controller.until(lambda: figure(controller) == 0)


async def test_the_last_verdict_stands_while_there_is_nothing_to_judge_by(
    world: Cluster, start: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = 0

    def trouble(_: Following) -> str:
        nonlocal asked
        asked += 1
        return "not listed yet: nodes"

    world.put(PROFILE, growing_to(1))
    async with start() as controller:
        await controller.until(lambda: figure(controller) == 1)
        with monkeypatch.context() as patch:
            patch.setattr(Following, "trouble", property(trouble))
            world.put(PROFILE, growing_to(2))
            following = controller.engine.following
            await controller.until(lambda: following.profiles.values[0].spec.pools[0].max_nodes == 2)
            before = asked
            await controller.until(lambda: asked > before + 1)
            assert figure(controller) == 1
        await controller.until(lambda: figure(controller) == 0)
