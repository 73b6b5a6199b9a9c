"""One real object of every kind through pending, admitted, timed out and finished; Kueue says what is true.

Real: the API server, Kueue, which makes every Workload, the scheduler, the controllers of Jobs, JobSets and TrainJobs.
The other kinds are their CRDs alone: what their operators would do is played (:mod:`e2e.played`), and so is how
containers end (:mod:`e2e.deaths`). All objects live at once, chapter by chapter; a test looks at one kind in one.
"""

import re
from collections.abc import AsyncIterator
from typing import Any, Final, TypeVar

import msgspec
import pytest
import pytest_asyncio

from classifier import api, scope
from classifier.cluster.backend import Backend
from classifier.objects import Pod
from classifier.state import CauseKind, Settings, State
from classifier.state.gather import group_of
from classifier.state.kinds import KINDS as VIEWS
from classifier.state.kinds import podgroup
from e2e import builders, kinds, view
from e2e.builders import Document
from e2e.chapters import BAD, GOOD, LATE, POLL, QUEUES, Chapter, Life, Seen, Stage
from e2e.controlplane.chart import Muster
from e2e.controlplane.cluster import Cluster
from e2e.kinds import Kind
from e2e.played import appwrapper
from e2e.played.hands import Hands
from e2e.wait import eventually

pytestmark = [pytest.mark.timeout(600), pytest.mark.usefixtures("nothing_forbidden_of_every_kind")]

T = TypeVar("T")

EXIT_CODE: Final = 3
each_kind = pytest.mark.parametrize("kind", kinds.KINDS, ids=lambda kind: kind.id)
finishing = pytest.mark.parametrize("kind", [k for k in kinds.KINDS if k.finishes], ids=lambda kind: kind.id)
endless = pytest.mark.parametrize("kind", [k for k in kinds.KINDS if not k.finishes], ids=lambda kind: kind.id)


def bounded(kind: Kind) -> bool:
    """Whether Muster's own controller ends its wait; that of the others is ended as it would."""
    return (kind.resource.group, kind.kind) in scope.BOUNDED


# --- the chapters ---------------------------------------------------------------------------------------------------


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def stage(every_kind: Cluster, muster_of_every_kind: Muster) -> AsyncIterator[Stage]:
    """Muster, a queue without quota and nodes enough."""
    hands = Hands(every_kind.admin, QUEUES.namespace)
    made = Stage(every_kind, hands, Backend(every_kind.admin, QUEUES.namespace, Settings()))
    namespace = builders.namespace(QUEUES.namespace)
    await every_kind.applier.apply([namespace])
    await made.quota(0)
    nodes = [builders.node(f"kinds-{number}", QUEUES.node_labels, {}) for number in range(2)]
    flavor = builders.flavor(QUEUES.flavor, QUEUES.node_labels)
    await every_kind.applier.apply([flavor, builders.local_queue(QUEUES), *nodes, *kinds.runtimes(QUEUES)])
    yield made
    await every_kind.applier.delete([namespace])


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def pending(stage: Stage) -> Chapter[Seen]:
    """All are created, and wait for quota."""

    async def step(life: Life) -> Seen:
        await life.create()
        await life.refused()
        return await life.seen()

    for life in stage.lives.values():
        if life.name.endswith(LATE) and bounded(life.kind):
            for document in life.documents:
                document["metadata"].setdefault("annotations", {})[api.ADMISSION_TIMEOUT] = "1s"
    return await Chapter.of(stage, step, GOOD, BAD, LATE)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def timed_out(stage: Stage, pending: Chapter[Seen]) -> Chapter[Seen]:
    """For one of each kind the wait is ended."""

    async def step(life: Life) -> Seen:
        if not bounded(life.kind):
            await life.commit()
        await life.have((api.EVICTED, "True"))
        return await life.seen()

    return await Chapter.of(stage, step, LATE)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def running(stage: Stage, timed_out: Chapter[Seen]) -> Chapter[Seen]:
    """Quota comes; all the others start, and those that were timed out do not."""

    async def step(life: Life) -> Seen:
        await life.have((api.ADMITTED, "True"))

        async def let_go() -> Document:
            job = await life.read()
            assert not life.kind.held(job), "Kueue holds it still"
            return job

        await life.kind.start(stage.hands, await eventually(let_go, poll=POLL))
        await stage.hands.running(life.name, life.kind.pods)
        await life.have((api.PODS_READY, "True"))
        return await life.seen()

    await stage.quota(1000)
    return await Chapter.of(stage, step, GOOD, BAD)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def later(stage: Stage, running: Chapter[Seen]) -> Chapter[Seen]:
    """Those that were timed out, while there is quota for all."""
    return await Chapter.of(stage, Life.seen, LATE)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def ended(stage: Stage, running: Chapter[Seen]) -> Chapter[Seen]:
    """One of each kind succeeds, the pods of another fail."""

    async def step(life: Life) -> Seen:
        good = life.name.endswith(GOOD)
        if life.kind.finishes or not good:
            await life.kind.end(stage.hands, await life.read(), 0 if good else EXIT_CODE)
        # A failed AppWrapper still has what it deployed, and its quota.
        if life.kind.finishes and (good or life.kind.resource != api.APP_WRAPPERS):
            await life.have((api.FINISHED, "True"))
        return await life.seen()

    return await Chapter.of(stage, step, GOOD, BAD)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def cleaned(stage: Stage, ended: Chapter[Seen]) -> Seen:
    """The AppWrapper that failed, once it has deleted what it deployed."""
    life = stage.lives["appwrapper", BAD]
    await appwrapper.clean(stage.hands, await life.read())
    await life.have((api.FINISHED, "True"))
    return await life.seen()


