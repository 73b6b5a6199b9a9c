"""Rule 5: suspended by somebody else (reference/classification.md §C5).

``spec.suspend`` says nothing in kueue mode: it is Kueue's own lever (§A5). Nor does ``QuotaReserved=False/Suspended``,
which an inactive queue of any sort brings.
"""

from typing import Final

import msgspec

from classifier import api
from classifier.instant import format_instant
from classifier.ledger import committed
from classifier.objects import Condition, Workload
from classifier.state.facts import Facts
from classifier.state.observation import CauseKind, State
from classifier.state.settings import Settings
from classifier.state.since import stopped
from classifier.state.verdict import Verdict, by_workload, seen
from classifier.state.workload import ADMISSION_CHECK, DEACTIVATION_TARGET, REJECTED, REQUEUED, all_capacity

_DUE_TO: Final = "DeactivatedDueTo"
#: A queue's stop, and the reason of Requeued=True once that queue runs again.
STOPS: Final = {"ClusterQueueStopped": "ClusterQueueRestarted", "LocalQueueStopped": "LocalQueueRestarted"}


def suspended(facts: Facts) -> Verdict | None:
    if not facts.kueue:
        # Our gate and a hold in force were asked before: somebody else's hand.
        by_hand = facts.view.suspended(facts.job)
        return Verdict(state=State.SUSPENDED, admin_held=True, since=stopped(facts)) if by_hand else None
    workload = facts.workload
    if workload is None:
        return None
    if not workload.active:
        return _deactivated(facts, workload)
    evicted = workload.condition(api.EVICTED)
    if evicted is None or not queue_stopped(workload, evicted):
        return None
    # A stop policy is an administrator's act, and no cause of the job's.
    return by_workload(State.SUSPENDED, workload, evicted, CauseKind.NONE, admin_held=True)


def queue_stopped(workload: Workload, evicted: Condition) -> bool:
    """Evicted by a queue's stop that still lasts, as far as the Workload tells."""
    restarted = STOPS.get(evicted.reason or "") if evicted.true else None
    if restarted is None:
        return False
    requeued = workload.condition(REQUEUED)
    return requeued is None or not requeued.true or requeued.reason != restarted


def _deactivated(facts: Facts, workload: Workload) -> Verdict:
    if marker := committed(workload):
        text = f"admission deadline exceeded: {format_instant(marker.at)}"
        return Verdict(
            state=State.SUSPENDED,
            cause=CauseKind.TIMEOUT,
            source="workload",
            detail=text,
            since=marker.at,
            evidence=(seen(marker.at, f"Workload {workload.name}", CauseKind.TIMEOUT, text),),
        )
    evicted, target = workload.condition(api.EVICTED), workload.condition(DEACTIVATION_TARGET)
    if evicted is not None and evicted.true and (evicted.reason or "").startswith(_DUE_TO):
        return by_workload(State.SUSPENDED, workload, evicted, _cause(workload, evicted, facts.settings))
    if target is not None and target.true:
        # The gap between the two writes: Kueue has set active=false and not evicted yet.
        return by_workload(State.SUSPENDED, workload, target, _cause(workload, target, facts.settings))
    by_hand = Verdict(state=State.SUSPENDED, admin_held=True, since=stopped(facts))
    if evicted is None or not evicted.true:
        return by_hand
    said = by_workload(State.SUSPENDED, workload, evicted, CauseKind.NONE)
    return msgspec.structs.replace(by_hand, evidence=said.evidence)


def _cause(workload: Workload, condition: Condition, settings: Settings) -> CauseKind:
    """Kueue did it, not a person: what for."""
    match (condition.reason or "").removeprefix(_DUE_TO):
        case "MaximumExecutionTimeExceeded":
            return CauseKind.TIMEOUT
        case "RequeuingLimitExceeded":
            return CauseKind.NO_CAPACITY
        case reason if reason == ADMISSION_CHECK:
            # Capacity that is revoked from a running job arrives here as well (§F23).
            capacity = all_capacity(workload, REJECTED, settings)
            return CauseKind.NO_CAPACITY if capacity else CauseKind.REJECTED
    return CauseKind.UNKNOWN
