"""The whole controller against an API server in memory: what it deletes of what timed out, and what it never does."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import web

from classifier import api, clock
from classifier.clock import Ledger, Marker
from classifier.instant import HOUR, SECOND, format_instant, parse_instant
from classifier.names import workload_names
from classifier.objects import Pod, ProvisioningRequest, RayJob
from tests.apiserver import Call, answer
from tests.builders import Builder, job, local_queue, workload
from tests.unit.controller.inmemory import JOB, Cluster, now

QUEUE = api.LOCAL_QUEUES.path("team", "gpu")
(NAME,) = workload_names("train", "uid-of-train", "Job", "batch")
WORKLOAD = api.WORKLOADS.path("team", NAME)
UID = f"uid-of-{NAME}"
POD = api.PODS.path("team", "train-0")
RAY_JOB = api.RAY_JOBS.path("team", "train")
(RAY_NAME,) = workload_names("train", "uid-of-train", "RayJob", "ray.io")
FAST = ("--min-ttl=1s", "--notice=1ms", "--gitops-keys=example.com/app")


def timed_out(
    cluster: Cluster, since: int = HOUR, ttl: str | None = "1s", owner: Builder[Any] | None = None, name: str = NAME
) -> None:
    """A job whose wait was ended and mirrored ``since`` ms ago, in a queue with a time to live."""
    at = now() - since
    marker = Marker(at, 1, f"uid-of-{name}")
    ledger = clock.format_ledger(Ledger("uid-of-train", at - HOUR))
    told = (owner or job()).created(at - HOUR).annotate(api.ADMISSION_CLOCK, ledger)
    told.annotate(api.ADMISSION_OUTCOME, api.OUTCOME_TIMED_OUT).annotate(api.ADMISSION_OUTCOME_OF, f"{marker.uid}/1")
    told.annotate(api.ADMISSION_MESSAGE, "timed out")
    made = told.raw()
    cluster.put(JOB if owner is None else RAY_JOB, made)
    ended = workload(name).made_of(made["kind"], made["apiVersion"], "train").created(at - HOUR)
    ended.label(api.JOB_UID, "uid-of-train").annotate(api.COMMITTED, clock.format_marker(marker)).active(False)
    cluster.writer = api.CONTROLLER_MANAGER
    cluster.put(api.WORKLOADS.path("team", name), ended.raw())
    queue = local_queue().running().annotate(api.ADMISSION_TIMEOUT, "30m").annotate(api.TTL_AFTER_TIMEOUT, ttl)
    cluster.put(QUEUE, queue.raw())


def deleting(call: Call) -> bool:
    return call.method == "DELETE"


def deletions(cluster: Cluster) -> list[str]:
    return [call.path for call in cluster.calls if deleting(call)]


def message(cluster: Cluster) -> str:
    return cluster.annotations(JOB).get(api.ADMISSION_MESSAGE, "")


def committed(cluster: Cluster) -> bool:
    return api.CLEANUP_COMMITTED in cluster.annotations(WORKLOAD)


def pod(phase: str, created: int) -> dict[str, Any]:
    made = Builder(Pod, api.PODS, "train-0", "team").created(created).label("batch.kubernetes.io/job-name", "train")
    return made.raw() | {"status": {"phase": phase}}


async def test_after_an_outage_its_deletion_is_tried_first_and_decided_after_the_grace(
    cluster: Cluster, start: Any
) -> None:
    """Nobody could reactivate it meanwhile."""
    timed_out(cluster)

    async def fail_for_a_while(_: web.Request) -> web.StreamResponse:
        if sum(map(deciding, cluster.calls)) == 3:
            cluster.fault = None
        return web.Response(status=503)

    def deciding(call: Call) -> bool:
        return call.method == "PATCH" and call.path == WORKLOAD

    cluster.fault, cluster.faulty = fail_for_a_while, deciding
    async with start(*FAST, "--outage-after=0s", "--recovery-grace=1500ms") as controller:
        await controller.until(lambda: committed(cluster))
        grace = controller.engine.outage.not_before
        await controller.until(lambda: JOB not in cluster.objects)
    tries = [call.query.get("dryRun") for call in cluster.writes if deciding(call)]
    assert tries == [None, "All", "All", "All", None]
    said = cluster.annotations(WORKLOAD)[api.CLEANUP_COMMITTED]
    assert parse_instant(said) >= grace


async def test_it_is_announced_committed_and_deleted_as_it_was_seen(cluster: Cluster, start: Any) -> None:
    timed_out(cluster)
    bodies: list[Any] = []

    async def look(request: web.Request) -> web.StreamResponse:
        cluster.fault = None
        bodies.append((await request.json(), committed(cluster), dict(cluster.objects[JOB]["metadata"])))
        return await cluster.handle(request)

    cluster.fault, cluster.faulty = look, deleting
    async with start(*FAST) as controller:
        await controller.until(lambda: JOB not in cluster.objects)
        await controller.until(lambda: not controller.engine.cache.owners[("batch", "Job")].objects)
        await controller.until(lambda: controller.engine._queue.idle)
        cluster.remove(WORKLOAD)
        await controller.until(lambda: controller.value("muster_cleanups_total", outcome="deleted") == 1)
        assert controller.value("muster_cleanups_total", outcome="skipped") == 0
    assert deletions(cluster) == [JOB, JOB]
    ((options, was_committed, seen),) = bodies
    assert was_committed
    assert options["propagationPolicy"] == "Background"
    assert options["preconditions"] == {key: seen[key] for key in ("uid", "resourceVersion")}
    (event,) = [event for event in cluster.events if event["reason"] == api.EVENT_DELETED]
    assert event["regarding"]["name"] == "train"
    assert event["related"]["uid"] == UID


async def test_killed_between_the_steps_the_next_life_completes_it(cluster: Cluster, start: Any) -> None:
    timed_out(cluster)
    cluster.fault, cluster.faulty = answer(500), deleting
    async with start(*FAST) as controller:
        await controller.until(lambda: bool(deletions(cluster)))
    assert committed(cluster)
    assert JOB in cluster.objects
    cluster.fault = None
    async with start(*FAST) as controller:
        await controller.until(lambda: JOB not in cluster.objects)


def given_away(cluster: Cluster) -> None:
    cluster.edit(JOB, lambda obj: obj["spec"].update(managedBy="example.com/other"))


def disowned(cluster: Cluster) -> None:
    """As after ``kubectl delete --cascade=orphan``."""
    cluster.remove(JOB)
    cluster.edit(WORKLOAD, lambda obj: obj["metadata"].pop("ownerReferences"))


@pytest.mark.parametrize("change", [given_away, disowned])
async def test_what_is_not_ours_any_more_between_the_steps_can_be_reactivated(
    cluster: Cluster, start: Any, change: Callable[[Cluster], None]
) -> None:
    """Nobody may as long as it says that its job will be deleted, and nobody would delete it any more."""
    timed_out(cluster)
    said = {api.CLEANUP_COMMITTED: format_instant(now())}
    cluster.edit(WORKLOAD, lambda obj: obj["metadata"]["annotations"].update(said))
    change(cluster)
    async with start(*FAST) as controller:
        await controller.until(lambda: not committed(cluster))
    assert not deletions(cluster)
    assert api.COMMITTED in cluster.annotations(WORKLOAD)


async def test_a_copy_of_such_a_workload_is_none_of_ours_and_left_alone(cluster: Cluster, start: Any) -> None:
    timed_out(cluster)
    copied = workload("copied").label(api.MULTIKUEUE_ORIGIN, "manager").active(False)
    for key, value in cluster.annotations(WORKLOAD).items():
        copied.annotate(key, value)
    path = api.WORKLOADS.path("team", "copied")
    cluster.put(path, copied.annotate(api.CLEANUP_COMMITTED, format_instant(now())).raw())
    async with start(*FAST) as controller:
        await controller.until(lambda: JOB not in cluster.objects)
        await controller.until(lambda: "team/copied" in controller.engine.cache.workloads.objects)
        await controller.until(lambda: controller.engine._queue.idle)
    assert path not in {call.path for call in cluster.writes}


async def test_a_lost_answer_to_a_deletion_that_landed_counts_once(cluster: Cluster, start: Any) -> None:
    timed_out(cluster)

    async def apply_then_break(request: web.Request) -> web.StreamResponse:
        cluster.fault = None
        await cluster.handle(request)
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    cluster.fault, cluster.faulty = apply_then_break, deleting
    async with start(*FAST) as controller:
        await controller.until(lambda: JOB not in cluster.objects)
        cluster.remove(WORKLOAD)
        await controller.until(lambda: controller.value("muster_cleanups_total", outcome="deleted") == 1)


@pytest.mark.parametrize("step", ["first", "second"])
async def test_a_policy_that_goes_while_a_step_waits_for_its_turn_stops_it(
    cluster: Cluster, start: Any, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """As after any 429: nothing of it was written meanwhile, so nothing would conflict."""
    timed_out(cluster, ttl="3602s" if step == "first" else "1s")
    if step == "second":
        cluster.fault, cluster.faulty = answer(500), deleting
        async with start(*FAST) as controller:
            await controller.until(lambda: bool(deletions(cluster)))
        cluster.fault = None
        cluster.calls.clear()
    asked, token = asyncio.Event(), asyncio.Event()

    async def take() -> None:
        asked.set()
        await token.wait()

    async with start(*FAST) as controller:
        if step == "first":
            await controller.until(lambda: "to be deleted" in message(cluster))
        monkeypatch.setattr(controller.engine._writer._bucket, "take", take)
        async with asyncio.timeout(20):
            await asked.wait()
        cluster.edit(QUEUE, lambda obj: obj["metadata"]["annotations"].pop(api.TTL_AFTER_TIMEOUT))
        local_queues = controller.engine.cache.local_queues
        await controller.until(lambda: local_queues.objects["team/gpu"].annotation(api.TTL_AFTER_TIMEOUT) is None)
        token.set()
        await controller.until(lambda: api.DELETE_AFTER not in cluster.annotations(JOB))
        await controller.until(lambda: not committed(cluster) and controller.engine._queue.idle)
    assert not deletions(cluster)
    writes = [call for call in cluster.writes if call.path == WORKLOAD]
    assert len(writes) == (step == "second"), "it is taken back"


@pytest.mark.parametrize("which", ["GET", "DELETE"])
async def test_a_404_that_is_no_deletion_leaves_nothing_half_deleted(
    cluster: Cluster, start: Any, monkeypatch: pytest.MonkeyPatch, which: str
) -> None:
    """An API server that has only just started serves no custom resources yet."""
    monkeypatch.setattr("controller.remove.SOON", 100)
    timed_out(cluster, owner=ray_job(now() - 2 * HOUR), name=RAY_NAME)
    path = RAY_JOB if which == "DELETE" else api.WORKLOADS.path("team", RAY_NAME)

    async def once(request: web.Request) -> web.StreamResponse:
        cluster.fault = None
        return web.Response(status=404, text="404 page not found")

    cluster.fault, cluster.faulty = once, lambda call: call.method == which and call.path == path
    async with start(*FAST) as controller:
        await controller.until(lambda: RAY_JOB not in cluster.objects)
    assert cluster.fault is None


def unsuspend(cluster: Cluster) -> None:
    cluster.edit(JOB, lambda obj: obj["spec"].update(suspend=False))


def recreate(cluster: Cluster) -> None:
    """Deleted, and made anew under the same name: another job."""
    cluster.remove(JOB)
    cluster.put(JOB, job().metadata(uid="uid-of-a-new-train").raw())


@pytest.mark.parametrize("meanwhile", [unsuspend, recreate])
async def test_what_moved_since_it_was_seen_is_not_deleted(
    cluster: Cluster, start: Any, meanwhile: Callable[[Cluster], None]
) -> None:
    timed_out(cluster)

    async def first(request: web.Request) -> web.StreamResponse:
        cluster.fault = None
        meanwhile(cluster)
        return await cluster.handle(request)

    cluster.fault, cluster.faulty = first, deleting
    async with start(*FAST) as controller:
        await controller.until(lambda: bool(deletions(cluster)))
        await controller.until(lambda: controller.engine._queue.idle)
    assert JOB in cluster.objects


async def test_reactivated_over_the_second_decision_nothing_is_deleted_and_both_go(
    cluster: Cluster, start: Any
) -> None:
    """The chart's policy refuses that; where it is not installed it happens all the same."""
    timed_out(cluster)

    async def first(request: web.Request) -> web.StreamResponse:
        cluster.edit(WORKLOAD, lambda obj: obj["spec"].update(active=True))
        return await answer(503)(request)

    cluster.fault, cluster.faulty = first, deleting
    async with start(*FAST) as controller:
        await controller.until(lambda: api.COMMITTED not in cluster.annotations(WORKLOAD))
        cluster.fault = None
        await controller.until(lambda: api.ADMISSION_OUTCOME_OF not in cluster.annotations(JOB))
        await controller.until(lambda: controller.engine._queue.idle)
    assert not committed(cluster)
    assert api.DELETE_AFTER not in cluster.annotations(JOB)
    assert JOB in cluster.objects
    assert len(deletions(cluster)) == 1


