"""The deadline of every kind design §3 bounds, on the real API server and Kueue, and of none that it does not.

All objects wait side by side for what no queue has. Each is told of the same things in the same order; what differs is
what carries them: a job, a bare pod, every pod of a group.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final, TypeVar

import msgspec
import pytest
import pytest_asyncio

from classifier import api, scope
from classifier.cluster.client import MERGE_PATCH
from classifier.instant import MINUTE, parse_instant
from e2e import builders, kinds, view
from e2e.builders import GPU, Document, Queues
from e2e.conftest import Invariants
from e2e.controlplane.chart import CONTROLLER, Muster
from e2e.controlplane.cluster import Cluster
from e2e.gangs import TOO_MUCH, Gang
from e2e.kinds import Kind
from e2e.wait import eventually

T = TypeVar("T")

BOUNDED: Final = [kind for kind in kinds.KINDS if (kind.resource.group, kind.kind) in scope.BOUNDED]
REPORTED: Final = [kind for kind in kinds.KINDS if (kind.resource.group, kind.kind) in scope.REPORT_ONLY]
#: Seconds for all of them at once, on a busy machine.
PATIENCE: Final = 90.0
REQUESTS: Final = {key: str(value) for key, value in TOO_MUCH.items()}
OURS: Final = frozenset((*api.PROTECTED_KEYS,))


@pytest.fixture(scope="module")
def cluster(every_kind: Cluster) -> Cluster:
    return every_kind


@pytest.fixture(scope="module")
def invariants(invariants_of_every_kind: Invariants) -> Invariants:
    return invariants_of_every_kind


class Waiting:
    """One object, or the pods of one group, and its Workload."""

    def __init__(self, cluster: Cluster, queues: Queues, kind: Kind) -> None:
        self.client = cluster.admin
        self.namespace = queues.namespace
        self.kind = kind
        self.name = f"late-{kind.id}"
        self.documents = kind.make(self.name, queues, REQUESTS)
        for document in self.documents:
            document["metadata"].setdefault("annotations", {})[api.ADMISSION_TIMEOUT] = "2s"

    async def carriers(self) -> list[Document]:
        names = [document["metadata"]["name"] for document in self.documents]
        return [await view.read(self.client, self.kind.resource, self.namespace, name) for name in names]

    async def workload(self) -> Document:
        if self.kind.called:
            return await view.read(self.client, api.WORKLOADS, self.namespace, self.name)
        found = await view.workload_of(self.client, (await self.carriers())[0])
        assert found is not None, f"Kueue made no Workload of {self.name} yet"
        return found

    async def patch(self, resource: api.Resource, name: str, body: Document) -> None:
        path = resource.path(self.namespace, name)
        await self.client.request("PATCH", path, body=body, content_type=MERGE_PATCH)

    # --- what is seen -----------------------------------------------------------------------------------------

    async def ended(self) -> str:
        """Decided, settled, told on every carrier; the decision's name."""
        workload = await self.workload()
        assert workload["spec"].get("active") is False, f"{self.name} waits"
        decision = f"{workload['metadata']['uid']}/1"
        for carrier in await self.carriers():
            said = view.annotations(carrier)
            assert said.get(api.ADMISSION_OUTCOME_OF) == decision, f"{carrier['metadata']['name']}: {said}"
            assert said[api.ADMISSION_OUTCOME] == api.OUTCOME_TIMED_OUT
            assert workload["metadata"]["name"] in said[api.ADMISSION_MESSAGE]
            assert self.kind.held(carrier)
        assert not view.is_true(workload, api.QUOTA_RESERVED)
        return decision

    async def reactivate(self) -> None:
        """With time enough, by an administrator."""
        body = {"metadata": {"annotations": {api.ADMISSION_TIMEOUT: "1h"}}}
        for document in self.documents:
            await self.patch(self.kind.resource, document["metadata"]["name"], body)
        await self.patch(api.WORKLOADS, (await self.workload())["metadata"]["name"], {"spec": {"active": True}})

    async def waits_anew(self) -> bool:
        """The second attempt is noted, the decision and its mirrors are gone, and there is a new deadline."""
        workload = await self.workload()
        assert workload["spec"].get("active") is not False
        assert api.COMMITTED not in view.annotations(workload)
        deadline = view.annotations(workload).get(api.ADMISSION_DEADLINE)
        assert deadline is not None, f"{self.name} shows no deadline"
        assert parse_instant(deadline) > self.client.time.now() + 30 * MINUTE
        for carrier in await self.carriers():
            said = view.annotations(carrier)
            assert api.ADMISSION_CLOCK in said, said
            ledger: dict[str, Any] = msgspec.json.decode(said[api.ADMISSION_CLOCK])
            assert (ledger["attempt"], ledger["uid"]) == (2, carrier["metadata"]["uid"])
            assert said[api.ADMISSION_DEADLINE] == deadline
            assert not said.keys() & set(api.MIRROR_KEYS), said
        return True


