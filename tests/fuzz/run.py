"""Graphs and heaps against the laws of the classification."""

import time
from collections.abc import Callable
from typing import Final

from tests.fuzz.blocks import Failure, blocks
from tests.graphs.graph import Graph
from tests.graphs.heap import Heap, heap
from tests.graphs.heap_laws import check_heap
from tests.graphs.laws import Broken, check
from tests.graphs.making import graph

#: One heap for so many graphs: it holds several of them, and is asked for much more.
HEAPS: Final = 10


def make(what: str, seed: int) -> Graph | Heap:
    return heap(seed) if what == "heap" else graph(seed)


def broken(made: Graph | Heap) -> Broken | None:
    """The law it breaks, if any."""
    try:
        if isinstance(made, Heap):
            check_heap(made)
        else:
            check(made)
    except Broken as found:
        return found
    return None


def block(seeds: range) -> Failure | None:
    """The first failure of a block of seeds."""
    for seed in seeds:
        for what in ("graph", "heap") if seed % HEAPS == 0 else ("graph",):
            if found := broken(make(what, seed)):
                return Failure(seed, what, found.law, str(found))
    return None


def run(seeds: range, say: Callable[[str], None]) -> Failure | None:
    """The first failure there is, the lowest seed of those that are found at once."""
    began = time.monotonic()
    failure = blocks(seeds, block, say, "graphs")
    if failure is None:
        heaps = sum(seed % HEAPS == 0 for seed in seeds)
        say(f"{len(seeds)} graphs and {heaps} heaps in {time.monotonic() - began:.0f} s: no law is broken")
    return failure
