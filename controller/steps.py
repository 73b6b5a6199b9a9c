"""One step for one key: facts from the cache to ``decide`` (pure), its action to ``act`` (single guarded writes)."""

import logging
import math
from collections.abc import Callable

from classifier import api, clock, scope
from classifier.clock import Standing
from classifier.cluster.client import ApiError
from classifier.instant import SECOND
from classifier.objects import LocalQueue, Meta, PodGroup, Workload
from classifier.scope import ALONE, BOUNDED, POD_GROUP
from controller.act import Writer
from controller.cache import Cache, OwnerKey
from controller.chain import Chains
from controller.cleanup import CommitCleanup, Delete, Rules
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
from controller.figures import Figures
from controller.groups import Owned
from controller.handling import Outdated
from controller.leftovers import Leftovers
from controller.metrics import Metrics
from controller.outage import Outage
from controller.queue import WorkQueue
from controller.remove import Remover
from controller.supervision import Supervision
from controller.unseen import WRITTEN, GapSource, Unseen, missed
from controller.voids import Voids

log = logging.getLogger(__name__)

#: A decision that waits to settle is looked at again this often even if nothing changes, milliseconds.
SETTLE_AGAIN = 10 * SECOND
#: While an outage is not seen to end one commit at a time is tried; the others look again this much later, ms.
TRY_AGAIN = 5 * SECOND

#: A Workload's ``namespace/name``, or an owner that may have none.
Key = str | OwnerKey


def namespace_of(key: Key) -> str:
    """Whose turn a key takes. An owner has a dead mirror, which is gone soon however many Workloads wait beside it."""
    return f"{key.key.partition('/')[0]}/" if isinstance(key, OwnerKey) else key.partition("/")[0]