async def each(steps: dict[str, Callable[[], Awaitable[T]]]) -> dict[str, T]:
    """All at once; which of them did not get there, and why."""
    outcomes = await asyncio.gather(
        *(eventually(step, PATIENCE, what=name, poll=1.0) for name, step in steps.items()), return_exceptions=True
    )
    failed = {name: repr(out) for name, out in zip(steps, outcomes, strict=True) if isinstance(out, BaseException)}
    assert not failed, failed
    return {name: out for name, out in zip(steps, outcomes, strict=True) if not isinstance(out, BaseException)}


async def make(cluster: Cluster, resource: api.Resource, document: Document) -> Document:
    path = resource.path(document["metadata"]["namespace"])
    made: Document = msgspec.json.decode(await cluster.admin.request("POST", path, body=document))
    return made


def controlled_by(owner: Document) -> list[Document]:
    meta = owner["metadata"]
    reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": meta["name"], "uid": meta["uid"]}
    return [{**reference, "controller": True}]


def by_hand(name: str, queues: Queues) -> Document:
    """A Workload that a person made."""
    pod_set = {"name": "main", "count": 1, "template": kinds.template(REQUESTS, restartPolicy="Never")}
    return {
        "apiVersion": api.WORKLOADS.api_version,
        "kind": api.WORKLOADS.kind,
        "metadata": {"name": name, "namespace": queues.namespace, "annotations": {api.ADMISSION_TIMEOUT: "2s"}},
        "spec": {"queueName": queues.local_queue, "podSets": [pod_set]},
    }


@pytest_asyncio.fixture(loop_scope="session")
async def waiting(cluster: Cluster, muster_of_every_kind: Muster, queues: Queues) -> list[Waiting]:
    """One object of each kind that is bounded."""
    await cluster.applier.apply(kinds.runtimes(queues))
    made = [Waiting(cluster, queues, kind) for kind in BOUNDED]
    await cluster.applier.apply([document for one in made for document in one.documents])
    return made


async def untouched(cluster: Cluster, queues: Queues, waiting: list[Waiting]) -> dict[str, tuple[api.Resource, str]]:
    """What has a bound of its own, as its annotation says, and is not to be bounded all the same."""
    alone: dict[str, tuple[api.Resource, str]] = {}
    for kind in REPORTED:
        for document in kind.make(f"report-{kind.id}", queues, REQUESTS):
            document["metadata"].setdefault("annotations", {})[api.ADMISSION_TIMEOUT] = "2s"
            await cluster.applier.apply([document])
            alone[kind.id] = kind.resource, document["metadata"]["name"]
    rayjob = next(one for one in waiting if one.kind.resource == api.RAY_JOBS)
    (parent,) = await rayjob.carriers()
    (child,) = kinds.ray_cluster("child", queues, REQUESTS)
    # As KubeRay does it: with the RayJob's labels and annotations, the queue and the bound among them.
    child["metadata"] |= {"ownerReferences": controlled_by(parent), "annotations": {api.ADMISSION_TIMEOUT: "2s"}}
    child["spec"]["suspend"] = True
    await make(cluster, api.RAY_CLUSTERS, child)
    alone["RayCluster of a RayJob"] = api.RAY_CLUSTERS, "child"
    # Kueue does not look beyond a kind it does not know, and queues the Job by itself.
    (whole,) = await next(one for one in waiting if one.kind.resource == api.JOBSETS).carriers()
    middle = await make(
        cluster,
        api.LOCAL_QUEUES,
        {
            "apiVersion": api.LOCAL_QUEUES.api_version,
            "kind": api.LOCAL_QUEUES.kind,
            "metadata": {"name": "middle", "namespace": queues.namespace, "ownerReferences": controlled_by(whole)},
            "spec": {"clusterQueue": queues.cluster_queue},
        },
    )
    (part,) = kinds.job("part", queues, REQUESTS)
    part["metadata"].setdefault("annotations", {})[api.ADMISSION_TIMEOUT] = "2s"
    part["metadata"]["ownerReferences"] = controlled_by(middle)
    await make(cluster, api.JOBS, part)
    alone["Job of a JobSet, through others"] = api.JOBS, "part"
    await make(cluster, api.WORKLOADS, by_hand("by-hand", queues))
    alone["Workload that a person made"] = api.WORKLOADS, "by-hand"
    return alone


