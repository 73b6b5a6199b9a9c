"""A de-duplicating work queue with per-key backoff: each key is worked on by one worker at a time, due ones first."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Final, Generic, TypeVar

from controller.lanes import Lane, Lanes

K = TypeVar("K", bound=Hashable)

#: First and longest pause after a failure of one key, seconds.
BACKOFF: Final = (0.1, 30.0)
#: Keys a worker works on before others get their turn in the event loop; one takes some 50 us, and there are many.
STRETCH: Final = 5


class WorkQueue(Generic[K]):
    """``add`` is cheap and idempotent; a key added while it is worked on runs once more afterwards.

    ``namespace`` tells whose turn a key takes: see :class:`Lanes`.
    """

    def __init__(self, namespace: Callable[[K], Hashable] = lambda _: None) -> None:
        self._ready: Lanes[K] = Lanes(namespace)
        #: The keys that are worked on, and which lane they came from; ``_again``, which they are to wait in once more.
        self._working: dict[K, Lane] = {}
        self._again: dict[K, Lane] = {}
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
        """Something about the key has changed."""
        self._add(key, Lane.CHANGED)

    def add_due(self, key: K) -> None:
        """The key's instant has come: it goes before those that have only changed."""
        self._add(key, Lane.DUE)

    def put_off(self, key: K) -> bool:
        """Work on ``key``, which is worked on just now, later, for there is what is due; False if it has waited so."""
        if self._working.get(key) is Lane.LATER or not self._ready.waits(Lane.DUE):
            return False
        self._add(key, Lane.LATER)
        return True

    def _add(self, key: K, lane: Lane) -> None:
        if key in self._working:
            self._again[key] = min(lane, self._again.get(key, lane))
        else:
            self._ready.push(key, lane)
            self._some.set()

    def retry(self, key: K, at_least: float = 0.0) -> None:
        """Add ``key``, as urgent as it was, after its backoff or ``at_least`` seconds, at most the longest backoff."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        delay = min(max(at_least, BACKOFF[0] * 2 ** min(failures, 16)), BACKOFF[1])
        previous = self._later.pop(key, None)
        if previous is not None:
            previous.cancel()
        lane = self._working.get(key, Lane.CHANGED)
        self._later[key] = asyncio.get_running_loop().call_later(delay, self._retried, key, lane)

    def failing(self, key: K) -> bool:
        """Whether the key failed since it last succeeded."""
        return key in self._failures

    def forget(self, key: K) -> None:
        """The key succeeded: its next failure starts small."""
        self._failures.pop(key, None)

    def _retried(self, key: K, lane: Lane) -> None:
        self._later.pop(key, None)
        self._add(key, lane)

    async def work(self, handle: Callable[[K], Awaitable[None]]) -> None:
        """One worker, until cancelled. ``handle`` must not raise."""
        while True:
            while not self._ready:
                self._some.clear()
                await self._some.wait()
            key, lane = self._ready.pop()
            self._working[key] = lane
            try:
                await handle(key)
            finally:
                del self._working[key]
                if key in self._again:
                    self._add(key, self._again.pop(key))
            # A key with nothing to write never waits for anything: thousands of them must not hold up the loop.
            self._unbroken += 1
            if self._unbroken >= STRETCH:
                self._unbroken = 0
                await asyncio.sleep(0)

    def clear(self) -> None:
        """Forget everything but what is worked on just now. Nobody may be waiting for a key any more."""
        self.close()
        self._ready.clear()
        self._again.clear()
        self._failures.clear()

    def close(self) -> None:
        for handle in self._later.values():
            handle.cancel()
        self._later.clear()
