"""One real object of every kind through pending, admitted, timed out and finished; Kueue says what is true.

Real: the API server, Kueue, which makes every Workload, the scheduler, the controllers of Jobs, JobSets and TrainJobs.
The other kinds are their CRDs alone: what their operators would do is played (:mod:`e2e.played`), and so is how
containers end (:mod:`e2e.deaths`). All objects live at once, chapter by chapter; a test looks at one kind in one.
"""

import asyncio
import itertools
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, Generic, NamedTuple, TypeVar

import msgspec
import pytest
import pytest_asyncio

from classifier import api
from classifier.cluster.backend import Backend
from classifier.cluster.client import MERGE_PATCH
from classifier.instant import format_instant
from classifier.objects import Pod
from classifier.state import CauseKind, Explanation, Settings, State
from classifier.state.gather import group_of
from classifier.state.kinds import KINDS as VIEWS
from classifier.state.kinds import podgroup
from e2e import builders, kinds, played, view
from e2e.builders import Document, Queues
from e2e.conftest import Invariants, further_cluster
from e2e.controlplane.chart import Muster
from e2e.controlplane.cluster import Cluster
from e2e.kinds import Kind
from e2e.wait import eventually

pytestmark = [pytest.mark.timeout(600), pytest.mark.usefixtures("nothing_forbidden")]

T = TypeVar("T")

QUEUES: Final = Queues("kinds", "queue", "kinds", "kinds")
#: What becomes of the three objects of each kind.
GOOD, BAD, LATE = "good", "bad", "late"
EXIT_CODE: Final = 3
#: Seconds. There are many who wait.
POLL: Final = 0.3
each_kind = pytest.mark.parametrize("kind", kinds.KINDS, ids=lambda kind: kind.id)
finishing = pytest.mark.parametrize("kind", [k for k in kinds.KINDS if k.finishes], ids=lambda kind: kind.id)
endless = pytest.mark.parametrize("kind", [k for k in kinds.KINDS if not k.finishes], ids=lambda kind: kind.id)


# --- one object -----------------------------------------------------------------------------------------------------


class Seen(NamedTuple):
    """An object at one moment: what Muster says of it, and what there is."""

    explanation: Explanation
    objects: list[Document]  # the one that is asked about first
    workloads: list[Document]


class Life:
    """One object, or one group of pods."""

    def __init__(self, stage: "Stage", kind: Kind, fate: str, number: int) -> None:
        self.stage = stage
        self.kind = kind
        self.name = f"{kind.id}-{fate}"
        # Each has a size of its own: of Workloads of one shape Kueue looks at one, and says nothing on the others.
        self.documents = kind.make(self.name, QUEUES, {"cpu": "1", "memory": f"{1000 + number}Mi"})

    async def create(self) -> None:
        await self.stage.cluster.applier.apply(self.documents)
        await self.kind.create(self.stage.hands, await self.read())

    async def read(self) -> Document:
        """The object that is asked about."""
        return await view.read(self.stage.client, self.kind.resource, QUEUES.namespace, self.kind.asked(self.name))

    async def objects(self) -> list[Document]:
        names = [document["metadata"]["name"] for document in self.documents]
        return [await view.read(self.stage.client, self.kind.resource, QUEUES.namespace, name) for name in names]

    async def workloads(self) -> list[Document]:
        """As many as Kueue makes: by the job's UID, or the group's name."""
        objects = await self.objects()
        if self.kind.called:
            found = [await view.read(self.stage.client, api.WORKLOADS, QUEUES.namespace, self.name)]
        else:
            mine = f"{api.JOB_UID}={objects[0]['metadata']['uid']}"
            found = await view.every(self.stage.client, api.WORKLOADS, QUEUES.namespace, mine)
        assert len(found) == self.kind.workloads, [workload["metadata"]["name"] for workload in found]
        owners = {owner["uid"] for workload in found for owner in workload["metadata"]["ownerReferences"]}
        assert {each["metadata"]["uid"] for each in objects} <= owners
        return found

    async def have(self, *conditions: tuple[str, str]) -> list[Document]:
        """Its Workloads, once all of them have these conditions."""

        async def true() -> list[Document]:
            workloads = await self.workloads()
            for workload in workloads:
                for type_, status in conditions:
                    found = view.condition(workload, type_)
                    assert found is not None, f"{workload['metadata']['name']} has no {type_}"
                    assert found["status"] == status, found
            return workloads

        return await eventually(true, timeout=60, poll=POLL, what=f"{self.name}: {conditions}")

    async def refused(self) -> None:
        """Once Kueue has said of one of its Workloads that it does not fit."""

        async def said() -> bool:
            return any(view.condition(workload, api.QUOTA_RESERVED) for workload in await self.workloads())

        await eventually(said, timeout=60, poll=POLL, what=f"{self.name} was looked at")

    async def seen(self) -> Seen:
        """What is said of it while nothing moves."""

        async def still() -> Seen:
            before = await self.objects(), await self.workloads()
            explanation = await self.stage.backend.inspect(self.kind.resource, self.kind.asked(self.name))
            after = await self.objects(), await self.workloads()
            assert before == after, f"{self.name} moves"
            assert explanation is not None, f"{self.name} is not found"
            return Seen(explanation, *after)

        return await eventually(still, timeout=60, poll=POLL)

    async def commit(self) -> None:
        """End its wait as the controller does: one write a Workload, guarded by its version."""
        for workload in await self.workloads():
            meta = workload["metadata"]
            now = format_instant(self.stage.client.time.now())
            body = {
                "metadata": {
                    "annotations": {api.COMMITTED: f"{now} attempt=1 uid={meta['uid']}"},
                    "resourceVersion": meta["resourceVersion"],
                },
                "spec": {"active": False},
            }
            path = api.WORKLOADS.path(QUEUES.namespace, meta["name"])
            await self.stage.client.request("PATCH", path, body=body, content_type=MERGE_PATCH)


