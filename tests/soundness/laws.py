"""What must hold of a verdict, and what is counted of many."""

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum

from classifier.fit import Outcome, Verdict, judge
from tests.soundness.search import can_run
from tests.soundness.submit import submitted
from tests.soundness.told import told
from tests.soundness.truth import Case

GOOD = (Outcome.FITS, Outcome.FITS_AFTER_SCALE_UP)


class Wrong(StrEnum):
    REJECTED = "called impossible, and can run"
    PROMISED = "promised, and cannot run"
    MODE = "denied although a profile that it may use only warns"
    CRASH = "not judged"


@dataclass
class Tally:
    """Of worlds that are wholly told, by the number of shapes: those that cannot run, and those left ``unknown``."""

    worlds: int = 0
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    denied: int = 0
    told: Counter[int] = field(default_factory=Counter)
    impossible: Counter[int] = field(default_factory=Counter)
    unknown: Counter[int] = field(default_factory=Counter)

    def add(self, other: "Tally") -> None:
        self.worlds += other.worlds
        self.denied += other.denied
        for name in ("outcomes", "kinds", "told", "impossible", "unknown"):
            getattr(self, name).update(getattr(other, name))

    def missed(self, *shapes: int) -> float:
        """Which share of what cannot run, of gangs of so many shapes, is called unknown."""
        impossible = sum(self.impossible[n] for n in shapes)
        return sum(self.unknown[n] for n in shapes) / impossible if impossible else 0.0

    def __str__(self) -> str:
        shares = ", ".join(f"{outcome} {count}" for outcome, count in self.outcomes.most_common())
        figures = "; ".join(
            f"{text}: {sum(self.unknown[n] for n in shapes)} of {sum(self.impossible[n] for n in shapes)} "
            f"({100 * self.missed(*shapes):.2f} %)"
            for text, shapes in (("one or two shapes", (1, 2)), ("three or four", (3, 4)))
        )
        return f"{self.worlds} worlds ({shares}; {self.denied} denied); impossible and called unknown, {figures}"


def verdict_of(case: Case) -> Verdict:
    return judge(submitted(case), told(case), now=0)


def wrong(case: Case, tally: Tally | None = None) -> Wrong | None:
    """Which law the verdict on it breaks."""
    found = verdict_of(case)
    tally = tally if tally is not None else Tally()
    tally.worlds += 1
    tally.outcomes[found.outcome] += 1
    tally.kinds[case.kind.kind] += 1
    tally.denied += found.denied
    if found.denied and found.outcome is not Outcome.NEVER_FITS:
        return Wrong.REJECTED
    if found.denied and all(one.mode != "Enforce" for one in case.flavors):
        return Wrong.MODE
    if found.outcome in GOOD:
        return None if not promises(case) or can_run(case, generous=False) else Wrong.PROMISED
    if found.outcome is Outcome.NEVER_FITS or case.wholly_told:
        possible = can_run(case, generous=True)
        if case.wholly_told:
            tally.told[case.shapes] += 1
            if not possible:
                tally.impossible[case.shapes] += 1
                tally.unknown[case.shapes] += found.outcome is Outcome.UNKNOWN
        if found.outcome is Outcome.NEVER_FITS and possible:
            return Wrong.REJECTED
    return None


def promises(case: Case) -> bool:
    """Whether a promise can be held against the world. Of pools that keep silent about ``pods`` kubelet's default is
    assumed, and a podset that may get a flavor nobody describes is left out of the verdict."""
    return all(one.told for one in case.flavors) and all(
        "pods" in pool.resources or not pool.declared for pool in case.pools
    )
