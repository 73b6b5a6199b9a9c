"""judge: one object in one world, to one verdict."""

from collections.abc import Hashable, Sequence
from typing import Final, NamedTuple

from classifier import api
from classifier.fit.advice import of_backoff
from classifier.fit.answer import answer, not_judged
from classifier.fit.budget import STEPS, Budget
from classifier.fit.counter import Counter, counter
from classifier.fit.finding import Finding, unknown
from classifier.fit.gang import GangError, Unresolved
from classifier.fit.judging.assign import assign
from classifier.fit.judging.found import Told
from classifier.fit.judging.hearing import Hearing
from classifier.fit.kinds import PODSETS, PodsetsOf, waiting_podsets
from classifier.fit.mode import asks_to_skip, may_skip, wrong_mode
from classifier.fit.provisioning import overridden
from classifier.fit.quota import ChainFault
from classifier.fit.skip import why_not_judged, why_not_judged_waiting, why_not_queued
from classifier.fit.verdict import Outcome, PodSetVerdict, Verdict
from classifier.fit.world import World
from classifier.instant import MINUTE
from classifier.objects import ClusterQueue, LocalQueue, Meta, PodGroup, Workload
from classifier.scope import kind_of, queue_of

#: A snapshot that has not been known to be current for this long proves nothing any more.
MAX_AGE: Final = 10 * MINUTE
#: What a verdict that is kept weighs beside its words, in a quarter of its bytes (see ``supplied/supply.py``).
_VERDICT: Final = 300


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
    return _judge(obj, obj, kind, podsets_of, world, now, steps)


def judge_waiting(
    workload: Workload, world: World, now: int, *, owner: Meta | None = None, steps: int = STEPS
) -> Verdict:
    """Whether a Workload that Kueue has queued can ever be admitted in ``world``, whoever made it: by its own podsets.

    ``owner`` is its job, where it is at hand: that may have asked not to be judged.
    """
    reason = why_not_judged_waiting(workload)
    if reason is not None:
        return not_judged(Outcome.SKIPPED, f"Workload {reason}")
    return _judge(workload, owner or workload, api.WORKLOADS, waiting_podsets, world, now, steps)


def _judge(
    obj: Meta, asking: Meta, kind: api.Resource, podsets_of: PodsetsOf, world: World, now: int, steps: int
) -> Verdict:
    """``asking`` is the object people write their wishes on."""
    notes = []
    if asks_to_skip(asking):
        if may_skip(asking, world):
            return not_judged(Outcome.SKIPPED, f"{api.PREFLIGHT_MODE} of the job is Off")
        notes.append(f"{api.PREFLIGHT_MODE}: Off is not honoured in namespace {obj.namespace}")

    local_queue, queue, missing = _queues(obj, world)
    if local_queue is None or queue is None:
        return not_judged(Outcome.UNKNOWN, missing, notes, warn=True)
    kept = world.at(now)
    at = counter(local_queue, queue, world, kept)
    wrong = wrong_mode("job", asking)
    if wrong is not None:
        notes.append(wrong)
    notes += at.wrong_modes
    if at.ceiling.mode == "Off":
        return not_judged(Outcome.SKIPPED, f"{api.PREFLIGHT_MODE} of {at.ceiling.source} is Off", notes)
    if at.remote is not None:
        return not_judged(Outcome.SKIPPED, f"ClusterQueue {queue.name} runs its jobs in other clusters", notes)

    asked = api.PODS if isinstance(obj, PodGroup) else kind
    unmanaged = why_not_queued(asked, world.namespaces.get(obj.namespace), world.kueue_config)
    if unmanaged is not None:
        return not_judged(Outcome.SKIPPED, unmanaged, notes, warn=True)
    try:
        podsets = podsets_of(obj, world.runtimes)
    except (GangError, Unresolved) as error:
        return not_judged(Outcome.UNKNOWN, str(error), notes, warn=True)
    if not podsets:
        return not_judged(Outcome.UNKNOWN, f"{obj.kind or type(obj).__name__} has no podset", notes, warn=True)
    hearing = Hearing(queue, world, now, Budget(steps), kept)
    told = assign(podsets, hearing, steps)
    age = _age(world, now)
    beside = _Beside(
        at, age, _too_old(age) or at.doubt, overridden(obj, at.requests) if at.requests else None, tuple(notes)
    )
    if told.pools:
        return _conclude(told, now, beside)  # what autoscalers tell is true for a while
    # The same gang is judged when it is stamped and again when it is let in. What is told and the counter are replaced,
    # never changed: they are known by their identity, and kept as long as the key, or others would take it.
    by_age: dict[int, dict[Hashable, tuple[Told, _Beside, Verdict]]] = hearing.sort("verdicts")
    verdicts = by_age.get(age)
    if verdicts is None:
        by_age.clear()  # facts only grow older: nobody will ask again for what was said a second ago
        verdicts = by_age[age] = {}
    key = id(told), id(at), *beside[2:]
    known = verdicts.get(key)
    if known is None:
        verdict = _conclude(told, now, beside)
        known = verdicts[key] = told, beside, verdict
        # Its line repeats the gang's words, and there is one for each note that an author can think of.
        kept.weigh(_VERDICT + len(verdict.line) + sum(map(len, notes)) + len(beside.override or ""))
    return known[2]