async def test_while_its_pods_end_it_is_left_alone(cluster: Cluster, start: Any) -> None:
    timed_out(cluster)
    cluster.put(POD, pod("Running", now() - 2 * HOUR))
    async with start(*FAST) as controller:
        await controller.until(lambda: any(call.path == api.PODS.path("team") for call in cluster.calls))
        await controller.until(lambda: any("labelSelector" in call.query for call in cluster.calls))
        await controller.until(lambda: controller.engine._queue.idle)
    assert not committed(cluster)
    assert not deletions(cluster)


async def test_what_ran_by_hand_since_is_kept_and_that_is_said(cluster: Cluster, start: Any) -> None:
    timed_out(cluster)
    cluster.put(POD, pod("Succeeded", now() - HOUR + SECOND))
    async with start(*FAST) as controller:
        await controller.until(lambda: controller.value("muster_cleanups_total", outcome="skipped") == 1)
        await controller.until(lambda: controller.engine._queue.idle)
    assert not committed(cluster)
    assert not deletions(cluster)
    (event,) = [event for event in cluster.events if event["reason"] == api.EVENT_KEPT]
    assert "pod train-0 ran after its wait was ended" in event["note"]


async def test_what_was_let_go_and_stopped_again_since_is_kept_though_its_pods_are_gone(
    cluster: Cluster, start: Any
) -> None:
    timed_out(cluster)
    stopped = job().condition("Suspended", True, at=now() - HOUR + SECOND).raw()["status"]
    cluster.edit(JOB, lambda obj: obj.update(status=stopped))
    async with start(*FAST) as controller:
        await controller.until(lambda: controller.value("muster_cleanups_total", outcome="skipped") == 1)
        await controller.until(lambda: controller.engine._queue.idle)
    assert not committed(cluster)
    assert not deletions(cluster)
    (event,) = [event for event in cluster.events if event["reason"] == api.EVENT_KEPT]
    assert "it was let go after its wait was ended" in event["note"]


