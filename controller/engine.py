"""All parts of the controller put together: what is followed, the queue of changed keys, the heap of deadlines.

Every replica follows, so that whoever is elected knows everything already; only the one that leads has work queued.
"""

import asyncio
import gc
import logging
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Final

from classifier.clock import shown_deadline
from classifier.cluster.client import Client
from classifier.cluster.following import Following
from classifier.instant import SECOND
from classifier.ledger import parse_marker
from classifier.objects import LocalQueue, Workload
from controller.act import Writer
from controller.aside import aside
from controller.bucket import TokenBucket
from controller.cache import Cache
from controller.chain import Chains
from controller.deadlines import Deadlines
from controller.election import Election
from controller.fence import Fence, overtaken
from controller.figures import Figures
from controller.handling import Handling
from controller.heartbeat import beat
from controller.lease import Terms
from controller.leftovers import Leftovers
from controller.metrics import Metrics
from controller.outage import Outage
from controller.preflight import Preflight
from controller.profiles import ProfileStatus
from controller.queue import WorkQueue
from controller.remove import Remover
from controller.settings import Settings
from controller.slices import Slices
from controller.steps import Key, Steps, namespace_of
from controller.supervision import Supervision
from controller.unscheduled import Unscheduled
from controller.voids import Voids

log = logging.getLogger(__name__)

#: So many keys are handed on before others get their turn in the event loop.
TURN: Final = 500


