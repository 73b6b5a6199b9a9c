"""What was found about one podset on one flavor, in words and in numbers."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from classifier.fit.verdict import Binding, Mode, Outcome

#: Worst first: what a gang is when its parts differ, and what a podset is when its resource groups differ.
WORST_FIRST: Final = (
    Outcome.NEVER_FITS,
    Outcome.MISCONFIGURED,
    Outcome.UNKNOWN,
    Outcome.SKIPPED,
    Outcome.FITS_AFTER_SCALE_UP,
    Outcome.FITS,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """``statement`` is the line without prefix and verdict; ``most`` the pods that would fit, to compare flavors by."""

    outcome: Outcome
    statement: str
    binding: Binding | None = None
    pool: str | None = None
    flavor: str | None = None
    resource: str | None = None
    needs: str | int | None = None
    limit: str | int | None = None
    source: str | None = None
    advice: str | None = None
    most: int = 0
    #: Names of the profiles that speak for the flavors in question, and the weakest of their modes.
    profiles: tuple[str, ...] = ()
    mode: Mode | None = None
    #: Whether a denial is licensed: every flavor in question has profiles, closed and without fault.
    licensed: bool = False


def unknown(reason: str, binding: Binding | None = None) -> Finding:
    return Finding(outcome=Outcome.UNKNOWN, statement=reason, binding=binding)


def skipped(reason: str) -> Finding:
    return Finding(outcome=Outcome.SKIPPED, statement=reason)


def worst(findings: Iterable[Finding]) -> Finding:
    """The first of the worst. Raises ValueError if there is none."""
    return min(findings, key=lambda finding: WORST_FIRST.index(finding.outcome))
