"""The lives of one object of every kind, side by side: each step is taken by all of them at once."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Final, Generic, NamedTuple, TypeVar

from classifier import api
from classifier.cluster.backend import Backend
from classifier.cluster.client import MERGE_PATCH, ApiError
from classifier.instant import format_instant
from classifier.state import Explanation
from e2e import builders, kinds, view
from e2e.builders import Document, Queues
from e2e.controlplane.cluster import Cluster
from e2e.kinds import Kind
from e2e.played.hands import Hands
from e2e.wait import eventually

T = TypeVar("T")

QUEUES: Final = Queues("kinds", "queue", "kinds", "kinds")
#: What becomes of the three objects of each kind.
GOOD, BAD, LATE = "good", "bad", "late"
#: Seconds. There are many who wait.
POLL: Final = 1.0


class Seen(NamedTuple):
    """An object at one moment: what Muster says of it, and what there is."""

    explanation: Explanation
    behind: Explanation  # the same, asked by the Workload's name
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
            assert explanation is not None, f"{self.name} is not found"
            behind = await self.stage.backend.inspect(api.WORKLOADS, explanation.workload)
            assert behind is not None, f"nothing is found behind {explanation.workload}"
            after = await self.objects(), await self.workloads()
            assert before == after, f"{self.name} moves"
            return Seen(explanation, behind, *after)

        return await eventually(still, timeout=60, poll=POLL)

    async def commit(self) -> None:
        """End its wait as the controller does: one write a Workload, guarded by its version."""
        for name in [workload["metadata"]["name"] for workload in await self.workloads()]:
            await eventually(partial(self._committed, name), timeout=60, what=f"the wait of {name} is ended")

    async def _committed(self, name: str) -> bool:
        """Whether Kueue has written nothing between the look and the write."""
        path = api.WORKLOADS.path(QUEUES.namespace, name)
        meta = (await view.read(self.stage.client, api.WORKLOADS, QUEUES.namespace, name))["metadata"]
        now = format_instant(self.stage.client.time.now())
        body = {
            "metadata": {
                "annotations": {api.COMMITTED: f"{now} attempt=1 uid={meta['uid']}"},
                "resourceVersion": meta["resourceVersion"],
            },
            "spec": {"active": False},
        }
        try:
            await self.stage.client.request("PATCH", path, body=body, content_type=MERGE_PATCH)
        except ApiError as error:
            if error.status != 409:
                raise
            return False
        return True


@dataclass
class Stage:
    """Where they all live."""

    cluster: Cluster
    hands: Hands
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
