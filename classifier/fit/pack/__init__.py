"""Whether the parts of a gang find places together in bins of empty nodes (reference/capacity.md §3.6-§3.8).

What it says holds for the bins it is given: hand it bins that are surely not too small for a proof, bins that are
surely there for a promise. In order of cost: each part alone (``alone``), first-fit-decreasing (``upper``), proofs by
counting (``lower``), exact search (``exact``). A proof is a proof and a packing a packing whatever the budget; what
is left between them for lack of it is ``UNKNOWN``.
"""

from collections.abc import Sequence
from typing import NamedTuple

from classifier.fit.budget import Budget, OverBudget
from classifier.fit.pack.alone import alone_on, never_alone, stand_alone
from classifier.fit.pack.exact import Allowance, solve
from classifier.fit.pack.layout import Layout, Rooms
from classifier.fit.pack.lower import Shortage, shortage
from classifier.fit.pack.packing import Bin, Fate, Packing, Part
from classifier.fit.pack.problem import Problem, reduce
from classifier.fit.pack.upper import Order, first_fit, orders

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


class Greedy(NamedTuple):
    """``nodes`` of each bin, if that is a packing. ``misfit``: the first part that finds no place even alone.

    ``endless``: nodes for the parts of which some bin takes any number; ``placed`` are the others.
    """

    nodes: dict[int, int] | None
    misfit: int | None = None
    placed: Sequence[tuple[int, Rooms]] = ()
    endless: dict[int, int] = {}  # noqa: RUF012 - never written


def greedy(layout: Layout, counts: Sequence[int], budget: Budget) -> Greedy:
    """What placing them one after another comes to. Raises OverBudget."""
    budget.spend(layout.cost)
    placed: list[tuple[int, Rooms]] = []
    endless: dict[int, int] = {}
    limited = list(counts)
    most = looked_at = 0
    there, rooms_of = layout.nodes, layout.rooms
    for which, count in enumerate(counts):
        if count <= 0:
            limited[which] = 0
            continue
        rooms = rooms_of(which, count)
        alone = alone_on(count, rooms, there)
        if alone is None:
            return Greedy(None, which)
        if len(counts) == 1:
            return Greedy(stand_alone(count, rooms, there))
        free = layout.endless and next((room for room in rooms if there[room[0]] is None), None)
        if free:
            # It takes nothing from the others where there is no end of nodes.
            endless[free[0]] = endless.get(free[0], 0) + -(-count // free[1])
            limited[which] = 0
            continue
        placed.append((which, rooms))
        looked_at += len(rooms)
        if alone > most:
            most = alone
    fewest = max(most, layout.fewest(limited))
    cost = looked_at // 8 + len(placed) * (2 + len(placed) // 2)
    found = _first_fit(placed, layout, limited, fewest, budget, cost)
    return Greedy(None if found is None else {**found, **endless}, None, placed, endless)


def _first_fit(
    placed: Sequence[tuple[int, Rooms]], layout: Layout, counts: Sequence[int], fewest: int, budget: Budget, cost: int
) -> dict[int, int] | None:
    """What placing first-fit-decreasing finds, in any order; the better of two, as no packing has less than ``fewest``
    nodes. One order takes ``cost`` steps."""
    best: dict[int, int] | None = None
    before: Order | None = None
    for order in orders(placed, layout):
        budget.spend(cost)
        if best is not None:
            return (order != before and first_fit(order, layout, counts, below=sum(best.values()))) or best
        nodes, before = first_fit(order, layout, counts), order
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
