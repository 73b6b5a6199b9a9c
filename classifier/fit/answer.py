"""The verdict in its final shape: line, annotation, warnings, denial (design §4, §8)."""

from collections.abc import Sequence
from typing import Final

from classifier.fit.finding import Finding
from classifier.fit.gang import Podset
from classifier.fit.mode import weakest
from classifier.fit.verdict import LINE_PREFIX, Mode, Outcome, PodSetVerdict, Verdict

#: Clients may cut longer warnings (reference/capacity.md §3.11).
WARNING_LENGTH: Final = 120
MAX_WARNINGS: Final = 2


def not_judged(outcome: Outcome, reason: str, notes: list[str] | None = None, *, warn: bool = False) -> Verdict:
    """A verdict without podsets: skipped, or unknown because something is missing (then the user is told)."""
    line = _line(outcome, reason, None)
    warnings = _warnings([*(notes or ()), *([line] if warn else ())])
    return Verdict(outcome=outcome, line=line, reason=reason, warnings=warnings)


def answer(
    gang: Finding,
    each: Sequence[Finding],
    podsets: Sequence[Podset],
    ceiling: Mode,
    age: int,
    notes: Sequence[str],
    asides: Sequence[str],
) -> Verdict:
    """``gang`` and ``each`` of its ``podsets``: what was found. ``age`` in seconds; ``ceiling`` the strictest mode
    allowed. A denial speaks for itself: who is not denied hears the ``asides`` too, not only the ``notes``."""
    mode = weakest((gang.mode, ceiling)) if gang.mode is not None else None
    denied = gang.outcome is Outcome.NEVER_FITS and gang.licensed and mode == "Enforce"
    alike = dict.fromkeys([gang.profiles, *[one.profiles for one in each]])
    profiles = dict.fromkeys([name for names in alike for name in names])
    return Verdict(
        outcome=gang.outcome,
        denied=denied,
        mode=mode,
        profile=", ".join(profiles) or None,
        line=_line(gang.outcome, gang.statement, gang.advice),
        reason=gang.statement,
        binding=gang.binding,
        pod_sets=[_podset(podset, one, age) for podset, one in zip(podsets, each, strict=True)],
        advice=gang.advice,
        warnings=_warnings(notes if denied else [*notes, *_complaint(gang), *asides]),
    )


def _podset(podset: Podset, found: Finding, age: int) -> PodSetVerdict:
    return PodSetVerdict(
        name=podset.name,
        count=podset.count,
        verdict=found.outcome,
        binding=found.binding,
        pool=found.pool,
        flavor=found.flavor,
        resource=found.resource,
        needs=found.needs,
        limit=found.limit,
        source=found.source,
        age_seconds=age if found.source is not None else None,
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
