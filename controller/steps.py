"""One step for one key: facts from the cache to ``decide`` (pure), its action to ``act`` (single guarded writes)."""

import logging
from collections.abc import Callable

from classifier import api, scope
from classifier.clock import Standing
from classifier.cluster.client import ApiError, Unreachable
from classifier.instant import SECOND
from classifier.objects import Meta
from classifier.scope import BOUNDED, bounded_view
from controller.act import Writer
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
from controller.fence import Fence
from controller.figures import Figures
from controller.metrics import Metrics
from controller.outage import Outage
from controller.queue import WorkQueue
from controller.supervision import Supervision

log = logging.getLogger(__name__)

#: A decision that waits to settle is looked at again this often even if nothing changes, milliseconds.
SETTLE_AGAIN = 10 * SECOND
#: While an outage is not seen to end one commit at a time is tried; the others look again this much later, ms.
TRY_AGAIN = 5 * SECOND

#: A Workload's ``namespace/name``, or an owner that may have none.
Key = str | OwnerKey


class Steps:
    """``handle`` is the work of one worker of the queue on one key; it never raises."""

    def __init__(
        self,
        *,
        cache: Cache,
        queue: WorkQueue[Key],
        deadlines: Deadlines[Key],
        writer: Writer,
        fence: Fence,
        outage: Outage,
        supervision: Supervision,
        figures: Figures,
        metrics: Metrics,
        now: Callable[[], int],
        notice: int | None,
    ) -> None:
        self._cache = cache
        self._queue = queue
        self._deadlines = deadlines
        self._writer = writer
        self._fence = fence
        self._outage = outage
        self._supervision = supervision
        self._figures = figures
        self._metrics = metrics
        self._now = now
        self._notice = notice
        self._told: dict[str, str] = {}
        self._trying = False

    def forget(self, key: str) -> None:
        """A Workload is gone."""
        self._deadlines.set(key, None)
        self._told.pop(key, None)
        self._writer.forget(key)
        self._figures.forget(key)

    async def handle(self, key: Key) -> None:
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
        workload = self._cache.workloads.objects.get(key) if isinstance(key, str) else None
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
        workload = self._cache.workloads.objects.get(key)
        if workload is None:
            self.forget(key)
            return
        self._figures.looked_at(key, workload)
        reference = scope.owner_of(workload)
        view = bounded_view(reference)
        if reference is not None and view is not None and self._cache.owner(workload, reference) is None:
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
        workload = self._cache.workloads.objects.get(key)
        reference = scope.owner_of(workload) if workload else None
        view = bounded_view(reference)
        if workload is None or reference is None or view is None or scope.why_never(workload):
            return None
        owner = self._cache.owner(workload, reference)
        if owner is None or scope.why_not_ours(owner):
            return None
        return Facts(workload, owner, view, self._cache.policies(workload))

    def _decide(self, facts: Facts) -> Decision:
        self._supervision.notice_step()
        enforce = self._fence.state().in_force and self._supervision.blind() is None
        return decide(facts, self._now(), Mode(enforce, self._outage.not_before, self._notice))

    async def _act(self, key: str, facts: Facts, decision: Decision) -> None:
        action = decision.action
        queue = self._cache.cluster_queue_name(facts.workload)
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
        if self._outage.trial and self._trying:
            self._deadlines.set(key, self._now() + TRY_AGAIN)
            return
        await self._writer.turn()
        facts = self._facts(key)
        decision = self._decide(facts) if facts else None
        if facts is None or decision is None or not isinstance(decision.action, Commit):
            self._queue.add(key)
            return
        self._trying = self._outage.trial
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
            self._deadlines.set(key, self._outage.not_before)

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
        state = self._fence.state()
        if not state.in_force:
            return state.reason
        return self._supervision.blind() or "recovery grace after an outage"

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
        owner: Meta | None = self._cache.owners[key.kind].objects.get(key.key)
        if owner is None or owner.metadata.deletion_timestamp:
            return
        decisions = [live_decision(w) for w in self._cache.workloads_of(key)]
        dead = dead_mirror(owner, None)
        if not dead or any(m is not None and not dead_mirror(owner, m) for m in decisions):
            return
        if scope.why_not_ours(owner):
            return
        if await self._writer.mirrors_live_decision(owner):
            self._queue.retry(key)
            return
        await self._writer.annotate_owner(view, owner, dead)