async def test_that_it_was_stopped_before_holds_nothing_up(cluster: Cluster, start: Any) -> None:
    timed_out(cluster)
    stopped = job().condition("Suspended", True, at=now() - HOUR - 2 * SECOND).raw()["status"]
    cluster.edit(JOB, lambda obj: obj.update(status=stopped))
    async with start(*FAST) as controller:
        await controller.until(lambda: JOB not in cluster.objects)


def ray_job(written: int) -> Builder[RayJob]:
    """It says by no condition since when it is stopped. Whoever did that wrote so at ``written``, others later."""
    made = Builder(RayJob, api.RAY_JOBS, "train", "team")
    made.spec["suspend"] = True
    entries = [
        {"manager": "kueue", "operation": "Update", "fieldsV1": {"f:spec": {"f:suspend": {}}}},
        {"manager": "kubectl-label", "operation": "Update", "fieldsV1": {"f:metadata": {"f:labels": {}}}},
    ]
    times = (written, now())
    return made.metadata(managedFields=[e | {"time": format_instant(t)} for e, t in zip(entries, times, strict=True)])


async def test_what_says_by_no_condition_that_it_was_let_go_says_it_by_who_stopped_it_since(
    cluster: Cluster, start: Any
) -> None:
    timed_out(cluster, owner=ray_job(now() - HOUR + SECOND), name=RAY_NAME)
    async with start(*FAST) as controller:
        await controller.until(lambda: controller.value("muster_cleanups_total", outcome="skipped") == 1)
        await controller.until(lambda: controller.engine._queue.idle)
    assert not deletions(cluster)
    (event,) = [event for event in cluster.events if event["reason"] == api.EVENT_KEPT]
    assert "it was let go after its wait was ended" in event["note"]


