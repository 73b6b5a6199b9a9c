"""Until when the wait may last, and what there is to say about it beside the phase that waits."""

from typing import Final

import msgspec

from classifier.clock import Reading, Rules, Standing, committed, parse_ledger, read, shown_deadline
from classifier.instant import MAX_DURATION, MINUTE, SECOND, format_duration, instant_or_none
from classifier.objects import Meta, Workload
from classifier.policy import Policies, Timeout, restarts, timeout_of
from classifier.report.fence import Fence, FenceState
from classifier.report.phase import age
from classifier.scope import why_never, why_not_ours

#: Why a gang that is back in the queue has no deadline.
_STARTED_ONCE: Final = "it has started before, and no profile of its queue says requeue: Restart"

#: A deadline nearer than this, or than a tenth of the timeout, is near (audit).
NEAR = 10 * MINUTE


class Deadline(msgspec.Struct, frozen=True, kw_only=True):
    """The bound of one wait; every instant in milliseconds, None where there is none.

    ``at`` is what the Workload shows, for that is what is enforced; before there is a Workload, what the job shows.
    ``timeout`` is what policy says today.
    """

    at: int | None = None
    started_at: int | None = None
    timeout: Timeout | None = None
    committed_at: int | None = None
    standing: Standing | None = None
    #: Why the wait is not counted just now, in words.
    pause: str = ""
    #: Why this wait is never bounded, in words; "" where it may be.
    exempt: str = ""
    #: It waits again, unbounded, though a policy bounds first waits.
    lapsed: bool = False

    @property
    def waited(self) -> int | None:
        """How long the wait had lasted when it was ended."""
        if self.committed_at is None or self.started_at is None:
            return None
        return max(0, self.committed_at - self.started_at)

    def passed(self, now: int) -> bool:
        return self.at is not None and self.at <= now and self.standing in (None, Standing.WAITING)

    def near(self, now: int) -> bool:
        if self.at is None or self.at <= now:
            return False
        return self.at - now <= (min(NEAR, self.timeout.millis // 10) if self.timeout else NEAR)


def deadline_of(owner: Meta, workload: Workload | None, policies: Policies, now: int) -> Deadline:
    """Read the bound from the objects; nothing here is a decision."""
    timeout = timeout_of(owner.metadata.annotations, policies).timeout
    ledger = parse_ledger(owner)
    if workload is None:
        return Deadline(at=shown_deadline(owner), started_at=ledger.origin if ledger else None, timeout=timeout)
    reading: Reading = read(workload, owner, policies.local_queue, timeout, now, Rules(restart=restarts(policies)))
    marker = committed(workload)
    foreign = why_not_ours(owner)
    exempt = why_never(workload) or (f"the job {foreign}" if foreign else "")
    lapsed = reading.lapsed and timeout is not None
    exempt = exempt or (_STARTED_ONCE if lapsed else "")
    origin = ledger.origin if ledger else instant_or_none(workload.metadata.creation_timestamp)
    return Deadline(
        at=shown_deadline(workload),
        started_at=origin,
        timeout=timeout,
        committed_at=marker.at if marker else None,
        standing=reading.standing,
        pause=reading.cause if reading.standing is Standing.PAUSED else "",
        exempt=exempt,
        lapsed=lapsed,
    )


def source_of(timeout: Timeout) -> str:
    """Who says how long it may wait, and who says that it may not be longer: ``job, capped by ClusterQueue/gpu``."""
    return timeout.source if timeout.capped_by is None else f"{timeout.source}, capped by {timeout.capped_by}"


def capped(timeout: Timeout | None) -> str:
    """What to add to a deadline that is earlier than what was asked for; "" for all others."""
    if timeout is None or timeout.capped_by is None:
        return ""
    return f" ({format_duration(timeout.millis)} by {source_of(timeout)})"


def clause(deadline: Deadline, fence: Fence, now: int, *, known: bool = True) -> str | None:
    """What the waiting phase says about its end; None where nothing counts any more.

    ``known``: everything that may give a deadline may be read.
    """
    if deadline.standing is Standing.PAUSED:
        return f"the deadline's clock stands still: {deadline.pause}"
    if deadline.standing not in (None, Standing.WAITING) and not deadline.lapsed:
        return None
    if deadline.at is None or deadline.lapsed:
        if deadline.exempt:
            return f"no deadline: {deadline.exempt}"
        if deadline.timeout is not None:
            bound = format_duration(deadline.timeout.millis)
            return f"no deadline announced yet ({bound} by {source_of(deadline.timeout)})"
        return "no deadline" if known else "no deadline shown; what may give one may not be read"
    if deadline.at > now:
        # Rounded to whole seconds as a clock shows them: 29m20s is left, not 29m19s.
        left = format_duration(-(-(deadline.at - now) // SECOND) * SECOND)
        return f"deadline in {left}{capped(deadline.timeout)}"
    ago = f"deadline passed {age(deadline.at, now)} ago"
    if deadline.standing is None:
        return f"{ago}; nothing to end while there is no Workload"
    match fence.state:
        case FenceState.NOT_IN_FORCE:
            return f"{ago}; not enforced: the fence {fence.name} is not in force ({fence.why})"
        case FenceState.IN_FORCE:
            return f"{ago}; the controller has not ended the wait yet"
    return f"{ago}; not ended; whether the fence {fence.name} is in force may not be read"


def go_duration(millis: int) -> str:
    """A duration exactly as Go parses it (``72h0m1s`` without zero parts): for machines, unlike ``format_duration``."""
    millis = min(max(0, millis), MAX_DURATION)
    hours, rest = divmod(millis, 60 * MINUTE)
    minutes, rest = divmod(rest, MINUTE)
    seconds, rest = divmod(rest, SECOND)
    parts = [f"{n}{unit}" for n, unit in ((hours, "h"), (minutes, "m"), (seconds, "s"), (rest, "ms")) if n]
    return "".join(parts) or "0s"
