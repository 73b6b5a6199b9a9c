"""The webhook for objects of every kind, behind the real API server, Kueue and the webhooks of JobSet and Trainer.

Each step is taken for all kinds at once; a test looks at one kind.
"""

import asyncio
import copy
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import pytest
import pytest_asyncio

from classifier import api, scope
from e2e import builders, kinds, view
from e2e.builders import GPU, Document, Queues
from e2e.controlplane.chart import Muster
from e2e.controlplane.cluster import Cluster
from e2e.controlplane.egress import Fault
from e2e.kinds import Kind
from e2e.submit import Answer, Person, person
from e2e.wait import eventually

pytestmark = [pytest.mark.timeout(600), pytest.mark.usefixtures("nothing_forbidden_of_every_kind")]

QUEUES: Final = Queues("reviews", "queue", "reviews", "reviews")
LABEL: Final = {"key": "capacity.example.com/topology", "value": "same-rack"}
FITS: Final = {"cpu": "1", GPU: "1"}
NEVER: Final = {"cpu": "1", GPU: "9"}


def workload(name: str, queues: Queues, requests: kinds.Requests) -> list[Document]:
    """As a person makes one, for a job that is to use it."""
    podset = {"name": "main", "count": 2, "template": kinds.template(requests, restartPolicy="Never")}
    made = kinds.job_object(api.WORKLOADS, name, queues, {"queueName": queues.local_queue, "podSets": [podset]})
    return [made]


ALL: Final = (*kinds.KINDS, Kind(api.WORKLOADS, workload, kinds.never, pods=0))
#: Whose templates Kueue changes when it lets them go.
COUNTED: Final = {"job", "jobset", "rayjob", "raycluster", "mpijob"} | {
    "pytorchjob",
    "tfjob",
    "xgboostjob",
    "paddlejob",
    "jaxjob",
}
each_kind = pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.id)
each_job = pytest.mark.parametrize("kind", [k for k in ALL if k.resource != api.WORKLOADS], ids=lambda kind: kind.id)
each_held = pytest.mark.parametrize(
    "kind", [k for k in ALL if k.held in (kinds.suspended, kinds.policy_suspended)], ids=lambda kind: kind.id
)

Answers = dict[str, Answer]


@dataclass
class Stage:
    cluster: Cluster
    muster: Muster
    alice: Person

    async def all(self, step: Callable[[Kind], Awaitable[Any]], of: Iterable[Kind] = ALL) -> dict[str, Any]:
        """What came of a step, by kind."""
        of = tuple(of)
        return dict(zip([kind.id for kind in of], await asyncio.gather(*map(step, of)), strict=True))

    async def submit(self, kind: Kind, name: str, requests: kinds.Requests, **params: str) -> Answer:
        """The first of its objects."""
        return await self.alice.create(kind.resource, kind.make(name, QUEUES, requests)[0], **params)

    async def read(self, kind: Kind, name: str) -> Document:
        return await view.read(self.cluster.admin, kind.resource, QUEUES.namespace, kind.asked(name))

    async def workloads(self, job: Document) -> list[Document]:
        mine = f"{api.JOB_UID}={job['metadata']['uid']}"
        return await view.every(self.cluster.admin, api.WORKLOADS, QUEUES.namespace, mine)

    async def queue(self, **spec: Any) -> None:
        quota: dict[str, str | int] = {"cpu": 1000, "memory": "1000Gi", GPU: 1000}
        await self.cluster.applier.apply([builders.cluster_queue(QUEUES.cluster_queue, {QUEUES.flavor: quota}, **spec)])


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def stage(
    every_kind: Cluster, muster_of_every_kind: Muster, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Stage]:
    """Muster, and a queue that admits nobody yet."""
    async with person(every_kind, "alice", tmp_path_factory.mktemp("alice")) as alice:
        made = Stage(every_kind, muster_of_every_kind, alice)
        namespace = builders.namespace(QUEUES.namespace)
        await every_kind.applier.apply([namespace])
        await made.queue(stopPolicy="Hold")
        flavor = builders.flavor(QUEUES.flavor, QUEUES.node_labels)
        await every_kind.applier.apply([flavor, builders.local_queue(QUEUES), *kinds.runtimes(QUEUES)])
        yield made
        await every_kind.applier.delete([namespace])


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def without_policy(stage: Stage) -> tuple[Answers, Answers]:
    """Submitted with Muster, and with its webhook away."""

    async def dry(kind: Kind) -> Answer:
        return await stage.submit(kind, "same", FITS, dryRun="All")

    with_muster = await stage.all(dry)
    await stage.muster.break_webhook(Fault.REFUSE)
    try:
        return with_muster, await stage.all(dry)
    finally:
        await stage.muster.break_webhook(None)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def policy(stage: Stage, without_policy: tuple[Answers, Answers]) -> Document:
    """Two nodes of 8 GPUs, enforced; a topology label and the count of starts."""
    profile = builders.profile(
        "reviews",
        QUEUES.flavor,
        [builders.pool("gpupool", QUEUES, max_nodes=2, allocatable={GPU: 8})],
        closed=True,
        preflight="Enforce",
        admission={"timeout": "30m", "countOnPods": True},
        topology={"workloadLabel": LABEL},
    )
    await stage.cluster.applier.apply([profile])
    in_a_row = 0

    async def known() -> bool:
        nonlocal in_a_row
        probe = await stage.submit(ALL[0], "probe", FITS, dryRun="All")
        in_a_row = in_a_row + 1 if api.CAPACITY_PROFILE in probe.annotations else 0
        return in_a_row >= 4

    await eventually(known, what="the profile is known to the webhook")
    return profile


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def created(stage: Stage, policy: Document) -> Answers:
    """One of each that fits, held by the stopped queue."""

    async def create(kind: Kind) -> Answer:
        return await stage.submit(kind, f"{kind.id}-in", FITS)

    return await stage.all(create)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def refused(stage: Stage, policy: Document) -> Answers:
    async def create(kind: Kind) -> Answer:
        return await stage.submit(kind, f"{kind.id}-out", NEVER)

    return await stage.all(create)


