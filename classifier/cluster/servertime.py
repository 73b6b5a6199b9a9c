"""The API server's time, read from the ``Date`` of its answers (design §3, "Now").

``Date`` has whole seconds, cut off: each answer says "it is at least this late there". The largest ``Date`` minus our
monotonic clock of the last ten minutes is therefore the best offset, and never ahead of the server's own clock: nothing
that waits for an instant fires early.
"""

import time
from collections import deque
from collections.abc import Callable
from email.utils import parsedate_to_datetime

from classifier.instant import MINUTE, SECOND

WINDOW = 10 * MINUTE
#: A larger change of the offset than this is a step of the server's clock, not jitter.
STEP = 5 * SECOND


class ServerTime:
    """Follows the server's clock. ``monotonic`` gives seconds, as :func:`time.monotonic` does."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic, wall: Callable[[], float] = time.time) -> None:
        self._monotonic = monotonic
        # Until the first answer the machine's own clock has to do.
        self._offset = int(wall() * SECOND) - self._ticks()
        self._samples: deque[tuple[int, int]] = deque()
        self.steps = 0

    def _ticks(self) -> int:
        return int(self._monotonic() * SECOND)

    def observe(self, date: str | None) -> None:
        """Take the ``Date`` header of an answer that just arrived; an absent or unreadable one is no sample."""
        if not date:
            return
        try:
            at = int(parsedate_to_datetime(date).timestamp()) * SECOND
        except (ValueError, OverflowError):
            return
        ticks = self._ticks()
        offset = at - ticks
        known = bool(self._samples)
        if known and abs(offset - self._offset) > STEP:
            self.steps += 1
            self._samples.clear()
        # A deque with falling offsets: its head is the maximum of the window.
        while self._samples and self._samples[0][0] <= ticks - WINDOW:
            self._samples.popleft()
        while self._samples and self._samples[-1][1] <= offset:
            self._samples.pop()
        self._samples.append((ticks, offset))
        self._offset = self._samples[0][1]

    def now(self) -> int:
        """The server's time, milliseconds since the epoch."""
        return self._offset + self._ticks()