async def test_who_stopped_it_before_holds_nothing_up(cluster: Cluster, start: Any) -> None:
    timed_out(cluster, owner=ray_job(now() - HOUR - 2 * SECOND), name=RAY_NAME)
    async with start(*FAST) as controller:
        await controller.until(lambda: RAY_JOB not in cluster.objects)


async def test_pods_of_an_earlier_run_hold_nothing_up(cluster: Cluster, start: Any) -> None:
    timed_out(cluster)
    cluster.put(POD, pod("Failed", now() - 2 * HOUR))
    async with start(*FAST) as controller:
        await controller.until(lambda: JOB not in cluster.objects)


async def test_what_something_keeps_stays_and_message_event_and_metric_say_so_once(
    cluster: Cluster, start: Any
) -> None:
    timed_out(cluster)
    cluster.edit(JOB, lambda obj: obj["metadata"].update(labels={"example.com/app": "train"}))
    reason = "not deleted by Muster: it carries example.com/app: whoever keeps it would make it again"
    for life in (1, 2):
        async with start(*FAST) as controller:
            await controller.until(lambda: controller.value("muster_cleanups_total", outcome="skipped") == 1)
            await controller.until(lambda: controller.engine._queue.idle)
        assert reason in message(cluster), life
        assert [event["note"] for event in cluster.events] == [reason], life
    assert api.DELETE_AFTER not in cluster.annotations(JOB)
    assert not deletions(cluster)


