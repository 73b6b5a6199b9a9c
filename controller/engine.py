"""Turns changes into decisions and decisions into writes: one key at a time a worker, deadlines from the heap.

The protocol itself is ``decide`` (pure) and ``act`` (single guarded writes); this module only brings facts to the one
and actions to the other, and keeps the figures.
"""

import asyncio
import logging
from typing import Any

from classifier import api, scope
from classifier.clock import Standing
from classifier.cluster.client import ApiError, Client, Unreachable
from classifier.cluster.following import Following
from classifier.cluster.reflector import Reflector
from classifier.instant import SECOND
from classifier.objects import Meta, Workload
from classifier.scope import BOUNDED, bounded_view
from controller.act import WATCH, Writer
from controller.bucket import TokenBucket
from controller.cache import Cache, OwnerKey
from controller.deadlines import Deadlines
from controller.decide import (
    Commit,
    Decision,
    Facts,
    Mirror,
    Mode,
    Rest,
    WriteOwner,
    WriteWorkload,
    dead_mirror,
    decide,
    live_decision,
    mirror_of,
)
from controller.fence import Fence, overtaken
from controller.figures import Figures
from controller.metrics import Metrics
from controller.outage import Outage
from controller.preflight import Preflight
from controller.profiles import ProfileStatus
from controller.queue import WorkQueue
from controller.settings import Settings

log = logging.getLogger(__name__)

#: A decision that waits to settle is looked at again this often even if nothing changes, milliseconds.
SETTLE_AGAIN = 10 * SECOND
#: While an outage is not seen to end one commit at a time is tried; the others look again this much later, ms.
TRY_AGAIN = 5 * SECOND

Key = str | OwnerKey


