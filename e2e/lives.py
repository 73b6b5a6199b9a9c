"""One TrainJob through its life, and what must be said of it at each step: all of an observation, and nothing else."""

import asyncio
import contextlib
import copy
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

from classifier import api
from classifier.cluster.backend import Backend
from classifier.cluster.client import MERGE_PATCH
from classifier.state.observation import Cause, CauseKind, Execution, Explanation, Observation, Ref, State
from classifier.state.settings import Settings
from e2e import builders, deaths, trainjobs, view
from e2e.builders import GPU, Document, Queues
from e2e.controlplane.cluster import Cluster
from e2e.wait import eventually

#: Keeps an object that was deleted, as an unreachable node or a slow finalizer would.
HOLD: Final = "e2e.muster.dev/hold"
#: Seconds for several controllers to agree, on a busy machine.
PATIENCE: Final = 60.0
#: Seconds between two looks.
LOOK: Final = 0.2

#: What an observation comes down to.
Gist = tuple[State, CauseKind]


class Wrong(Exception):
    """Something was said that is not on the way from one step to the next: no patience mends that."""


class Life:
    """``train-1`` unless said otherwise. ``backend``: whose word is asked; by default one that never watched.

    ``alone``: nothing may be left of others of its name.
    """

    def __init__(
        self,
        cluster: Cluster,
        queues: Queues,
        *,
        job: str = "train",
        submission: int = 1,
        backend: Backend | None = None,
        alone: bool = True,
    ) -> None:
        self._cluster = cluster
        self.client = cluster.admin
        self.queues = queues
        self.job = job
        self.submission = submission
        self.name = f"{job}-{submission}"
        self.backend = backend or Backend(cluster.admin, queues.namespace, Settings())
        self._alone = alone
        self._last: Gist | None = None
        self._submitted: dict[str, Any] = {}
        self.uid = ""

    def asked_of(self, backend: Backend) -> "Life":
        """The same TrainJob, by the word of another."""
        other = copy.copy(self)
        other.backend = backend
        other._last = None
        return other

    # --- doing --------------------------------------------------------------------------------------------------

    async def submit(self, *, runtime: str = "gang", **how: Any) -> None:
        """See :func:`trainjobs.trainjob`."""
        self._submitted = {"runtime": runtime, **how}
        await self._cluster.applier.apply([self._document()])
        self.uid = (await self.trainjob())["metadata"]["uid"]

    async def admit_as(self, admission: int) -> None:
        """Count the next admission on the pods to come, as dispatch does; Trainer lets nobody while any is active."""

        async def stopped() -> bool:
            status = (await self.trainjob())["status"]
            return not any(step.get("active") for step in status["jobsStatus"])

        await eventually(stopped, PATIENCE, what=f"{self.name} has stopped")
        await self._cluster.applier.apply([self._document(admission=admission)])

    def _document(self, **more: Any) -> Document:
        return trainjobs.trainjob(self.job, self.submission, self.queues, **self._submitted, **more)

    async def patch(self, resource: api.Resource, name: str, body: Document) -> None:
        """As a person with all rights."""
        path = resource.path(self.queues.namespace if resource.namespaced else None, name)
        await self.client.request("PATCH", path, body=body, content_type=MERGE_PATCH)

    async def patch_workload(self, body: Document) -> None:
        await self.patch(api.WORKLOADS, (await self.workload())["metadata"]["name"], body)

    async def delete(self, propagation: str = "Background") -> None:
        path = api.TRAIN_JOBS.path(self.queues.namespace, self.name)
        await self.client.request("DELETE", path, params={"propagationPolicy": propagation})

    async def dies(self, pod: Document, death: deaths.Death) -> None:
        await deaths.play(self.client, pod, death)

    async def hold(self, *pods: Document) -> None:
        """Let these pods outlive their deletion."""
        for pod in pods:
            finalizers = [*(pod["metadata"].get("finalizers") or ()), HOLD]
            await self.patch(api.PODS, deaths.name(pod), {"metadata": {"finalizers": finalizers}})

    async def let_go(self, *pods: Document) -> None:
        """The hold ends once nobody else holds them: the Job controller has to count its pods first."""
        for pod in pods:

            async def alone(name: str = deaths.name(pod)) -> bool:
                current = await view.read(self.client, api.PODS, self.queues.namespace, name)
                finalizers: list[str] = current["metadata"]["finalizers"]
                return finalizers == [HOLD]

            await eventually(alone, PATIENCE, what=f"nobody else holds {deaths.name(pod)}")
            await self.patch(api.PODS, deaths.name(pod), {"metadata": {"finalizers": None}})

    # --- looking ------------------------------------------------------------------------------------------------

    async def trainjob(self) -> Document:
        return await view.read(self.client, api.TRAIN_JOBS, self.queues.namespace, self.name)

    async def workload(self) -> Document:
        """Raises AssertionError while Kueue has not made it."""
        found = await view.workload_of(self.client, await self.trainjob())
        assert found is not None, "no Workload yet"
        return found

    async def pods(self) -> list[Document]:
        """By name, those that are going included."""
        selector = f"jobset.sigs.k8s.io/jobset-name={self.name}"
        found = await view.every(self.client, api.PODS, self.queues.namespace, selector)
        return sorted(found, key=deaths.name)

    async def deleted(self, *pods: Document) -> None:
        """Wait until somebody has deleted these pods, which are held."""
        uids = {pod["metadata"]["uid"] for pod in pods}

        async def going() -> bool:
            marked = [p for p in await self.pods() if "deletionTimestamp" in p["metadata"]]
            return uids <= {p["metadata"]["uid"] for p in marked}

        await eventually(going, PATIENCE, what="the pods are deleted")

    # --- being told ---------------------------------------------------------------------------------------------

    async def says(
        self,
        state: State,
        kind: CauseKind = CauseKind.NONE,
        provenance: str = "",
        detail: str = "",
        *,
        run: tuple[int, int] | None = None,
        over: Collection[Gist] = (),
        **flags: Any,
    ) -> Explanation:
        """Wait until exactly this is said: every field of an observation that is not named here has its default.

        Until then only what the step before said may be heard, or one of ``over``. ``run`` is the execution, as
        admission and restart.
        """
        expected = Observation(
            ref=Ref("TrainJob", self.queues.namespace, self.name, self.uid),
            state=state,
            cause=Cause(kind, provenance, detail),
            execution=Execution(*run) if run else None,
            submission=self.submission,
            **flags,
        )
        on_the_way = {self._last, (state, kind), *over}

        async def said() -> Explanation:
            explanation = await self.said()
            seen = explanation.observation
            if (seen.state, seen.cause.kind) not in on_the_way:
                raise Wrong(f"{seen} on the way to {expected}")
            assert seen.same(expected), f"\n     said {seen}\n expected {expected}"
            return explanation

        explanation = await eventually(said, PATIENCE, what="said", poll=LOOK)
        self._last = state, kind
        return explanation

    async def said(self) -> Explanation:
        """What is said of it now, by a look at everything of its job."""
        found = await self.backend.find(self.job)
        for explanation in found:
            if self._alone and explanation.observation.ref.kind != "TrainJob":
                raise Wrong(f"an orphan beside a live TrainJob: {explanation.observation}")
        (mine,) = [e for e in found if e.observation.ref.uid == self.uid]
        return mine

    async def runs(
        self, run: tuple[int, int] = (1, 0), *, over: Collection[Gist] = (), pods: int = 2
    ) -> list[Document]:
        """Wait until it runs with nothing to be said, all its pods Running; the pods of this run."""
        await self.says(State.RUNNING, run=run, over=[(State.PENDING, CauseKind.NONE), *over])

        async def running() -> list[Document]:
            found = [p for p in await self.pods() if "deletionTimestamp" not in p["metadata"]]
            phases = [p["status"]["phase"] for p in found]
            assert phases == ["Running"] * pods, phases
            return found

        return await eventually(running, PATIENCE, what="its pods run")