# --- at creation ----------------------------------------------------------------------------------------------------


@each_kind
async def test_without_a_policy_it_is_the_same_object_as_without_muster(
    without_policy: tuple[Answers, Answers], kind: Kind
) -> None:
    here, there = (answers[kind.id] for answers in without_policy)
    assert (here.status, here.warnings) == (there.status, there.warnings) == (201, here.warnings)
    assert not [warning for warning in here.warnings if "muster" in warning]
    assert timeless(here.body) == timeless(there.body)


def timeless(obj: Document) -> Document:
    """Without what differs between any two objects."""
    obj = copy.deepcopy(obj)
    obj.pop("status", None)
    for key in ("uid", "creationTimestamp", "managedFields"):
        obj["metadata"].pop(key, None)
    for patch in obj["spec"].get("runtimePatches") or ():
        patch.pop("time", None)
    for label in ("controller-uid", "batch.kubernetes.io/controller-uid"):
        for place in (obj["spec"].get("selector") or {}).get("matchLabels") or {}, labels(obj["spec"].get("template")):
            place.pop(label, None)
    return obj


def labels(template: Any) -> Document:
    found: Document = ((template or {}).get("metadata") or {}).get("labels") or {}
    return found


@each_kind
async def test_under_a_policy_it_is_stamped(created: Answers, kind: Kind) -> None:
    answer = created[kind.id]
    assert answer.status == 201, answer.body
    stamps = {key.removeprefix(api.PREFIX) for key in answer.annotations if key.startswith(api.PREFIX)}
    if kind.resource == api.WORKLOADS:
        assert stamps <= {"admission-deadline"}, "that one is the controller's"
        return
    expected = {"submitted-at", "capacity-profile", "preflight"}
    bounded = (kind.resource.group, kind.resource.kind) in scope.BOUNDED
    expected |= {"admission-deadline"} if bounded else set()
    expected |= {"admission-count"} if kind.id in COUNTED else set()
    assert stamps == expected
    assert answer.annotations[api.PREFLIGHT].startswith("fits"), answer.annotations[api.PREFLIGHT]
    found = [labels(each).get(LABEL["key"]) for each in templates(answer.body)]
    assert found == [LABEL["value"]] * len(found)
    assert found or kind.id == "trainjob"


def templates(value: Any) -> list[Document]:
    """Every pod template at any depth, the object itself where it is a pod."""
    if isinstance(value, list):
        return [found for inner in value for found in templates(inner)]
    if not isinstance(value, dict):
        return []
    spec = value.get("spec")
    own = [value] if isinstance(spec, dict) and "containers" in spec else []
    return [*own, *(found for inner in value.values() for found in templates(inner))]


@each_kind
async def test_what_can_never_fit_is_refused(refused: Answers, kind: Kind) -> None:
    answer = refused[kind.id]
    assert answer.status == 403, answer.body
    assert f'"v{kind.resource.kind.lower()}.muster.dev" denied the request: preflight: ' in answer.body["message"]
    assert "cannot fit" in answer.body["message"]
    assert answer.body["details"]["causes"][0]["field"].startswith("podSets[")


