"""Upper bound: place the parts first-fit-decreasing (reference/capacity.md §3.7). What it finds is a packing.

Identical pods are a number, identical partly filled nodes a run of them: 100,000 pods cost no more than two.
"""

from collections.abc import Iterator, Sequence

from classifier.fit.pack.layout import Layout, Node, Rooms

#: Parts, by their number, in the order they are placed, each with the bins it opens new nodes of, in order.
Order = Sequence[tuple[int, Rooms]]
#: So many nodes that are alike.
Run = tuple[Node, int]


def orders(parts: Order, layout: Layout) -> Iterator[Order]:
    """Several orders, the likeliest first: none is best for every gang."""
    # Fewest pods a node first: that is the largest share of one.
    by_share = sorted([(rooms[0][1], len(rooms), which, rooms) for which, rooms in parts])
    largest = [(which, rooms) for _, _, which, rooms in by_share]
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
        left = count = counts[which]
        more = 0
        for at in [at for at, (node, _) in enumerate(begun) if node.takes[which]]:
            run = begun[at + more]
            pods = run[0].takes[which]
            if pods < 0:
                pods = layout.takes(run[0], which)
            if pods:
                runs = _fill(layout, which, pods if pods < count else count, left, run)
                begun[at + more : at + more + 1] = runs
                left -= pods * run[1]
                if left <= 0:
                    break
                more += len(runs) - 1
        if left <= 0:
            continue
        for index, pods in rooms:
            there = unopened[index]
            if there == 0:
                continue
            taken = -(-left // pods)
            if there is not None:
                if there < taken:
                    taken = there
                unopened[index] = there - taken
            used[index] = used.get(index, 0) + taken
            total += taken
            for run in _fill(layout, which, pods, left, (layout.empty(index), taken)):
                if begun and begun[-1][0] is run[0]:
                    begun[-1] = run[0], begun[-1][1] + run[1]  # alike, and side by side
                else:
                    begun.append(run)
            left -= pods * taken
            if left <= 0:
                break
        if left > 0 or (below is not None and total >= below):
            return None
    return used


def _fill(layout: Layout, which: int, pods: int, left: int, run: Run) -> list[Run]:
    """Put up to ``pods`` on each node of the run, as far as so many are ``left``. What the nodes are then: up to three
    runs, without those that take no more."""
    node, nodes = run
    full, rest = divmod(left, pods)
    if full >= nodes:
        filled = layout.put(node, which, pods)
        return [] if filled is None else [(filled, nodes)]
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
