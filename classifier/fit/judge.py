"""judge: one object in one world, to one verdict."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Final

from classifier import api
from classifier.fit.advice import of_backoff
from classifier.fit.answer import answer, not_judged
from classifier.fit.budget import STEPS, Budget
from classifier.fit.finding import Finding, unknown
from classifier.fit.gang import GangError, Podset, Unresolved
from classifier.fit.judging.assign import Found, assign
from classifier.fit.judging.hearing import Hearing
from classifier.fit.kinds import PODSETS, PodsetsOf, waiting_podsets
from classifier.fit.mode import asks_to_skip, ceiling, may_skip, wrong_modes
from classifier.fit.provisioning import overridden, requests_of
from classifier.fit.quota import ChainFault, chain_faults
from classifier.fit.skip import multikueue_check, why_not_judged, why_not_judged_waiting, why_not_queued
from classifier.fit.verdict import Mode, Outcome, Verdict
from classifier.fit.world import World
from classifier.instant import MINUTE
from classifier.objects import ClusterQueue, LocalQueue, Meta, Namespace, Workload
from classifier.scope import kind_of, queue_of

#: A snapshot that has not been known to be current for this long proves nothing any more.
MAX_AGE: Final = 10 * MINUTE


def judge(obj: Meta, world: World, now: int, steps: int = STEPS) -> Verdict:
    """Whether the gang of ``obj`` can ever run in ``world``. Pure; raises on no object. ``now`` in ms.

    What takes more than ``steps`` (see ``budget.py``) is unknown.
    """
    kind = kind_of(obj)
    podsets_of = PODSETS.get(kind) if kind else None
    if kind is None or podsets_of is None:
        return not_judged(Outcome.SKIPPED, f"kind {obj.kind or type(obj).__name__} is not judged")
    reason = why_not_judged(obj)
    if reason is not None:
        return not_judged(Outcome.SKIPPED, f"{kind.kind} {reason}")
    return _judge(obj, obj, podsets_of, world, now, steps)


def judge_waiting(
    workload: Workload, world: World, now: int, *, owner: Meta | None = None, steps: int = STEPS
) -> Verdict:
    """Whether a Workload that Kueue has queued can ever be admitted in ``world``, whoever made it: by its own podsets.

    ``owner`` is its job, where it is at hand: that may have asked not to be judged.
    """
    reason = why_not_judged_waiting(workload)
    if reason is not None:
        return not_judged(Outcome.SKIPPED, f"Workload {reason}")
    return _judge(workload, owner or workload, waiting_podsets, world, now, steps)


def _judge(obj: Meta, asking: Meta, podsets_of: PodsetsOf, world: World, now: int, steps: int) -> Verdict:
    """``asking`` is the object people write their wishes on."""
    if asks_to_skip(asking) and may_skip(asking, world):
        return not_judged(Outcome.SKIPPED, f"{api.PREFLIGHT_MODE} of the job is Off")
    notes = [f"{api.PREFLIGHT_MODE}: Off is not honoured in namespace {obj.namespace}"] if asks_to_skip(asking) else []

    local_queue, queue, missing = _queues(obj, world)
    if local_queue is None or queue is None:
        return not_judged(Outcome.UNKNOWN, missing, notes, warn=True)
    notes += wrong_modes(asking, local_queue, queue, world)
    limit = ceiling(local_queue, queue, world)
    if limit.mode == "Off":
        return not_judged(Outcome.SKIPPED, f"{api.PREFLIGHT_MODE} of {limit.source} is Off", notes)
    controllers = {
        name: (check.spec.controller_name if check.spec else "") for name, check in world.admission_checks.items()
    }
    remote = multikueue_check(queue, controllers)
    if remote is not None:
        return not_judged(Outcome.SKIPPED, f"ClusterQueue {queue.name} runs its jobs in other clusters", notes)

    unmanaged = why_not_queued(obj, world.kueue_config)
    if unmanaged is not None:
        return not_judged(Outcome.SKIPPED, unmanaged, notes, warn=True)
    try:
        podsets = podsets_of(obj, world.runtimes)
    except (GangError, Unresolved) as error:
        return not_judged(Outcome.UNKNOWN, str(error), notes, warn=True)
    if not podsets:
        return not_judged(Outcome.UNKNOWN, f"{obj.kind or type(obj).__name__} has no podset", notes, warn=True)
    hearing = Hearing(queue, world, now, Budget(steps))
    found = assign(podsets, hearing, steps)
    spoken = _Spoken(
        namespace=world.namespaces.get(obj.namespace),
        local_queue=local_queue,
        ceiling=limit.mode,
        age=_age(world, now),
        doubt=_proves_nothing(queue, controllers, world, now),
        override=overridden(obj, requests_of(queue, hearing.spoken, world)),
        notes=tuple(notes),
    )
    if found.pools:
        return _conclude(found, podsets, hearing, spoken)  # what autoscalers tell is true for a while
    # The same gang is judged when it is stamped and again when it is let in.
    kept: dict[Hashable, tuple[Found, _Spoken, Verdict]] = hearing.sort("verdicts")
    key = (id(found), *spoken.key)
    if key not in kept:
        kept[key] = found, spoken, _conclude(found, podsets, hearing, spoken)
    return kept[key][2]


@dataclass(frozen=True, slots=True)
class _Spoken:
    """All that a verdict says beside what was found. ``age`` in seconds."""

    namespace: Namespace | None
    local_queue: LocalQueue
    ceiling: Mode
    age: int
    doubt: str | None
    override: str | None
    notes: tuple[str, ...]

    @property
    def key(self) -> tuple[Hashable, ...]:
        """By the identity of objects that are replaced, never changed. Keep them as long as it, or others take it."""
        return id(self.namespace), id(self.local_queue), self.ceiling, self.age, self.doubt, self.override, self.notes


def _conclude(found: Found, podsets: Sequence[Podset], hearing: Hearing, spoken: _Spoken) -> Verdict:
    doubt, queue = spoken.doubt, hearing.queue
    if doubt is not None:
        found = found._replace(
            gang=_without_proof(found.gang, doubt), podsets=[_without_proof(one, doubt) for one in found.podsets]
        )
    if found.gang.outcome is not Outcome.SKIPPED:
        found, chain = _along(found, chain_faults(spoken.local_queue, queue, spoken.namespace, hearing.tree))
        override = [spoken.override] if spoken.override else []
        asides = [*override, *found.notes, *of_backoff(found.pools, found.gang, hearing.now), *chain]
        found = found._replace(notes=tuple(asides))
    return answer(found, podsets, spoken.ceiling, spoken.age, list(spoken.notes))


def _along(found: Found, faults: Sequence[ChainFault]) -> tuple[Found, list[str]]:
    """What stands in the way to the queue: a gang that could run does not get there, whatever else is found."""
    broken = next((fault for fault in faults if fault.kind == "misconfigured"), None)
    if broken is not None and found.gang.outcome is not Outcome.NEVER_FITS:
        found = found._replace(gang=Finding(outcome=Outcome.MISCONFIGURED, statement=broken.text))
    return found, [fault.text for fault in faults if fault is not broken]


def _queues(obj: Meta, world: World) -> tuple[LocalQueue | None, ClusterQueue | None, str]:
    key = f"{obj.namespace}/{queue_of(obj)}"
    local_queue = world.local_queues.get(key)
    if local_queue is None:
        return None, None, f"LocalQueue {key} is not found"
    queue = world.cluster_queues.get(local_queue.cluster_queue)
    if queue is None:
        return local_queue, None, f"ClusterQueue {local_queue.cluster_queue} of LocalQueue {key} is not found"
    return local_queue, queue, ""


def _proves_nothing(queue: ClusterQueue, controllers: dict[str, str], world: World, now: int) -> str | None:
    """Why no proof in this world counts: it is too old, or the queue may send its jobs elsewhere."""
    age = _age(world, now)
    if age * 1000 > MAX_AGE:
        return f"what is known of the cluster is {age // 60} minutes old"
    if world.nodes_awaited:
        return "the nodes are not listed yet"
    unseen = next((name for name in queue.check_names if name not in controllers), None)
    return f"AdmissionCheck {unseen} of ClusterQueue {queue.name} is not found" if unseen is not None else None


def _without_proof(found: Finding, doubt: str) -> Finding:
    if found.outcome is not Outcome.NEVER_FITS:
        return found
    return unknown(f"{found.statement}, but {doubt}", found.binding)


def _age(world: World, now: int) -> int:
    """Seconds since the snapshot was last known to be current."""
    return 0 if world.observed_at is None else max(0, now - world.observed_at) // 1000