class _Beside(NamedTuple):
    """All that a verdict says beside what was found. ``age`` in seconds."""

    counter: Counter
    age: int
    doubt: str | None
    override: str | None
    notes: tuple[str, ...]


def _conclude(told: Told, now: int, beside: _Beside) -> Verdict:
    if beside.doubt is not None:
        told = _without_proof(told, beside.doubt)
    gang, notes = told.gang, told.notes
    if gang.outcome is not Outcome.SKIPPED:
        gang, chain = _along(gang, beside.counter.faults)
        override = [beside.override] if beside.override else []
        notes = (*override, *notes, *of_backoff(told.pools, gang, now), *chain)
    told = Told(gang, told.podsets, told.profiles, notes, told.pools)
    return answer(told, beside.counter.ceiling.mode, beside.age, beside.notes)


def _along(gang: Finding, faults: Sequence[ChainFault]) -> tuple[Finding, list[str]]:
    """What stands in the way to the queue: a gang that could run does not get there, whatever else is found."""
    if not faults:
        return gang, []
    broken = next((fault for fault in faults if fault.kind == "misconfigured"), None)
    if broken is not None and gang.outcome is not Outcome.NEVER_FITS:
        gang = Finding(outcome=Outcome.MISCONFIGURED, statement=broken.text)
    return gang, [fault.text for fault in faults if fault is not broken]


def _queues(obj: Meta, world: World) -> tuple[LocalQueue | None, ClusterQueue | None, str]:
    key = f"{obj.namespace}/{queue_of(obj)}"
    local_queue = world.local_queues.get(key)
    if local_queue is None:
        return None, None, f"LocalQueue {key} is not found"
    queue = world.cluster_queues.get(local_queue.cluster_queue)
    if queue is None:
        return local_queue, None, f"ClusterQueue {local_queue.cluster_queue} of LocalQueue {key} is not found"
    return local_queue, queue, ""


def _too_old(age: int) -> str | None:
    """Why no proof in this world counts, if it is for its age in seconds."""
    return f"what is known of the cluster is {age // 60} minutes old" if age * 1000 > MAX_AGE else None


def _without_proof(told: Told, doubt: str) -> Told:
    gang, podsets, profiles = told.gang, list(told.podsets), list(told.profiles)
    if gang.outcome is Outcome.NEVER_FITS:
        gang = unknown(f"{gang.statement}, but {doubt}", gang.binding)
    for at, one in enumerate(podsets):
        if one.verdict is Outcome.NEVER_FITS:
            podsets[at] = PodSetVerdict(name=one.name, count=one.count, verdict=Outcome.UNKNOWN, binding=one.binding)
            profiles[at] = ()
    return told._replace(gang=gang, podsets=podsets, profiles=profiles)


def _age(world: World, now: int) -> int:
    """Seconds since the snapshot was last known to be current."""
    return 0 if world.observed_at is None else max(0, now - world.observed_at) // 1000
