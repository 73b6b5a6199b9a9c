"""The whole controller against an API server in memory: what it writes, what it survives, what it says."""

from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import web

from classifier import api, clock
from classifier.clock import Marker
from classifier.instant import MINUTE, instant_or_none
from tests.apiserver import Call, answer
from tests.builders import job, workload
from tests.unit.controller.inmemory import (
    BINDING,
    EVENTS,
    JOB,
    UID,
    WORKLOAD,
    Cluster,
    committing,
    fence,
    mirroring,
    now,
    overdue,
)


async def test_an_overdue_wait_is_ended_in_one_guarded_patch_then_told_and_mirrored(
    cluster: Cluster, start: Any
) -> None:
    overdue(cluster)
    seen = cluster.objects[WORKLOAD]["metadata"]["resourceVersion"]
    async with start() as controller:
        await controller.until(lambda: cluster.mirrored)
        await controller.until(lambda: controller.value("muster_pending_mirrors") == 0)
        assert controller.value("muster_timeouts_total", cluster_queue="gpu-a100") == 1
        assert controller.value("muster_timed_out_workloads", cluster_queue="gpu-a100") == 1
        assert controller.value("muster_overdue_workloads", cluster_queue="gpu-a100") == 0
    assert [(call.method, call.path) for call in cluster.writes] == [
        ("PATCH", WORKLOAD),
        ("POST", EVENTS),
        ("PATCH", JOB),
    ]
    ended = cluster.objects[WORKLOAD]
    assert ended["spec"]["active"] is False
    assert ended["metadata"]["annotations"][api.COMMITTED].endswith(f" attempt=1 uid={UID}")
    assert int(ended["metadata"]["resourceVersion"]) > int(seen)
    (event,) = cluster.events
    assert event["related"]["uid"] == UID
    assert cluster.annotations(JOB)[api.ADMISSION_OUTCOME_OF] == f"{UID}/1"
    assert "delete and resubmit" in cluster.annotations(JOB)[api.ADMISSION_MESSAGE]


async def test_what_is_due_is_ended_before_any_job_is_told(cluster: Cluster, start: Any) -> None:
    names = [f"train-{number}" for number in range(8)]
    for name in names:
        overdue(cluster, name=name)
    async with start("--workers=1") as controller:
        await controller.until(lambda: all(cluster.tells(api.JOBS.path("team", name)) for name in names))
    written = [call.path for call in cluster.writes if call.method == "PATCH"]
    ended = [path for path in written if "/workloads/" in path]
    assert sorted(ended) == [api.WORKLOADS.path("team", f"job-{name}-1a2b3") for name in names]
    assert written[: len(names)] == ended
    assert sorted(written[len(names) :]) == [api.JOBS.path("team", name) for name in names]


async def test_an_admission_between_the_read_and_the_write_wins_and_nothing_is_said(
    cluster: Cluster, start: Any
) -> None:
    overdue(cluster)

    async def admit_first(request: web.Request) -> web.StreamResponse:
        cluster.fault = None
        admitted = workload().condition(api.QUOTA_RESERVED, True).condition(api.ADMITTED, True).raw()
        cluster.edit(WORKLOAD, lambda obj: obj.update(status=admitted["status"]))
        cluster.edit(JOB, lambda obj: obj["spec"].update(suspend=False))
        return await cluster.handle(request)

    cluster.fault, cluster.faulty = admit_first, committing
    async with start() as controller:
        await controller.until(lambda: controller.value("muster_commit_conflicts_total") == 1)
        await controller.until(lambda: "started" in cluster.annotations(JOB).get(api.ADMISSION_CLOCK, ""))
        assert controller.value("muster_timeouts_total", cluster_queue="gpu-a100") == 0
    assert "active" not in cluster.objects[WORKLOAD]["spec"]
    assert api.COMMITTED not in cluster.annotations(WORKLOAD)
    assert not cluster.mirrored
    assert not cluster.events


@pytest.mark.parametrize("lost", [committing, mirroring], ids=["commit", "mirror"])
async def test_a_lost_answer_to_a_write_that_landed_changes_nothing(
    cluster: Cluster, start: Any, lost: Callable[[Call], bool]
) -> None:
    overdue(cluster)

    async def apply_then_break(request: web.Request) -> web.StreamResponse:
        cluster.fault = None
        await cluster.handle(request)
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    cluster.fault, cluster.faulty = apply_then_break, lost
    async with start() as controller:
        await controller.until(lambda: cluster.mirrored and controller.engine._queue.idle)
        assert controller.value("muster_timeouts_total", cluster_queue="gpu-a100") == 1
    assert len(cluster.events) == 1
    assert cluster.annotations(WORKLOAD)[api.COMMITTED].count("attempt=1") == 1


