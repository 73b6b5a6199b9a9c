"""Work on thousands of keys at once, in slices: everybody else gets a turn of the event loop in between."""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Final

#: Seconds at a stretch. What a single step takes comes on top: it is never interrupted.
STRETCH: Final = 0.005
#: Steps between two looks at the clock.
STEPS: Final = 16


class Slices:
    """``add`` takes work as an iterator, each step of which is short; ``run`` does it in the order it was added."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._works: deque[Iterator[None]] = deque()
        self._some = asyncio.Event()

    @property
    def idle(self) -> bool:
        return not self._works

    def add(self, work: Iterator[None]) -> None:
        self._works.append(work)
        self._some.set()

    def clear(self) -> None:
        """Forget what was not done yet."""
        self._works.clear()

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            while not self._works:
                self._some.clear()
                await self._some.wait()
            self._slice()
            await asyncio.sleep(0)

    def _slice(self) -> None:
        until = self._clock() + STRETCH
        while self._works and self._clock() < until:
            work = self._works[0]
            for _ in range(STEPS):
                try:
                    next(work)
                except StopIteration:
                    self._works.popleft()
                    break
