"""When nobody can have been scheduled, nobody's wait may end (design §3, "Outages").

If our own requests to the API server, or to Workloads through Kueue's webhook, have failed for a while, the jobs that
waited had no chance. From then on commits are only tried (``dryRun=All``, which passes Kueue's webhook too) until one
succeeds; then a grace begins in which they may still be admitted.
"""

import time
from collections.abc import Callable
from typing import Final

#: More objects than this that fail by themselves are not remembered.
MOST_EXCUSED: Final = 10_000


class Outage:
    """``after`` is in seconds, ``grace`` in milliseconds; ``now`` is the API server's time in milliseconds.

    A channel is out when nothing on it was served for ``after`` while something was asked for. Each failure names its
    ``subject``: what goes on failing although a trial passed is that object's own trouble, and no outage.
    """

    def __init__(
        self, after: float, grace: int, now: Callable[[], int], monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._after = after
        self._grace = grace
        self._now = now
        self._monotonic = monotonic
        self._failing_since: dict[str, float] = {}
        self._served: dict[str, float] = {}
        self._failing: set[tuple[str, str]] = set()
        self._excused: set[tuple[str, str]] = set()
        self._out = False
        #: No commit before this instant.
        self.not_before = 0

    def failed(self, channel: str, subject: str = "", took: float = 0.0) -> None:
        """A request on ``channel`` found no answer, or the answer that the server cannot do its work (5xx).

        ``took`` is how long it waited for that, in seconds: this one was not served in all that time.
        """
        if (channel, subject) in self._excused:
            return
        self._failing.add((channel, subject))
        now = self._monotonic()
        began = max(now - took, self._served.get(channel, now - took))
        if now - self._failing_since.setdefault(channel, began) >= self._after:
            self._out = True

    def answered(self, channel: str, subject: str = "") -> None:
        """A request on ``channel`` was served. Silence between a failure and this counts as failing."""
        now = self._monotonic()
        since = self._failing_since.pop(channel, None)
        if since is not None and now - since >= self._after:
            self._out = True
        self._served[channel] = now
        self._failing.discard((channel, subject))
        self._excused.discard((channel, subject))

    @property
    def trial(self) -> bool:
        """Whether the next commit may only be tried."""
        return self._out

    def recovered(self) -> None:
        """A trial passed: the grace begins."""
        self._out = False
        self._failing_since.clear()
        if len(self._excused) > MOST_EXCUSED:
            # Names of what is long gone; whoever still fails is excused again by the next trial.
            self._excused.clear()
        self._excused |= self._failing
        self._failing.clear()
        self.begin_grace()

    def begin_grace(self) -> None:
        self.not_before = max(self.not_before, self._now() + self._grace)