class Engine:
    """All of one controller process. ``run`` follows the cluster until cancelled."""

    def __init__(self, client: Client, settings: Settings, metrics: Metrics) -> None:
        self._client = client
        self._settings = settings
        self._metrics = metrics
        self._now = client.time.now
        self._queue: WorkQueue[Key] = WorkQueue()
        self._deadlines: Deadlines[Key] = Deadlines(self._now, self._queue.add)
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
            self._queue.add,
            default=settings.default_timeout,
            max_default=settings.max_timeout,
        )
        self.fence = Fence(client, settings.fence, settings.fence_settle, self._fence_changed)
        self.outage = Outage(settings.outage_after / SECOND, settings.recovery_grace, self._now)
        bucket = TokenBucket(settings.rate, settings.burst)
        self._writer = Writer(
            client, self.cache.workloads, self.cache.owners, bucket, self.outage, metrics, settings.identity
        )
        self._profiles = ProfileStatus(client, self.cache, self.fence, metrics, self.following, settings.identity)
        self._preflight = Preflight(client, self.cache, self.following, metrics, settings.identity)
        self._figures = Figures(self.cache, metrics, self._now)
        self._told: dict[str, str] = {}
        self._fence_said: tuple[bool, str] | None = None
        self._blind_said: str | None = None
        self._trying = False
        self._steps = 0
        self._reflectors = [*self.cache.needed, self.fence.policies, self.fence.bindings]
        metrics.watch_reflectors(self._reflectors)
        self.cache.on_workload(self._workload_changed)

    @property
    def not_ready(self) -> list[str]:
        """What is still missing before decisions can be trusted."""
        reflectors = self._reflectors
        return [f"{r.resource.plural} not listed yet ({r.trouble or 'listing'})" for r in reflectors if not r.synced]

    async def run(self) -> None:
        """Sync, recover what an earlier life left undone, then follow. Raises only what is a bug."""
        reflectors = self._reflectors
        async with asyncio.TaskGroup() as tasks:
            for reflector in (*self.cache.own, self.fence.policies, self.fence.bindings):
                tasks.create_task(reflector.run(), name=f"reflect {reflector.resource.plural}")
            tasks.create_task(self.following.run(), name="follow")
            tasks.create_task(self._supervise(), name="supervise")
            # Nothing is decided on half a picture: recovery is the first pass over all that was listed.
            for reflector in reflectors:
                await reflector.wait_synced()
            log.info("synced", extra={"workloads": len(self.cache.workloads.objects)})
            self._metrics.leader.set(1)
            self._profiles.changed()
            tasks.create_task(self._profiles.run(), name="profiles")
            tasks.create_task(self._preflight.run(), name="preflight")
            tasks.create_task(self._deadlines.run(), name="deadlines")
            for number in range(self._settings.workers):
                tasks.create_task(self._queue.work(self._handle), name=f"worker {number}")

    def _touched(self, key: str) -> None:
        self._queue.add(key)
        self._preflight.touch(key)

    def close(self) -> None:
        self._queue.close()
        self._metrics.leader.set(0)

    # --- supervision ------------------------------------------------------------------------------------------

    async def _supervise(self) -> None:
        """Once a second: is the API server there, did its clock step, is the fence in force."""
        while True:
            # A channel of its own: what cannot be followed fails until it can, however few other requests there are.
            # Only the Workloads' watch: it alone goes the way that Kueue's scheduler goes.
            if self.cache.workloads.trouble:
                self.outage.failed(WATCH)
            else:
                self.outage.answered(WATCH)
            self._metrics.outage.set(self.outage.trial)
            self._notice_step()
            self._fence_changed()
            self._sight_changed()
            await asyncio.sleep(1)

    def _notice_step(self) -> None:
        """Begin the grace if the server's clock has stepped: before any decision is made by it."""
        if self._client.time.steps != self._steps:
            self._steps = self._client.time.steps
            log.warning("the API server's clock stepped; the recovery grace begins")
            self.outage.begin_grace()

    def _fence_changed(self) -> None:
        if not (self.fence.policies.synced and self.fence.bindings.synced):
            return
        state = self.fence.state()
        said = (state.in_force, state.reason)
        if said == self._fence_said:
            return
        self._fence_said = said
        self._metrics.fence_in_force.set(1 if state.in_force else 0)
        if state.in_force:
            log.info("the fence is in force: deadlines are enforced")
        else:
            log.error(
                "the fence is not in force: deadlines are reported, not enforced",
                extra={"fence": self.fence.name, "reason": state.reason},
            )
        self._profiles.changed()
        self._look_at_overdue()

    def _sight_changed(self) -> None:
        blind = self._blind()
        if blind == self._blind_said:
            return
        self._blind_said = blind
        if blind is None:
            log.info("all that a commit rests on is followed again")
            self._look_at_overdue()
        elif not self.not_ready:
            log.warning("deadlines are not enforced for now", extra={"reason": blind})

    def _look_at_overdue(self) -> None:
        """What was due and could not be ended: no event of its own brings it back."""
        for key in self._figures.overdue.members():
            self._queue.add(key)

    def _workload_changed(self, key: str, old: Workload | None, new: Workload | None) -> None:
        self._figures.workload_changed(key, old, new)
        if new is None:
            self._forget(key)
        elif overtaken(old, new) and not self.fence.breached:
            self.fence.breached = True
            self._metrics.fence_breaches.inc()
            log.critical("a committed Workload was admitted afterwards: no more commits", extra={"workload": key})
            self._fence_changed()

    def _forget(self, key: str) -> None:
        self._deadlines.set(key, None)
        self._told.pop(key, None)
        self._writer.forget(key)
        self._figures.forget(key)

    # --- one key ----------------------------------------------------------------------------------------------

    async def _handle(self, key: Key) -> None:
        """Decide and act for one key. Every failure is said and retried; only bugs are logged with a traceback."""
        try:
            if isinstance(key, OwnerKey):
                await self._clean_owner(key)
            else:
                await self._step(key)
        except ApiError as error:
            await self._failed(key, error)
        except Unreachable as error:
            self._say_failure(key, "no answer; the outcome is read before anything else is done", error)
            await self._read_again(key)
        except Exception:
            log.exception("cannot decide", extra={"key": str(key)})
            self._queue.retry(key, 5.0)
        else:
            self._queue.forget(key)

    async def _failed(self, key: Key, error: ApiError) -> None:
        if error.conflict or error.missing:
            # A 404 may be a proxy's: the watch tells of a real deletion, and then this key is forgotten.
            await self._read_again(key)
        else:
            self._say_failure(key, "refused", error)
            self._queue.retry(key, error.retry_after or 0.0)

    def _say_failure(self, key: Key, what: str, error: Exception) -> None:
        """Once a key until it succeeds: in an outage thousands of them fail again and again."""
        level = logging.DEBUG if self._queue.failing(key) else logging.WARNING
        log.log(level, what, extra={"key": str(key), "cause": str(error)})

    async def _read_again(self, key: Key) -> None:
        """After a write of unknown outcome, or a conflict: what stands there now decides."""
        workload = self.cache.workloads.objects.get(key) if isinstance(key, str) else None
        reference = scope.owner_of(workload) if workload else None
        view = bounded_view(reference)
        try:
            if workload is not None:
                await self._writer.read_workload(workload)
            if workload is not None and reference is not None and view is not None:
                await self._writer.read_owner(view, workload.namespace, reference.name)
        except (ApiError, Unreachable) as error:
            log.debug("cannot read it again yet", extra={"key": str(key), "cause": str(error)})
        self._queue.retry(key)

    async def _step(self, key: str) -> None:
        workload = self.cache.workloads.objects.get(key)
        if workload is None:
            self._forget(key)
            return
        self._figures.looked_at(key, workload)
        reference = scope.owner_of(workload)
        view = bounded_view(reference)
        if reference is not None and view is not None and self.cache.owner(workload, reference) is None:
            # The owner's watch may lag behind the Workload's: ask once before believing it is gone.
            await self._writer.read_owner(view, workload.namespace, reference.name)
        facts = self._facts(key)
        if facts is None:
            self._deadlines.set(key, None)
            self._figures.overdue.set(key, None)
            self._figures.mirror_pending(key, False)
            return
        decision = self._decide(facts)
        self._say_warnings(key, decision)
        await self._act(key, facts, decision)

    def _facts(self, key: str) -> Facts | None:
        """Everything about one Workload as it is cached now; None if its wait is not ours to bound."""
        workload = self.cache.workloads.objects.get(key)
        reference = scope.owner_of(workload) if workload else None
        view = bounded_view(reference)
        if workload is None or reference is None or view is None or scope.why_never(workload):
            return None
        owner = self.cache.owner(workload, reference)
        if owner is None or scope.why_not_ours(owner):
            return None
        return Facts(workload, owner, view, self.cache.policies(workload))

    def _decide(self, facts: Facts) -> Decision:
        self._notice_step()
        enforce = self.fence.state().in_force and self._blind() is None
        return decide(facts, self._now(), Mode(enforce, self.outage.not_before, self._settings.notice))

    def _blind(self) -> str | None:
        """Why the copies that a commit rests on may be old; None if they are followed.

        Silence alone tells nothing before the reflector's own limit: bookmarks were seen two minutes apart.
        """
        vital: list[Reflector[Any]] = [self.cache.workloads, self.cache.local_queues, *self.cache.owners.values()]
        for reflector in vital:
            if reflector.trouble:
                return f"{reflector.resource.plural} cannot be followed: {reflector.trouble}"
        return None

    async def _act(self, key: str, facts: Facts, decision: Decision) -> None:
        action = decision.action
        queue = self.cache.cluster_queue_name(facts.workload)
        overdue = isinstance(action, Commit) or (isinstance(action, Rest) and action.overdue)
        if self._figures.overdue.set(key, queue if overdue else None) and isinstance(action, Rest) and action.overdue:
            log.warning("past its deadline, not ended", extra={"workload": key, "reason": self._why_not()})
        match action:
            case WriteOwner(annotations, _, unmirror):
                if unmirror and await self._writer.mirrors_live_decision(facts.owner):
                    # Our copy of the Workload is the old one.
                    self._queue.retry(key)
                    return
                await self._writer.annotate_owner(facts.view, facts.owner, annotations)
            case WriteWorkload(annotations, void):
                await self._writer.annotate_workload(facts.workload, annotations)
                if void is not None:
                    self._metrics.voids.inc()
                    log.info("reactivated: the decision is void", extra={"workload": key, "attempt": void.attempt})
            case Commit():
                await self._commit(key)
            case Mirror():
                self._figures.mirror_pending(key, True)
                if not await self._writer.mirror(facts, action):
                    self._deadlines.set(key, self._now() + SETTLE_AGAIN)
            case Rest(until, _):
                self._rest(key, facts, decision, until)
                await self._writer.tell_again(key)

    async def _commit(self, key: str) -> None:
        """Wait for the write's turn, then decide once more: fence, queue, clock and copy may have moved meanwhile."""
        if self.outage.trial and self._trying:
            self._deadlines.set(key, self._now() + TRY_AGAIN)
            return
        await self._writer.turn()
        facts = self._facts(key)
        decision = self._decide(facts) if facts else None
        if facts is None or decision is None or not isinstance(decision.action, Commit):
            self._queue.add(key)
            return
        self._trying = self.outage.trial
        try:
            ended = await self._writer.commit(facts, decision.action)
        except ApiError as error:
            if error.conflict:
                self._metrics.conflicts.inc()
            raise
        finally:
            self._trying = False
        if not ended:
            # Only tried: nothing was changed, so no event will bring this key back.
            self._deadlines.set(key, self.outage.not_before)

    def _rest(self, key: str, facts: Facts, decision: Decision, until: int | None) -> None:
        marker = live_decision(facts.workload)
        pending = marker is not None and facts.owner.annotation(api.ADMISSION_OUTCOME_OF) != mirror_of(marker)
        self._figures.mirror_pending(key, pending)
        if pending:
            until = self._now() + SETTLE_AGAIN
        if decision.reading.standing is Standing.FINISHED:
            until = None
        self._deadlines.set(key, until)

    def _why_not(self) -> str:
        state = self.fence.state()
        if not state.in_force:
            return state.reason
        return self._blind() or "recovery grace after an outage"

    def _say_warnings(self, key: str, decision: Decision) -> None:
        """A policy that cannot be read is said once for each Workload it concerns, and again when it changes."""
        text = "; ".join(decision.warnings)
        if text and self._told.get(key) != text:
            log.warning("a policy cannot be read", extra={"workload": key, "problems": text})
        if text:
            self._told[key] = text
        else:
            self._told.pop(key, None)

    # --- owners without a Workload ----------------------------------------------------------------------------

    async def _clean_owner(self, key: OwnerKey) -> None:
        """Take a mirror off an owner none of whose Workloads carries the decision it copies."""
        view = BOUNDED[key.kind]
        owner: Meta | None = self.cache.owners[key.kind].objects.get(key.key)
        if owner is None or owner.metadata.deletion_timestamp:
            return
        decisions = [live_decision(w) for w in self.cache.workloads_of(key)]
        dead = dead_mirror(owner, None)
        if not dead or any(m is not None and not dead_mirror(owner, m) for m in decisions):
            return
        if scope.why_not_ours(owner):
            return
        if await self._writer.mirrors_live_decision(owner):
            self._queue.retry(key)
            return
        await self._writer.annotate_owner(view, owner, dead)