# --- what is so at any time -----------------------------------------------------------------------------------------


def read_as(document: Document, type_: type[T]) -> T:
    return msgspec.json.decode(msgspec.json.encode(document), type=type_)


def agrees_with_kueue(kind: Kind, seen: Seen, *, held: bool) -> None:
    """Our reading of the object's lever is Kueue's, and so is what has ended and what runs."""
    assert [kind.held(each) for each in seen.objects] == [held] * len(seen.objects)
    if kind.called:
        group = group_of(read_as(each, Pod) for each in seen.objects)
        assert group is not None
        assert podgroup.VIEW.suspended(group) is held
    else:
        of_kind = VIEWS[kind.resource.group, kind.resource.kind]
        assert of_kind.suspended(read_as(seen.objects[0], of_kind.type_)) is held
    observation = seen.explanation.observation
    assert (observation.state == State.ENDED) is all(view.is_true(w, api.FINISHED) for w in seen.workloads)
    if observation.state != State.ENDED:
        admitted = all(view.is_true(workload, api.ADMITTED) for workload in seen.workloads)
        assert (observation.state == State.RUNNING) is (admitted and not held)
    assert (observation.ref.kind, observation.ref.namespace) == (kind.kind, QUEUES.namespace)
    assert not observation.foreign, observation.cause.detail
    assert seen.explanation.workload in {workload["metadata"]["name"] for workload in seen.workloads}
    assert observation.same(seen.behind.observation), seen.behind.observation


def words(workload: Document, type_: str) -> str:
    found = view.condition(workload, type_)
    return f"Workload {type_}: {found['reason']}: {found['message']}" if found else ""


def decisive(seen: Seen) -> Document:
    """The Workload that is said to decide."""
    return next(w for w in seen.workloads if w["metadata"]["name"] == seen.explanation.workload)


def told(seen: Seen) -> tuple[str, ...]:
    observation = seen.explanation.observation
    return observation.state, observation.cause.kind, observation.cause.provenance


async def test_every_kind_that_can_be_explained_is_here() -> None:
    assert {(k.resource.group, k.resource.kind) for k in kinds.KINDS} == VIEWS.keys()


@each_kind
async def test_it_is_served_as_we_ask_for_it(stage: Stage, kind: Kind) -> None:
    resource = VIEWS[kind.resource.group, kind.resource.kind].resource
    listing: dict[str, Any] = msgspec.json.decode(await stage.client.request("GET", resource.root))
    served = {(each["name"], each["kind"], each["namespaced"]) for each in listing["resources"]}
    assert (resource.plural, resource.kind, True) in served


# --- chapter by chapter ---------------------------------------------------------------------------------------------


@each_kind
async def test_it_is_pending_in_kueues_words(pending: Chapter[Seen], kind: Kind) -> None:
    for fate in (GOOD, BAD):
        seen = pending[kind.id, fate]
        assert told(seen) == (State.PENDING, CauseKind.NONE, "")
        assert seen.explanation.observation.cause.detail == words(decisive(seen), api.QUOTA_RESERVED)
        assert any("insufficient quota for cpu" in words(each, api.QUOTA_RESERVED) for each in seen.workloads)
        agrees_with_kueue(kind, seen, held=kind.resource != api.LEADER_WORKER_SETS)


