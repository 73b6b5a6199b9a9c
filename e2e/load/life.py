"""What happens to gangs in a busy cluster, so many changes a second, in Kueue's place (see ``crowd``).

Jobs are submitted, asked to wait longer or shorter, admitted, evicted, ended by their deadline, reactivated, deleted,
and made anew: as many as there were before. Every write of a job passes Muster's webhook.
"""

import itertools
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from classifier import api
from classifier.cluster.client import MERGE_PATCH, ApiError, Client
from classifier.instant import SECOND, format_instant
from classifier.objects import Job, Workload
from e2e import builders
from e2e.builders import GPU, Document, Queues
from e2e.load import crowd

#: What may be asked for: soon due, due within the run, never, and what cannot be read.
REQUESTS: Final = ("1s", "2s", "5s", "20s", "10m", "4h", None, "soon")
#: GPUs of a pod: what fits at once, after a scale-up, and never.
SIZES: Final = (1, 4, 8, 64)
#: At so many more gangs is looked for one that was ended.
FEW: Final = 4
#: How often each thing happens to one of the gangs, of a hundred.
WEIGHTS: Final = {
    "ask": 25,
    "touch": 20,
    "admit": 15,
    "evict": 10,
    "try": 10,
    "reactivate": 5,
    "delete": 14,
    "policy": 1,
}


@dataclass
class Gang:
    """A Job and its Workload by name; ``busy`` while somebody writes to them."""

    queues: Queues
    job: str
    workload: str
    admitted: bool = False
    busy: bool = False


