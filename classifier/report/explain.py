"""An explanation as lines for people: what it does, since when, why, what speaks for it, and what to do next."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from classifier.instant import format_instant
from classifier.report.phase import MARKERS, age
from classifier.report.phase import State as Mark
from classifier.report.remedy import OUR_DEADLINE, next_steps
from classifier.report.subject import Subject
from classifier.report.text import cut, handful, printable
from classifier.state.observation import CauseKind, Evidence, Explanation, Observation, State

#: How much is shown of what can be long, unless ``wide``: characters of one part, parts, other ranks, evidence.
LENGTH: Final = 300
PARTS: Final = 12
RANKS: Final = 3
RANK_LENGTH: Final = 100
PIECES: Final = 6

_INDENT: Final = 13

#: The causes in plain words, where the state does not choose better ones.
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
#: Causes that are no trouble by themselves, or mend while it waits.
_WELL: Final = {CauseKind.NONE, CauseKind.COMPLETED}
_MENDING: Final = _WELL | {CauseKind.PREEMPTED, CauseKind.NODE_LOST, CauseKind.NO_CAPACITY}

#: The notes of reference/classification.md §C11, by which a part of a detail is known as one.
_FOREIGN: Final = re.compile(
    r"label \S+ is .*, (?:want|the name says) .*|\S+ is controlled by .*|runtimeRef is .*, want .*"
    r"|\S+ \S+ is not controlled by this .*|more than one Workload: .*|pods of another .*"
    r"|pods labelled for another job or submission: .*|\S+ \S+ has no live TrainJob.*"
)


def explain_lines(explanation: Explanation, now: int, *, wide: bool = False) -> list[str]:
    """Pure. ``wide`` cuts nothing, and adds the UID and the Workload. No line holds a control character."""
    return [printable(line) for line in _lines(explanation, now, wide=wide)]


def mark(observation: Observation) -> str:
    """The marker of a status line: done, going on, waiting for somebody, in trouble."""
    kind = observation.cause.kind
    match observation.state:
        case State.ENDED:
            return MARKERS[Mark.DONE if kind is CauseKind.COMPLETED else Mark.FAILED]
        case State.PENDING:
            return MARKERS[Mark.ACTIVE if kind in _MENDING else Mark.FAILED]
        case State.RUNNING:
            return MARKERS[Mark.ACTIVE if kind in _WELL | {CauseKind.PREEMPTED} else Mark.FAILED]
    return MARKERS[Mark.WAITING if kind in _WELL else Mark.FAILED]


def plain(observation: Observation) -> str:
    """State and cause in words that need no manual."""
    state, kind = observation.state, observation.cause.kind
    if kind is CauseKind.NONE:
        return "somebody has stopped it" if observation.admin_held else _STATES[state]
    if state is State.SUSPENDED and observation.cause.detail.startswith(OUR_DEADLINE):
        return "its admission deadline passed before it could start"
    return _BOTH.get((state, kind)) or _CAUSES[kind]


def _lines(explanation: Explanation, now: int, *, wide: bool) -> Iterator[str]:
    observation = explanation.observation
    ref, cause = observation.ref, observation.cause
    name = f"{ref.namespace}/{ref.name}" if ref.namespace else ref.name
    known = "" if cause.kind is CauseKind.NONE else f" ({cause.kind})"
    yield f"{mark(observation)} {ref.kind} {name}: {observation.state}{known}: {plain(observation)}"
    if explanation.since is not None:
        yield from _row("since", [f"{format_instant(explanation.since)}, {age(explanation.since, now)} ago"])
    subject = Subject.of(explanation)
    foreign = [part for part in subject.parts if observation.foreign and _FOREIGN.fullmatch(part)]
    yield from _row("why", _why(subject, foreign, wide=wide))
    yield from _row("evidence", handful(_evidence(explanation.evidence, wide=wide), None if wide else PIECES))
    run = observation.execution
    if run is not None:
        yield from _row("execution", [f"{run.number} (admission {run.admission}, restart {run.restart})"])
    if observation.hold_instance:
        yield from _row("hold", [str(observation.hold_instance)])
    if observation.foreign:
        yield from _row("foreign", foreign or ["it is not what its name says; see why"])
    if wide:
        yield from _row("uid", [ref.uid] if ref.uid else [])
        yield from _row("workload", [explanation.workload] if explanation.workload else [])
        yield from _row("queue", [explanation.queue] if explanation.queue else [])
    yield from _row("next", next_steps(explanation))


def _row(label: str, values: Iterable[str]) -> Iterator[str]:
    """The first value beside the label, the others below it."""
    head = f"{label}:"
    for value in values:
        yield f"  {head:<{_INDENT - 2}}{value}"
        head = ""


def _why(subject: Subject, foreign: list[str], *, wide: bool) -> list[str]:
    """The parts of the detail but the foreign notes, other ranks after the pod that won."""
    parts = [part if wide else cut(part, LENGTH) for part in subject.parts if part not in foreign]
    if subject.ranks:
        ranks = [rank if wide else cut(rank, RANK_LENGTH, "") for rank in subject.ranks]
        parts.insert(1, f"other ranks: {', '.join(handful(ranks, None if wide else RANKS))}")
    return handful(parts, None if wide else PARTS)


def _evidence(pieces: Iterable[Evidence], *, wide: bool) -> list[str]:
    """One a line, in columns."""
    rows = [
        (
            format_instant(p.at) if p.at is not None else "undated",
            p.where,
            str(p.kind),
            p.text if wide else cut(p.text, LENGTH),
        )
        for p in pieces
    ]
    shown = rows if wide else rows[:PIECES]
    widths = [max((len(row[i]) for row in shown), default=0) for i in range(3)]
    return [
        "  ".join([*(cell.ljust(w) for cell, w in zip(row, widths, strict=False)), row[3]]).rstrip() for row in rows
    ]
