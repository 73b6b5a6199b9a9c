"""The verdict in its final shape: line, annotation, warnings, denial (design §4, §8)."""

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from classifier.fit.finding import Finding
from classifier.fit.judging.found import Told
from classifier.fit.mode import weakest
from classifier.fit.verdict import LINE_PREFIX, Mode, Outcome, Verdict

#: Clients may cut longer warnings (reference/capacity.md §3.11).
WARNING_LENGTH: Final = 120
MAX_WARNINGS: Final = 2


def not_judged(outcome: Outcome, reason: str, notes: list[str] | None = None, *, warn: bool = False) -> Verdict:
    """A verdict without podsets: skipped, or unknown because something is missing (then the user is told)."""
    line = _line(outcome, reason, None)
    warnings = _warnings([*(notes or ()), *([line] if warn else ())])
    return Verdict(outcome=outcome, line=line, reason=reason, warnings=warnings)


def answer(told: Told, ceiling: Mode, age: int, notes: Sequence[str]) -> Verdict:
    """``age`` in seconds; ``ceiling`` the strictest mode allowed. Who is not denied hears what is told beside the
    verdict too, not only the ``notes``."""
    gang, each = told.gang, told.podsets
    mode = weakest((gang.mode, ceiling)) if gang.mode is not None else None
    denied = gang.outcome is Outcome.NEVER_FITS and gang.licensed and mode == "Enforce"
    alike = dict.fromkeys([gang.profiles, *told.profiles])
    profiles = dict.fromkeys([name for names in alike for name in names])
    return Verdict(
        outcome=gang.outcome,
        denied=denied,
        mode=mode,
        profile=", ".join(profiles) or None,
        line=_line(gang.outcome, gang.statement, gang.advice),
        reason=gang.statement,
        binding=gang.binding,
        pod_sets=[replace(one, age_seconds=age) if one.source is not None else one for one in each] if age else each,
        advice=gang.advice,
        warnings=_warnings(notes if denied else [*notes, *_complaint(gang), *told.notes]),
    )


def _line(outcome: Outcome, statement: str, advice: str | None) -> str:
    match outcome:
        case Outcome.FITS | Outcome.FITS_AFTER_SCALE_UP:
            return f"{LINE_PREFIX}{statement}: fits"
        case Outcome.NEVER_FITS:
            return f"{LINE_PREFIX}{statement}: cannot fit" + (f"; {advice}" if advice else "")
        case Outcome.UNKNOWN:
            return f"{LINE_PREFIX}could not decide: {statement}"
        case _:
            return f"{LINE_PREFIX}{outcome}: {statement}"


def _complaint(found: Finding) -> list[str]:
    """What a user should hear who is not denied: a proof with its advice, a fault of the setup, a bad quantity."""
    if found.outcome is Outcome.NEVER_FITS:
        return [_line(found.outcome, found.statement, None), *([found.advice] if found.advice else [])]
    if found.outcome is Outcome.MISCONFIGURED or found.binding == "quantity":
        return [_line(found.outcome, found.statement, None)]
    return []


def _warnings(texts: Sequence[str]) -> list[str]:
    return [text if len(text) <= WARNING_LENGTH else text[: WARNING_LENGTH - 1] + "…" for text in texts[:MAX_WARNINGS]]
