"""A de-duplicating work queue with per-key backoff: each key is worked on by one worker at a time."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Hashable
from typing import Final, Generic, TypeVar

K = TypeVar("K", bound=Hashable)

#: First and longest pause after a failure of one key, seconds.
BACKOFF: Final = (0.1, 30.0)
#: Keys a worker works on before others get their turn in the event loop; one takes some 50 us, and there are many.
STRETCH: Final = 5


class WorkQueue(Generic[K]):
    """``add`` is cheap and idempotent; a key added while it is worked on runs once more afterwards."""

    def __init__(self) -> None:
        self._ready: deque[K] = deque()
        self._queued: set[K] = set()
        self._working: set[K] = set()
        self._again: set[K] = set()
        self._failures: dict[K, int] = {}
        self._later: dict[K, asyncio.TimerHandle] = {}
        self._some = asyncio.Event()
        self._unbroken = 0

    def __len__(self) -> int:
        return len(self._ready)

    @property
    def idle(self) -> bool:
        """Whether nothing is queued, worked on or backing off."""
        return not (self._ready or self._working or self._later)

    def add(self, key: K) -> None:
        if key in self._working:
            self._again.add(key)
        elif key not in self._queued:
            self._queued.add(key)
            self._ready.append(key)
            self._some.set()

    def retry(self, key: K, at_least: float = 0.0) -> None:
        """Add ``key`` after its backoff, or ``at_least`` so many seconds (as long as the longest backoff)."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        delay = min(max(at_least, BACKOFF[0] * 2 ** min(failures, 16)), BACKOFF[1])
        previous = self._later.pop(key, None)
        if previous is not None:
            previous.cancel()
        self._later[key] = asyncio.get_running_loop().call_later(delay, self._due, key)

    def failing(self, key: K) -> bool:
        """Whether the key failed since it last succeeded."""
        return key in self._failures

    def forget(self, key: K) -> None:
        """The key succeeded: its next failure starts small."""
        self._failures.pop(key, None)

    def _due(self, key: K) -> None:
        self._later.pop(key, None)
        self.add(key)

    async def work(self, handle: Callable[[K], Awaitable[None]]) -> None:
        """One worker, until cancelled. ``handle`` must not raise."""
        while True:
            while not self._ready:
                self._some.clear()
                await self._some.wait()
            key = self._ready.popleft()
            self._queued.discard(key)
            self._working.add(key)
            try:
                await handle(key)
            finally:
                self._working.discard(key)
                if key in self._again:
                    self._again.discard(key)
                    self.add(key)
            # A key with nothing to write never waits for anything: thousands of them must not hold up the loop.
            self._unbroken += 1
            if self._unbroken >= STRETCH:
                self._unbroken = 0
                await asyncio.sleep(0)

    def close(self) -> None:
        for handle in self._later.values():
            handle.cancel()
        self._later.clear()
