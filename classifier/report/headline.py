"""The first line of an explanation: state and cause in words that need no manual, and a marker."""

from typing import Final

from classifier.report.phase import MARKERS
from classifier.report.phase import State as Mark
from classifier.report.subject import OUR_DEADLINE, Subject
from classifier.state.observation import CauseKind, State

_CAUSES: Final = {
    CauseKind.UNKNOWN: "no known cause",
    CauseKind.COMPLETED: "it finished well",
    CauseKind.REJECTED: "it was refused; as it is, it will not run",
    CauseKind.TIMEOUT: "it ran longer than it may",
    CauseKind.NO_CAPACITY: "there is no room for it",
    CauseKind.NODE_LOST: "a node was lost under it",
    CauseKind.PREEMPTED: "it had to make way",
    CauseKind.OUT_OF_MEMORY: "memory ran out",
    CauseKind.NON_ZERO_EXIT: "one of its processes ended with an error",
}
_STATES: Final = {
    State.GATED: "dispatch has not opened its gate yet",
    State.HELD: "dispatch holds it back",
    State.SUSPENDED: "it is stopped",
    State.PENDING: "it waits for its turn",
    State.RUNNING: "it runs, and nothing speaks against it",
    State.ENDED: "it is over",
}
_BOTH: Final = {
    (State.PENDING, CauseKind.PREEMPTED): "it had to make way, and waits for its turn again",
    (State.PENDING, CauseKind.NODE_LOST): "a node was lost under it, and it waits for its turn again",
    (State.PENDING, CauseKind.NO_CAPACITY): "there was no room for it, and it waits for its turn again",
    (State.SUSPENDED, CauseKind.NO_CAPACITY): "there was no room for it, and Kueue has given up",
    (State.SUSPENDED, CauseKind.REJECTED): "an admission check refused it",
    (State.SUSPENDED, CauseKind.UNKNOWN): "Kueue has deactivated it",
    (State.RUNNING, CauseKind.PREEMPTED): "it has to make way",
}
#: What the situation (§C12) says of an object without a cause, the weightiest first: how a part begins, in words.
_STALLED: Final = {
    State.PENDING: (
        ("Workload Finished: ", "Kueue takes it for finished, and will not start it"),
        ("managed by ", "it is run by somebody else"),
        ("no Workload", "Kueue has not taken it in"),
        ("gated by ", "somebody's gate holds it back"),
        ("Workload QuotaReserved: AdmissionGated", "somebody's gate holds it back"),
        ("Workload QuotaReserved: ", "it waits for quota"),
        ("admission check ", "it has its quota, and waits for an admission check"),
    ),
    State.RUNNING: (
        ("managed by ", "it is run by somebody else"),
        ("JobSet restarting", "it starts again"),
        ("no ", "it may run, but nothing of it is there yet"),
    ),
}
_UNSCHEDULED: Final = "it may run, but not all of its pods have a node"
_NOT_STARTING: Final = "it may run, but a container does not start"

#: Causes that are no trouble by themselves, or mend while it waits.
_WELL: Final = {CauseKind.NONE, CauseKind.COMPLETED}
_MENDING: Final = _WELL | {CauseKind.PREEMPTED, CauseKind.NODE_LOST, CauseKind.NO_CAPACITY}


def headline(subject: Subject) -> str:
    """``✗ TrainJob team-a/train-3: ended (out-of-memory): memory ran out``."""
    observation, ref = subject.observation, subject.ref
    name = f"{ref.namespace}/{ref.name}" if ref.namespace else ref.name
    known = "" if subject.kind is CauseKind.NONE else f" ({subject.kind})"
    return f"{_mark(subject)} {ref.kind} {name}: {observation.state}{known}: {_plain(subject)}"


def _mark(subject: Subject) -> str:
    """Done, going on, waiting for somebody, or in trouble."""
    kind = subject.kind
    if subject.orphan:
        return MARKERS[Mark.WAITING]
    match subject.observation.state:
        case State.ENDED:
            return MARKERS[Mark.DONE if kind is CauseKind.COMPLETED else Mark.FAILED]
        case State.PENDING if subject.starts("Workload Finished: ") is None:
            return MARKERS[Mark.ACTIVE if kind in _MENDING else Mark.FAILED]
        case State.PENDING:
            return MARKERS[Mark.FAILED]
        case State.RUNNING:
            return MARKERS[Mark.ACTIVE if kind in _WELL | {CauseKind.PREEMPTED} else Mark.FAILED]
    return MARKERS[Mark.WAITING if kind in _WELL else Mark.FAILED]


def _plain(subject: Subject) -> str:
    state, kind = subject.observation.state, subject.kind
    if subject.orphan:
        return "left behind by a job that is gone"
    if kind is CauseKind.NONE:
        return _stalled(subject) or _STATES[state]
    if state is State.SUSPENDED and subject.starts(OUR_DEADLINE) is not None:
        return "its admission deadline passed before it could start"
    return _BOTH.get((state, kind)) or _CAUSES[kind]


def _stalled(subject: Subject) -> str | None:
    state = subject.observation.state
    if subject.observation.admin_held:
        return "somebody has stopped it"
    if subject.starts(f"{subject.ref.kind} deleting since ") is not None:
        return "it is being deleted"
    if blocked := subject.blocked_by:
        return "its queue is stopped or not ready" if blocked[2] else "its queue does not exist"
    said = next((words for begin, words in _STALLED.get(state, ()) if subject.starts(begin) is not None), None)
    if said is None and state is State.RUNNING:
        if any(" pods unscheduled: " in part for part in subject.parts):
            return _UNSCHEDULED
        if any(part.startswith("pod ") and " waiting: " in part for part in subject.parts):
            return _NOT_STARTING
    return said
