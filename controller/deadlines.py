"""The heap of (instant, key): when to look at something again. No polling; the earliest sleeps for all."""

import asyncio
import heapq
from collections.abc import Callable, Hashable
from typing import Final, Generic, TypeVar

K = TypeVar("K", bound=Hashable)

#: So many keys are popped before others get their turn in the event loop: thousands may be due at one instant.
AT_ONCE: Final = 500
#: The server's clock may run ahead of ours or step while we sleep: look at it at least this often, seconds.
LONGEST_SLEEP: Final = 5.0
#: The heap may hold this many entries besides twice the live ones before those of replaced instants are thrown out.
SLACK: Final = 64


class Deadlines(Generic[K]):
    """At most one instant per key; setting another one replaces it. Instants are the API server's, in ms."""

    def __init__(self, now: Callable[[], int], fire: Callable[[K], None]) -> None:
        self._now = now
        self._fire = fire
        self._heap: list[tuple[int, int, K]] = []
        #: The instant of each key, and the number of its entry in the heap.
        self._current: dict[K, tuple[int, int]] = {}
        self._count = 0
        self._sooner = asyncio.Event()

    def __len__(self) -> int:
        return len(self._current)

    def set(self, key: K, at: int | None) -> None:
        """Fire for ``key`` at ``at``; None forgets it."""
        if at is None:
            self._current.pop(key, None)
            return
        current = self._current.get(key)
        if current is not None and current[0] == at:
            return
        # The count keeps keys, which need not be comparable, out of the comparison.
        self._count += 1
        self._current[key] = (at, self._count)
        heapq.heappush(self._heap, (at, self._count, key))
        if len(self._heap) > 2 * len(self._current) + SLACK:
            self._heap = [entry for entry in self._heap if not self._stale(entry)]
            heapq.heapify(self._heap)
        if self._heap[0][2] == key:
            self._sooner.set()

    def clear(self) -> None:
        """Forget every instant."""
        self._current.clear()
        self._heap.clear()

    def pop_due(self) -> list[K]:
        """Keys whose instant has come, earliest first, at most :data:`AT_ONCE`; each is forgotten."""
        due: list[K] = []
        now = self._now()
        while len(due) < AT_ONCE and self._heap and (self._heap[0][0] <= now or self._stale(self._heap[0])):
            entry = heapq.heappop(self._heap)
            if not self._stale(entry):
                del self._current[entry[2]]
                due.append(entry[2])
        return due

    def _stale(self, entry: tuple[int, int, K]) -> bool:
        return self._current.get(entry[2]) != entry[:2]

    async def run(self) -> None:
        """Fire until cancelled."""
        while True:
            self._sooner.clear()
            while due := self.pop_due():
                for key in due:
                    self._fire(key)
                await asyncio.sleep(0)
            delay = LONGEST_SLEEP
            if self._heap:
                delay = min(delay, max(0.0, (self._heap[0][0] - self._now()) / 1000))
            try:
                async with asyncio.timeout(delay):
                    await self._sooner.wait()
            except TimeoutError:
                continue
