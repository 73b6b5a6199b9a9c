"""Upper bound: place the parts first-fit-decreasing (reference/capacity.md §3.7). What it finds is a packing.

Identical pods are a number, identical partly filled nodes a run of them: 100,000 pods cost no more than two.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from classifier.fit.pack.alone import Rooms, per_node
from classifier.fit.pack.packing import Bin, Part


class _Run(NamedTuple):
    """``nodes`` alike nodes of one bin, each with this much left."""

    bin: int
    free: Mapping[str, int]
    nodes: int
    ports: frozenset[str]


#: Parts in the order they are placed, each with the bins it opens new nodes of, in order.
Order = Sequence[tuple[Part, Rooms]]


def orders(parts: Sequence[tuple[Part, Rooms]], bins: Sequence[Bin]) -> Iterator[Order]:
    """Several orders, the likeliest first: none is best for every gang. The same whatever order the parts came in."""
    # Fewest pods a node first: that is the largest share of one.
    largest = sorted(parts, key=lambda one: (one[1][0][1], len(one[1]), one[0].name))
    yield largest
    yield [(part, sorted(rooms, key=lambda room: (room[1], bins[room[0]].key))) for part, rooms in largest]
    # Leave to others what they may use: bins that fewer parts may stand in go first.
    wanted: dict[int, int] = {}
    for _, rooms in parts:
        for index, _ in rooms:
            wanted[index] = wanted.get(index, 0) + 1
    choosy = [(part, sorted(rooms, key=lambda room: (wanted[room[0]], -room[1]))) for part, rooms in largest]
    yield sorted(choosy, key=lambda one: len(one[1]))
    for resource in sorted({resource for part, _ in parts for resource in part.requests}):
        yield sorted(choosy, key=lambda one: -one[0].requests.get(resource, 0))


def first_fit(order: Order, bins: Sequence[Bin]) -> dict[int, int] | None:
    """Nodes used of each bin, or None. Nodes that others have begun come first."""
    begun: list[_Run] = []
    used: dict[int, int] = {}
    for part, rooms in order:
        left = part.count
        after: list[_Run] = []
        for run in begun:
            if left and run.bin in part.bins and not (part.ports and part.ports & run.ports):
                pods = per_node(part, run.free)
                if pods:
                    left = _fill(part, pods, left, run, after)
                    continue
            after.append(run)
        for index, pods in rooms:
            if not left:
                break
            taken = -(-left // pods)
            there = bins[index].nodes
            if there is not None:
                taken = min(taken, there - used.get(index, 0))
            if taken > 0:
                used[index] = used.get(index, 0) + taken
                left = _fill(part, pods, left, _Run(index, bins[index].offers, taken, frozenset()), after)
        if left:
            return None
        begun = after
    return used


def _fill(part: Part, pods: int, left: int, run: _Run, after: list[_Run]) -> int:
    """Put up to ``pods`` on each node of the run, which is in ``after`` then, in up to three; what is left to place."""
    full = min(run.nodes, left // pods)
    nodes, left = run.nodes - full, left - full * pods
    if full:
        after.append(_take(part, pods, run, full))
    if nodes and left:
        after.append(_take(part, left, run, 1))
        nodes, left = nodes - 1, 0
    if nodes:
        after.append(run._replace(nodes=nodes))
    return left


def _take(part: Part, pods: int, run: _Run, nodes: int) -> _Run:
    free = dict(run.free)
    for resource, needs in part.requests.items():
        if resource in free:
            free[resource] -= pods * needs
    return _Run(run.bin, free, nodes, run.ports | part.ports)
