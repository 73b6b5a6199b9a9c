"""All cases at once on one cluster: set up, submitted, played, and read until nothing moves."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Final, TypeVar

import msgspec

from classifier import api
from classifier.cluster.client import ApiError
from classifier.cluster.reader import Reader
from classifier.cluster.world import world_of
from classifier.fit import World
from e2e import view
from e2e.builders import Document
from e2e.controlplane import kueue
from e2e.controlplane.cluster import Cluster
from e2e.controlplane.processes import together
from e2e.oracle.case import CASE, Case
from e2e.oracle.generate import surroundings
from e2e.oracle.objects import decode, world_in
from e2e.oracle.play import play
from e2e.oracle.sight import Sight
from e2e.wait import eventually

T = TypeVar("T")

#: Requests at the same time.
PARALLEL: Final = 16
#: Seconds.
POLL: Final = 1.0
DEADLINE: Final = 300.0


def _up(document: Document) -> Document:
    if document["kind"] != "Node":
        return document
    ready = {"type": "Ready", "status": "True"}
    return {**document, "status": {**document["status"], "conditions": [ready]}}


class Stage:
    """``sights`` by the case's name."""

    def __init__(self, cluster: Cluster, cases: list[Case]) -> None:
        self.cluster = cluster
        self.client = cluster.admin
        self.cases = cases
        self.sights = {case.name: Sight(case) for case in cases}
        self._flavors = {
            document["metadata"]["name"]: document
            for case in cases
            for document in case.world
            if document["kind"] == "ResourceFlavor"
        }
        self._played: set[str] = set()
        #: Kueue's configuration, as the cluster holds it too.
        self.config: Document = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": kueue.CONFIG, "namespace": kueue.NAMESPACE},
            "data": {"controller_manager_config.yaml": (cluster.folder / "kueue.yaml").read_text()},
        }

    # --- before -----------------------------------------------------------------------------------------------

    async def build(self) -> None:
        """Everything but the jobs; returns when every queue runs."""
        await self.cluster.applier.apply(surroundings())
        # Created, not applied: there are thousands, and that costs the server a third.
        await self._each([document for case in self.cases for document in case.world], self._create)
        names = {case.name for case in self.cases}

        async def run() -> bool:
            queues = await self._all(api.LOCAL_QUEUES)
            idle = names - {q["metadata"]["name"] for q in queues if view.is_true(q, api.ACTIVE)}
            assert not idle, f"{len(idle)} queues do not run: {sorted(idle)[:5]}"
            nodes = await self._all(api.NODES)
            unready = [node["metadata"]["name"] for node in nodes if not view.is_true(node, "Ready")]
            assert not unready, f"{len(unready)} nodes are not ready: {unready[:5]}"
            return True

        await eventually(run, DEADLINE, what="the stage stands", poll=POLL)

    def files(self) -> World:
        """The world as the generator wrote it, with its nodes up."""
        documents = [*surroundings(), self.config]
        for case in self.cases:
            documents += [*map(_up, case.world), *case.profiles]
        return world_in(documents)

    async def read(self) -> World:
        """The world as the command line reads it, and the profiles."""
        reader = Reader(self.client)
        queues: dict[str, set[str]] = {}
        for case in self.cases:
            queues.setdefault(case.namespace, set()).add(case.queues.local_queue)
        await reader.world(queues)
        profiles = (decode(profile) for case in self.cases for profile in case.profiles)
        reader.snapshot.put(api.CAPACITY_PROFILES, profiles)
        return world_of(reader.snapshot)

    # --- the jobs ---------------------------------------------------------------------------------------------

    async def submit(self) -> None:
        """All at once."""
        await self._each(self.cases, self._submit)

    async def _submit(self, case: Case) -> None:
        sight = self.sights[case.name]
        try:
            for document in case.documents:
                sight.stored.append(await self._create(document))
        except ApiError as error:
            sight.refused = error.message

    async def _create(self, document: Document) -> Document:
        """The object as the server stores it."""
        path, _, _ = (await self.cluster.applier.path(document)).rpartition("/")
        made: Document = msgspec.json.decode(await self.client.request("POST", path, body=document, timeout=60))
        return made

    async def _each(self, items: Iterable[T], act: Callable[[T], Awaitable[object]]) -> None:
        limit = asyncio.Semaphore(PARALLEL)

        async def one(item: T) -> None:
            async with limit:
                await act(item)

        await together(*(one(item) for item in items))

    @property
    def running(self) -> list[Sight]:
        return [sight for sight in self.sights.values() if not sight.refused]

    async def look(self) -> None:
        """Read Workloads and pods, and play the operators of those newly admitted."""
        workloads, pods = await asyncio.gather(self._all(api.WORKLOADS), self._all(api.PODS))
        by_case: dict[str, list[Document]] = {}
        for pod in pods:
            by_case.setdefault((pod["metadata"].get("labels") or {}).get(CASE, ""), []).append(pod)
        owners = {uid: sight for sight in self.running for uid in sight.uids}
        of: dict[str, list[Document]] = {}
        for workload in workloads:
            meta = workload["metadata"]
            uids = [owner["uid"] for owner in meta.get("ownerReferences") or ()]
            found = next((owners[uid] for uid in uids if uid in owners), None) or self.sights.get(meta["name"])
            if found is not None:
                of.setdefault(found.case.name, []).append(workload)
        for name, sight in self.sights.items():
            sight.workloads = sorted(of.get(name, []), key=lambda each: str(each["metadata"]["name"]))
            sight.pods = by_case.get(name, [])
            sight.reserved |= any(view.is_true(workload, api.QUOTA_RESERVED) for workload in sight.workloads)
        await self._play()

    async def _all(self, resource: api.Resource) -> list[Document]:
        """From the server's cache, and with patience: there are many, and many who ask."""
        answer = await self.client.request("GET", resource.path(), params={"resourceVersion": "0"}, timeout=60)
        items: list[Document] = msgspec.json.decode(answer)["items"]
        return items

    async def _play(self) -> None:
        due = []
        for sight in self.running:
            if sight.case.real:
                continue
            for workload in sight.admitted:
                uid = workload["metadata"]["uid"]
                if uid not in self._played:
                    self._played.add(uid)
                    due.append(play(self.client, sight, workload, self._flavors))
        await asyncio.gather(*due)

    async def looked_at(self) -> None:
        """Until Kueue has said something about every one."""

        async def said() -> bool:
            await self.look()
            silent = [sight.case.name for sight in self.running if not sight.looked_at]
            assert not silent, f"nothing is said about {len(silent)}: {silent[:10]}"
            return True

        await eventually(said, DEADLINE, what="Kueue has looked at every case", poll=POLL)

    async def until(self, what: str, names: Iterable[str], deadline: float, done: str) -> list[str]:
        """Until these sights are ``reserved`` or ``settled``; those that are not when the time is up."""
        left = sorted(names)

        async def all_done() -> bool:
            await self.look()
            left[:] = [name for name in left if not getattr(self.sights[name], done)]
            assert not left, f"not {done}: {len(left)}, {left[:10]}"
            return True

        try:
            await eventually(all_done, deadline, what=what, poll=POLL)
        except AssertionError:
            return left
        return []
