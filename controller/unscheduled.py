"""Gangs that are admitted and whose pods get no nodes: told and counted where a profile says ``scheduledBy``.

Nobody follows pods for it: those of one gang are listed when its limit has passed, and again while they lack nodes.
Without such a profile nothing is asked. Nothing is ever ended here.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

import msgspec

from classifier import api, scope
from classifier.cluster.client import ApiError, Client, ClientError, Unreachable
from classifier.cluster.reading import selectors
from classifier.instant import MINUTE, SECOND
from classifier.objects import Pod, PodGroup, Workload
from classifier.policy import Timeout, scheduled_by
from classifier.state.kinds.podgroup import group_name
from classifier.state.settings import Settings
from controller import events
from controller.bucket import TokenBucket
from controller.cache import Cache
from controller.deadlines import Deadlines
from controller.groups import Owned
from controller.metrics import Metrics
from controller.placement import PlacedPod, PlacedPods, Placement, admitted_since, placement, pods_wanted
from controller.tally import Tally

log = logging.getLogger(__name__)

#: Gangs looked at a second on average, and at once; of two requests each.
_LOOKS: Final = (5.0, 25)
#: Events a second on average, and at once. What finds no room is told at the next look.
_EVENTS: Final = (1.0, 10)
#: A gang that lacks nodes is looked at again after its limit, at the latest after this, ms.
AGAIN: Final = MINUTE
#: One of which no pod is late, but not all are there, is looked at again when it is older by this part.
_PART: Final = 4
#: Policies that cannot be read, told once each; of more than so many all are told again.
_SAID: Final = 1000


class _Ward(msgspec.Struct):
    """One admission of one Workload."""

    uid: str
    since: int
    limit: Timeout
    #: Not looked at again before (ms).
    again: int = 0
    told: bool = False
    #: Nothing more is to be seen.
    done: bool = False


class Unscheduled:
    """``touch`` is called with the key of every Workload that changed; ``run`` looks at those whose time has come."""

    def __init__(
        self, client: Client, cache: Cache, metrics: Metrics, identity: str, leading: Callable[[], bool] = lambda: True
    ) -> None:
        self._client = client
        self._cache = cache
        self._identity = identity
        self._leading = leading
        self._now = client.time.now
        self._tally = Tally(metrics.unscheduled)
        self._wards: dict[str, _Ward] = {}
        self._deadlines: Deadlines[str] = Deadlines(self._now, self._fire)
        self._due: dict[str, None] = {}
        self._some = asyncio.Event()
        self._looks = TokenBucket(*_LOOKS)
        self._events = TokenBucket(*_EVENTS)
        self._said: set[str] = set()

    def touch(self, key: str) -> None:
        """It has changed, or what is said of its queue has."""
        workload = self._cache.workloads.objects.get(key)
        since = admitted_since(workload) if workload is not None else None
        limit = self._limit(workload) if workload is not None and since is not None else None
        if workload is None or since is None or limit is None:
            self._forget(key)
            return
        ward = self._wards.get(key)
        if ward is None or (ward.uid, ward.since, ward.limit) != (workload.uid, since, limit):
            same = ward is not None and (ward.uid, ward.since) == (workload.uid, since)
            self._forget(key)
            ward = self._wards[key] = _Ward(workload.uid, since, limit, told=ward.told if ward and same else False)
        if not ward.done:
            self._deadlines.set(key, max(since + limit.millis, ward.again))

    async def run(self) -> None:
        """Until cancelled; then nothing of it is remembered, for another replica may go on."""
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._deadlines.run(), name="scheduled by")
                tasks.create_task(self._work(), name="look for nodes")
        finally:
            self._deadlines.clear()
            self._wards.clear()
            self._due.clear()
            self._tally.clear()

    def _limit(self, workload: Workload) -> Timeout | None:
        if scope.why_never(workload) is not None:
            return None
        found = scheduled_by(self._cache.policies(workload))
        for warning in set(found.warnings) - self._said:
            log.warning("a policy cannot be read", extra={"problems": warning})
        if len(self._said) > _SAID:
            self._said.clear()
        self._said |= set(found.warnings)
        return found.timeout

    def _forget(self, key: str) -> None:
        self._wards.pop(key, None)
        self._due.pop(key, None)
        self._deadlines.set(key, None)
        self._tally.set(key, None)

    def _fire(self, key: str) -> None:
        self._due[key] = None
        self._some.set()

    async def _work(self) -> None:
        while True:
            while not self._due:
                self._some.clear()
                await self._some.wait()
            await self._looks.take()
            if self._due:
                key = next(iter(self._due))
                del self._due[key]
                await self._look(key)

    async def _look(self, key: str) -> None:
        workload, ward = self._cache.workloads.objects.get(key), self._wards.get(key)
        if workload is None or ward is None or not self._leading():
            return
        try:
            pods = await self._pods(workload)
        except (ApiError, Unreachable, ClientError) as error:
            log.debug("cannot look for the nodes of its pods", extra={"workload": key, "cause": str(error)})
            if isinstance(error, ApiError) and error.retry_after:
                self._looks.hold(error.retry_after)
            self._later(key, ward, self._now() + AGAIN)
            return
        if self._wards.get(key) is not ward:
            return  # admitted anew meanwhile, or no more
        if pods is None:
            ward.done = True
            return
        now = self._now()
        found = placement(pods_wanted(workload), ward.since, ward.limit, pods, now)
        self._tally.set(key, self._cache.cluster_queue_name(workload) if found.late else None)
        if found.late:
            await self._tell(key, workload, ward, found, now)
            self._later(key, ward, now + min(AGAIN, max(SECOND, ward.limit.millis)))
        elif found.complete:
            ward.done = True
        else:
            later = now + max(AGAIN, (now - ward.since) // _PART)
            self._later(key, ward, min(later, found.until or later))

    def _later(self, key: str, ward: _Ward, at: int) -> None:
        if self._wards.get(key) is ward:
            ward.again = at
            self._deadlines.set(key, at)

    async def _pods(self, workload: Workload) -> list[PlacedPod] | None:
        """Those of its job; None if there is no telling which they are."""
        owned = self._cache.owned(workload)
        if owned is None:
            raise ClientError("its job is not known")
        path = api.PODS.path(workload.namespace)
        found: dict[str, PlacedPod] = {}
        queries = await self._queries(workload, owned)
        for query in queries:
            # From the server's cache, which is cheap, and recent enough to report.
            answer = await self._client.get(path, PlacedPods, params={**query, "resourceVersion": "0"})
            found |= {pod.uid: pod for pod in answer.items}
        if isinstance(owned.owner, PodGroup):
            found = {uid: pod for uid, pod in found.items() if group_name(pod) == workload.name}
        return list(found.values()) if queries else None

    async def _queries(self, workload: Workload, owned: Owned) -> list[dict[str, str]]:
        """What to ask for to find its pods. The job is read: of the cached copy all is cut off that leads to them."""
        owner, view = owned.owner, owned.view
        if isinstance(owner, Pod):
            return [{"fieldSelector": f"metadata.name={owner.name}"}]
        if not isinstance(owner, PodGroup):
            owner = await self._client.get(view.resource.path(workload.namespace, owner.name), view.type_)
        found = [{"labelSelector": selector} for selector in selectors(view.pods(owner, Settings()))]
        if not found and isinstance(owner, PodGroup):
            # Its name stands in an annotation, by which no selector finds it.
            return [{"labelSelector": f"{api.MANAGED}=true"}]
        return found

    async def _tell(self, key: str, workload: Workload, ward: _Ward, found: Placement, now: int) -> None:
        """Once an admission, and not at all where there is too much to tell."""
        if ward.told or not self._events.ready:
            return
        await self._events.take()
        ward.told = True
        log.warning("admitted, and not scheduled in time", extra={"workload": key, "pods": found.line})
        event = events.unscheduled(workload, ward.since, found.line, now, self._identity)
        try:
            await self._client.request("POST", api.EVENTS.path(workload.namespace), body=event)
        except (ApiError, Unreachable) as error:
            log.debug("an event of unscheduled pods is dropped", extra={"workload": key, "cause": str(error)})