@pytest.mark.timeout(600)
async def test_every_bounded_kind_is_ended_told_and_waits_anew_when_reactivated_and_no_other(
    cluster: Cluster, waiting: list[Waiting], queues: Queues
) -> None:
    alone = await untouched(cluster, queues, waiting)
    decisions = await each({one.name: one.ended for one in waiting})
    # One event a decision, about the job, or about one pod of the group.
    events = await view.every(cluster.admin, api.EVENTS, queues.namespace)
    told = [event["related"]["uid"] for event in events if event["reason"] == api.EVENT_TIMED_OUT]
    assert sorted(told) == sorted(decision.partition("/")[0] for decision in decisions.values())
    for one in waiting:
        await one.reactivate()
    await each({one.name: one.waits_anew for one in waiting})
    # All that while nothing was written to the others, though their time was over as soon.
    for name, (resource, object_name) in alone.items():
        said = view.annotations(await view.read(cluster.admin, resource, queues.namespace, object_name))
        assert not said.keys() & (OURS - {api.ADMISSION_DEADLINE}), (name, said)
    carried = {(await one.workload())["metadata"]["name"] for one in waiting}
    rest = [
        workload
        for workload in await view.every(cluster.admin, api.WORKLOADS, queues.namespace)
        if workload["metadata"]["name"] not in carried
    ]
    # Of the LeaderWorkerSet two, the Job's and the one made by hand; of the RayCluster none.
    assert len(rest) == 4, [workload["metadata"]["name"] for workload in rest]
    for workload in rest:
        assert workload["spec"].get("active") is not False
        assert not view.annotations(workload).keys() & OURS, workload["metadata"]


@pytest_asyncio.fixture(loop_scope="session")
async def opted_in(muster_of_every_kind: Muster) -> AsyncIterator[None]:
    """Workloads that people made are bounded, too."""
    await muster_of_every_kind.apply({"admission": {"ownerlessWorkloads": True}})
    await muster_of_every_kind.node.reconcile()
    await muster_of_every_kind.node.wait_ready(CONTROLLER)
    yield
    await muster_of_every_kind.apply({"admission": {"ownerlessWorkloads": False}})
    await muster_of_every_kind.node.reconcile()
    await muster_of_every_kind.node.wait_ready(CONTROLLER)


@pytest.mark.timeout(300)
async def test_a_workload_that_a_person_made_is_bounded_where_that_was_asked_for(
    cluster: Cluster, opted_in: None, queues: Queues
) -> None:
    """It carries its own ledger and mirror. An administrator reactivates it, and it waits anew."""
    await make(cluster, api.WORKLOADS, by_hand("by-hand", queues))

    async def workload() -> Document:
        return await view.read(cluster.admin, api.WORKLOADS, queues.namespace, "by-hand")

    async def ended() -> Document:
        found = await workload()
        assert found["spec"].get("active") is False, view.annotations(found)
        assert view.annotations(found).get(api.ADMISSION_OUTCOME_OF) == f"{found['metadata']['uid']}/1"
        return found

    said = view.annotations(await eventually(ended, PATIENCE))
    assert parse_instant(said[api.COMMITTED].split(" ")[0]) >= parse_instant(said[api.ADMISSION_DEADLINE])
    assert len(await view.timeout_events(cluster.admin, queues.namespace, "by-hand")) == 1
    body = {"metadata": {"annotations": {api.ADMISSION_TIMEOUT: "1h"}}, "spec": {"active": True}}
    path = api.WORKLOADS.path(queues.namespace, "by-hand")
    await cluster.admin.request("PATCH", path, body=body, content_type=MERGE_PATCH)

    async def waits_anew() -> bool:
        said = view.annotations(await workload())
        assert not said.keys() & {api.COMMITTED, *api.MIRROR_KEYS}, said
        assert msgspec.json.decode(said[api.ADMISSION_CLOCK])["attempt"] == 2
        assert parse_instant(said[api.ADMISSION_DEADLINE]) > cluster.admin.time.now() + 30 * MINUTE
        return True

    await eventually(waits_anew, PATIENCE)


