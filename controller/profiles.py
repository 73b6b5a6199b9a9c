"""Keeps the status of each CapacityProfile true: its conditions, and what is known of its pools (design §5)."""

import asyncio
import logging
from collections.abc import Callable, Set
from typing import Final

from classifier import api
from classifier.cluster.backoff import Backoff
from classifier.cluster.client import MERGE_PATCH, ApiError, Client, Unreachable
from classifier.cluster.following import Following
from classifier.fit.facts import Sources
from classifier.fit.facts.nodes import NodePools
from classifier.fit.setup import setup_faults
from classifier.objects import CapacityProfile, CapacityProfileStatus
from classifier.report.pool_status import drift, pool_statuses
from classifier.report.profiles import provisioning_ready
from controller.bucket import TokenBucket
from controller.cache import Cache
from controller.events import misconfigured
from controller.fence import Fence
from controller.metrics import Metrics
from controller.profile_status import Known, fault_to_tell, status_of, tells_more

log = logging.getLogger(__name__)

#: Changes come in bursts (an install applies everything at once): wait this long for the rest, seconds.
SETTLE = 0.2
#: Nodes and autoscalers report all the time: look at what they say at most this often, seconds.
NEWS_SETTLE = 2.0
#: Events a second on average, and at once; more are dropped.
EVENTS: Final = (1.0, 25)
#: And at least this often: what an autoscaler said grows old without a word, seconds.
LOOK_AGAIN: Final = 60.0


class ProfileStatus:
    """Keeps the status of every profile true; ``changed`` may be called at any time."""

    def __init__(
        self,
        client: Client,
        cache: Cache,
        fence: Fence,
        metrics: Metrics,
        following: Following,
        identity: str = "",
        leading: Callable[[], bool] = lambda: True,
    ) -> None:
        self._client = client
        self._cache = cache
        self._fence = fence
        self._metrics = metrics
        self._following = following
        self._identity = identity
        self._leading = leading
        self._events = TokenBucket(*EVENTS)
        self._news = following.news()
        self._sources: Sources | None = None
        self._dirty = asyncio.Event()
        #: The condition types shown as metrics, by profile.
        self._shown: dict[str, set[str]] = {}
        cache.on_profile(self.changed)

    def changed(self) -> None:
        self._dirty.set()

    async def run(self) -> None:
        """Follow until cancelled. Must start after the cache is synced."""
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._listen(), name="news of profiles")
                tasks.create_task(self._keep(), name="status of profiles")
        finally:
            self._drop(set(self._shown))

    async def _listen(self) -> None:
        while True:
            try:
                async with asyncio.timeout(LOOK_AGAIN):
                    await self._news.next(NEWS_SETTLE)
            except TimeoutError:
                log.debug("no news of pools for a while")
            self.changed()

    async def _keep(self) -> None:
        backoff = Backoff()
        while True:
            await self._dirty.wait()
            await asyncio.sleep(SETTLE)
            self._dirty.clear()
            if await self._round():
                backoff.reset()
            else:
                await asyncio.sleep(backoff.next())
                self._dirty.set()

    async def _round(self) -> bool:
        """Whether every profile's status is now as it ought to be, and all there is to know is known."""
        knowing = self._knowing()
        written = True
        # One after the other, each for itself: a profile that cannot be written must not hold up the rest.
        for profile in tuple(self._cache.profiles.objects.values()):
            written &= await self._try(profile, knowing(profile) if knowing is not None else None)
            await asyncio.sleep(0)  # thousands of nodes are counted for each: let others have their turn
        self._drop(self._shown.keys() - self._cache.profiles.objects.keys())
        return written and knowing is not None

    def _knowing(self) -> Callable[[CapacityProfile], Known] | None:
        """Tells what the world says of a profile; None while not all of it has been heard."""
        if self._following.trouble is not None:
            return None
        world, now = self._following.world(), self._client.time.now()
        if self._sources is None or not self._sources.current(world):
            self._sources = Sources(world)
        sources, nodes = self._sources, NodePools(world.nodes if world.nodes_recent else None)
        faults = setup_faults(world, now, sources)

        def known(profile: CapacityProfile) -> Known:
            return Known(
                drift=drift(profile, sources, nodes, now),
                faults=tuple(faults.get(profile.name, ())),
                pools=pool_statuses(profile, sources, nodes, now),
            )

        return known

    async def _try(self, profile: CapacityProfile, known: Known | None) -> bool:
        """Whether the profile's status is now as it ought to be."""
        try:
            await self._write(profile, known)
        except (ApiError, Unreachable) as error:
            conflict = isinstance(error, ApiError) and (error.conflict or error.missing)
            log.log(
                logging.DEBUG if conflict else logging.WARNING,
                "the status of a profile cannot be written",
                extra={"profile": profile.name, "cause": str(error)},
            )
            return False
        return True

    async def _write(self, profile: CapacityProfile, known: Known | None) -> None:
        cache = self._cache
        provisioning = provisioning_ready(
            profile, cache.checks.objects, cache.configs.objects, tuple(cache.cluster_queues.objects.values())
        )
        wanted = status_of(profile, provisioning, self._fence.state(), known, self._client.time.now())
        self._measure(profile.name, wanted, known)
        if not tells_more(profile.status, wanted) or not self._leading():
            return
        body = {"metadata": {"resourceVersion": profile.metadata.resource_version}, "status": wanted}
        answer = await self._client.request(
            "PATCH",
            api.CAPACITY_PROFILES.path(None, profile.name, "status"),
            params={"fieldManager": api.CONTROLLER_MANAGER},
            body=body,
            content_type=MERGE_PATCH,
        )
        self._cache.profiles.put(answer)
        fault = fault_to_tell(profile.status, wanted)
        if fault is not None and self._leading():
            await self._tell(profile, fault)

    async def _tell(self, profile: CapacityProfile, fault: str) -> None:
        """An event, once for each new text, if there is room: the status says the same, so it is not tried twice."""
        if not self._events.ready:
            return
        await self._events.take()
        event = misconfigured(profile, fault, self._client.time.now(), self._identity)
        try:
            await self._client.request("POST", api.EVENTS.path(event["metadata"]["namespace"]), body=event)
        except (ApiError, Unreachable) as error:
            log.debug("an event of a profile is dropped", extra={"profile": profile.name, "cause": str(error)})

    def _measure(self, name: str, status: CapacityProfileStatus, known: Known | None) -> None:
        shown = self._shown.setdefault(name, set())
        for condition in status.conditions or ():
            shown.add(condition.type)
            self._metrics.profile_ready.labels(name, condition.type).set(condition.true)
        if known is not None:
            self._metrics.setup_faults.labels(name).set(len(known.faults))

    def _drop(self, names: Set[str]) -> None:
        """Show nothing of these as figures any more."""
        for name in names:
            for type_ in self._shown.pop(name):
                self._metrics.profile_ready.remove(name, type_)
            self._metrics.setup_faults.remove(name)
