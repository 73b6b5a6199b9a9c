"""What went wrong between the guarded writes, found by attack: each a history that must end well."""

import asyncio
import copy
import logging
import time
from email.utils import formatdate
from typing import Any

import msgspec
import pytest
from aiohttp import web

from classifier import api, clock
from classifier.clock import Ledger, Marker
from classifier.instant import MINUTE, format_instant, format_micro, parse_instant
from classifier.objects import Job, Pod, Workload
from controller.act import Writer
from controller.decide import Decision, Facts, Mode, decide
from controller.preflight import Preflight
from tests.apiserver import Call, answer, status
from tests.builders import Builder, job, local_queue, workload
from tests.unit.controller.inmemory import (
    BINDING,
    EVENTS,
    JOB,
    POLICY,
    UID,
    WORKLOAD,
    Cluster,
    Controller,
    committing,
    fence,
    mirroring,
    now,
    overdue,
)

LEASE = api.LEASES.path("muster-system", "muster-controller")


def due_in(cluster: Cluster, millis: int) -> None:
    """A job all of whose announcements are made, due so much later."""
    overdue(cluster)
    at = now() + millis
    deadline = format_instant(at)
    ledger = clock.format_ledger(Ledger("uid-of-train", at - 30 * MINUTE))
    announced = {api.ADMISSION_CLOCK: ledger, api.ADMISSION_DEADLINE: deadline}
    cluster.edit(JOB, lambda obj: obj["metadata"]["annotations"].update(announced))
    cluster.edit(WORKLOAD, lambda obj: obj["metadata"]["annotations"].update({api.ADMISSION_DEADLINE: deadline}))


def ended(cluster: Cluster) -> bool:
    return cluster.objects[WORKLOAD]["spec"].get("active") is False


async def in_force(controller: Controller) -> None:
    await controller.until(lambda: controller.value("muster_fence_in_force") == 1)


async def waits_for_its_turn(cluster: Cluster, controller: Controller, patch: pytest.MonkeyPatch) -> asyncio.Event:
    """A commit has been decided and waits for a token, as after any 429; the event brings it."""
    # Before anything is in force: on a busy machine the deadline may have passed by then.
    token = asyncio.Event()
    patch.setattr(controller.engine._writer._bucket, "take", token.wait)
    await in_force(controller)
    await controller.until(lambda: controller.value("muster_overdue_workloads", cluster_queue="gpu-a100") == 1)
    assert not any(map(committing, cluster.calls))
    return token


async def test_a_stepped_clock_begins_the_grace_before_anything_is_decided_by_it(cluster: Cluster, start: Any) -> None:
    """One answer an hour ahead, to a write of our own: the same key is decided again at once."""
    due_in(cluster, 30 * MINUTE)
    async with start("--recovery-grace=5m") as controller:
        await in_force(controller)
        cluster.headers["Date"] = formatdate(time.time() + 3600, usegmt=True)
        queue = api.LOCAL_QUEUES.path("team", "gpu")
        cluster.edit(queue, lambda obj: obj["metadata"]["annotations"].update({api.ADMISSION_TIMEOUT: "31m"}))
        await controller.until(lambda: controller.value("muster_overdue_workloads", cluster_queue="gpu-a100") == 1)
        assert controller.engine.outage.not_before > now() + 60 * MINUTE
    assert not ended(cluster)


