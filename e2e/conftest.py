"""One cluster for a whole run, one namespace and one set of queues for each test.

A second one has every kind of job, and the operators that run here; in a third one Kueue is behind a proxy. Three
processes (``-n 3 --dist loadscope --no-loadscope-reorder``) share out the clusters, never the tests of one.

All async tests and fixtures here share one event loop, the session's: the cluster's connections belong to it. A fixture
of a scenario therefore says ``@pytest_asyncio.fixture(loop_scope="session")``.
"""

import itertools
import os
import re
import shutil
import time
from collections.abc import AsyncIterator, Generator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import pytest
import pytest_asyncio
from xdist.scheduler import LoadScopeScheduling

from classifier import api
from classifier.cluster.client import Client
from e2e import arena as arena_
from e2e import builders, view
from e2e.arena import Arena
from e2e.audit import AuditLog
from e2e.builders import Document, Queues
from e2e.controlplane.chart import Muster
from e2e.controlplane.cluster import Cluster
from e2e.controlplane.processes import tail
from e2e.invariants import History
from e2e.letting_in import Stage, staged
from e2e.wait import eventually

HERE: Final = Path(__file__).parent
#: Logs of failed runs; git does not see it.
RUNS: Final = HERE.parent / ".run"
KEPT_RUNS: Final = 5
#: Whose logs a failed test shows.
SHOWN: Final = ("muster-controller", "muster-webhook", "kueue")
#: Building, once per machine, is part of the first test's setup.
FIRST_START: Final = 1800
#: The second cluster's fixtures, in the order in which they are wanted; after the last it is of no use to others.
LAST: Final = ("every_kind", "muster_of_every_kind", "unanswered")
#: By file, the cluster it stands on; a file that is not here starts its own. Checked at collection.
GROUNDS: Final = {
    **dict.fromkeys(
        (
            "test_autoscaler",
            "test_cli",
            "test_controlplane",
            "test_deadline",
            "test_demo_sabotaged",
            "test_devices",
            "test_election",
            "test_explain",
            "test_fail_closed",
            "test_fail_open",
            "test_fence_policy",
            "test_preflight_live",
            "test_profile_crd",
            "test_profile_status",
            "test_protection_life",
            "test_quantities",
            "test_races",
            "test_requeue",
            "test_scheduled_by",
            "test_stale_copies",
            "test_storm",
            "test_webhook",
            "test_webhook_life",
        ),
        "shared",
    ),
    **dict.fromkeys(
        (
            "test_cleanup",
            "test_deadline_kinds",
            "test_evidence",
            "test_kinds",
            "test_match_conditions",
            "test_protection",
            "test_trainjob_life",
            "test_webhook_kinds",
        ),
        "every_kind",
    ),
    **dict.fromkeys(("test_chaos_rounds", "test_faults", "test_race_matrix"), "arena"),
}

_CLUSTERS: Final = pytest.StashKey[list[Cluster]]()
_numbers: Final = itertools.count(1)


def _ground(item: pytest.Item) -> str:
    """The cluster a scenario stands on; "" where its file starts its own."""
    names = getattr(item, "fixturenames", ())
    if any(name in names for name in LAST):
        return "every_kind"
    if "arena" in names:
        return "arena"
    return "shared" if "cluster" in names else ""


