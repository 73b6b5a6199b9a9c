"""Blocks of seeds on all cores, until they are through or one of them breaks a law."""

import os
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from typing import Final, NamedTuple

from tests.graphs.graph import Graph
from tests.graphs.heap import Heap, heap
from tests.graphs.heap_laws import check_heap
from tests.graphs.laws import Broken, check
from tests.graphs.making import graph

BLOCK: Final = 200
#: One heap for so many graphs: it holds several of them, and is asked for much more.
HEAPS: Final = 10
_EVERY: Final = 2.0  # seconds between two lines of progress


class Failure(NamedTuple):
    """What of which seed breaks which law; ``what`` is ``graph`` or ``heap``."""

    seed: int
    what: str
    law: str
    why: str


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
    blocks = (seeds[at : at + BLOCK] for at in range(0, len(seeds), BLOCK))
    workers = os.cpu_count() or 1
    began = told = time.monotonic()
    done = 0
    waiting: dict[Future[Failure | None], int] = {}
    with ProcessPoolExecutor(workers) as pool:
        while True:
            # Few ahead, so that a failure ends it soon.
            while len(waiting) < 2 * workers and (ahead := next(blocks, None)) is not None:
                waiting[pool.submit(block, ahead)] = len(ahead)
            if not waiting:
                break
            ready, _ = wait(waiting, timeout=_EVERY, return_when=FIRST_COMPLETED)
            done += sum(waiting.pop(future) for future in ready)
            failures = [failure for future in ready if (failure := future.result()) is not None]
            if failures:
                pool.shutdown(cancel_futures=True)
                return min(failures)
            now = time.monotonic()
            if now - told >= _EVERY:
                told = now
                say(f"{done} of {len(seeds)} graphs, {_pace(done, len(seeds), now - began)}")
    heaps = sum(seed % HEAPS == 0 for seed in seeds)
    say(f"{done} graphs and {heaps} heaps in {time.monotonic() - began:.0f} s: no law is broken")
    return None


def _pace(done: int, count: int, seconds: float) -> str:
    rate = done / seconds
    return f"{rate:.0f}/s, about {(count - done) / rate:.0f} s left" if rate else "the first are under way"