@pytest.mark.timeout(300)
async def test_a_prebuilt_workload_is_bounded_and_its_job_never_deleted(
    cluster: Cluster, muster_of_every_kind: Muster, queues: Queues
) -> None:
    """Beside a job like it whose Workload Kueue made, which is gone by then."""
    ttl = {"metadata": {"annotations": {api.TTL_AFTER_TIMEOUT: "2s"}}}
    path = api.LOCAL_QUEUES.path(queues.namespace, queues.local_queue)
    await cluster.admin.request("PATCH", path, body=ttl, content_type=MERGE_PATCH)
    asked = {api.ADMISSION_TIMEOUT: "2s"}
    prebuilt = builders.job(
        "prebuilt", queues, requests=TOO_MUCH, annotations=asked, labels={api.PREBUILT_WORKLOAD: "made-before"}
    )
    job = await make(cluster, api.JOBS, prebuilt)
    pod_set = {
        "name": "main",
        "count": job["spec"]["parallelism"],
        "template": {"spec": job["spec"]["template"]["spec"]},
    }
    workload = by_hand("made-before", queues)
    workload["metadata"].pop("annotations")
    workload["spec"]["podSets"] = [pod_set]
    await make(cluster, api.WORKLOADS, workload)
    usual = Gang(cluster, queues, "usual")
    await usual.submit(timeout="2s")

    async def kept() -> Document:
        found = await view.read(cluster.admin, api.JOBS, queues.namespace, "prebuilt")
        said = view.annotations(found)
        assert said.get(api.ADMISSION_OUTCOME) == api.OUTCOME_TIMED_OUT, said
        assert "prebuilt" in said[api.ADMISSION_MESSAGE], said
        return found

    await eventually(kept, PATIENCE)

    async def deleted() -> bool:
        jobs = await view.every(cluster.admin, api.JOBS, queues.namespace)
        return [job["metadata"]["name"] for job in jobs] == ["prebuilt"]

    await eventually(deleted, PATIENCE, what="the usual one is deleted")
    said = view.annotations(await kept())
    assert api.DELETE_AFTER not in said
    found = await view.read(cluster.admin, api.WORKLOADS, queues.namespace, "made-before")
    assert found["spec"]["active"] is False
    assert not view.annotations(found).keys() & {api.CLEANUP_COMMITTED}


@pytest.mark.timeout(300)
async def test_a_scale_up_of_a_job_that_runs_is_only_reported(
    cluster: Cluster, muster_of_every_kind: Muster, queues: Queues
) -> None:
    """Kueue makes a second Workload for it (a slice), and yet another if that is ended: it would go round for ever."""
    elastic = {api.ELASTIC_JOB: "true", api.ADMISSION_TIMEOUT: "2s"}
    grows = builders.job("grows", queues, requests={GPU: 400}, annotations=elastic, ends="Never")
    await cluster.applier.apply([grows])

    async def of_it() -> list[Document]:
        found = await view.every(cluster.admin, api.WORKLOADS, queues.namespace)
        return [each for each in found if each["metadata"]["name"].startswith("job-grows")]

    async def runs() -> bool:
        admitted = [view.is_true(workload, api.ADMITTED) for workload in await of_it()] == [True]
        return admitted and not (await view.read(cluster.admin, api.JOBS, queues.namespace, "grows"))["spec"]["suspend"]

    # Admitted alone is too early: what Kueue had yet to let go would be stopped for its new size.
    await eventually(runs, PATIENCE, what="admitted and let go")
    path = api.JOBS.path(queues.namespace, "grows")
    more = {"spec": {"parallelism": 3, "completions": 3}}
    await cluster.admin.request("PATCH", path, body=more, content_type=MERGE_PATCH)

    async def slices() -> list[Document]:
        found = [each for each in await of_it() if api.SLICE_REPLACEMENT_FOR in view.annotations(each)]
        assert len(found) == 1, [view.annotations(each) for each in await of_it()]
        return found

    (before,) = await eventually(slices, PATIENCE)
    # What is bounded beside it is ended meanwhile.
    usual = Gang(cluster, queues, "usual")
    await usual.submit(timeout="4s")
    await usual.mirrored()
    (after,) = await slices()
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert after["spec"].get("active") is not False
    assert not view.is_true(after, api.QUOTA_RESERVED)
    assert not view.annotations(after).keys() & OURS
    job = await view.read(cluster.admin, api.JOBS, queues.namespace, "grows")
    assert job["spec"]["suspend"] is False
    assert not view.annotations(job).keys() & set(api.MIRROR_KEYS)


@pytest.mark.timeout(300)
async def test_a_pod_that_joins_a_group_late_is_told_of_its_wait(
    cluster: Cluster, muster_of_every_kind: Muster, queues: Queues
) -> None:
    """A replacement for a pod that is gone; Kueue asks for as many as were announced."""
    first, second = kinds.pod_group("late", queues, REQUESTS)
    for document in (first, second):
        document["metadata"]["annotations"] |= {api.ADMISSION_TIMEOUT: "1h"}
    await cluster.applier.apply([first, second])

    async def ledgers(*names: str) -> list[dict[str, Any]]:
        pods = [await view.read(cluster.admin, api.PODS, queues.namespace, name) for name in names]
        said = [view.annotations(pod).get(api.ADMISSION_CLOCK) for pod in pods]
        assert all(said), said
        return [msgspec.json.decode(text) for text in said if text is not None]

    before = await eventually(lambda: ledgers("late-0", "late-1"), PATIENCE)
    await cluster.admin.request("DELETE", api.PODS.path(queues.namespace, "late-1"))
    second["metadata"]["name"] = "late-2"
    await cluster.applier.apply([second])
    after = await eventually(lambda: ledgers("late-0", "late-2"), PATIENCE)
    assert {ledger["origin"] for ledger in after} == {ledger["origin"] for ledger in before}
    assert len({ledger["uid"] for ledger in after}) == 2
