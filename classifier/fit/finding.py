"""What was found about one podset on one flavor, in words and in numbers."""

from collections.abc import Iterable
from typing import Final

import msgspec

from classifier.fit.verdict import Binding, Mode, Outcome

GOOD: Final = (Outcome.FITS, Outcome.FITS_AFTER_SCALE_UP)
#: Worst first: what a gang is when its podsets differ.
WORST_FIRST: Final = (
    Outcome.NEVER_FITS,
    Outcome.MISCONFIGURED,
    Outcome.UNKNOWN,
    Outcome.SKIPPED,
    Outcome.FITS_AFTER_SCALE_UP,
    Outcome.FITS,
)
#: The best first: what a podset or a gang is when it may get its flavors in several ways.
BEST_FIRST: Final = (*GOOD, Outcome.MISCONFIGURED, Outcome.UNKNOWN, Outcome.SKIPPED, Outcome.NEVER_FITS)


class Finding(msgspec.Struct, frozen=True, kw_only=True, gc=False):
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
    #: A promise that only exact search found.
    tight: bool = False
    #: Names of the profiles that speak for the flavors in question, and the weakest of their modes.
    profiles: tuple[str, ...] = ()
    mode: Mode | None = None
    #: Whether a denial is licensed: every flavor in question has profiles, closed and without fault.
    licensed: bool = False


def unknown(reason: str, binding: Binding | None = None, *, flavor: str | None = None) -> Finding:
    return Finding(outcome=Outcome.UNKNOWN, statement=reason, binding=binding, flavor=flavor)


def skipped(reason: str, *, flavor: str | None = None) -> Finding:
    return Finding(outcome=Outcome.SKIPPED, statement=reason, flavor=flavor)


def worst(findings: Iterable[Finding]) -> Finding:
    """The first of the worst. Raises ValueError if there is none."""
    return min(findings, key=lambda finding: WORST_FIRST.index(finding.outcome))