@pytest.mark.parametrize("told", [False, True], ids=["before the event", "after the event"])
async def test_a_controller_killed_after_the_commit_is_finished_by_the_next_life(
    cluster: Cluster, start: Any, told: bool
) -> None:
    overdue(cluster)
    cluster.fault = answer(500)
    cluster.faulty = (lambda call: mirroring(call)) if told else (lambda call: call.path == EVENTS)
    async with start() as controller:
        await controller.until(lambda: any(cluster.faulty(call) for call in cluster.calls))
    assert not cluster.mirrored
    cluster.fault = None
    async with start() as controller:
        await controller.until(lambda: cluster.mirrored)
    assert len(cluster.events) == 1


async def test_without_the_fence_it_reports_and_ends_nothing_until_the_fence_stands(
    cluster: Cluster, start: Any
) -> None:
    overdue(cluster)
    cluster.remove(BINDING)
    async with start() as controller:
        await controller.until(lambda: controller.value("muster_overdue_workloads", cluster_queue="gpu-a100") == 1)
        assert controller.value("muster_fence_in_force") == 0
        assert not cluster.writes
        fence(cluster)
        await controller.until(lambda: cluster.mirrored)
        assert controller.value("muster_fence_in_force") == 1
        assert controller.value("muster_overdue_workloads", cluster_queue="gpu-a100") == 0


async def test_after_an_outage_a_commit_is_tried_first_and_then_done_after_the_grace(
    cluster: Cluster, start: Any
) -> None:

    async def fail_for_a_while(request: web.Request) -> web.StreamResponse:
        if sum(map(committing, cluster.calls)) == 3:
            cluster.fault = None
        return web.Response(status=503)

    cluster.fault, cluster.faulty = fail_for_a_while, committing
    async with start("--outage-after=0s", "--recovery-grace=1500ms") as controller:
        # Only then, so that no event about the fence comes to the rescue.
        await controller.until(lambda: controller.value("muster_fence_in_force") == 1)
        overdue(cluster)
        await controller.until(lambda: cluster.mirrored)
        grace = controller.engine.outage.not_before
    tries = [call.query.get("dryRun") for call in cluster.writes if committing(call)]
    assert tries == [None, "All", "All", "All", None]
    marker = instant_or_none(cluster.annotations(WORKLOAD)[api.COMMITTED].split(" ")[0])
    assert marker is not None
    assert marker >= grace


async def test_a_person_reactivates_and_the_job_waits_anew_without_a_trace_of_the_decision(
    cluster: Cluster, start: Any
) -> None:
    overdue(cluster)
    async with start() as controller:
        await controller.until(lambda: cluster.mirrored)
        cluster.edit(WORKLOAD, lambda obj: obj["spec"].update(active=True))
        await controller.until(lambda: not cluster.mirrored and api.COMMITTED not in cluster.annotations(WORKLOAD))
        await controller.until(lambda: controller.value("muster_voids_total") == 1)
        assert controller.value("muster_timed_out_workloads", cluster_queue="gpu-a100") == 0
    assert '"attempt":2' in cluster.annotations(JOB)[api.ADMISSION_CLOCK]
    shown = instant_or_none(cluster.annotations(WORKLOAD)[api.ADMISSION_DEADLINE])
    assert shown is not None
    assert shown > now() + 29 * MINUTE


async def test_jobs_that_no_policy_touches_are_only_ever_read(cluster: Cluster, start: Any) -> None:
    cluster.edit(api.LOCAL_QUEUES.path("team", "gpu"), lambda obj: obj["metadata"].pop("annotations"))
    cluster.put(JOB, job().raw())
    cluster.put(WORKLOAD, workload().raw())
    before = (cluster.objects[JOB], cluster.objects[WORKLOAD])
    async with start() as controller:
        await controller.until(lambda: not controller.engine.not_ready)
        cluster.edit(
            WORKLOAD, lambda obj: obj.update(status=workload().condition(api.QUOTA_RESERVED, True).raw()["status"])
        )
        version = cluster.objects[WORKLOAD]["metadata"]["resourceVersion"]
        cached = controller.engine.cache.workloads.objects
        await controller.until(lambda: cached["team/job-train-1a2b3"].metadata.resource_version == version)
        await controller.until(lambda: controller.engine._queue.idle)
    assert not cluster.writes
    assert cluster.objects[JOB] == before[0]