class Life:
    """``change`` is one thing that happens; ``done`` counts them by name. ``count`` gangs live at a time."""

    def __init__(self, client: Client, queues: list[Queues], count: int, seed: int = 1) -> None:
        self.done: Counter[str] = Counter()
        self._client = client
        self._queues = queues
        self._count = count
        self._dice = random.Random(seed)
        self._numbers = itertools.count(1)
        self._gangs: list[Gang] = []
        self._coming = 0
        self._does: dict[str, Callable[[Gang], Awaitable[None]]] = {
            "ask": self._ask,
            "touch": self._touch,
            "admit": self._admit,
            "evict": self._evict,
            "try": self._try,
            "reactivate": self._reactivate,
            "delete": self._delete,
            "policy": self._policy,
        }

    async def change(self, _: int) -> None:
        """Something happens to one gang that nothing happens to just now, or there is one more."""
        if len(self._gangs) + self._coming < self._count:
            await self._submit()
            return
        idle = [gang for gang in self._gangs if not gang.busy]
        if not idle:
            self.done["nothing: all are busy"] += 1
            return
        gang = self._dice.choice(idle)
        (what,) = self._dice.choices(list(WEIGHTS), list(WEIGHTS.values()))
        gang.busy = True
        try:
            await self._does[what](gang)
            self.done[what] += 1
        except ApiError as error:
            # Muster's policies refuse what must not be (422: an admission of what was ended), and others may be first.
            if error.status not in (403, 404, 409, 422):
                raise
            self.done[f"{what}: {error.status}"] += 1
        finally:
            gang.busy = False

    async def end(self) -> None:
        """Everybody goes, and the queues say nothing any more."""
        left = list(self._gangs)
        await crowd.hands(self._delete(gang) for gang in left)
        for queues in self._queues:
            await self._annotate(api.LOCAL_QUEUES, queues.namespace, queues.local_queue, {api.ADMISSION_TIMEOUT: None})

    # --- what happens -----------------------------------------------------------------------------------------

    async def _submit(self) -> None:
        queues, number = self._dice.choice(self._queues), next(self._numbers)
        path = api.JOBS.path(queues.namespace)
        self._coming += 1
        try:
            body = await self._client.request("POST", path, body=self._job(f"life-{number}", queues), timeout=60)
            owner = msgspec.json.decode(body, type=Job)
            workload = crowd.workload(owner.name, owner.uid, queues)
            await self._client.request("POST", api.WORKLOADS.path(queues.namespace), body=workload, timeout=60)
        finally:
            self._coming -= 1
        self._gangs.append(Gang(queues, owner.name, workload["metadata"]["name"]))
        self.done["submit"] += 1

    def _job(self, name: str, queues: Queues) -> Document:
        asked = self._dice.choice(REQUESTS)
        annotations = {} if asked is None else {api.ADMISSION_TIMEOUT: asked}
        requests = {GPU: self._dice.choice(SIZES), "cpu": 8, "memory": "64Gi"}
        return builders.job(name, queues, requests=requests, annotations=annotations)

    async def _ask(self, gang: Gang) -> None:
        asked = {api.ADMISSION_TIMEOUT: self._dice.choice(REQUESTS)}
        await self._annotate(api.JOBS, gang.queues.namespace, gang.job, asked)

    async def _touch(self, gang: Gang) -> None:
        touched = {"example.com/touched": str(self._dice.random())}
        await self._annotate(api.WORKLOADS, gang.queues.namespace, gang.workload, touched)

    async def _admit(self, gang: Gang) -> None:
        await self._conditions(gang, {api.QUOTA_RESERVED: True, api.ADMITTED: True, api.EVICTED: False})
        gang.admitted = True
        await self._suspend(gang, False)

    async def _evict(self, gang: Gang) -> None:
        if gang.admitted:
            await self._suspend(gang, True)
            await self._conditions(gang, {api.QUOTA_RESERVED: False, api.ADMITTED: False, api.EVICTED: True})
            gang.admitted = False
        else:
            await self._touch(gang)

    async def _try(self, gang: Gang) -> None:
        """Somebody asks what would become of a job."""
        path, params = api.JOBS.path(gang.queues.namespace), {"dryRun": "All"}
        await self._client.request("POST", path, params=params, body=self._job("tried", gang.queues), timeout=60)

    async def _reactivate(self, gang: Gang) -> None:
        """One that was ended, if there is any among a few: of those that still wait nothing would be undone."""
        for other in (gang, *self._dice.choices(self._gangs, k=FEW)):
            path = api.WORKLOADS.path(other.queues.namespace, other.workload)
            workload = msgspec.json.decode(await self._client.request("GET", path, timeout=60), type=Workload)
            if not workload.active:
                break
        await self._patch(path, {"spec": {"active": True}})

    async def _delete(self, gang: Gang) -> None:
        namespace = gang.queues.namespace
        self._gangs.remove(gang)
        await self._client.request("DELETE", api.WORKLOADS.path(namespace, gang.workload), timeout=60)
        finalizers = {"metadata": {"finalizers": None}}
        await self._patch(api.WORKLOADS.path(namespace, gang.workload), finalizers)
        options = {"propagationPolicy": "Background"}
        await self._client.request("DELETE", api.JOBS.path(namespace, gang.job), params=options, timeout=60)

    async def _policy(self, gang: Gang) -> None:
        """Of a queue: it reaches all that wait there."""
        policy = {api.ADMISSION_TIMEOUT: self._dice.choice(("1h", "30m", None))}
        await self._annotate(api.LOCAL_QUEUES, gang.queues.namespace, gang.queues.local_queue, policy)

    # --- writes -----------------------------------------------------------------------------------------------

    async def _suspend(self, gang: Gang, suspended: bool) -> None:
        await self._patch(api.JOBS.path(gang.queues.namespace, gang.job), {"spec": {"suspend": suspended}})

    async def _conditions(self, gang: Gang, conditions: dict[str, bool]) -> None:
        at = format_instant(self._client.time.now() // SECOND * SECOND)
        body = [
            {
                "type": type_,
                "status": "True" if true else "False",
                "reason": "Played",
                "message": "",
                "lastTransitionTime": at,
            }
            for type_, true in conditions.items()
        ]
        path = api.WORKLOADS.path(gang.queues.namespace, gang.workload)
        await self._patch(f"{path}/status", {"status": {"conditions": body}})

    async def _annotate(
        self, resource: api.Resource, namespace: str, name: str, annotations: Mapping[str, str | None]
    ) -> None:
        await self._patch(resource.path(namespace, name), {"metadata": {"annotations": annotations}})

    async def _patch(self, path: str, body: Any) -> None:
        await self._client.request("PATCH", path, body=body, content_type=MERGE_PATCH, timeout=60)