class ByGround(LoadScopeScheduling):  # type: ignore[misc]  # without types
    """Shares the clusters out among the processes, never the tests of one: see :data:`GROUNDS`."""

    def _split_scope(self, nodeid: str) -> str:
        stem = Path(nodeid.partition("::")[0]).stem
        return GROUNDS.get(stem, stem)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByGround:
    return ByGround(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every scenario runs in the session's event loop, those on one cluster one after the other.

    Files that use the second cluster want it without Muster first.
    """
    ranks: dict[Path, int] = {}
    mine = [item for item in items if HERE in item.path.parents]
    for item in mine:
        item.add_marker(pytest.mark.e2e)
        if pytest_asyncio.is_async_test(item):
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)
        ground, told = _ground(item), GROUNDS.get(item.path.stem, "")
        if ground and ground != told:
            raise pytest.UsageError(f"{item.path.name} stands on the cluster {ground!r}: say so in GROUNDS, {__file__}")
        rank = sum(name in getattr(item, "fixturenames", ()) for name in LAST)
        ranks[item.path] = max(rank, ranks.get(item.path, 0))
    order = ["shared", "every_kind", "arena", ""]
    items.sort(key=lambda item: (order.index(GROUNDS.get(item.path.stem, "")), ranks.get(item.path, 0)))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Only the first scenario on each ground waits for a start, or the build: of those that are left to run."""
    started: set[str] = set()
    for item in session.items:
        ground = _ground(item) or item.path.stem
        if HERE in item.path.parents and ground not in started and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(FIRST_START))
        started.add(ground)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None]:
    """With the last scenario on a ground its cluster stops: one with nothing to do takes a tenth of a core."""
    yield
    ground = GROUNDS.get(item.path.stem, "")
    if ground and nextitem is not None and GROUNDS.get(nextitem.path.stem, "") != ground:
        name = "cluster" if ground == "shared" else ground
        for fixture in item.session._fixturemanager.getfixturedefs(name, item) or ():
            fixture.finish(item._request)  # type: ignore[attr-defined]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failed scenario shows the end of the logs that explain it."""
    report = yield
    if report.failed and HERE in item.path.parents:
        for cluster in item.session.stash.get(_CLUSTERS, []):
            for log in sorted(cluster.context.logs.glob("*.log")):
                if log.name.startswith(SHOWN):
                    report.sections.append((f"end of {log}", tail(log, 25)))
    return report


def _run_folder(name: str) -> Path:
    """A folder of its own below RUNS; the oldest of the runs that have ended go."""
    RUNS.mkdir(exist_ok=True)
    ended = [folder for folder in RUNS.glob("e2e-*") if not Path("/proc", folder.name.split("-")[3]).exists()]
    for old in sorted(ended)[:-KEPT_RUNS]:
        shutil.rmtree(old, ignore_errors=True)
    return RUNS / f"e2e-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}-{name}"


def _watch(request: pytest.FixtureRequest, cluster: Cluster) -> None:
    request.session.stash.setdefault(_CLUSTERS, []).append(cluster)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def cluster(request: pytest.FixtureRequest) -> AsyncIterator[Cluster]:
    """The run's cluster, without Muster."""
    folder = _run_folder("shared")
    shared = Cluster(folder)
    async with shared:
        _watch(request, shared)
        yield shared
    if not request.session.testsfailed:
        shutil.rmtree(folder, ignore_errors=True)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def muster(cluster: Cluster) -> AsyncIterator[Muster]:
    """Muster in the run's cluster, from its chart, with seconds where people have minutes; both Deployments ready."""
    async with Muster(cluster) as installed:
        yield installed


@asynccontextmanager
async def further_cluster(request: pytest.FixtureRequest, name: str, **also: Any) -> AsyncIterator[Cluster]:
    """One more cluster for as long as the block lasts; ``also``: what it runs beside the rest."""
    folder = _run_folder(name)
    failed = request.session.testsfailed
    async with Cluster(folder, **also) as own:
        _watch(request, own)
        yield own
        request.session.stash[_CLUSTERS].remove(own)
    if request.session.testsfailed == failed:
        shutil.rmtree(folder, ignore_errors=True)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def every_kind(request: pytest.FixtureRequest) -> AsyncIterator[Cluster]:
    """The run's second cluster: every kind of job that Kueue queues, JobSet and Trainer; without Muster.

    Where a file's own fixtures ``cluster`` and ``invariants`` return these, ``names`` and ``ns`` are of this cluster.
    """
    async with further_cluster(request, "kinds", trainer=True, kinds=True) as own:
        yield own


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def muster_of_every_kind(every_kind: Cluster) -> AsyncIterator[Muster]:
    """Muster there, from when it is first asked for."""
    async with Muster(every_kind) as installed:
        yield installed


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def arena(request: pytest.FixtureRequest) -> AsyncIterator[Arena]:
    """The run's third cluster, for races and faults: Kueue and the controller reach its API server through a proxy.

    Where a file's own fixtures ``cluster`` and ``invariants`` return its, ``queues`` are of this cluster.
    """
    async with further_cluster(request, "arena") as own, arena_.arena(own) as made:
        yield made


@pytest.fixture(scope="session")
def invariants_of_arena(arena: Arena) -> "Invariants":
    """Checked after every test of the third cluster."""
    return Invariants(arena.cluster)