@asynccontextmanager
async def watching(backend: Backend, job: str) -> AsyncIterator[list[Observation]]:
    """A watch on a job is open until the block ends; what it has sent. There must be something to send."""
    sent: list[Observation] = []
    opened = asyncio.Event()

    async def follow() -> None:
        async with contextlib.aclosing(backend.watch(job)) as stream:
            async for explanation in stream:
                sent.append(explanation.observation)
                opened.set()

    task = asyncio.create_task(follow())
    try:
        async with asyncio.timeout(PATIENCE):
            await opened.wait()
        yield sent
        assert not task.done(), f"the stream closed before its time: {backend.closed_because}"
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    last: dict[Ref, Observation] = {}
    for observation in sent:
        assert not observation.same(last.get(observation.ref)), f"told twice: {observation}"
        last[observation.ref] = observation


@asynccontextmanager
async def pool(
    cluster: Cluster,
    queues: Queues,
    *,
    gpus: int,
    nodes: int | None = None,
    checks: Collection[str] = (),
    more: Collection[Document] = (),
    **queue: Any,
) -> AsyncIterator[None]:
    """A queue of so many GPUs, nodes of one GPU each (as many, unless said otherwise), and the runtime ``gang``."""
    quota: Mapping[str, Mapping[str, str | int]] = {queues.flavor: {GPU: gpus}}
    made = [
        builders.flavor(queues.flavor, queues.node_labels),
        builders.cluster_queue(queues.cluster_queue, quota, checks=list(checks), **queue),
        builders.local_queue(queues),
        trainjobs.runtime("gang", queues.namespace),
        *[
            builders.node(f"{queues.flavor}-{number}", queues.node_labels, {GPU: 1})
            for number in range(gpus if nodes is None else nodes)
        ],
        *more,
    ]
    await cluster.applier.apply(made)
    try:
        yield
    finally:
        # Without waiting: finalizers let go when the last job has.
        await cluster.applier.delete(made)


def no_room(queues: Queues, missing: int) -> str:
    """What Kueue says of two pods of a GPU each that find too little unused quota."""
    return (
        "Workload QuotaReserved: Pending: couldn't assign flavors to pod set node: "
        f"insufficient unused quota for {GPU} in flavor {queues.flavor}, {missing} more needed"
    )
