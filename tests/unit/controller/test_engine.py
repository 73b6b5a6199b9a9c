"""The whole controller against an API server in memory: what it writes, what it survives, what it says."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from classifier import api, clock
from classifier.clock import Ledger, Marker
from classifier.cluster.client import Client
from classifier.fence_spec import EXPECTED_BINDING_SPEC, EXPECTED_POLICY_SPEC
from classifier.instant import HOUR, MINUTE, format_instant, instant_or_none
from controller.engine import Engine
from controller.metrics import Metrics
from controller.settings import parse
from tests.apiserver import ApiServer, Call, Object, answer, serving
from tests.builders import WorkloadBuilder, cluster_queue, job, local_queue, namespace, workload
from tests.unit.cluster.conftest import write_kubeconfig

JOB = api.JOBS.path("team", "train")
WORKLOAD = api.WORKLOADS.path("team", "job-train-1a2b3")
POLICY = api.ADMISSION_POLICIES.path(name="muster-fence")
BINDING = api.ADMISSION_POLICY_BINDINGS.path(name="muster-fence")
EVENTS = api.EVENTS.path("team")
UID = "uid-of-job-train-1a2b3"


class Cluster(ApiServer):
    """Knows who wrote ``spec.active``, as managedFields tell."""

    writer = "kubectl-patch"

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.writer = request.query.get("fieldManager", "kubectl-patch")
        return await super().handle(request)

    def _store(self, kind: str, path: str, obj: Object) -> Object:
        before = self.objects.get(path, {}).get("spec", {}).get("active")
        if obj.get("spec", {}).get("active") is not before:
            fields = {"manager": self.writer, "operation": "Update", "fieldsV1": {"f:spec": {"f:active": {}}}}
            obj["metadata"]["managedFields"] = [fields]
        return super()._store(kind, path, obj)

    def edit(self, path: str, change: Callable[[Object], object]) -> None:
        """Somebody else writes."""
        obj = self.objects[path]
        self.writer = "kubectl-patch"
        change(obj)
        self.put(path, obj)

    def annotations(self, path: str) -> dict[str, str]:
        found: dict[str, str] = self.objects[path]["metadata"].get("annotations") or {}
        return found

    @property
    def writes(self) -> list[Call]:
        return [call for call in self.calls if call.method != "GET"]

    @property
    def events(self) -> list[Object]:
        return [obj for path, obj in self.objects.items() if path.startswith(f"{EVENTS}/")]

    @property
    def mirrored(self) -> bool:
        return api.ADMISSION_OUTCOME_OF in self.annotations(JOB)


def committing(call: Call) -> bool:
    return call.method == "PATCH" and call.path == WORKLOAD


def mirroring(call: Call) -> bool:
    return call.method == "PATCH" and call.path == JOB


def now() -> int:
    return int(time.time() * 1000)


def overdue(cluster: Cluster, pending: WorkloadBuilder | None = None) -> None:
    """A job that has waited for an hour under a bound of 30 min, with everything announced."""
    since = now() - HOUR
    ledger = clock.format_ledger(Ledger("uid-of-train", since))
    deadline = format_instant(since + 30 * MINUTE)
    builder = job().created(since).annotate(api.ADMISSION_CLOCK, ledger).annotate(api.ADMISSION_DEADLINE, deadline)
    cluster.put(JOB, builder.raw())
    cluster.put(WORKLOAD, (pending or workload()).created(since).annotate(api.ADMISSION_DEADLINE, deadline).raw())


def fence(cluster: Cluster) -> None:
    old = {"name": "muster-fence", "uid": "uid-of-fence", "creationTimestamp": format_instant(now() - HOUR)}
    cluster.put(POLICY, {"metadata": dict(old), "spec": EXPECTED_POLICY_SPEC})
    cluster.put(BINDING, {"metadata": dict(old), "spec": EXPECTED_BINDING_SPEC("muster-fence")})


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    """The fence, a queue that runs, a policy of 30 min on it."""
    async with serving(Cluster()) as server:
        assert isinstance(server, Cluster)
        fence(server)
        server.put(api.NAMESPACES.path(name="team"), namespace().raw())
        server.put(api.CLUSTER_QUEUES.path(name="gpu-a100"), cluster_queue().raw())
        queue = local_queue().running().annotate(api.ADMISSION_TIMEOUT, "30m")
        server.put(api.LOCAL_QUEUES.path("team", "gpu"), queue.raw())
        yield server


class Controller:
    """One life of the controller; ``value`` reads a figure of its metrics."""

    def __init__(self, engine: Engine, metrics: Metrics) -> None:
        self.engine = engine
        self._metrics = metrics

    def value(self, name: str, **labels: str) -> float:
        found: float | None = self._metrics.registry.get_sample_value(name, labels)
        return found or 0.0

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(20):
            while not condition():  # noqa: ASYNC110  # the engine has no event for what is asked
                await asyncio.sleep(0.005)


@pytest.fixture
def start(cluster: Cluster, tmp_path: Path) -> Any:
    """Starts a controller on the cluster; leaving the block kills it."""

    @contextlib.asynccontextmanager
    async def started(*arguments: str) -> AsyncIterator[Controller]:
        kubeconfig = write_kubeconfig(tmp_path / "kubeconfig", cluster.url)
        settings = parse(["--fence-settle=0s", "--recovery-grace=1ms", "--rate=0", *arguments])
        metrics = Metrics()
        async with await Client.connect(kubeconfig=kubeconfig) as client:
            engine = Engine(client, settings, metrics)
            task = asyncio.create_task(engine.run())
            try:
                yield Controller(engine, metrics)
                assert not task.done(), task
            finally:
                engine.close()
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    return started


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
    async with start("--outage-after=1ms", "--recovery-grace=1500ms") as controller:
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
