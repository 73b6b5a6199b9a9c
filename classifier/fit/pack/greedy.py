"""Parts placed one after another, as schedulers do it: quick, and where it finds room there is room."""

from collections.abc import Sequence
from operator import gt
from typing import NamedTuple

from classifier.fit.budget import Budget
from classifier.fit.pack.alone import alone_on, stand_alone
from classifier.fit.pack.layout import Layout, Placed, Rooms
from classifier.fit.pack.upper import Order, first_fit, orders


class Greedy(NamedTuple):
    """``nodes`` of each bin, if that is a packing. ``misfit``: the first part that finds no place even alone.

    ``endless``: nodes for the parts of which some bin takes any number; ``placed`` are the others.
    """

    nodes: dict[int, int] | None
    misfit: int | None = None
    placed: Placed = ()
    endless: dict[int, int] = {}  # noqa: RUF012 - never written


def greedy(layout: Layout, counts: Sequence[int], budget: Budget) -> Greedy:
    """What placing them one after another comes to. Raises OverBudget."""
    budget.spend(layout.cost)
    placed = layout.placed(counts)
    most, misfit = _alone(layout, counts, placed)
    if misfit is not None:
        return Greedy(None, misfit)
    if len(counts) == 1 and placed:
        return Greedy(stand_alone(counts[0], placed[0][1], layout.nodes))
    if layout.endless:
        return _beside_the_endless(layout, counts, placed, budget)
    fewest = max(most, layout.fewest(counts))
    return Greedy(_first_fit(placed, layout, counts, fewest, budget), None, placed)


def _alone(layout: Layout, counts: Sequence[int], placed: Placed) -> tuple[int, int | None]:
    """The nodes that the part needs which needs most of them by itself; the first part that finds too few."""
    even = layout.even if placed is layout.every else None
    if even is not None and not any(map(gt, counts, even)):
        needs = [-(-count // pods) for count, pods in zip(counts, layout.fullest, strict=True)]
        return max(needs, default=0), None
    most = 0
    for which, rooms in placed:
        alone = alone_on(counts[which], rooms, layout.nodes)
        if alone is None:
            return 0, which
        most = max(most, alone)
    return most, None


def _beside_the_endless(layout: Layout, counts: Sequence[int], every: Placed, budget: Budget) -> Greedy:
    """A part takes nothing from the others where there is no end of nodes."""
    placed: list[tuple[int, Rooms]] = []
    endless: dict[int, int] = {}
    limited = [0] * len(counts)
    most = 0
    for which, rooms in every:
        count = counts[which]
        free = next((room for room in rooms if layout.nodes[room[0]] is None), None)
        if free is not None:
            endless[free[0]] = endless.get(free[0], 0) + -(-count // free[1])
            continue
        placed.append((which, rooms))
        limited[which] = count
        most = max(most, alone_on(count, rooms, layout.nodes) or 0)
    fewest = max(most, layout.fewest(limited))
    found = _first_fit(placed, layout, limited, fewest, budget)
    return Greedy(None if found is None else {**found, **endless}, None, placed, endless)


def _first_fit(
    placed: Placed, layout: Layout, counts: Sequence[int], fewest: int, budget: Budget
) -> dict[int, int] | None:
    """What placing first-fit-decreasing finds, in any order; the better of two, as no packing has less than ``fewest``
    nodes."""
    cost = sum([len(rooms) for _, rooms in placed]) // 8 + len(placed) * (2 + len(placed) // 2)
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