@pytest_asyncio.fixture(loop_scope="session")
async def own_cluster(request: pytest.FixtureRequest) -> AsyncIterator[Cluster]:
    """A cluster for one test alone, for faults that reach everybody in it. The invariants hold there as well."""
    async with further_cluster(request, _short(request.node.name)) as own:
        yield own
        if own.processes["apiserver"].running:
            await Invariants(own).check()


@pytest.fixture
def client(cluster: Cluster) -> Client:
    """The administrator's connection."""
    return cluster.admin


@pytest.fixture
def audit(cluster: Cluster) -> AuditLog:
    """A reader of the audit log from here on."""
    log = AuditLog(cluster.audit_log)
    log.skip()
    return log


class Invariants:
    """Holds what has been written in a cluster since it started against what must never happen."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._log = AuditLog(cluster.audit_log)
        self._history = History()

    async def check(self) -> None:
        """Raises AssertionError with every violation since the last check."""
        for event in await self._log.drain(self._cluster.admin):
            self._history.take(event)
        self._history.close(self._cluster.admin.time.now())
        violations, self._history.violations = self._history.violations, []
        assert not violations, "what must never happen did:\n" + "\n".join(violations)


@pytest.fixture(scope="session")
def invariants(cluster: Cluster) -> Invariants:
    """Checked after every test that has a namespace."""
    return Invariants(cluster)


@pytest.fixture(scope="session")
def invariants_of_every_kind(every_kind: Cluster) -> Invariants:
    """Checked after every test of the second cluster."""
    return Invariants(every_kind)


@pytest_asyncio.fixture(loop_scope="session")
async def nothing_forbidden(invariants: Invariants) -> AsyncIterator[None]:
    """For the files whose scenarios share one namespace."""
    yield
    await invariants.check()


@pytest_asyncio.fixture(loop_scope="session")
async def nothing_forbidden_of_every_kind(invariants_of_every_kind: Invariants) -> AsyncIterator[None]:
    """The same on the second cluster."""
    yield
    await invariants_of_every_kind.check()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def stage(
    request: pytest.FixtureRequest, cluster: Cluster, muster: Muster, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Stage]:
    """Where the webhook lets in or refuses: on the file's own ``QUEUES``."""
    queues: Queues = request.module.QUEUES
    async with staged(cluster, muster, queues, tmp_path_factory.mktemp("alice")) as made:
        yield made


def _short(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:30].strip("-")


@pytest.fixture
def names(request: pytest.FixtureRequest) -> Queues:
    """Names of this test's own, for it to make what it needs."""
    name = f"{_short(request.node.name)}-{next(_numbers)}"
    return Queues(namespace=name, local_queue="queue", cluster_queue=name, flavor=name)


@pytest_asyncio.fixture(loop_scope="session")
async def ns(cluster: Cluster, names: Queues, invariants: Invariants) -> AsyncIterator[str]:
    """The test's namespace. After the test nothing may have happened that must not; then it goes with all in it."""
    await cluster.applier.apply([builders.namespace(names.namespace)])
    yield names.namespace
    try:
        await invariants.check()
    finally:
        await cluster.applier.delete([builders.namespace(names.namespace)])


async def runs(cluster: Cluster, names: Queues) -> None:
    """Until its LocalQueue does. A wait does not count before, its deadline moves, and a verdict tells of it."""

    async def is_active() -> bool:
        queue = await view.read(cluster.admin, api.LOCAL_QUEUES, names.namespace, names.local_queue)
        return view.is_true(queue, api.ACTIVE)

    await eventually(is_active, what=f"LocalQueue {names.local_queue} runs")


@pytest_asyncio.fixture(loop_scope="session")
async def queues(cluster: Cluster, ns: str, names: Queues) -> AsyncIterator[Queues]:
    """A LocalQueue, its ClusterQueue with plenty of quota, and its flavor; no node yet."""
    made: list[Document] = [
        builders.flavor(names.flavor, names.node_labels),
        builders.cluster_queue(
            names.cluster_queue, {names.flavor: {"cpu": 1000, "memory": "1000Gi", builders.GPU: 1000}}
        ),
        builders.local_queue(names),
    ]
    await cluster.applier.apply(made)
    await runs(cluster, names)
    yield names
    # Without waiting: finalizers let go when the last job has.
    await cluster.applier.delete(made)
