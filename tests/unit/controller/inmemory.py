"""A cluster in memory and one life of the controller on it, for the tests of the engine."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from aiohttp import web

from classifier import api, clock
from classifier.clock import Ledger
from classifier.cluster.client import Client
from classifier.fence_spec import EXPECTED_BINDING_SPEC, EXPECTED_POLICY_SPEC
from classifier.instant import HOUR, MINUTE, format_instant
from controller.engine import Engine
from controller.metrics import Metrics
from controller.settings import parse
from tests.apiserver import ApiServer, Call
from tests.builders import WorkloadBuilder, job, workload
from tests.selection import Object
from tests.unit.cluster.conftest import write_kubeconfig
from tests.until import until

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
        """Those of the election left out: it writes all the time."""
        return [call for call in self.calls if call.method != "GET" and "/leases" not in call.path]

    @property
    def events(self) -> list[Object]:
        return [obj for path, obj in self.objects.items() if path.startswith(f"{EVENTS}/")]

    def tells(self, path: str) -> bool:
        """Whether a job mirrors a decision."""
        return api.ADMISSION_OUTCOME_OF in self.annotations(path)

    @property
    def mirrored(self) -> bool:
        return self.tells(JOB)


def committing(call: Call) -> bool:
    return call.method == "PATCH" and call.path == WORKLOAD


def mirroring(call: Call) -> bool:
    return call.method == "PATCH" and call.path == JOB


def now() -> int:
    return int(time.time() * 1000)


def overdue(cluster: Cluster, pending: WorkloadBuilder | None = None, name: str = "train") -> None:
    """A job that has waited for an hour under a bound of 30 min, with everything announced."""
    since = now() - HOUR
    ledger = clock.format_ledger(Ledger(f"uid-of-{name}", since))
    deadline = format_instant(since + 30 * MINUTE)
    builder = job(name).created(since).annotate(api.ADMISSION_CLOCK, ledger).annotate(api.ADMISSION_DEADLINE, deadline)
    cluster.put(api.JOBS.path("team", name), builder.raw())
    made = (pending or workload(f"job-{name}-1a2b3").owner(builder)).created(since)
    made.annotate(api.ADMISSION_DEADLINE, deadline)
    cluster.put(api.WORKLOADS.path("team", f"job-{name}-1a2b3"), made.raw())


def fence(cluster: Cluster) -> None:
    old = {"name": "muster-fence", "uid": "uid-of-fence", "creationTimestamp": format_instant(now() - HOUR)}
    cluster.put(POLICY, {"metadata": dict(old), "spec": EXPECTED_POLICY_SPEC})
    cluster.put(BINDING, {"metadata": dict(old), "spec": EXPECTED_BINDING_SPEC("muster-fence")})


class Controller:
    """One life of the controller; ``value`` reads a figure of its metrics."""

    def __init__(self, engine: Engine, metrics: Metrics) -> None:
        self.engine = engine
        self._metrics = metrics

    def value(self, name: str, **labels: str) -> float:
        found: float | None = self._metrics.registry.get_sample_value(name, labels)
        return found or 0.0

    async def until(self, condition: Callable[[], bool]) -> None:
        await until(condition)


@contextlib.asynccontextmanager
async def life(cluster: Cluster, folder: Path, *arguments: str) -> AsyncIterator[Controller]:
    """One life of a controller on a cluster whose fence has long been there; leaving the block kills it."""
    kubeconfig = write_kubeconfig(folder / "kubeconfig", cluster.url)
    metrics = Metrics()
    async with await Client.connect(kubeconfig=kubeconfig) as client:
        engine = Engine(client, parse(["--fence-settle=0s", *arguments]), metrics)
        task = asyncio.create_task(engine.run())
        try:
            yield Controller(engine, metrics)
            assert not task.done(), task
        finally:
            engine.close()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
