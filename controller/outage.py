"""When nobody can have been scheduled, nobody's wait may end (design §3, "Outages").

If our own requests to the API server, or to Workloads through Kueue's webhook, have failed for a while, the jobs that
waited had no chance. From then on commits are only tried (``dryRun=All``, which passes Kueue's webhook too) until one
succeeds, or any other write to a Workload; then a grace begins in which they may still be admitted. Whoever leads says
on the Lease that this is so, for the next leader may have seen nothing of it: a replica that does not lead writes to no
Workload.
"""

import math
import time
from collections.abc import Callable
from typing import Final

#: More objects than this that fail by themselves are not remembered; the oldest go first.
MOST: Final = 10_000


class Outage:
    """``after`` is in seconds, ``grace`` in milliseconds; ``now`` is the API server's time in milliseconds.

    A channel is out when nothing on it was served for ``after`` while something was asked for. Each failure names its
    ``subject``: what goes on failing although a trial passed is that object's own trouble, and no outage.
    """

    def __init__(
        self, after: float, grace: int, now: Callable[[], int], monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self.after = after
        self._grace = grace
        self._now = now
        self._monotonic = monotonic
        self._failing_since: dict[str, float] = {}
        self._served: dict[str, float] = {}
        #: Channel and subject, oldest first.
        self._failing: dict[tuple[str, str], None] = {}
        self._excused: dict[tuple[str, str], None] = {}
        self._failed_at = -math.inf
        self._out = False
        self._since: int | None = None
        #: No commit before this instant.
        self.not_before = 0

    def failed(self, channel: str, subject: str = "", took: float = 0.0) -> None:
        """A request on ``channel`` found no answer, or the answer that the server cannot do its work (5xx).

        ``took`` is how long it waited for that, in seconds: this one was not served in all that time.
        """
        if (channel, subject) in self._excused:
            return
        _remember(self._failing, (channel, subject))
        now = self._failed_at = self._monotonic()
        began = max(now - took, self._served.get(channel, now - took))
        if now - self._failing_since.setdefault(channel, began) >= self.after:
            self._out = True

    def answered(self, channel: str, subject: str = "") -> None:
        """A request on ``channel`` was served. Silence between a failure and this counts as failing."""
        now = self._monotonic()
        since = self._failing_since.pop(channel, None)
        if since is not None and now - since >= self.after:
            self._out = True
        self._served[channel] = now
        self._failing.pop((channel, subject), None)
        self._excused.pop((channel, subject), None)

    @property
    def trial(self) -> bool:
        """Whether the next commit may only be tried."""
        return self._out

    def recovered(self) -> None:
        """A trial passed, or another write to a Workload: the grace begins."""
        self._out = False
        self._failing_since.clear()
        for one in self._failing:
            _remember(self._excused, one)
        self._failing.clear()
        self.begin_grace()

    def begin_grace(self) -> None:
        self.not_before = max(self.not_before, self._now() + self._grace)

    @property
    def since(self) -> int | None:
        """Since when, by the server's time, something has failed or a grace has not been over; None if all is well."""
        now = self._now()
        if not (self._failing_since or self._out or now < self.not_before):
            self._since = None
        elif self._since is None:
            self._since = now
        return self._since

    def inherit(self, since: int) -> None:
        """The last leader said that it was in one, or is long gone, and whether it is over nobody knows."""
        self._out = True
        self._since = since

    def denied(self) -> None:
        """Another replica leads, and is in none: what this one saw is over, unless it still fails itself."""
        if self._monotonic() - self._failed_at >= self.after:
            self._out = False
            self._failing_since.clear()


def _remember(known: dict[tuple[str, str], None], one: tuple[str, str]) -> None:
    known[one] = None
    if len(known) > MOST:
        del known[next(iter(known))]