@dataclass
class Stage:
    """Where they all live."""

    cluster: Cluster
    hands: played.Hands
    backend: Backend

    def __post_init__(self) -> None:
        self.client = self.cluster.admin
        numbers = itertools.count()
        self.lives = {
            (kind.id, fate): Life(self, kind, fate, next(numbers)) for kind in kinds.KINDS for fate in (GOOD, BAD, LATE)
        }

    async def quota(self, amount: int) -> None:
        quota: dict[str, str | int] = {"cpu": amount, "memory": f"{amount}Gi"}
        queue = builders.cluster_queue(QUEUES.cluster_queue, {QUEUES.flavor: quota})
        await self.cluster.applier.apply([queue])


class Chapter(Generic[T]):
    """What came of one step, for each object that took it; one that failed fails its own test alone."""

    def __init__(self, outcomes: dict[tuple[str, str], T | BaseException]) -> None:
        self._outcomes = outcomes

    @classmethod
    async def of(cls, stage: Stage, step: Callable[[Life], Awaitable[T]], *fates: str) -> "Chapter[T]":
        """Everybody at once."""
        lives = {key: life for key, life in stage.lives.items() if key[1] in fates}
        outcomes = await asyncio.gather(*(step(life) for life in lives.values()), return_exceptions=True)
        return cls(dict(zip(lives, outcomes, strict=True)))

    def __getitem__(self, key: tuple[str, str]) -> T:
        outcome = self._outcomes[key]
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome


# --- the chapters ---------------------------------------------------------------------------------------------------


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def stage(request: pytest.FixtureRequest) -> AsyncIterator[Stage]:
    """A cluster of its own with every kind, Muster in it, a queue without quota and nodes enough."""
    async with further_cluster(request, "kinds", trainer=True, kinds=True) as cluster, Muster(cluster):
        hands = played.Hands(cluster.admin, QUEUES.namespace)
        made = Stage(cluster, hands, Backend(cluster.admin, QUEUES.namespace, Settings()))
        await cluster.applier.apply([builders.namespace(QUEUES.namespace)])
        await made.quota(0)
        nodes = [builders.node(f"kinds-{number}", QUEUES.node_labels, {}) for number in range(2)]
        flavor = builders.flavor(QUEUES.flavor, QUEUES.node_labels)
        await cluster.applier.apply([flavor, builders.local_queue(QUEUES), *nodes, *kinds.runtimes(QUEUES)])
        yield made


@pytest.fixture(scope="module")
def invariants_of_kinds(stage: Stage) -> Invariants:
    return Invariants(stage.cluster)


@pytest_asyncio.fixture(loop_scope="session")
async def nothing_forbidden(invariants_of_kinds: Invariants) -> AsyncIterator[None]:
    yield
    await invariants_of_kinds.check()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def pending(stage: Stage) -> Chapter[Seen]:
    """All are created, and wait for quota."""

    async def step(life: Life) -> Seen:
        await life.create()
        await life.refused()
        return await life.seen()

    # The one kind that is bounded so far is ended by Muster's own controller.
    (job,) = stage.lives["job", LATE].documents
    job["metadata"]["annotations"] = {api.ADMISSION_TIMEOUT: "1s"}
    return await Chapter.of(stage, step, GOOD, BAD, LATE)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def timed_out(stage: Stage, pending: Chapter[Seen]) -> Chapter[Seen]:
    """For one of each kind the wait is ended."""

    async def step(life: Life) -> Seen:
        if life.kind.resource != api.JOBS:
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
        if life.kind.finishes and life.kind.resource != api.APP_WRAPPERS:
            await life.have((api.FINISHED, "True"))
        return await life.seen()

    return await Chapter.of(stage, step, GOOD, BAD)


# --- what is so at any time -----------------------------------------------------------------------------------------


def read_as(document: Document, type_: type[T]) -> T:
    return msgspec.json.decode(msgspec.json.encode(document), type=type_)


def agrees_with_kueue(kind: Kind, seen: Seen, *, held: bool) -> None:
    """Our reading of the object's lever is Kueue's."""
    assert [kind.held(each) for each in seen.objects] == [held] * len(seen.objects)
    if kind.called:
        group = group_of(read_as(each, Pod) for each in seen.objects)
        assert group is not None
        assert podgroup.VIEW.suspended(group) is held
    else:
        of_kind = VIEWS[kind.resource.group, kind.resource.kind]
        assert of_kind.suspended(read_as(seen.objects[0], of_kind.type_)) is held
    ref = seen.explanation.observation.ref
    assert (ref.kind, ref.namespace) == (kind.kind, QUEUES.namespace)
    assert not seen.explanation.observation.foreign, seen.explanation.observation.cause.detail
    assert seen.explanation.workload in {workload["metadata"]["name"] for workload in seen.workloads}


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


@finishing
async def test_it_fails_of_what_its_pod_did(ended: Chapter[Seen], kind: Kind) -> None:
    seen = ended[kind.id, BAD]
    if kind.resource == api.APP_WRAPPERS:
        return
    assert told(seen) == (State.ENDED, CauseKind.NON_ZERO_EXIT, "container")
    first = seen.explanation.observation.cause.detail.split("; ")[0]
    assert re.fullmatch(rf"pod {kind.id}-bad\S*: (container \S+ )?exit code {EXIT_CODE}", first), first
    agrees_with_kueue(kind, seen, held=False)
    (workload,) = seen.workloads
    # A group that has ended is a success to Kueue, however its pods did.
    reason = "Succeeded" if kind.called else "Failed"
    assert (view.condition(workload, api.FINISHED) or {})["reason"] == reason