@each_kind
async def test_its_wait_is_ended(timed_out: Chapter[Seen], later: Chapter[Seen], kind: Kind) -> None:
    for chapter in (timed_out, later):
        seen = chapter[kind.id, LATE]
        assert told(seen) == (State.SUSPENDED, CauseKind.TIMEOUT, "workload")
        at = view.annotations(decisive(seen))[api.COMMITTED].split()[0]
        detail = seen.explanation.observation.cause.detail
        assert detail.split("; ")[0] == f"admission deadline exceeded: {at}"
        assert not seen.explanation.observation.admin_held
        managers = {entry["manager"] for entry in decisive(seen)["metadata"]["managedFields"]}
        assert (api.CONTROLLER_MANAGER in managers) is bounded(kind)
        agrees_with_kueue(kind, seen, held=kind.resource != api.LEADER_WORKER_SETS)
        assert not [w for w in seen.workloads if view.is_true(w, api.ADMITTED)]


@each_kind
async def test_it_runs(running: Chapter[Seen], kind: Kind) -> None:
    for fate in (GOOD, BAD):
        seen = running[kind.id, fate]
        assert told(seen) == (State.RUNNING, CauseKind.NONE, "")
        assert seen.explanation.observation.cause.detail == ""
        agrees_with_kueue(kind, seen, held=False)
        assert all(view.is_true(workload, api.ADMITTED) for workload in seen.workloads)


@finishing
async def test_it_succeeds(ended: Chapter[Seen], kind: Kind) -> None:
    seen = ended[kind.id, GOOD]
    assert told(seen) == (State.ENDED, CauseKind.COMPLETED, kind.id)
    agrees_with_kueue(kind, seen, held=False)
    (workload,) = seen.workloads
    assert (view.condition(workload, api.FINISHED) or {})["reason"] == "Succeeded"


def fails_of_its_pod(kind: Kind, seen: Seen, state: State) -> None:
    assert told(seen) == (state, CauseKind.NON_ZERO_EXIT, "container")
    first = seen.explanation.observation.cause.detail.split("; ")[0]
    assert re.fullmatch(rf"pod {kind.id}-bad\S*: (container \S+ )?exit code {EXIT_CODE}", first), first
    agrees_with_kueue(kind, seen, held=False)


@finishing
async def test_it_fails_of_what_its_pod_did(ended: Chapter[Seen], kind: Kind) -> None:
    seen = ended[kind.id, BAD]
    if kind.resource == api.APP_WRAPPERS:
        # Failed, says its phase; Kueue waits for its resources to go.
        assert seen.objects[0]["status"]["phase"] == "Failed"
        fails_of_its_pod(kind, seen, State.RUNNING)
        return
    fails_of_its_pod(kind, seen, State.ENDED)
    (workload,) = seen.workloads
    # A group that has ended is a success to Kueue, however its pods did.
    reason = "Succeeded" if kind.called else "Failed"
    assert (view.condition(workload, api.FINISHED) or {})["reason"] == reason


async def test_an_app_wrapper_that_failed_has_ended_when_its_resources_are_gone(cleaned: Seen) -> None:
    """With its pods went what they could have told."""
    assert told(cleaned) == (State.ENDED, CauseKind.UNKNOWN, "")
    detail = "FailedComponent: Found 1 failed components; no pod evidence was captured"
    assert cleaned.explanation.observation.cause.detail == detail
    agrees_with_kueue(next(kind for kind in kinds.KINDS if kind.id == "appwrapper"), cleaned, held=False)


@endless
async def test_it_never_ends(ended: Chapter[Seen], kind: Kind) -> None:
    """A container that ends is started again: the object runs on, with a cause."""
    assert told(ended[kind.id, GOOD]) == (State.RUNNING, CauseKind.NONE, "")
    agrees_with_kueue(kind, ended[kind.id, GOOD], held=False)
    fails_of_its_pod(kind, ended[kind.id, BAD], State.RUNNING)


async def test_what_operators_make_of_an_object_is_not_queued_itself(stage: Stage, ended: Chapter[Seen]) -> None:
    """A RayJob's RayCluster, launchers, submitters, wrapped Jobs: Kueue made Workloads of the objects alone."""
    everything = await view.every(stage.client, api.WORKLOADS, QUEUES.namespace)
    known = [workload["metadata"]["name"] for life in stage.lives.values() for workload in await life.workloads()]
    assert sorted(workload["metadata"]["name"] for workload in everything) == sorted(known)