# --- changes while held ---------------------------------------------------------------------------------------------


def enlarged(obj: Document) -> Document:
    """The same, of which no node can hold a pod."""
    obj = copy.deepcopy(obj)
    resources = [c["resources"] for each in templates(obj) for c in each["spec"]["containers"]]
    resources += [trainer["resourcesPerNode"]] if (trainer := obj["spec"].get("trainer")) else []
    for each in resources:
        for amounts in each.values():
            amounts[GPU] = "9"
    return obj


@each_held
async def test_a_change_to_what_can_never_fit_is_refused_while_it_is_held(
    stage: Stage, created: Answers, kind: Kind
) -> None:
    held = await stage.read(kind, f"{kind.id}-in")
    answer = await stage.alice.replace(kind.resource, enlarged(held), dryRun="All")
    if kind.id in ("jobset", "trainjob"):
        # Their own validation lets nobody change what the pods ask for; all are asked at once, and one is named.
        assert "field is immutable" in answer.body["message"] or "cannot fit" in answer.body["message"]
        return
    assert answer.status == 403, answer.body
    assert f'"v{kind.id}.muster.dev" denied the request: preflight: ' in answer.body["message"]


@each_held
async def test_a_change_of_anything_else_passes(stage: Stage, created: Answers, kind: Kind) -> None:
    async def renamed() -> bool:
        held = await stage.read(kind, f"{kind.id}-in")
        held["metadata"].setdefault("annotations", {})["example.com/team"] = "ml"
        answer = await stage.alice.replace(kind.resource, held, dryRun="All")
        assert (answer.status, answer.warnings) == (200, []), answer.body
        return True

    await eventually(renamed)


# --- starts ---------------------------------------------------------------------------------------------------------

STARTED: Final = [kind for kind in ALL if kind.held in (kinds.suspended, kinds.policy_suspended)]


@dataclass
class Start:
    job: Document
    workloads: list[Document]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def starts(stage: Stage, created: Answers, refused: Answers) -> dict[str, list[Start]]:
    """Each before it is let go, twice let go, and stopped in between."""

    async def is_held(held: bool, kind: Kind) -> Start:
        async def look() -> Start:
            job = await stage.read(kind, f"{kind.id}-in")
            assert kind.held(job) is held, f"{kind.id} is {'not ' if held else ''}held"
            workloads = await stage.workloads(job)
            assert len(workloads) == 1
            assert all(view.is_true(each, api.ADMITTED) is not held for each in workloads)
            return Start(job, workloads)

        return await eventually(look, timeout=60, poll=0.3, what=kind.id)

    seen: dict[str, list[Start]] = {kind.id: [] for kind in STARTED}
    for policy, held in (("Hold", True), ("None", False), ("HoldAndDrain", True), ("None", False)):
        await stage.queue(stopPolicy=policy)
        for name, start in (await stage.all(partial(is_held, held), STARTED)).items():
            seen[name].append(start)
    return seen


def counts(job: Document) -> tuple[str | None, set[str | None]]:
    """On the job, and on its templates."""
    on_templates = {
        view.annotations({"metadata": each.get("metadata") or {}}).get(api.ADMISSION_COUNT) for each in templates(job)
    }
    return view.annotations(job).get(api.ADMISSION_COUNT), on_templates


@each_held
async def test_each_start_is_counted_where_kueue_may_change_the_templates(
    starts: dict[str, list[Start]], kind: Kind
) -> None:
    before, first, _, second = (counts(start.job) for start in starts[kind.id])
    if kind.id not in COUNTED:
        assert all(each in ((None, {None}), (None, set())) for each in (before, first, second))
        return
    assert before == ("0", {None})
    assert first == ("1", {"1"})
    assert second == ("2", {"2"})


@each_held
async def test_no_workload_is_made_anew_because_of_what_is_stamped(starts: dict[str, list[Start]], kind: Kind) -> None:
    uids = [[each["metadata"]["uid"] for each in start.workloads] for start in starts[kind.id]]
    assert uids == [uids[0]] * 4


async def test_pods_carry_their_execution(stage: Stage, starts: dict[str, list[Start]]) -> None:
    async def carried() -> bool:
        pods = await view.pods_of(stage.cluster.admin, QUEUES.namespace, "job-in")
        live = [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]
        assert len(live) == 2
        assert {view.annotations(pod).get(api.ADMISSION_COUNT) for pod in live} == {"2"}
        assert {pod["metadata"]["labels"].get(LABEL["key"]) for pod in live} == {LABEL["value"]}
        return True

    await eventually(carried)
