"""Rule 6, row 1: the Workload is evicted and not yet admitted again (reference/classification.md §C6, §A5 traps)."""

from typing import Final

import msgspec

from classifier import api
from classifier.numbers import moment
from classifier.objects import Condition, Pod, Workload
from classifier.state.facts import Facts
from classifier.state.findings import findings, until
from classifier.state.observation import CauseKind, State
from classifier.state.suspended import STOPS, queue_stopped
from classifier.state.verdict import Verdict, by_workload
from classifier.state.winner import by_pods
from classifier.state.workload import ADMISSION_CHECK, PREEMPTED, RETRY, all_capacity

NOT_READY: Final = api.PODS_READY_TIMEOUT
_CAUSES: Final = {
    PREEMPTED: CauseKind.PREEMPTED,
    "FlavorMigration": CauseKind.PREEMPTED,
    "NodeFailures": CauseKind.NODE_LOST,
}


def evicted(facts: Facts, state: State) -> Verdict | None:
    workload = facts.workload
    eviction = workload.condition(api.EVICTED) if workload else None
    if workload is None or eviction is None or not eviction.true:
        return None
    reason = eviction.reason or ""
    if reason.startswith("Deactivated") or (reason in STOPS and not queue_stopped(workload, eviction)):
        return None  # active again, or its queue runs again
    said = (_preemption(workload) if reason == PREEMPTED else None) or eviction
    found = findings(facts) if state is State.RUNNING or reason == NOT_READY else []
    if reason == NOT_READY:
        # The ranks that were ready exit of the eviction.
        found = until(found, moment(eviction.last_transition_time))
    pods = by_pods(state, found, facts.settings)
    verdict = by_workload(state, workload, said, _cause(facts, workload, reason))
    if pods is None:
        return verdict
    if reason == NOT_READY:
        return msgspec.structs.replace(pods, evidence=pods.evidence + verdict.evidence)
    return msgspec.structs.replace(verdict, evidence=verdict.evidence + pods.evidence)


def _cause(facts: Facts, workload: Workload, reason: str) -> CauseKind:
    if reason == NOT_READY:
        short = any(map(unschedulable, facts.evidence))
    else:
        short = reason == ADMISSION_CHECK and all_capacity(workload, RETRY, facts.settings)
    return CauseKind.NO_CAPACITY if short else _CAUSES.get(reason, CauseKind.UNKNOWN)


def _preemption(workload: Workload) -> Condition | None:
    preempted = workload.condition(PREEMPTED)
    return preempted if preempted is not None and preempted.true else None


def unscheduled(pod: Pod) -> Condition | None:
    """``PodScheduled=False``, whatever the reason."""
    condition = pod.status.condition("PodScheduled") if pod.status else None
    return condition if condition is not None and condition.status == "False" else None


def unschedulable(pod: Pod) -> bool:
    condition = unscheduled(pod)
    return condition is not None and condition.reason == "Unschedulable"
