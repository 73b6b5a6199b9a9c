"""Judges again what already waits, whenever what it is judged by has changed. Denies nothing, writes to no job.

What is alike is judged once, a few milliseconds at a time, and never for more than a small part of the time.
"""

import asyncio
import gc
import logging
import time
from collections.abc import Callable
from typing import Final

from classifier import api
from classifier.cluster.client import Client
from classifier.cluster.following import Following
from classifier.fit import Outcome, World, judge_waiting
from classifier.instant import MINUTE
from controller.cache import Cache
from controller.metrics import Metrics
from controller.tally import Tally
from controller.telling import Telling
from controller.waiting import Kind, Kinds

log = logging.getLogger(__name__)

#: Changes come in bursts: wait this long for the rest, seconds.
SETTLE: Final = 1.0
#: Everything is looked at again at least this often, seconds: what autoscalers said grows old without a word.
LOOK_AGAIN: Final = 300.0
#: While there is nothing to judge by, seconds.
TRY_AGAIN: Final = 5.0
#: Seconds at a stretch until others get their turn; what was begun is finished first.
STRETCH: Final = 0.005
#: After a look at everything, so many times as long as it took to everybody else.
REST: Final = 19
#: A third of what the webhook may spend on one: with all that it costs besides, far less than 50 ms.
STEPS: Final = 5_000
#: Judgements of which what is kept is a few milliseconds' work for Python's collector.
MANY: Final = 2_000
#: What was not heard of for longer, ms, refutes nothing and proves nothing: the last verdicts stand.
MAX_AGE: Final = 3 * MINUTE


class Preflight:
    """``touch`` may be called at any time, for every Workload that a change concerns."""

    def __init__(
        self,
        client: Client,
        cache: Cache,
        following: Following,
        metrics: Metrics,
        identity: str = "",
        leading: Callable[[], bool] = lambda: True,
    ) -> None:
        self._client = client
        self._cache = cache
        self._following = following
        self._news = following.news()
        self._kinds = Kinds()
        self._never = Tally(metrics.never_fits)
        self._failures = metrics.report_failures.labels("preflight")
        self._telling = Telling(client, cache.workloads.objects, metrics, identity, leading=leading)
        self._touched: set[str] = set()
        self._wake = asyncio.Event()
        #: Whether everything is to be looked at, when that was done last, and when it may be done next (loop time).
        self._all = True
        self._looked = 0.0
        self._not_before = 0.0
        self._kueue_config: object = None
        self._spared: float | None = None
        self._spent = 0.0
        self._since = 0.0

    def touch(self, key: str) -> None:
        self._touched.add(key)
        self._wake.set()

    async def run(self) -> None:
        """Follow until cancelled. Must start after the cache is synced."""
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._listen(), name="news of what waits")
                tasks.create_task(self._follow(), name="judge what waits")
                tasks.create_task(self._telling.run(), name="tell verdicts")
        finally:
            self._rest()

    def _rest(self) -> None:
        """Forget what was judged: until this is run again nobody tells of changes, and nobody needs the figures."""
        self._touched.clear()
        self._kinds = Kinds()
        self._never.clear()
        self._telling.clear()
        self._all, self._not_before = True, 0.0

    async def _listen(self) -> None:
        while True:
            kinds = await self._news.next(SETTLE)
            # An autoscaler writes its status every ten seconds, and seldom says anything new: that is for LOOK_AGAIN.
            self._all |= bool(kinds - {api.CONFIG_MAPS})
            self._wake.set()

    async def _follow(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            due = self._not_before if self._all else self._looked + LOOK_AGAIN
            try:
                async with asyncio.timeout_at(max(due, loop.time())):
                    await self._wake.wait()
            except TimeoutError:
                self._all = True
            await asyncio.sleep(SETTLE)
            self._wake.clear()
            if not await self._round():
                await asyncio.sleep(TRY_AGAIN)
                self._wake.set()

    async def _round(self) -> bool:
        """Judge whom the changes so far concern; False where there is nothing to judge by."""
        if self._following.trouble is not None or self._following.age() * 1000 > MAX_AGE:
            return False
        world, now = self._following.world(), self._client.time.now()
        if world.nodes_awaited:
            return False
        if world.kueue_config is not self._kueue_config:
            self._kueue_config, self._all = world.kueue_config, True
        self._spent, self._since = 0.0, time.perf_counter()
        kinds = await self._regroup()
        loop = asyncio.get_running_loop()
        if self._all and loop.time() >= self._not_before:
            self._all, self._looked = False, loop.time()
            for number, kind in enumerate(self._kinds):
                if number % MANY == 0:
                    self._spare_collector(loop.time(), many=number > 0)
                await self._judge(kind, world, now)
                for key in kind.keys:
                    await self._show(key, kind)
            self._not_before = loop.time() + REST * self._spent
        else:
            for key, kind in kinds.items():
                if kind.outcome is None:
                    await self._judge(kind, world, now)
                await self._show(key, kind)
        return True

    async def _regroup(self) -> dict[str, Kind]:
        """Put what was touched where it belongs now, and forget what waits no more. The kind of each that does."""
        touched, self._touched = self._touched, set()
        kinds: dict[str, Kind] = {}
        for key in touched:
            workload = self._cache.workloads.objects.get(key)
            owned = self._cache.owned(workload) if workload is not None else None
            kind = self._kinds.update(key, workload, owned.owner if owned is not None else None)
            if kind is not None:
                kinds[key] = kind
            else:
                self._never.set(key, None)
                self._telling.forget(key)
            await self._turn()
        return kinds

    async def _judge(self, kind: Kind, world: World, now: int) -> None:
        try:
            verdict = judge_waiting(kind.workload(), world, now, steps=STEPS)
        except Exception:
            # A fault of ours in one judgement must keep neither the others nor deadlines from being looked at.
            log.exception("cannot judge", extra={"workload": next(iter(kind.keys), "")})
            self._failures.inc()
            kind.outcome, kind.line = Outcome.UNKNOWN, ""
        else:
            kind.outcome, kind.line = verdict.outcome, verdict.line
        await self._turn()

    async def _show(self, key: str, kind: Kind) -> None:
        """The verdict on its kind, as figure and event."""
        workload = self._cache.workloads.objects.get(key)
        if workload is None or kind.outcome is None:
            return  # gone meanwhile: that has touched it
        never = kind.outcome is Outcome.NEVER_FITS
        self._never.set(key, self._cache.cluster_queue_name(workload) if never else None)
        self._telling.look(key, kind.outcome, kind.line)
        await self._turn()

    def _spare_collector(self, now: float, *, many: bool) -> None:
        """Let Python's collector look through no more of what is here to stay: that takes 100 ms for 20,000 Workloads,
        and half as long for what is kept of many judgements. Whatever is not part of a cycle goes as ever.
        """
        if many or self._spared is None or now - self._spared >= LOOK_AGAIN:
            self._spared = now
            gc.collect(1)
            gc.freeze()

    async def _turn(self) -> None:
        """Let others have theirs, if it is time."""
        spent = time.perf_counter() - self._since
        if spent >= STRETCH:
            self._spent += spent
            await asyncio.sleep(0)
            self._since = time.perf_counter()
