"""Upper bound: place the parts first-fit-decreasing (reference/capacity.md §3.7). What it finds is a packing.

Identical pods are a number, identical partly filled nodes a run of them: 100,000 pods cost no more than two.
"""

from collections.abc import Iterator, Sequence

from classifier.fit.pack.layout import Layout, Node, Placed

#: Parts in the order they are placed, each with the bins it opens new nodes of, in order.
Order = Placed
#: So many nodes that are alike.
Run = tuple[Node, int]


def orders(parts: Placed, layout: Layout) -> Iterator[Order]:
    """Several orders, the likeliest first: none is best for every gang."""
    largest = layout.largest_first(parts)
    yield largest
    yield [(which, layout.emptiest(which, rooms)) for which, rooms in largest]
    # Leave to others what they may use: bins that fewer parts may stand in go first.
    wanted: dict[int, int] = {}
    for _, rooms in parts:
        for index, _ in rooms:
            wanted[index] = wanted.get(index, 0) + 1
    choosy = [(which, sorted(rooms, key=lambda room: (wanted[room[0]], -room[1]))) for which, rooms in largest]
    yield sorted(choosy, key=lambda one: len(one[1]))
    requests = [part.requests for part in layout.parts]
    for resource in sorted({resource for which, _ in parts for resource in requests[which]}):
        yield sorted(choosy, key=lambda one: -requests[one[0]].get(resource, 0))


def first_fit(order: Order, layout: Layout, counts: Sequence[int], below: int | None = None) -> dict[int, int] | None:
    """Nodes used of each bin, or None: there are not enough, or fewer than ``below`` do not do. Nodes that others have
    begun come first."""
    begun: list[Run] = []
    used: dict[int, int] = {}
    unopened = list(layout.nodes)
    total = 0
    for which, rooms in order:
        left = counts[which]
        before, begun = begun, []
        for run in before:
            node, nodes = run
            pods = node.takes[which] if left else 0
            if pods < 0:
                pods = layout.takes(node, which)
            if not pods:
                begun.append(run)
            elif left < pods * nodes:
                begun += _fill(layout, which, pods, left, run)
                left = 0
            else:
                left -= pods * nodes
                filled = node.after.get((which, pods), node)
                if filled is node:
                    filled = layout.put(node, which, pods)
                if filled is not None:
                    begun.append((filled, nodes))
        if not left:
            continue
        for index, pods in rooms:
            there = unopened[index]
            if there == 0:
                continue
            nodes, rest = -(-left // pods), left % pods
            if there is not None:
                if there < nodes:
                    nodes, rest = there, 0
                unopened[index] = there - nodes
            used[index] = used.get(index, 0) + nodes
            total += nodes
            node = layout.empty(index)
            full = nodes - 1 if rest else nodes
            if full:
                filled = node.after.get((which, pods), node)
                if filled is node:
                    filled = layout.put(node, which, pods)
                if filled is not None:
                    if begun and begun[-1][0] is filled:
                        full += begun.pop()[1]  # alike, and side by side
                    begun.append((filled, full))
            if rest:
                filled = layout.put(node, which, rest)
                if filled is not None:
                    begun.append((filled, 1))
            left -= pods * nodes
            if left <= 0:
                break
        if left > 0 or (below is not None and total >= below):
            return None
    return used


def _fill(layout: Layout, which: int, pods: int, left: int, run: Run) -> list[Run]:
    """Put up to ``pods`` on each node of the run, as far as so many are ``left``. What the nodes are then: up to three
    runs, without those that take no more."""
    node, nodes = run
    full = left // pods
    rest = left - full * pods
    if full >= nodes:
        full, rest = nodes, 0
    runs: list[Run] = []
    if full:
        filled = layout.put(node, which, pods)
        if filled is not None:
            runs.append((filled, full))
    if rest:
        filled = layout.put(node, which, rest)
        full += 1
        if filled is not None:
            runs.append((filled, 1))
    if full < nodes:
        runs.append((node, nodes - full))
    return runs
