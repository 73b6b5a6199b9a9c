"""When nobody can have been scheduled, nobody's wait may end (design §3, "Outages").

If our own requests to the API server, or to Workloads through Kueue's webhook, have failed for a while, the jobs that
waited had no chance. From then on commits are only tried (``dryRun=All``, which passes Kueue's webhook too) until one
succeeds; then a grace begins in which they may still be admitted.
"""

import time
from collections.abc import Callable


class Outage:
    """``after`` is in seconds, ``grace`` in milliseconds; ``now`` is the API server's time in milliseconds."""

    def __init__(
        self, after: float, grace: int, now: Callable[[], int], monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._after = after
        self._grace = grace
        self._now = now
        self._monotonic = monotonic
        self._failing_since: dict[str, float] = {}
        self._out = False
        #: No commit before this instant.
        self.not_before = 0

    def failed(self, channel: str, took: float = 0.0) -> None:
        """A request on ``channel`` found no answer, or the answer that the server cannot do its work (5xx).

        ``took`` is how long it waited for that, in seconds: nothing was served in this time either.
        """
        since = self._failing_since.setdefault(channel, self._monotonic() - took)
        if self._monotonic() - since >= self._after:
            self._out = True

    def answered(self, channel: str) -> None:
        """A request on ``channel`` was served. Silence between a failure and this counts as failing."""
        since = self._failing_since.pop(channel, None)
        if since is not None and self._monotonic() - since >= self._after:
            self._out = True

    @property
    def trial(self) -> bool:
        """Whether the next commit may only be tried."""
        return self._out

    def recovered(self) -> None:
        """A trial passed: the grace begins."""
        self._out = False
        self._failing_since.clear()
        self.begin_grace()

    def begin_grace(self) -> None:
        self.not_before = max(self.not_before, self._now() + self._grace)
