"""Blocks of seeds on all cores, until they are through or one of them fails."""

import os
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from typing import Final, NamedTuple, TypeVar

T = TypeVar("T")

BLOCK: Final = 200
_EVERY: Final = 2.0  # seconds between two lines of progress


class Failure(NamedTuple):
    """What of which seed breaks which law; ``what`` is ``graph``, ``heap``, ``mutate`` or ``validate``."""

    seed: int
    what: str
    law: str
    why: str


def blocks(
    seeds: range,
    block: Callable[[range], Failure | T],
    say: Callable[[str], None],
    what: str,
    take: Callable[[T], Failure | None] = lambda told: None,
) -> Failure | None:
    """The first failure there is, the lowest seed of those that are found at once. ``take`` hears what each block told,
    and may call it a failure."""
    ahead = (seeds[at : at + BLOCK] for at in range(0, len(seeds), BLOCK))
    workers = os.cpu_count() or 1
    began = told = time.monotonic()
    done = 0
    waiting: dict[Future[Failure | T], int] = {}
    with ProcessPoolExecutor(workers) as pool:
        while True:
            # Few ahead, so that a failure ends it soon.
            while len(waiting) < 2 * workers and (following := next(ahead, None)) is not None:
                waiting[pool.submit(block, following)] = len(following)
            if not waiting:
                return None
            ready, _ = wait(waiting, timeout=_EVERY, return_when=FIRST_COMPLETED)
            done += sum(waiting.pop(future) for future in ready)
            failures = []
            for future in ready:
                result = future.result()
                failure = result if isinstance(result, Failure) else take(result)
                failures += [failure] if failure is not None else []
            if failures:
                pool.shutdown(cancel_futures=True)
                return min(failures)
            now = time.monotonic()
            if now - told >= _EVERY:
                told = now
                say(f"{done} of {len(seeds)} {what}, {_pace(done, len(seeds), now - began)}")


def _pace(done: int, count: int, seconds: float) -> str:
    rate = done / seconds
    return f"{rate:.0f}/s, about {(count - done) / rate:.0f} s left" if rate else "the first are under way"
