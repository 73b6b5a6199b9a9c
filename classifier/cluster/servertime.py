"""The API server's time, read from the ``Date`` of its answers (design §3, "Now").

``Date`` has whole seconds, cut off: each answer says "it is at least this late there". The largest ``Date`` minus our
monotonic clock of the last ten minutes is therefore the best offset, and never ahead of the server's own clock: nothing
that waits for an instant fires early. Two things could put it ahead and are met: our clock may run faster than the
server's (:data:`DRIFT`), and the server's clock may be set back, which an answer proves by the time it took.
"""

import math
import time
from collections import deque
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from typing import Final, NamedTuple

from classifier.instant import MINUTE, SECOND

WINDOW: Final = 10 * MINUTE
#: A larger change of the offset than this is a step of the server's clock, not jitter.
STEP: Final = 5 * SECOND
#: Our clock is read this much too slow, so that an offset ten minutes old is not ahead. Quartz and its correction by
#: NTP stay below it (Linux slews by at most 500 ppm: adjtimex(2)); it costs 0.3 s at the most while answers arrive.
DRIFT: Final = 500e-6


class _Sample(NamedTuple):
    """At ``ticks`` the offset was known to be at least ``low`` and less than ``high``, all in ms."""

    ticks: float
    low: int
    high: int


class ServerTime:
    """Follows the server's clock. ``monotonic`` gives seconds, as :func:`time.monotonic` does."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic, wall: Callable[[], float] = time.time) -> None:
        self._monotonic = monotonic
        # Until the first answer the machine's own clock has to do.
        self._offset = math.floor(wall() * SECOND) - math.ceil(self._ticks())
        self._samples: deque[_Sample] = deque()
        #: How often the server's clock was seen to step.
        self.steps = 0

    def _ticks(self) -> float:
        return self._monotonic() * SECOND * (1 - DRIFT)

    def observe(self, date: str | None, took: float = 0.0) -> None:
        """Take the ``Date`` of an answer that just arrived, ``took`` seconds after it was asked for.

        An absent or unreadable date is no sample.
        """
        at = _instant(date)
        if at is None:
            return
        ticks = self._ticks()
        low = at - math.ceil(ticks)
        # It was written after the request was sent, in the second that it names.
        sample = _Sample(ticks, low, low + SECOND + math.ceil(took * SECOND) + 1)
        samples = self._samples
        if samples:
            best = samples[0]
            if max(low - best.high, best.low - sample.high) + SECOND > STEP:
                self.steps += 1
                samples.clear()
            elif best.low > sample.high:
                # Set back a little, or another server of several: the one that is behind counts.
                samples.clear()
        # A deque with falling offsets: its head is the maximum of the window.
        while samples and samples[0].ticks <= ticks - WINDOW:
            samples.popleft()
        while samples and samples[-1].low <= low:
            samples.pop()
        samples.append(sample)
        self._offset = samples[0].low

    def now(self) -> int:
        """The server's time, milliseconds since the epoch."""
        return self._offset + math.floor(self._ticks())


def _instant(date: str | None) -> int | None:
    """Milliseconds of an HTTP date; None if it is none."""
    try:
        return int(parsedate_to_datetime(date or "").timestamp()) * SECOND
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
