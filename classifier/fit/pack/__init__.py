"""Whether the parts of a gang find places together in bins of empty nodes (reference/capacity.md §3.6-§3.8).

What it says holds for the bins it is given: hand it bins that are surely not too small for a proof, bins that are
surely there for a promise. In order of cost: each part alone (``alone``), one after another (``greedy``), proofs by
counting (``lower``), exact search (``exact``). A proof is a proof and a packing a packing whatever the budget; what
is left between them for lack of it is ``UNKNOWN``.
"""

from collections.abc import Sequence

from classifier.fit.budget import Budget, OverBudget
from classifier.fit.pack.alone import never_alone
from classifier.fit.pack.exact import Allowance, solve
from classifier.fit.pack.greedy import greedy
from classifier.fit.pack.layout import Layout
from classifier.fit.pack.lower import Shortage, shortage
from classifier.fit.pack.packing import Bin, Fate, Packing, Part
from classifier.fit.pack.problem import Problem, reduce

__all__ = ["Bin", "Fate", "Layout", "Packing", "Part", "greedy", "pack"]


def pack(parts: Sequence[Part], bins: Sequence[Bin], budget: Budget, layout: Layout | None = None) -> Packing:
    """Whether some packing exists. Deterministic, and the same whatever order parts and bins come in.

    ``layout``: of the same parts, but for their counts, in the order of their names, and the same bins. Raises
    OverBudget where not even looking at every part and bin once is paid for.
    """
    parts = sorted(parts, key=lambda part: part.name) if len(parts) > 1 else parts
    layout = layout or Layout(parts, bins)
    found = greedy(layout, [part.count for part in parts], budget)
    if found.nodes is not None:
        return Packing(Fate.FITS, found.nodes)
    if found.misfit is not None:
        part = parts[found.misfit]
        return never_alone(part, layout.rooms(found.misfit, part.count), bins)
    placed = [(parts[which], rooms) for which, rooms in found.placed]
    allowance = Allowance(budget)
    try:
        allowance.spend(1 + sum(len(rooms) for _, rooms in placed))
        problem = reduce(placed, bins)
        exact = shortage(problem, allowance.spend) or solve(problem, allowance)
    except OverBudget:
        return Packing(Fate.UNKNOWN)
    if isinstance(exact, Shortage):
        return _never(exact, problem)
    return Packing(Fate.FITS, {**_by_bin(exact, problem, bins), **found.endless}, tight=True)


def _never(found: Shortage, problem: Problem) -> Packing:
    names = tuple(sorted(name for shape in found.shapes for name in shape.names))
    return Packing(
        Fate.NEVER,
        binding="nodes",
        part=names[0] if len(names) == 1 else None,
        resource=found.resource,
        needs=found.needs,
        limit=found.limit,
        parts=names,
        bins=problem.bins_of(found.kinds),
    )


def _by_bin(kinds: dict[int, int], problem: Problem, bins: Sequence[Bin]) -> dict[int, int]:
    nodes: dict[int, int] = {}
    for place, left in kinds.items():
        for index in problem.kinds[place].bins:
            there = bins[index].nodes
            taken = left if there is None else min(left, there)
            if taken:
                nodes[index], left = taken, left - taken
    return nodes