class Steps:
    """``step`` is one step for one key; what becomes of a key whose step fails is told by ``Handling``."""

    def __init__(
        self,
        *,
        cache: Cache,
        queue: WorkQueue[Key],
        deadlines: Deadlines[Key],
        writer: Writer,
        outage: Outage,
        supervision: Supervision,
        figures: Figures,
        metrics: Metrics,
        now: Callable[[], int],
        notice: int | None,
        rules: Rules | None,
        remover: Remover,
        leftovers: Leftovers,
        chains: Chains,
        voids: Voids,
        gap: GapSource = lambda: None,
        hold: str = clock.HOLD,
    ) -> None:
        self._cache = cache
        self._queue = queue
        self._deadlines = deadlines
        self._writer = writer
        self._outage = outage
        self._supervision = supervision
        self._figures = figures
        self._metrics = metrics
        self._now = now
        self._notice = notice
        self._hold = hold
        self._rules = rules
        self._remover = remover
        self._leftovers = leftovers
        self._chains = chains
        self._voids = voids
        self._unseen = Unseen(gap)
        self._told: dict[str, str] = {}
        self._trying = False

    def forget(self, key: str) -> None:
        """A Workload is gone."""
        self._deadlines.set(key, None)
        self._told.pop(key, None)
        self._unseen.forget(key)
        self._leftovers.forget(key)
        self._remover.forget(key)
        self._writer.forget(key)
        self._figures.forget(key)

    def queue_changed(self, key: str, old: LocalQueue | None, new: LocalQueue | None, *, leading: bool) -> None:
        """A LocalQueue has changed. Should it have stood still meanwhile, that concerns what waits in it.

        Who does not lead remembers it for a while, in case it has to finish what whoever leads began to write.
        """
        queues = self._cache.local_queues
        gap = missed(old, new, self._now() - math.ceil(queues.unfollowed() * SECOND))
        if gap is not None:
            if not leading:
                self._unseen.forget_before(gap.until - WRITTEN)
            self._unseen.missed(self._cache.keys_of_queue(key), key, gap)

    def written(self, key: str) -> None:
        """Whoever leads has moved the begin of this wait."""
        self._unseen.written(key)

    async def step(self, key: Key) -> None:
        """Decide and act for one key. Raises what its requests raise, and what a bug does: see ``Handling``."""
        if isinstance(key, OwnerKey):
            await self._clean_owner(key)
        else:
            await self._step(key)

    async def read_again(self, key: Key) -> None:
        """Take in what stands there now: what a write did is not known, or somebody else has written."""
        workload = self._cache.workloads.objects.get(key) if isinstance(key, str) else None
        if workload is not None:
            await self._writer.read_workload(workload)
            await self._read_owner(workload)

    async def _step(self, key: str) -> None:
        workload = self._cache.workloads.objects.get(key)
        if workload is None:
            self.forget(key)
            return
        self._figures.looked_at(key, workload)
        self._leftovers.looked_at(key, workload, self._cache.cluster_queue_name(workload), self._now())
        if scope.why_never(workload, ownerless=self._cache.ownerless) is None:
            owned = self._cache.owned(workload)
            if owned is None:
                # The owner's watch may lag behind the Workload's: ask once before believing it is gone.
                await self._read_owner(workload)
                owned = self._cache.owned(workload)
            if owned is not None:
                await self._chains.look(owned.owner)
        facts = self._facts(key)
        if facts is None:
            self._deadlines.set(key, None)
            self._figures.overdue.set(key, None)
            self._figures.mirror_pending(key, False)
            self._remover.forget(key)
            await self._let_go(key)
            return
        decision = self._decide(facts)
        self._say_warnings(key, decision)
        await self._remover.looked_at(key, facts, decision.kept)
        await self._act(key, facts, decision)

    async def _let_go(self, key: str) -> None:
        """Take a second decision of ours back where the wait is not ours any more: nobody may reactivate it meanwhile.

        A Workload whose job is gone, or going, goes with it, and is known by that decision for one that was deleted.
        """
        workload = self._cache.workloads.objects.get(key)
        if workload is None or workload.annotation(api.CLEANUP_COMMITTED) is None:
            return
        if workload.metadata.deletion_timestamp or clock.parse_marker(workload) is None:
            return
        if scope.why_never(workload, ownerless=self._cache.ownerless) is None:
            owned = self._cache.owned(workload)
            if owned is None or owned.owner.metadata.deletion_timestamp:
                return
        await self._writer.annotate_workload(workload, {api.CLEANUP_COMMITTED: None})

    async def _read_owner(self, workload: Workload) -> None:
        """Of a group no pod is missing: its Workload was made of pods, and each of them is told of."""
        holder = scope.holder_of(workload)
        if holder is not None and holder.kind in BOUNDED and holder.kind != POD_GROUP:
            await self._writer.read_owner(holder.kind, workload.namespace, holder.name)

    def _facts(self, key: str) -> Facts | None:
        """Everything about one Workload as it is cached now; None if its wait is not ours to bound."""
        workload = self._cache.workloads.objects.get(key)
        if workload is None or scope.why_never(workload, ownerless=self._cache.ownerless):
            return None
        owned = self._cache.owned(workload)
        if owned is not None:
            owned = self._writer.members.heard(owned)
        # A Workload that stands for itself was asked already.
        if owned is None or (owned.owner is not workload and scope.why_not_ours(owned.owner)):
            return None
        if self._chains.above(owned.owner) != "":
            return None
        policies = self._cache.policies(workload)
        unseen = self._unseen.of(key, clock.parse_ledger(owned.owner), policies.local_queue)
        requests = self._leftovers.of(workload)
        return Facts(workload, owned.owner, owned.view, policies, owned.members, unseen, requests)

    def _decide(self, facts: Facts) -> Decision:
        self._supervision.notice_step()
        mode = Mode(self._why_not(facts) is None, self._outage.not_before, self._notice, self._hold, self._rules)
        return decide(facts, self._now(), mode)

    async def _act(self, key: str, facts: Facts, decision: Decision) -> None:
        action = decision.action
        queue = self._cache.cluster_queue_name(facts.workload)
        overdue = isinstance(action, Commit) or (isinstance(action, Rest) and action.overdue)
        if self._figures.overdue.set(key, queue if overdue else None) and isinstance(action, Rest) and action.overdue:
            reason = self._why_not(facts) or "recovery grace after an outage"
            log.warning("past its deadline, not ended", extra={"workload": key, "reason": reason})
        match action:
            case WriteOwner(annotations, _, unmirror):
                owned = Owned(facts.view, facts.owner, facts.members)
                if unmirror:
                    live = live_decision(facts.workload)
                    left_out = await self._unmirror(owned, {mirror_of(live)} if live else set())
                else:
                    left_out = await self._writer.annotate(owned, annotations)
                if left_out:
                    # Nothing may have been written that would bring this key back.
                    self._queue.add(key)
            case WriteWorkload(annotations, void):
                await self._writer.annotate_workload(facts.workload, annotations)
                if void is not None:
                    self._metrics.voids.inc()
                    await self._voids.undone(facts, queue, void.attempt)
            case Commit():
                await self._commit(key)
            case Mirror():
                self._figures.mirror_pending(key, True)
                # To end a wait is one request, to tell of it three, and nobody waits for the telling.
                if not self._queue.put_off(key) and not await self._writer.mirror(facts, action):
                    self._deadlines.set(key, self._now() + SETTLE_AGAIN)
            case CommitCleanup() | Delete():
                await self._clean_up(key)
            case Rest(until, _):
                self._rest(key, facts, decision, until)
                await self._writer.tell_again(key)

    async def _commit(self, key: str) -> None:
        """Wait for the write's turn, then decide once more: fence, queue, clock and copy may have moved meanwhile."""
        if self._outage.trial and self._trying:
            self._deadlines.set(key, self._now() + TRY_AGAIN)
            return
        await self._writer.turn()
        facts = await self._abreast(key)
        action = self._decide(facts).action if facts else None
        if facts is None or not isinstance(action, Commit):
            self._queue.add(key)
            return
        self._trying = self._outage.trial
        try:
            ended = await self._writer.commit(facts, action)
        except ApiError as error:
            if error.conflict:
                self._metrics.conflicts.inc()
            raise
        finally:
            self._trying = False
        if not ended:
            # Only tried: nothing was changed, so no event will bring this key back.
            self._deadlines.set(key, self._outage.not_before)

    async def _abreast(self, key: str) -> Facts | None:
        """The facts, with an owner as new as the Workload; None if they are to be looked at from the beginning.

        The ledger is written before what it tells shows on the Workload. So an owner's watch that lags behind may bring
        together a Workload that somebody reactivated and the ledger of the attempt before.
        """
        before = self._facts(key)
        if before is None or self._cache.abreast(before.kind, before.workload):
            return before
        if before.members:
            await self._writer.read_members(before.members)
        else:
            await self._writer.read_owner(before.kind, before.owner.namespace, before.owner.name)
        after = self._facts(key)
        return after if after is not None and after.workload is before.workload else None

    async def _clean_up(self, key: str) -> None:
        """Wait for the step's turn, then decide once more, as :meth:`_commit`; what cannot be done yet is for later."""
        await self._writer.turn()
        facts = self._facts(key)
        action = self._decide(facts).action if facts else None
        if facts and isinstance(action, CommitCleanup):
            pause = await self._remover.commit(facts, action)
        elif facts and isinstance(action, Delete):
            pause = await self._remover.delete(facts, action)
        else:
            self._queue.add(key)
            return
        if pause is not None:
            self._deadlines.set(key, self._now() + pause)

    def _rest(self, key: str, facts: Facts, decision: Decision, until: int | None) -> None:
        marker = live_decision(facts.workload)
        pending = marker is not None and any(
            one.annotation(api.ADMISSION_OUTCOME_OF) != mirror_of(marker) for one in facts.carriers
        )
        self._figures.mirror_pending(key, pending)
        if pending:
            until = self._now() + SETTLE_AGAIN
        if decision.reading.standing is Standing.FINISHED:
            until = None
        if key in self._figures.overdue and self._cache.lost(facts.kind):
            # Nothing will be said to this Workload when jobs of its kind can be followed again.
            until = self._now() + TRY_AGAIN
        instants = [at for at in (until, self._heard_again(facts.owner)) if at is not None]
        self._deadlines.set(key, min(instants, default=None))

    def _heard_again(self, owner: Meta) -> int | None:
        """When a pod of a group that is left out now counts again, and is asked again what it refused."""
        pause = self._writer.members.left(owner.pods) if isinstance(owner, PodGroup) else None
        return None if pause is None else self._now() + math.ceil(pause * SECOND)

    def _why_not(self, facts: Facts) -> str | None:
        """Why no wait of this kind is ended just now, but for the grace after an outage."""
        return self._supervision.refusal() or self._cache.lost(facts.kind)

    def _say_warnings(self, key: str, decision: Decision) -> None:
        """A policy that cannot be read is said once for each Workload it concerns, and again when it changes."""
        text = "; ".join(decision.warnings)
        if self._told.pop(key, "") != text and text:
            log.warning("a policy cannot be read", extra={"workload": key, "problems": text})
        if text:
            self._told[key] = text

    # --- owners without a Workload ----------------------------------------------------------------------------

    async def _clean_owner(self, key: OwnerKey) -> None:
        """Take a mirror off an owner none of whose Workloads carries the decision it copies."""
        owned = self._cache.named(key)
        if owned is None or owned.owner.metadata.deletion_timestamp:
            return
        workloads = tuple(self._cache.workloads_of(key))
        if key.kind == ALONE:
            holders = {holder.kind for workload in workloads if (holder := scope.holder_of(workload)) is not None}
            if (ALONE in holders and self._cache.ownerless) or owned.owner.label(api.MULTIKUEUE_ORIGIN) is not None:
                return  # looked at as what waits, or not ours
        elif scope.why_not_ours(owned.owner):
            return
        owned = self._writer.members.heard(owned)
        await self._unmirror(owned, {mirror_of(m) for w in workloads if (m := live_decision(w))})
        self._deadlines.set(key, self._heard_again(owned.owner))

    async def _unmirror(self, owned: Owned, live: set[str]) -> bool:
        """Take off the mirrors that copy none of these decisions, if the server knows no more of them either.

        Whether pods of a group are left out now.
        """
        dead = [part.annotation(api.ADMISSION_OUTCOME_OF) for part in owned.carriers if dead_mirror(part, None)]
        if all(of in live for of in dead):
            return False
        found = await self._writer.live_decisions(owned)
        if any(of in found and of not in live for of in dead):
            raise Outdated
        return await self._writer.unmirror(owned, live)
