"""A token bucket: writes per second on average, with a burst. ``rate`` 0 means unlimited."""

import asyncio
import time
from collections.abc import Callable


class TokenBucket:
    """``take`` waits for a token, first come first served."""

    def __init__(self, rate: float, burst: int, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._burst = float(max(1, burst))
        self._tokens = self._burst
        self._monotonic = monotonic
        self._at = monotonic()
        self._turn = asyncio.Lock()

    async def take(self) -> None:
        if self._rate <= 0:
            return
        async with self._turn:
            now = self._monotonic()
            self._tokens = min(self._burst, self._tokens + (now - self._at) * self._rate)
            self._at = now
            if self._tokens < 1:
                await asyncio.sleep((1 - self._tokens) / self._rate)
                now = self._monotonic()
                self._tokens = min(self._burst, self._tokens + (now - self._at) * self._rate)
                self._at = now
            self._tokens -= 1
