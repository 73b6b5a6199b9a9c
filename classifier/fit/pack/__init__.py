"""Whether the parts of a gang find places together in bins of empty nodes (reference/capacity.md §3.6-§3.8).

What it says holds for the bins it is given: hand it bins that are surely not too small for a proof, bins that are
surely there for a promise. In order of cost: each part alone (``alone``), first-fit-decreasing (``upper``), proofs by
counting (``lower``), exact search (``exact``). A proof is a proof and a packing a packing whatever the budget; what
is left between them for lack of it is ``UNKNOWN``.
"""

from collections.abc import Sequence

from classifier.fit.budget import Budget, OverBudget
from classifier.fit.pack.alone import Rooms, never_alone, per_node, rooms_of, stand_alone
from classifier.fit.pack.exact import Allowance, solve
from classifier.fit.pack.lower import Shortage, shortage
from classifier.fit.pack.packing import Bin, Fate, Packing, Part
from classifier.fit.pack.problem import Problem, reduce
from classifier.fit.pack.upper import first_fit, orders

__all__ = ["Bin", "Fate", "Packing", "Part", "pack", "per_node"]


def pack(parts: Sequence[Part], bins: Sequence[Bin], budget: Budget) -> Packing:
    """Whether some packing exists. Deterministic, and the same whatever order parts and bins come in.

    Raises OverBudget where not even looking at every part and bin once is paid for.
    """
    budget.spend(1 + sum(len(part.bins) for part in parts) // 4)
    placed: list[tuple[Part, Rooms]] = []
    endless: dict[int, int] = {}
    fewest = 0
    for part in sorted(parts, key=lambda part: part.name) if len(parts) > 1 else parts:
        if part.count <= 0:
            continue
        rooms = rooms_of(part, bins)
        nodes = stand_alone(part, rooms, bins)
        if nodes is None:
            return never_alone(part, rooms, bins)
        if len(parts) == 1:
            return Packing(Fate.FITS, nodes)
        free = next(((index, pods) for index, pods in rooms if bins[index].nodes is None), None)
        if free is not None:
            # It takes nothing from the others where there is no end of nodes.
            endless[free[0]] = endless.get(free[0], 0) + -(-part.count // free[1])
            continue
        placed.append((part, rooms))
        fewest = max(fewest, sum(nodes.values()))
    fewest = max(fewest, _fewest(placed, bins))
    looked_at = sum(len(rooms) for _, rooms in placed)
    nodes = _first_fit(placed, bins, fewest, budget, cost=looked_at // 8 + len(placed) * (2 + len(placed) // 2))
    if nodes is not None:
        return Packing(Fate.FITS, {**nodes, **endless})
    allowance = Allowance(budget)
    try:
        allowance.spend(1 + looked_at)
        problem = reduce(placed, bins)
        found = shortage(problem, allowance.spend) or solve(problem, allowance)
    except OverBudget:
        return Packing(Fate.UNKNOWN)
    if isinstance(found, Shortage):
        return _never(found, problem)
    return Packing(Fate.FITS, {**_by_bin(found, problem, bins), **endless}, tight=True)


def _fewest(placed: Sequence[tuple[Part, Rooms]], bins: Sequence[Bin]) -> int:
    """Fewer nodes never hold the parts: they ask for so much of a resource in all, and no node has more than some."""
    wanted: dict[str, int] = {}
    for part, _ in placed:
        for resource, needs in part.requests.items():
            wanted[resource] = wanted.get(resource, 0) + part.count * needs
    open_ = [bins[index].offers for index in {index for _, rooms in placed for index, _ in rooms}]
    found = 0
    for resource, total in wanted.items():
        if all(resource in offers for offers in open_):
            found = max(found, -(-total // max(offers[resource] for offers in open_)))
    return found


def _first_fit(
    placed: Sequence[tuple[Part, Rooms]], bins: Sequence[Bin], fewest: int, budget: Budget, cost: int
) -> dict[int, int] | None:
    """What placing first-fit-decreasing finds, in any order; the better of two, as no packing has less than ``fewest``
    nodes. One order takes ``cost`` steps."""
    best: dict[int, int] | None = None
    for order in orders(placed, bins):
        budget.spend(cost)
        nodes = first_fit(order, bins)
        if best is not None:
            return min(best, nodes or best, key=lambda one: sum(one.values()))
        if nodes is not None and sum(nodes.values()) == fewest:
            return nodes
        best = nodes
    return best


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
