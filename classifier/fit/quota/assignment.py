"""Which flavors Kueue may give a gang by quota alone: for each podset and resource group one (kueue.md §6.6).

Kueue tries flavors in order and never goes back, so it may miss an assignment. What counts here is whether one exists.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from classifier.fit.budget import Budget
from classifier.fit.requests.amounts import Amounts

#: Most that the queue could use of (flavor, resource).
Potential = Callable[[str, str], int]
#: For each demand, for each of its groups, the flavor.
Assignment = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Demand:
    """One podset. ``options`` and ``resources`` go together: for each resource group that it touches, the flavors
    it may get of it in Kueue's order, and the resources the group covers.

    ``group`` (podSetGroupName): podsets of one group get the same flavors. ``alike``: demands of the same, not None,
    may be exchanged for each other; assignments that differ only in that are told once.
    """

    name: str
    #: Pods that Kueue must admit at least.
    count: int
    group: str | None
    #: Of one pod, as Kueue counts.
    amounts: Amounts
    options: tuple[tuple[str, ...], ...]
    resources: tuple[frozenset[str], ...]
    alike: object = None


@dataclass(frozen=True, slots=True)
class Shortage:
    """Why no assignment exists. ``needs`` of the podset, or of all podsets where ``podset`` is None, against the
    ``limit`` of ``flavor``, or of all flavors in question where that is None."""

    podset: str | None
    flavor: str | None
    resource: str | None
    needs: int
    limit: int


def assignments(demands: Sequence[Demand], potential: Potential, budget: Budget) -> Iterator[Assignment]:
    """Every assignment that fits into quota, the one with Kueue's first flavors first. Raises OverBudget."""
    raise NotImplementedError


def impossible(demands: Sequence[Demand], potential: Potential) -> Shortage | None:
    """A cheap proof that no assignment exists; None if there is no cheap one."""
    raise NotImplementedError