class Engine:
    """All of one controller process. ``run`` follows the cluster until cancelled."""

    def __init__(self, client: Client, settings: Settings, metrics: Metrics) -> None:
        self._client = client
        self._settings = settings
        self._metrics = metrics
        self._now = client.time.now
        #: Whether keys are queued: from the beginning of a term of leading to its end.
        self._acting = False
        self._queue: WorkQueue[Key] = WorkQueue(namespace_of)
        self._deadlines: Deadlines[Key] = Deadlines(self._now, self._queue.add_due)
        self._slices = Slices()
        self.following = Following(
            client,
            kueue_config=settings.kueue_config,
            autoscaler_status=settings.autoscaler_status,
            preflight_optional=settings.preflight_optional,
        )
        self.cache = Cache(
            client,
            self.following,
            self._touched,
            self._add,
            in_slices=self._in_slices,
            default=settings.default_timeout,
            max_default=settings.max_timeout,
            ownerless=settings.bound_ownerless,
            hold=settings.hold,
            kept_keys=settings.cleanup.keys if settings.cleanup is not None else frozenset(),
        )
        self.fence = Fence(client, settings.fence, settings.fence_settle, self._fence_changed)
        self.outage = Outage(settings.outage_after / SECOND, settings.recovery_grace, self._now)
        self.election = Election(
            client,
            settings.namespace,
            settings.lease,
            settings.identity,
            Terms(*(ms / SECOND for ms in (settings.lease_duration, settings.renew_deadline, settings.retry_period))),
            self.outage,
        )
        metrics.leader.set_function(lambda: self.election.leading)
        bucket = TokenBucket(settings.rate, settings.burst)
        self._writer = Writer(
            client,
            self.cache.workloads,
            self.cache.owners,
            bucket,
            self.outage,
            metrics,
            settings.identity,
            self._leading,
        )
        self._profiles = ProfileStatus(
            client, self.cache, self.fence, metrics, self.following, settings.identity, self._leading
        )
        self._preflight = Preflight(client, self.cache, self.following, metrics, settings.identity, self._leading)
        self._unscheduled = Unscheduled(client, self.cache, metrics, settings.identity, self._leading)
        self._figures = Figures(self.cache, metrics, self._now)
        self._supervision = Supervision(
            client,
            self.cache,
            self.fence,
            self.outage,
            metrics,
            look_again=self._look_at_overdue,
            on_fence=self._profiles.changed,
        )
        self._remover = Remover(self._writer, metrics, settings.identity)
        self._leftovers = Leftovers(client, metrics, self._touched)
        self._voids = Voids(self._writer, metrics, self._now, settings.identity)
        self._steps = Steps(
            cache=self.cache,
            queue=self._queue,
            deadlines=self._deadlines,
            writer=self._writer,
            outage=self.outage,
            supervision=self._supervision,
            figures=self._figures,
            metrics=metrics,
            now=self._now,
            notice=settings.notice,
            hold=settings.hold,
            rules=settings.cleanup,
            remover=self._remover,
            leftovers=self._leftovers,
            chains=Chains(client, metrics),
            voids=self._voids,
            gap=lambda: self.election.gap,
        )
        self._handling = Handling(self._queue, metrics, self._steps.step, self._steps.read_again)
        self._reflectors = [*self.cache.needed, self.fence.policies, self.fence.bindings]
        metrics.watch_reflectors([*self._reflectors, *self.cache.optional])
        self.cache.on_workload(self._workload_changed)
        self.cache.on_origin(self._origin_moved)
        self.following.local_queues.listen(self._queue_changed)

    @property
    def not_ready(self) -> list[str]:
        """What is still missing before decisions can be trusted."""
        reflectors = self._reflectors
        return [f"{r.resource.plural} not listed yet ({r.trouble or 'listing'})" for r in reflectors if not r.synced]

    async def run(self) -> None:
        """Sync, then stand for election, and follow all the while. Raises only what is a bug."""
        reflectors = self._reflectors
        async with asyncio.TaskGroup() as tasks:
            for reflector in (*self.cache.own, self.fence.policies, self.fence.bindings):
                tasks.create_task(reflector.run(), name=f"reflect {reflector.resource.plural}")
            tasks.create_task(self._leftovers.reflector.run(), name="reflect leftovers")
            tasks.create_task(self.following.run(), name="follow")
            tasks.create_task(self._supervision.run(), name="supervise")
            tasks.create_task(beat(self._metrics), name="heartbeat")
            # Nothing is decided on half a picture: who has not listed everything does not stand.
            for reflector in reflectors:
                await reflector.wait_synced()
            await self.cache.wait_answered()
            # What is kept of all that is here to stay: free of garbage, of which none is found in it later.
            gc.collect()
            gc.freeze()
            log.info("synced", extra={"workloads": len(self.cache.workloads.objects)})
            tasks.create_task(self.election.run(self._lead), name="election")

    async def _lead(self) -> None:
        """One term: recover what an earlier leader left undone, then act on every change, until cancelled."""
        self._acting = True
        try:
            async with asyncio.TaskGroup() as tasks:
                self._in_slices(self._first_pass())
                tasks.create_task(self._slices.run(), name="slices")
                self._profiles.changed()
                failures = self._metrics.report_failures
                tasks.create_task(aside(self._profiles.run, "profiles", failures), name="profiles")
                for name, part in (("preflight", self._preflight), ("unscheduled", self._unscheduled)):
                    tasks.create_task(aside(partial(self._report, part), name, failures), name=name)
                tasks.create_task(self._deadlines.run(), name="deadlines")
                for number in range(self._settings.workers):
                    tasks.create_task(self._queue.work(self._handling.handle), name=f"worker {number}")
        finally:
            # The next term, of whomever, begins with everything: nothing of this one may linger, its figures least.
            self._acting = False
            self._slices.clear()
            self._queue.clear()
            self._deadlines.clear()
            self._figures.clear()
            self._leftovers.clear()
            self._voids.clear()

    async def _report(self, part: Preflight | Unscheduled) -> None:
        """It begins with everything: it remembers nothing of what it knew before."""
        for number, key in enumerate(tuple(self.cache.workloads.objects), 1):
            part.touch(key)
            if number % TURN == 0:
                await asyncio.sleep(0)
        await part.run()

    def _first_pass(self) -> Iterator[None]:
        """Everything is looked at once: recovery, and what has changed while somebody else led."""
        yield from self._earliest_first(tuple(self.cache.workloads.objects))
        for owner in self.cache.mirrored():
            if owner is not None:
                self._queue.add(owner)
            yield

    def _leading(self) -> bool:
        return self.election.leading

    def _in_slices(self, work: Iterator[None]) -> None:
        """Do it bit by bit. To one who does not act nothing matters: a term begins with everything."""
        if self._acting:
            self._slices.add(work)

    def _touched(self, key: str) -> None:
        if self._acting:
            if self._undone(key):
                self._queue.add_due(key)
            else:
                self._queue.add(key)
            self._preflight.touch(key)
            self._unscheduled.touch(key)

    def _add(self, key: Key) -> None:
        if self._acting:
            self._queue.add(key)

    def _queue_changed(self, key: str, old: LocalQueue | None, new: LocalQueue | None) -> None:
        self._steps.queue_changed(key, old, new, leading=self._acting)

    def _origin_moved(self, key: str) -> None:
        if not self._acting:
            self._steps.written(key)

    def close(self) -> None:
        self._queue.close()

    def _fence_changed(self) -> None:
        self._supervision.fence_changed()

    def _look_at_overdue(self) -> None:
        """What was due and could not be ended: no event of its own brings it back."""
        self._in_slices(self._earliest_first(self._figures.overdue.members()))

    def _earliest_first(self, keys: Iterable[str]) -> Iterator[None]:
        """Queue them all, first those whose deadline has passed, in its order: an outage leaves thousands of them."""
        now = self._now()
        passed: list[tuple[int, str]] = []
        for key in keys:
            workload = self.cache.workloads.objects.get(key)
            if workload is None:
                continue  # a list has just taken it out, and tells of it in a moment
            at = shown_deadline(workload)
            if self._undone(key):
                self._queue.add_due(key)
            elif at is not None and at <= now:
                passed.append((at, key))
            else:
                self._queue.add(key)
            yield
        for _, key in sorted(passed):
            self._queue.add_due(key)
            yield

    def _undone(self, key: str) -> bool:
        """Whether somebody reactivated it over a decision: what says otherwise is to be gone within seconds."""
        workload = self.cache.workloads.objects.get(key)
        return workload is not None and workload.active and parse_marker(workload) is not None

    def _workload_changed(self, key: str, old: Workload | None, new: Workload | None) -> None:
        if self._acting:
            # What happened under another leader was counted there.
            self._figures.workload_changed(key, old, new)
            self._remover.workload_changed(key, old, new)
        if new is None:
            self._steps.forget(key)
        elif overtaken(old, new) and not self.fence.breached:
            self.fence.breached = True
            self._metrics.fence_breaches.inc()
            log.critical("a committed Workload was admitted afterwards: no more commits", extra={"workload": key})
            self._supervision.fence_changed()