async def test_a_mirror_whose_workload_is_gone_is_taken_off_at_start(cluster: Cluster, start: Any) -> None:
    dead = job().annotate(api.ADMISSION_OUTCOME, "TimedOut").annotate(api.ADMISSION_OUTCOME_OF, "uid-of-another/1")
    cluster.put(JOB, dead.annotate(api.ADMISSION_MESSAGE, "gone").raw())
    async with start() as controller:
        await controller.until(lambda: not set(api.MIRROR_KEYS) & set(cluster.annotations(JOB)))


@pytest.mark.parametrize("reactivated", [False, True], ids=["its Workload is gone", "reactivated"])
async def test_a_dead_mirror_waits_for_no_other_job_of_its_namespace(
    cluster: Cluster, start: Any, reactivated: bool
) -> None:
    others = [f"a-{number}" for number in range(30)]
    for name in others:
        builder = job(name).created(now())
        cluster.put(api.JOBS.path("team", name), builder.raw())
        cluster.put(api.WORKLOADS.path("team", f"job-{name}-1a2b3"), workload(f"job-{name}-1a2b3").owner(builder).raw())
    dead = job().annotate(api.ADMISSION_OUTCOME, "TimedOut").annotate(api.ADMISSION_OUTCOME_OF, f"{UID}/1")
    cluster.put(JOB, dead.annotate(api.ADMISSION_MESSAGE, "gone").raw())
    if reactivated:
        marker = clock.format_marker(Marker(now() - MINUTE, 1, UID))
        cluster.put(WORKLOAD, workload().owner(dead).annotate(api.COMMITTED, marker).raw())
    async with start("--workers=1") as controller:
        await controller.until(
            lambda: (
                not set(api.MIRROR_KEYS) & set(cluster.annotations(JOB))
                and api.COMMITTED not in cluster.annotations(WORKLOAD)
                if reactivated
                else not cluster.mirrored
            )
        )
        await controller.until(
            lambda: all(api.ADMISSION_CLOCK in cluster.annotations(api.JOBS.path("team", name)) for name in others)
        )
    patched = [call.path for call in cluster.writes if call.method == "PATCH"]
    last = max(number for number, path in enumerate(patched) if path in (JOB, WORKLOAD))
    assert last < len(others) // 2, patched


async def test_a_live_decision_that_is_not_settled_is_not_told_yet(cluster: Cluster, start: Any) -> None:
    overdue(cluster, workload().condition(api.QUOTA_RESERVED, True))
    async with start() as controller:
        await controller.until(lambda: controller.value("muster_pending_mirrors") == 1)
        assert not cluster.mirrored
        cluster.edit(WORKLOAD, lambda obj: obj["status"].update(conditions=[]))
        await controller.until(lambda: cluster.mirrored)


async def test_a_decision_that_somebody_else_took_over_is_not_mirrored(cluster: Cluster, start: Any) -> None:
    overdue(cluster)
    marker = clock.format_marker(Marker(now() - MINUTE, 1, UID))
    cluster.edit(WORKLOAD, lambda obj: obj["spec"].update(active=False))
    cluster.edit(WORKLOAD, lambda obj: obj["metadata"]["annotations"].update({api.COMMITTED: marker}))
    async with start() as controller:
        await controller.until(lambda: api.COMMITTED not in cluster.annotations(WORKLOAD))
        await controller.until(lambda: controller.engine._queue.idle)
    assert not cluster.mirrored
    assert not cluster.events


async def test_objects_that_make_no_sense_stop_nobody_elses_deadline(cluster: Cluster, start: Any) -> None:
    overdue(cluster)
    strange = (
        workload("strange")
        .owner(job("strange"))
        .annotate(api.COMMITTED, f"2026-11-29T10:00:00Z attempt={'9' * 5000} uid=uid-of-strange")
    )
    cluster.put(api.JOBS.path("team", "strange"), job("strange").raw())
    cluster.put(api.WORKLOADS.path("team", "strange"), strange.raw())
    cluster.put(api.WORKLOADS.path("team", "stranger"), {"spec": {}, "status": "none"})
    async with start() as controller:
        await controller.until(lambda: cluster.mirrored)
