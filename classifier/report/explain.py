"""An explanation as lines for people: what it does, since when, why, what speaks for it, and what to do next."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from classifier.instant import format_instant
from classifier.report.headline import headline
from classifier.report.phase import age
from classifier.report.remedy import next_steps
from classifier.report.subject import Subject
from classifier.report.text import cut, handful, printable
from classifier.state.observation import Evidence, Explanation

#: How much is shown of what can be long, unless ``wide``: characters of one part, parts, other ranks, evidence.
LENGTH: Final = 300
PARTS: Final = 12
RANKS: Final = 3
PIECES: Final = 6

_INDENT: Final = 13

#: The notes of reference/classification.md §C11, by which a part of a detail is known as one.
_FOREIGN: Final = re.compile(
    r"label \S+ is .*, (?:want|the name says) .*|\S+ is controlled by .*|runtimeRef is .*, want .*"
    r"|\S+ \S+ is not controlled by this .*|more than one Workload: .*|pods of another .*"
    r"|pods labelled for another job or submission: .*|\S+ \S+ has no live TrainJob.*"
)


def explain_lines(explanation: Explanation, now: int, *, wide: bool = False) -> list[str]:
    """Pure. ``wide`` cuts nothing, and adds the UID and the Workload. No line holds a control character."""
    return [printable(line) for line in _lines(explanation, now, wide=wide)]


def _lines(explanation: Explanation, now: int, *, wide: bool) -> Iterator[str]:
    subject = Subject.of(explanation)
    observation, ref = subject.observation, subject.ref
    yield headline(subject)
    if explanation.since is not None:
        yield from _row("since", [f"{format_instant(explanation.since)}, {age(explanation.since, now)} ago"])
    foreign = [part for part in subject.parts if observation.foreign and _FOREIGN.fullmatch(part)]
    yield from _row("why", _why(subject, foreign, wide=wide))
    if wide or not _said(subject):
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
        # What became of each stands in the evidence.
        ranks = [rank if wide else rank.partition(" (")[0] for rank in subject.ranks]
        parts.insert(1, f"other ranks: {', '.join(handful(ranks, None if wide else RANKS))}")
    return handful(parts, None if wide else PARTS)


def _said(subject: Subject) -> bool:
    """Whether the only piece of evidence adds nothing to what stands above it."""
    explanation = subject.explanation
    if len(explanation.evidence) != 1 or explanation.evidence[0].at != explanation.since:
        return False
    text = explanation.evidence[0].text
    return any(part.endswith(text) or text.endswith(part) for part in subject.parts)


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
