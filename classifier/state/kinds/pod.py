"""A bare ``Pod``: gated until it is admitted, deleted when it is evicted, for it cannot be stopped again.

Kueue: pkg/controller/jobs/pod/pod_controller.go.
"""

from collections.abc import Sequence
from typing import Any, Final

from classifier import api
from classifier.objects import Condition, Pod
from classifier.state.kinds.fields import condition, direct, never
from classifier.state.kinds.view import Ending, KindView, Labels
from classifier.state.observation import CauseKind
from classifier.state.settings import Settings

#: The scheduling gate Kueue puts on at creation and takes off at admission.
GATE: Final = "kueue.x-k8s.io/admission"

#: ``TerminationTarget``'s reasons: Kueue states why it deleted a pod that still ran. Any other of an eviction, or of
#: a lost admission, is unknown.
STOPS: Final = {
    "WorkloadEvictedDueToPreempted": CauseKind.PREEMPTED,
    "WorkloadEvictedDueToFlavorMigration": CauseKind.PREEMPTED,
    "WorkloadEvictedDueToNodeFailures": CauseKind.NODE_LOST,
}
#: A deleted Workload takes finished pods along, which it did not end.
_WORKLOAD_DELETED: Final = "WorkloadDeleted"


def phase(pod: Pod) -> str:
    return (pod.status.phase if pod.status else None) or ""


def finished(pod: Pod) -> bool:
    return phase(pod) in ("Succeeded", "Failed")


def gated(pod: Pod) -> bool:
    gates = (pod.spec.scheduling_gates if pod.spec else None) or ()
    return any(gate.get("name") == GATE for gate in gates)


def stopped(pod: Pod) -> Ending | None:
    """The end of a failed pod that Kueue made fail."""
    target = condition(pod, "TerminationTarget") if phase(pod) == "Failed" else None
    if target is None or target.reason == _WORKLOAD_DELETED:
        return None
    return Ending(STOPS.get(target.reason or "", CauseKind.UNKNOWN), target)


def ending(pod: Pod) -> Ending | None:
    if phase(pod) == "Succeeded":
        return Ending(CauseKind.COMPLETED, _words(pod))
    if phase(pod) == "Failed":
        return stopped(pod) or Ending(None, _words(pod))
    return None


def _words(pod: Pod) -> Condition:
    """The phase as a condition would state it, dated by the moment the pod was no longer ready."""
    status = pod.status
    ready = status.condition("Ready") if status else None
    return Condition(
        type=phase(pod),
        status="True",
        reason=(status.reason if status else None) or phase(pod),
        message=status.message if status else None,
        last_transition_time=ready.last_transition_time if ready and not ready.true else None,
    )


def foreign(pod: Any) -> str | None:
    """There is no ``managedBy``."""
    return None


def conditions(pod: Any) -> Sequence[Condition]:
    """None that speak of a job: readiness gates may be of any type, and disruptions are findings (§C8)."""
    return ()


def pods(pod: Pod, settings: Settings) -> tuple[Labels, ...]:
    """No labels single it out: it is its own pod."""
    return ()


def part_of(pod: Pod) -> str | None:
    return pod.uid


VIEW = KindView(
    resource=api.PODS,
    type_=Pod,
    suspended=gated,
    foreign=foreign,
    paused=gated,
    ending=ending,
    conditions=conditions,
    known=frozenset(),
    children=direct,
    pods=pods,
    part_of=part_of,
    restart=never,
    gates_pods=True,
)
