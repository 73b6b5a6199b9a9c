"""How long to stay away from a server that fails."""

import random
from typing import Final

#: First and longest pause, seconds.
BACKOFF: Final = (0.2, 30.0)


class Backoff:
    """Seconds to stay away: doubles with jitter, honours what the server asked for, starts over after success."""

    def __init__(self, low: float = BACKOFF[0], high: float = BACKOFF[1]) -> None:
        self._low, self._high, self._next = low, high, low

    def reset(self) -> None:
        self._next = self._low

    def next(self, at_least: float | None = None) -> float:
        delay = self._next * random.uniform(0.5, 1.0)
        self._next = min(self._next * 2, self._high)
        # A server that asks for an hour is obeyed, but no longer than our own longest wait at a time. On top of it,
        # or everybody whom it told the same would come back at the same moment.
        return delay + min(at_least or 0.0, self._high)
