"""A pod's first finding: what the cluster did to it (reference/classification.md §C8, tables B1 and B2)."""

from typing import Final

from classifier.numbers import moment
from classifier.objects import Condition, Pod, PodStatus
from classifier.state.finding import Finding, found_on
from classifier.state.observation import CauseKind
from classifier.state.refusal import refused
from classifier.state.words import words

_REASONS: Final = {
    "PreemptionByScheduler": CauseKind.PREEMPTED,
    "EvictionByEvictionAPI": CauseKind.PREEMPTED,
    "DeletionByTaintManager": CauseKind.NODE_LOST,
    "DeletionByPodGC": CauseKind.NODE_LOST,
    "DeletionByDeviceTaintManager": CauseKind.NODE_LOST,
}


def disruption(pod: Pod, status: PodStatus) -> Finding | None:
    """The condition can go back to False: only True counts."""
    told = kueue = ready = None
    for condition in status.conditions or ():
        type_ = condition.type
        if type_ == "DisruptionTarget":
            told = condition if condition.status == "True" else told
        elif type_ == "Ready":
            ready = condition
        elif type_ == "KueueFailureRecovery" and condition.true and condition.reason == "KueueForcefullyDeleted":
            kueue = condition
    if told is not None:
        return found_on(pod, moment(told.last_transition_time), _kind(told, status), words(told), "pod")
    if kueue is not None:
        # Kueue deletes pods of unreachable nodes by its own condition (Kueue: pkg/controller/failurerecovery).
        return found_on(pod, moment(kueue.last_transition_time), CauseKind.NODE_LOST, words(kueue), "pod")
    if status.phase == "Failed" and status.reason:
        # A kubelet's refusal never gets the condition.
        at = moment(ready.last_transition_time) if ready is not None else None
        return found_on(pod, at, refused(status, status.message), words(status), "pod")
    return None


def _kind(told: Condition, status: PodStatus) -> CauseKind:
    if told.reason == "TerminationByKubelet":
        return refused(status, status.message, told.message)
    return _REASONS.get(told.reason or "", CauseKind.UNKNOWN)
