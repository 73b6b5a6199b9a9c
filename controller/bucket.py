"""A token bucket: writes per second on average, with a burst. ``rate`` 0 means unlimited."""

import asyncio
import time
from collections.abc import Callable
from typing import Final

#: However long the server asks us to stay away, it is asked again after this, seconds.
LONGEST_HOLD: Final = 30.0


class TokenBucket:
    """``take`` waits for a token, first come first served."""

    def __init__(self, rate: float, burst: int, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._burst = float(max(1, burst))
        self._tokens = self._burst
        self._monotonic = monotonic
        self._at = monotonic()
        self._held_until = self._at
        self._turn = asyncio.Lock()

    async def take(self) -> None:
        async with self._turn:
            while (pause := self._pause()) > 0:  # noqa: ASYNC110  # time alone brings a token
                await asyncio.sleep(pause)
            self._tokens -= 1

    @property
    def ready(self) -> bool:
        """Whether a token is there at once: what may be dropped does not wait for one."""
        return not self._turn.locked() and self._pause() <= 0

    def hold(self, seconds: float) -> None:
        """Give out nothing for so long: the server said 429 with Retry-After, and means all of us."""
        self._held_until = max(self._held_until, self._monotonic() + min(seconds, LONGEST_HOLD))

    def _pause(self) -> float:
        """Seconds until there is a token; 0 if there is one."""
        now = self._monotonic()
        if now < self._held_until:
            return self._held_until - now
        if self._rate <= 0:
            self._tokens = self._burst
            return 0.0
        self._tokens = min(self._burst, self._tokens + (now - self._at) * self._rate)
        self._at = now
        # Sums of floats miss a whole token by a hair.
        return 0.0 if self._tokens >= 1 - 1e-6 else (1 - self._tokens) / self._rate