async def test_a_fence_that_goes_while_a_commit_waits_for_its_turn_stops_it(
    cluster: Cluster, start: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    due_in(cluster, 2500)
    async with start() as controller:
        token = await waits_for_its_turn(cluster, controller, monkeypatch)
        cluster.remove(BINDING)
        await controller.until(lambda: controller.value("muster_fence_in_force") == 0)
        token.set()
        await controller.until(lambda: controller.engine._queue.idle)
    assert not ended(cluster)


async def test_what_is_overdue_and_was_just_found_gone_is_not_looked_at_again(
    cluster: Cluster, start: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A list has taken it out and has not told of it yet when the fence changes."""
    due_in(cluster, 1000)
    async with start() as controller:
        token = await waits_for_its_turn(cluster, controller, monkeypatch)
        telling = controller.engine.cache.workloads._store.replace({}, str(cluster.version))
        next(telling)
        cluster.remove(POLICY)
        await controller.until(lambda: controller.value("muster_fence_in_force") == 0)
        assert list(telling) == []
        assert controller.value("muster_overdue_workloads", cluster_queue="gpu-a100") == 0
        token.set()
        await controller.until(lambda: controller.engine._queue.idle)
        fence(cluster)
        await in_force(controller)
    assert not any(map(committing, cluster.calls))


async def test_a_queue_that_stops_while_a_commit_waits_for_its_turn_stops_it(
    cluster: Cluster, start: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    due_in(cluster, 2500)
    async with start() as controller:
        token = await waits_for_its_turn(cluster, controller, monkeypatch)
        stopped = local_queue().stopped(now()).annotate(api.ADMISSION_TIMEOUT, "30m")
        cluster.put(api.LOCAL_QUEUES.path("team", "gpu"), stopped.raw())
        local_queues = controller.engine.cache.local_queues
        await controller.until(lambda: not local_queues.objects["team/gpu"].status.is_true(api.ACTIVE))
        token.set()
        await controller.until(lambda: "paused" in cluster.annotations(JOB)[api.ADMISSION_CLOCK])
    assert not ended(cluster)


async def test_a_404_that_is_no_deletion_loses_no_deadline(cluster: Cluster, start: Any) -> None:
    due_in(cluster, 500)

    async def once(request: web.Request) -> web.StreamResponse:
        cluster.fault = None
        return status(404, "NotFound", "the server could not find the requested resource")

    cluster.fault, cluster.faulty = once, committing
    async with start() as controller:
        await controller.until(lambda: cluster.mirrored)
    assert ended(cluster)


async def test_one_job_that_cannot_be_written_is_no_outage_for_the_others(cluster: Cluster, start: Any) -> None:
    """Somebody's webhook fails each update of one job: once a trial has passed, it is that job's own trouble."""
    due_in(cluster, 2500)
    bad = job("bad").created(now())
    path = api.JOBS.path("team", "bad")
    cluster.put(path, bad.raw())
    waiting = workload("job-bad-1a2b3").created(now()).raw()
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "bad", "controller": True}
    waiting["metadata"]["ownerReferences"] = [owner | {"uid": bad.raw()["metadata"]["uid"]}]
    cluster.put(api.WORKLOADS.path("team", "job-bad-1a2b3"), waiting)
    cluster.fault = answer(500, "InternalError", "failed calling webhook: context deadline exceeded")
    cluster.faulty = lambda call: call.method == "PATCH" and call.path == path
    async with start("--outage-after=1s", "--recovery-grace=1s") as controller:
        await controller.until(lambda: cluster.mirrored)


async def test_a_kind_that_cannot_be_followed_is_no_outage(cluster: Cluster, start: Any) -> None:
    """The profiles' CRD goes away: what was known of them stands, and deadlines go on."""
    due_in(cluster, 2500)
    async with start("--outage-after=500ms", "--recovery-grace=30s") as controller:
        await in_force(controller)
        cluster.faulty = lambda call: call.method == "GET" and "capacityprofiles" in call.path
        cluster.fault = answer(404, "NotFound", "the server could not find the requested resource")
        cluster.cut_watches()
        await controller.until(lambda: controller.engine.cache.profiles.trouble is not None)
        await controller.until(lambda: cluster.mirrored)
        assert controller.value("muster_outage") == 0


async def test_what_a_commit_rests_on_must_be_followed(cluster: Cluster, start: Any) -> None:
    """The watch of LocalQueues is refused: whether a queue stands still is not known, and nothing is ended by it."""
    due_in(cluster, 2500)
    async with start() as controller:
        await in_force(controller)
        cluster.faulty = lambda call: call.method == "GET" and "localqueues" in call.path
        cluster.fault = answer(403, "Forbidden", "roles were changed")
        cluster.cut_watches()
        await controller.until(lambda: controller.engine.cache.local_queues.trouble is not None)
        await controller.until(lambda: controller.value("muster_overdue_workloads", cluster_queue="gpu-a100") == 1)
        assert not any(map(committing, cluster.calls))
        cluster.fault = None
        await controller.until(lambda: cluster.mirrored)


async def test_a_watch_that_is_reopened_just_as_a_deadline_passes_loses_it_not(
    cluster: Cluster, start: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fifth of a second, between two looks of the supervision."""
    due_in(cluster, 2500)
    async with start() as controller:
        await in_force(controller)
        queues, fire = controller.engine.cache.local_queues, controller.engine._deadlines._fire

        def broken(key: str) -> None:
            queues.trouble = "the watch broke"
            fire(key)

        monkeypatch.setattr(controller.engine._deadlines, "_fire", broken)
        await controller.until(lambda: controller.value("muster_overdue_workloads", cluster_queue="gpu-a100") == 1)
        queues.trouble = None
        await controller.until(lambda: cluster.mirrored)


async def test_a_mirror_is_not_taken_off_on_the_word_of_an_old_copy(cluster: Cluster, start: Any) -> None:
    """Our watch of Workloads is silent; another leader commits and mirrors; that of jobs tells us of the mirror."""
    due_in(cluster, 10 * MINUTE)
    async with start() as controller:
        await in_force(controller)
        await controller.until(lambda: controller.engine._queue.idle)
        cluster._watches[:] = [watch for watch in cluster._watches if "workloads" not in watch.collection]
        committed = copy.deepcopy(cluster.objects[WORKLOAD])
        committed["metadata"]["annotations"][api.COMMITTED] = clock.format_marker(Marker(now(), 1, UID))
        committed["metadata"].setdefault("labels", {})[api.JOB_UID] = "uid-of-train"
        committed["spec"]["active"] = False
        cluster.writer = api.CONTROLLER_MANAGER
        cluster.put(WORKLOAD, committed)
        mirror = {
            api.ADMISSION_OUTCOME: api.OUTCOME_TIMED_OUT,
            api.ADMISSION_OUTCOME_OF: f"{UID}/1",
            api.ADMISSION_MESSAGE: "it was",
        }
        looks = sum(looking(call) for call in cluster.calls)
        cluster.edit(JOB, lambda obj: obj["metadata"]["annotations"].update(mirror))
        # It looks, keeps its hands off, and looks again, each time later.
        await controller.until(lambda: sum(looking(call) for call in cluster.calls) > looks + 2)
        await controller.until(lambda: max(controller.engine._queue._failures.values(), default=0) > 2)
        assert cluster.mirrored


def looking(call: Call) -> bool:
    """The look before a mirror is taken off."""
    return call.method == "GET" and "labelSelector" in call.query


async def test_a_refused_event_holds_up_no_mirror_and_is_told_later(cluster: Cluster, start: Any) -> None:
    due_in(cluster, 500)
    cluster.fault = answer(403, "Forbidden", "exceeded quota: events")
    cluster.faulty = lambda call: call.method == "POST" and call.path == EVENTS
    async with start() as controller:
        await controller.until(lambda: cluster.mirrored)
        assert not cluster.events
        await controller.until(
            lambda: sum(call.method == "POST" and call.path == EVENTS for call in cluster.calls) >= 3
        )
        # The job says it all: that its event is refused for as long as its namespace ends calls nobody.
        assert controller.value("muster_write_errors_total", status="403") == 1
        cluster.fault = None
        await controller.until(lambda: len(cluster.events) == 1)
        await controller.until(lambda: controller.value("muster_pending_mirrors") == 0)


async def test_an_event_that_conflicts_with_another_write_is_not_told_yet(cluster: Cluster, start: Any) -> None:
    """Those that count against one quota of objects at the same moment do."""
    due_in(cluster, 500)

    async def twice(request: web.Request) -> web.StreamResponse:
        if sum(map(telling, cluster.calls)) == 2:
            cluster.fault = None
        return status(409, "Conflict", "Operation cannot be fulfilled on resourcequotas: the object has been modified")

    def telling(call: Call) -> bool:
        return call.method == "POST" and call.path == EVENTS

    cluster.fault, cluster.faulty = twice, telling
    async with start() as controller:
        await controller.until(lambda: cluster.mirrored)
        await controller.until(lambda: len(cluster.events) == 1)


async def login_page(request: web.Request) -> web.StreamResponse:
    """What a proxy that wants to know who asks says to everything, and passes nothing on."""
    return web.Response(text="<html>who are you?</html>", content_type="text/html")


async def test_a_write_whose_answer_cannot_be_read_may_not_have_happened(cluster: Cluster, start: Any) -> None:
    due_in(cluster, 3500)

    async def once(request: web.Request) -> web.StreamResponse:
        cluster.fault = None
        return await login_page(request)

    cluster.fault, cluster.faulty = once, committing
    async with start() as controller:
        await controller.until(lambda: cluster.mirrored)
    assert ended(cluster)


async def test_a_trial_whose_answer_cannot_be_read_ends_no_outage(cluster: Cluster, start: Any) -> None:
    due_in(cluster, 500)
    cluster.fault, cluster.faulty = answer(503), committing
    async with start("--outage-after=0s") as controller:
        await controller.until(lambda: any("dryRun" in call.query for call in cluster.calls))
        cluster.fault = login_page
        tries = sum(map(committing, cluster.calls))
        await controller.until(lambda: sum(map(committing, cluster.calls)) > tries + 1)
        assert controller.engine.outage.trial
        cluster.fault = None
        await controller.until(lambda: cluster.mirrored)


async def test_what_controls_a_job_and_cannot_be_read_is_no_bug(cluster: Cluster, start: Any) -> None:
    """Whoever serves that kind answers with a page; then it says that there is no such thing."""
    due_in(cluster, 500)
    pipeline = {"apiVersion": "example.com/v1", "kind": "Pipeline", "name": "line", "uid": "u", "controller": True}
    cluster.edit(JOB, lambda obj: obj["metadata"].update(ownerReferences=[pipeline]))

    def asking(call: Call) -> bool:
        return call.path.startswith("/apis/example.com/")

    cluster.fault, cluster.faulty = login_page, asking
    async with start() as controller:
        await controller.until(lambda: sum(map(asking, cluster.calls)) >= 2)
        cluster.fault = answer(404, "NotFound", "the server could not find the requested resource")
        await controller.until(lambda: cluster.mirrored)
        assert controller.value("muster_decision_failures_total") == 0


async def test_what_cannot_be_read_after_a_conflict_ends_no_leading(cluster: Cluster, start: Any) -> None:
    """A bare pod, which is read again to see what it says by now."""
    path = api.PODS.path("team", "train")
    pod = Builder(Pod, api.PODS, "train", "team").created(now()).label(api.MANAGED, "true")
    pod.spec["schedulingGates"] = [{"name": "kueue.x-k8s.io/admission"}]
    cluster.put(path, pod.raw())
    cluster.put(WORKLOAD, workload().made_of("Pod", "v1").created(now()).raw())

    async def trouble(request: web.Request) -> web.StreamResponse:
        if request.method == "PATCH":
            return status(409, "Conflict", "the object has been modified")
        return await login_page(request)

    cluster.fault, cluster.faulty = trouble, lambda call: call.path == path
    async with start() as controller:
        await controller.until(lambda: sum(call.method == "GET" and call.path == path for call in cluster.calls) >= 2)
        cluster.fault = None
        await controller.until(lambda: api.ADMISSION_CLOCK in cluster.annotations(path))
        assert controller.engine.election.terms == 1


async def test_what_somebodys_webhook_takes_off_again_is_told_counted_and_tried_again(
    cluster: Cluster, start: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """The API server answers 200, and nothing has changed: no event will bring the job back."""
    cluster.put(JOB, job().created(now()).raw())
    cluster.put(WORKLOAD, workload().created(now()).raw())

    async def strip(request: web.Request) -> web.StreamResponse:
        return web.json_response(cluster.objects[JOB])

    cluster.fault, cluster.faulty = strip, mirroring
    async with start() as controller:
        await controller.until(lambda: sum(map(mirroring, cluster.calls)) >= 3)
        assert controller.value("muster_write_errors_total", status="422") >= 2
        cluster.fault = None
        await controller.until(lambda: api.ADMISSION_DEADLINE in cluster.annotations(WORKLOAD))
    (told,) = [record for record in caplog.records if record.getMessage() == "refused"]
    assert api.ADMISSION_CLOCK in told.__dict__["cause"]


async def test_a_refused_read_is_no_write_that_failed(cluster: Cluster, start: Any) -> None:
    due_in(cluster, 500)
    cluster.fault = answer(403, "Forbidden", "cannot get resource")
    cluster.faulty = lambda call: call.method == "GET" and call.path == WORKLOAD
    async with start() as controller:
        await controller.until(lambda: sum(map(cluster.faulty, cluster.calls)) >= 2)
        cluster.fault = None
        await controller.until(lambda: cluster.mirrored)
        assert controller.value("muster_write_errors_total", status="403") == 0


async def test_a_gap_between_two_lives_is_over_once_a_workload_could_be_written(cluster: Cluster, start: Any) -> None:
    """Nobody's deadline is near, so no commit is tried: that alone keeps no outage up."""
    long_ago = format_micro(now() - 60 * MINUTE)
    lease = {"holderIdentity": "", "leaseDurationSeconds": 15, "renewTime": long_ago}
    cluster.put(LEASE, {"metadata": {"name": "muster-controller"}, "spec": lease})
    async with start() as controller:
        await controller.until(lambda: controller.value("muster_outage") == 1)
        await in_force(controller)
        cluster.put(JOB, job().created(now()).raw())
        cluster.put(WORKLOAD, workload().created(now()).raw())
        await controller.until(lambda: controller.value("muster_outage") == 0)
        # Its grace is that after any other outage.
        assert controller.engine.outage.not_before > 0
        assert api.ADMISSION_DEADLINE in cluster.annotations(WORKLOAD)
    assert not any("dryRun" in call.query for call in cluster.calls)


async def test_a_pending_mirror_is_counted(cluster: Cluster, start: Any) -> None:
    due_in(cluster, 500)
    cluster.fault = answer(503, "ServiceUnavailable", "not now")
    cluster.faulty = lambda call: call.method == "POST" and call.path == EVENTS
    async with start() as controller:
        await controller.until(lambda: controller.value("muster_pending_mirrors") == 1)
        cluster.fault = None
        await controller.until(lambda: controller.value("muster_pending_mirrors") == 0)


async def test_a_controller_started_without_the_fence_says_why(
    cluster: Cluster, start: Any, caplog: pytest.LogCaptureFixture
) -> None:
    cluster.remove(BINDING)
    with caplog.at_level(logging.INFO):
        async with start() as controller:
            await controller.until(lambda: any("fence is not in force" in r.getMessage() for r in caplog.records))
    (said,) = [record for record in caplog.records if "fence is not in force" in record.getMessage()]
    assert said.levelno == logging.ERROR
    assert "ValidatingAdmissionPolicyBinding muster-fence does not exist" in said.__dict__["reason"]


async def test_thousands_of_keys_with_nothing_to_write_do_not_hold_up_the_loop(cluster: Cluster, start: Any) -> None:
    async with start() as controller:
        await in_force(controller)
        queue = controller.engine._queue
        for number in range(2000):
            queue.add(f"team/none-{number}")
        turns = 0
        while len(queue):
            await asyncio.sleep(0)
            turns += 1
        assert turns > 10


async def test_an_outage_floods_no_log(cluster: Cluster, start: Any, caplog: pytest.LogCaptureFixture) -> None:
    due_in(cluster, 0)
    cluster.fault = answer(500, "InternalError", "failed calling webhook vworkload.kb.io")
    cluster.faulty = committing
    with caplog.at_level(logging.WARNING):
        async with start("--outage-after=10m") as controller:
            await controller.until(lambda: sum(map(committing, cluster.calls)) >= 4)
            del controller
    assert len([record for record in caplog.records if record.getMessage() == "refused"]) == 1


@pytest.mark.parametrize(
    ("part", "where"),
    [
        ("profiles", "controller.profiles.ProfileStatus._round"),
        ("preflight", "controller.preflight.Preflight._round"),
        ("unscheduled", "controller.unscheduled.Unscheduled._work"),
    ],
)
async def test_a_bug_in_what_only_reports_ends_no_leading(
    cluster: Cluster, start: Any, monkeypatch: pytest.MonkeyPatch, part: str, where: str
) -> None:
    async def fail(_: object) -> bool:
        raise ValueError("a bug")

    monkeypatch.setattr(where, fail)
    due_in(cluster, 500)
    async with start() as controller:
        await controller.until(lambda: controller.value("muster_report_failures_total", part=part) >= 1)
        await controller.until(lambda: cluster.mirrored)
        assert controller.engine.election.terms == 1


async def test_a_bug_that_one_workload_meets_is_counted_and_told_once_and_holds_up_no_other(
    cluster: Cluster, start: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    due_in(cluster, 500)
    overdue(cluster, name="bad")

    def fail(facts: Facts, at: int, mode: Mode) -> Decision:
        if facts.owner.name == "bad":
            raise ValueError("a bug")
        return decide(facts, at, mode)

    monkeypatch.setattr("controller.steps.decide", fail)
    async with start() as controller:
        await controller.until(lambda: cluster.mirrored)
        await controller.until(lambda: controller.value("muster_decision_failures_total") >= 1)
        for _ in range(2):
            before = controller.value("muster_decision_failures_total")
            controller.engine._queue.add("team/job-bad-1a2b3")
            await controller.until(lambda before=before: controller.value("muster_decision_failures_total") > before)
    (told,) = [record for record in caplog.records if record.getMessage() == "cannot decide"]
    assert told.exc_info is not None


async def test_a_bug_while_it_is_read_again_ends_no_leading(
    cluster: Cluster, start: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    due_in(cluster, 500)

    async def fail(_: Writer, workload: Workload) -> None:
        raise ValueError(f"a bug, met by {workload.key}")

    cluster.fault, cluster.faulty = answer(409, "Conflict", "the object has been modified"), committing
    async with start() as controller:
        with monkeypatch.context() as patch:
            patch.setattr(Writer, "read_workload", fail)
            await controller.until(lambda: controller.value("muster_decision_failures_total") >= 1)
        cluster.fault = None
        await controller.until(lambda: cluster.mirrored)
        assert controller.engine.election.terms == 1


async def test_what_only_reports_begins_with_everything_after_it_failed(
    cluster: Cluster, start: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    due_in(cluster, 10 * MINUTE)
    rounds: list[set[str]] = []

    async def once(preflight: Preflight) -> bool:
        rounds.append(preflight._touched.copy())
        if len(rounds) == 1:
            raise ValueError("a bug")
        return True

    monkeypatch.setattr(Preflight, "_round", once)
    async with start() as controller:
        await controller.until(lambda: len(rounds) == 2)
    assert rounds == [{"team/job-train-1a2b3"}] * 2


@pytest.mark.parametrize("relisted", [False, True], ids=["told late", "never told"])
async def test_a_pause_of_a_queue_while_its_watch_was_down_is_no_wait(
    cluster: Cluster, start: Any, relisted: bool
) -> None:
    due_in(cluster, 20 * MINUTE)
    path = api.LOCAL_QUEUES.path("team", "gpu")
    before = parse_instant(cluster.annotations(WORKLOAD)[api.ADMISSION_DEADLINE])
    async with start() as controller:
        await in_force(controller)
        await controller.until(lambda: controller.engine._queue.idle)
        cluster.faulty = lambda call: call.method == "GET" and "localqueues" in call.path
        cluster.fault = answer(500, "InternalError", "etcd is away")
        cluster.cut_watches(which="localqueues")
        await controller.until(lambda: controller.engine.cache.local_queues.trouble is not None)
        stops = now()
        cluster.put(path, local_queue().stopped(stops).annotate(api.ADMISSION_TIMEOUT, "30m").raw())
        runs = stops + 50
        cluster.put(path, local_queue().running(runs).annotate(api.ADMISSION_TIMEOUT, "30m").raw())
        if relisted:
            cluster.compact()
        cluster.fault = None
        await controller.until(lambda: controller.engine.cache.local_queues.trouble is None)
        await controller.until(lambda: parse_instant(cluster.annotations(WORKLOAD)[api.ADMISSION_DEADLINE]) != before)
        await controller.until(lambda: controller.engine._queue.idle)
    moved = parse_instant(cluster.annotations(WORKLOAD)[api.ADMISSION_DEADLINE]) - before
    if relisted:
        # Since when is not known, but that it still ran when its watch was heard last.
        assert runs - stops <= moved
    else:
        assert moved == runs - stops
    ledger = clock.parse_ledger(msgspec.convert(cluster.objects[JOB], Job))
    assert ledger is not None
    assert ledger.origin + 30 * MINUTE == before + moved


async def test_what_is_refused_is_counted_and_tried_less_and_less(cluster: Cluster, start: Any) -> None:
    """Another webhook changes what the controller writes to one job, and the policy on its account refuses that."""
    cluster.put(JOB, job().created(now()).raw())
    cluster.put(WORKLOAD, workload().created(now()).raw())
    cluster.fault = answer(403, "Forbidden", "ValidatingAdmissionPolicy 'muster-controller' denied request")
    cluster.faulty = lambda call: call.method == "PATCH" and call.path == JOB
    async with start() as controller:
        failures = controller.engine._queue._failures
        await controller.until(lambda: failures.get("team/job-train-1a2b3", 0) >= 5)
        tries = sum(map(mirroring, cluster.calls))
        assert tries == failures["team/job-train-1a2b3"], "each time it waits longer, and nothing else brings it back"
        assert controller.value("muster_write_errors_total", status="403") == tries
        cluster.fault = None
        await controller.until(lambda: api.ADMISSION_CLOCK in cluster.annotations(JOB))