async def test_switched_off_nothing_is_deleted(cluster: Cluster, start: Any) -> None:
    timed_out(cluster)
    before = cluster.annotations(JOB)
    async with start(*FAST, "--cleanup=false") as controller:
        await controller.until(lambda: controller.engine._queue.idle and controller.engine.cache.synced)
        await controller.until(lambda: controller.value("muster_timed_out_workloads", cluster_queue="gpu-a100") == 1)
    assert cluster.annotations(JOB) == before
    assert not cluster.writes


async def test_a_policy_that_is_set_later_reaches_what_timed_out_before(cluster: Cluster, start: Any) -> None:
    timed_out(cluster, ttl=None)
    async with start(*FAST) as controller:
        await controller.until(lambda: controller.value("muster_timed_out_workloads", cluster_queue="gpu-a100") == 1)
        assert not cluster.writes
        cluster.edit(QUEUE, lambda obj: obj["metadata"]["annotations"].update({api.TTL_AFTER_TIMEOUT: "1s"}))
        await controller.until(lambda: JOB not in cluster.objects)


async def test_what_kueue_or_a_person_deletes_first_is_no_trouble(cluster: Cluster, start: Any) -> None:
    timed_out(cluster, ttl="1h")
    async with start("--min-ttl=1s") as controller:
        await controller.until(lambda: api.DELETE_AFTER in cluster.annotations(JOB))
        # Kueue's own retention deletes the job, garbage collection then its Workload.
        cluster.remove(JOB)
        await controller.until(lambda: controller.engine._queue.idle)
        cluster.remove(WORKLOAD)
        await controller.until(lambda: controller.engine._queue.idle)
        assert controller.value("muster_cleanups_total", outcome="deleted") == 0
    assert not deletions(cluster)


async def test_a_workload_that_goes_first_takes_mirror_and_announcement_along(cluster: Cluster, start: Any) -> None:
    """Kueue makes a new one, which waits: the job is not to be deleted for what became of the old one."""
    timed_out(cluster, ttl="1h")
    async with start("--min-ttl=1s") as controller:
        await controller.until(lambda: api.DELETE_AFTER in cluster.annotations(JOB))
        cluster.remove(WORKLOAD)
        await controller.until(lambda: api.DELETE_AFTER not in cluster.annotations(JOB))
        assert api.ADMISSION_OUTCOME_OF not in cluster.annotations(JOB)
    assert not deletions(cluster)


async def test_a_request_that_stays_behind_is_told_and_counted_until_it_goes(cluster: Cluster, start: Any) -> None:
    timed_out(cluster, ttl=None)
    path = api.PROVISIONING_REQUESTS.path("team", f"{NAME}-capacity-1")
    request = Builder(ProvisioningRequest, api.PROVISIONING_REQUESTS, f"{NAME}-capacity-1", "team")
    owner = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "name": NAME, "uid": UID, "controller": True}
    cluster.put(path, request.label(api.MANAGED, "true").metadata(ownerReferences=[owner]).raw())
    gauge = ("muster_leftover_workloads", {"cluster_queue": "gpu-a100"})
    async with start("--retry-period=20ms") as controller:
        await controller.until(lambda: f"ProvisioningRequest {NAME}-capacity-1" in message(cluster))
        await controller.until(lambda: controller.value(gauge[0], **gauge[1]) == 1)
        # Of two replicas one says so: this one leads no more, and would not see it go.
        lease = api.LEASES.path("muster-system", "muster-controller")
        spec = {"holderIdentity": "other", "leaseDurationSeconds": 15, "renewTime": "2026-11-29T10:00:00.000000Z"}
        cluster.put(lease, {"metadata": {"name": "muster-controller"}, "spec": spec})
        await controller.until(lambda: controller.value(gauge[0], **gauge[1]) == 0)
        cluster.put(lease, {"metadata": {"name": "muster-controller"}, "spec": {}})
        await controller.until(lambda: controller.value(gauge[0], **gauge[1]) == 1)
        cluster.remove(path)
        await controller.until(lambda: "ProvisioningRequest" not in message(cluster))
        await controller.until(lambda: controller.value(gauge[0], **gauge[1]) == 0)
