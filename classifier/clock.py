"""Is the wait for admission counting, since when, until when (design §3, "Clock" and "Announce before acting").

Pure: a copy of the Workload, its owner, its LocalQueue, the timeout and the time in; a :class:`Reading` out. The
ledger on the owner is the clock's memory, because Kueue may delete and re-create the Workload at any time
(reference/kueue.md §0, 8). All instants and durations are milliseconds.
"""

from enum import StrEnum
from typing import Final, NamedTuple

import msgspec

from classifier import api
from classifier.instant import MINUTE, SECOND, instant_or_none
from classifier.ledger import (
    MAX_ATTEMPT,
    Ledger,
    Marker,
    committed,
    format_ledger,
    format_marker,
    parse_ledger,
    parse_marker,
)
from classifier.numbers import positive
from classifier.objects import LocalQueue, Meta, Workload
from classifier.policy import Timeout
from classifier.starts import back_since, has_started, started_at

#: The records and the traces of a start are of the clock, too, for those who ask it.
__all__ = [
    "Ledger",
    "Marker",
    "committed",
    "format_ledger",
    "format_marker",
    "has_started",
    "parse_ledger",
    "parse_marker",
]

#: The longest notice given by default before a deadline that nobody had seen is enforced.
MAX_NOTICE = 10 * MINUTE
#: The annotation by which dispatch holds a Workload it has deactivated; the prefix is configuration.
HOLD: Final = api.DISPATCH_PREFIX + "hold-instance"


class Standing(StrEnum):
    """What the wait is doing."""

    WAITING = "waiting"  # it counts
    PAUSED = "paused"  # gated, held, or its queue does not run
    ADMITTED = "admitted"  # between admission and start: nothing is committed
    STARTED = "started"  # the wait is over
    FINISHED = "finished"  # so is the job, or the Workload is being deleted
    DEACTIVATED = "deactivated"  # somebody else set active=false
    COMMITTED = "committed"  # we did


#: Those in which a bound stands, and is shown.
BOUND: Final = (Standing.WAITING, Standing.ADMITTED, Standing.PAUSED)


class Gap(NamedTuple):
    """A span nobody watched, in which the wait's queue stood still for all that is known (design §3, "Clock").

    ``since`` is the last renewal of the Lease before it, ``until`` when the queue became Active after that.
    """

    since: int
    until: int


class Rules(NamedTuple):
    """What configuration and policy tell the clock besides the timeout.

    ``notice`` is how long a deadline is shown before it is enforced, None the default of :func:`notice_of`; ``restart``
    bounds a gang again that had started and is back in the queue; ``hold`` is dispatch's annotation.
    """

    notice: int | None = None
    restart: bool = False
    hold: str = HOLD


DEFAULTS: Final = Rules()


class Reading(msgspec.Struct, frozen=True):
    """What the clock says of one copy.

    ``ledger`` and ``deadline`` are what owner and Workload ought to show (None: nothing); ``policy_at`` is where the
    policy alone would put the deadline. ``due`` means: on this very copy the shown deadline has passed, the policy
    agrees, and the gang still waits. ``lapsed``: a deadline that is shown bounds nothing any more, and is to go.
    """

    standing: Standing
    cause: str = ""
    ledger: Ledger | None = None
    policy_at: int | None = None
    deadline: int | None = None
    due: bool = False
    lapsed: bool = False


def settled(workload: Workload) -> bool:
    """A decision that no admission can undo any more, as far as the Workload shows; its owner must be suspended too."""
    return (
        committed(workload) is not None
        and not workload.is_true(api.QUOTA_RESERVED)
        and not workload.is_true(api.ADMITTED)
    )


def shown_deadline(obj: Meta) -> int | None:
    """The deadline an object shows; None if it shows none that can be read."""
    return instant_or_none(obj.annotation(api.ADMISSION_DEADLINE))


class _Pause(NamedTuple):
    """Why the wait does not count: ``queue`` is the LocalQueue that stands still, ``since`` its begin, if told."""

    cause: str
    queue: str = ""
    since: str | None = None


def _pause(workload: Workload, queue: LocalQueue | None, hold: str) -> _Pause | None:
    if not workload.active:
        # The annotation alone stops nothing: dispatch sets it beside ``active`` (reference/classification.md §C4).
        number = positive(workload.annotation(hold))
        return None if number is None else _Pause(f"held by dispatch (hold {number})")
    gate = workload.annotation(api.ADMISSION_GATED_BY)
    if gate:
        # Gates are set at creation or never (Kueue: pkg/util/webhook/validation_admissiongatedby.go).
        return _Pause(f"gated by {gate}", since=workload.metadata.creation_timestamp)
    reserved = workload.condition(api.QUOTA_RESERVED)
    if reserved is not None and not reserved.true and reserved.reason == api.ON_HOLD:
        return _Pause("on hold")
    if queue is None:
        return _Pause(f"LocalQueue {workload.queue_name} does not exist")
    running = queue.status.condition(api.ACTIVE) if queue.status else None
    if running is None or not running.true:
        since = running.last_transition_time if running else None
        return _Pause(f"LocalQueue {queue.name} is not active", queue.name, since)
    return None


def _activated(ledger: Ledger, workload: Workload, now: int) -> tuple[Ledger, int | None]:
    """The ledger after an activation since: over a decision, or of what somebody had deactivated.

    And since when no earlier start is told of: the origin of every attempt but the first. Of one that begins with this
    look it is when the gang was stopped: it may have been let go, and have run, long before anybody looked.
    """
    marker = parse_marker(workload) if workload.active else None
    if marker is not None and marker.attempt >= ledger.attempt:
        return _begun(ledger, now, marker.attempt + 1), marker.at
    if workload.active and ledger.deactivated:
        return _begun(ledger, now, ledger.attempt + 1), ledger.paused
    return ledger, ledger.origin if ledger.attempt > 1 else None


def _followed(ledger: Ledger, workload: Workload, restart: bool, since: int | None, end: int, now: int) -> Ledger:
    """The ledger after a start ``since``, and after a way back to the queue that begins a wait anew."""
    if not ledger.over:
        at = started_at(workload, now, since)
        if at is not None:
            ledger = ledger if ledger.deactivated else _resumed(ledger, end)
            at = min(at, now)
            # Whatever else is told of a pause, the wait ended when it started.
            origin = min(ledger.origin, at)
            ledger = msgspec.structs.replace(ledger, origin=origin, started=at, paused=None, queue=None)
    if ledger.over and restart:
        assert ledger.started is not None
        back = back_since(workload, ledger.started, now)
        if back is not None:
            return _begun(ledger, max(ledger.started + 1, min(back, now)), ledger.attempt + 1)
    return ledger


def _standing(workload: Workload, ledger: Ledger, restart: bool, pause: _Pause | None) -> Standing:
    bounded = not ledger.over and (restart or not ledger.anew)
    if workload.metadata.deletion_timestamp or workload.is_true(api.FINISHED):
        return Standing.FINISHED
    if not workload.active:
        if parse_marker(workload):
            return Standing.COMMITTED
        if pause is None or ledger.deactivated:
            return Standing.DEACTIVATED
        return Standing.PAUSED if bounded else Standing.STARTED
    if not bounded:
        return Standing.STARTED
    if workload.is_true(api.ADMITTED):
        return Standing.ADMITTED
    return Standing.WAITING if pause is None else Standing.PAUSED


def _paused(ledger: Ledger, standing: Standing, pause: _Pause | None, end: int, now: int) -> Ledger:
    """The ledger with the pause that this look finds begun, changed or ended."""
    match standing:
        case Standing.PAUSED if ledger.paused is None:
            assert pause is not None
            since = instant_or_none(pause.since)
            begin = now if since is None else min(max(since, ledger.origin), now)
            return msgspec.structs.replace(ledger, paused=begin, queue=pause.queue)
        case Standing.PAUSED:
            assert pause is not None
            # One pause of many reasons: it ends with the last of them.
            return msgspec.structs.replace(ledger, queue=pause.queue)
        case Standing.DEACTIVATED if not (ledger.over or ledger.deactivated):
            return msgspec.structs.replace(_resumed(ledger, end), paused=now, queue=None)
        case Standing.WAITING | Standing.ADMITTED:
            return _resumed(ledger, end)
    return ledger


def _bridged(ledger: Ledger, unseen: Gap | None, now: int) -> Ledger:
    """The ledger with a pause nobody saw taken out of the wait; one that stands still already has it in its pause."""
    if unseen is None or ledger.over or ledger.paused is not None:
        return ledger
    # Now is up to a second behind the clock that dated its end (ServerTime).
    unwatched = min(unseen.until, now + SECOND) - max(unseen.since, ledger.origin)
    return msgspec.structs.replace(ledger, origin=ledger.origin + max(0, unwatched))


def _begun(ledger: Ledger, origin: int, attempt: int) -> Ledger:
    """A new attempt, whose clock starts at ``origin``. That the gang has started once is not forgotten."""
    return Ledger(ledger.uid, origin, min(attempt, MAX_ATTEMPT), ledger.started)


def _end(ledger: Ledger, workload: Workload, queue: LocalQueue | None, now: int) -> int:
    """When the recorded pause ended, should it have: as its queue dates that, or else just now."""
    if ledger.paused is None or not ledger.queue or queue is None or ledger.queue != workload.queue_name:
        return now
    running = queue.status.condition(api.ACTIVE) if queue.status else None
    at = instant_or_none(running.last_transition_time) if running is not None and running.true else None
    return now if at is None or at < ledger.paused else min(at, now)


def _resumed(ledger: Ledger, end: int) -> Ledger:
    """The ledger without its pause: the origin moves by its length."""
    if ledger.paused is None:
        return ledger
    length = max(0, end - ledger.paused)
    return msgspec.structs.replace(ledger, origin=ledger.origin + length, paused=None, queue=None)


def notice_of(timeout: Timeout, notice: int | None) -> int:
    """How long a deadline is shown before it is enforced: the value, or half the timeout, at most 10 min."""
    return min(timeout.millis // 2, MAX_NOTICE) if notice is None else notice


def announce(shown: int | None, policy_at: int, now: int, notice: int) -> int:
    """The deadline to show. Later policy moves it; an earlier one never below ``now + notice``."""
    earliest = max(policy_at, now + notice)
    if shown is None:
        return earliest
    return policy_at if policy_at >= shown else min(shown, earliest)


def read(
    workload: Workload,
    owner: Meta,
    queue: LocalQueue | None,
    timeout: Timeout | None,
    now: int,
    rules: Rules = DEFAULTS,
    unseen: Gap | None = None,
) -> Reading:
    """Read the clock on this very copy.

    ``unseen`` is given only until the ledger has been written once: it moves the origin each time it is given.
    """
    known = parse_ledger(owner)
    pause = _pause(workload, queue, rules.hold)
    first = Ledger(owner.uid, instant_or_none(workload.metadata.creation_timestamp) or now)
    ledger, since = _activated(known or first, workload, now)
    end = _end(ledger, workload, queue, now)
    standing = _standing(workload, ledger, rules.restart, pause)
    if standing not in (Standing.FINISHED, Standing.COMMITTED):
        ledger = _bridged(_followed(ledger, workload, rules.restart, since, end, now), unseen, now)
        standing = _standing(workload, ledger, rules.restart, pause)
    cause = pause.cause if pause is not None and standing is Standing.PAUSED else ""
    if known is None and (timeout is None or standing is Standing.FINISHED):
        # No policy touches it, or there is no wait to remember: not a single write.
        return Reading(standing, cause)
    ledger = _paused(ledger, standing, pause, end, now)
    shown = shown_deadline(workload)
    if standing not in BOUND:
        return Reading(standing, cause, ledger, None, shown, lapsed=_lapsed(workload, ledger, standing, now))
    if timeout is None:
        return Reading(standing, cause, ledger)
    policy_at = ledger.origin + timeout.millis
    before = None if known is None else _announced(owner, known, ledger)
    if standing is Standing.PAUSED and before is not None:
        return Reading(standing, cause, ledger, policy_at, before)
    deadline = announce(before, policy_at, now, notice_of(timeout, rules.notice))
    due = (
        standing is Standing.WAITING
        and ledger == known
        and ledger.attempt < MAX_ATTEMPT
        and shown is not None
        and now >= max(shown, deadline)
    )
    return Reading(standing, cause, ledger, policy_at, deadline, due)


def _lapsed(workload: Workload, ledger: Ledger, standing: Standing, now: int) -> bool:
    """Whether a gang that is not bounded again waits beside a deadline that is none any more."""
    waits = standing is Standing.STARTED and ledger.started is not None
    return waits and back_since(workload, ledger.started or 0, now) is not None


def _announced(owner: Meta, known: Ledger, ledger: Ledger) -> int | None:
    """The deadline announced so far; it binds only within the attempt it was announced for.

    The owner is written first: what it shows is the latest word, and a re-created Workload takes it over. (Going by the
    Workload, a deadline that ``notice`` holds up would be a little later at each look and never reach it; and where the
    owner shows none any more, what the Workload still does may be of an attempt before.) A pause moves it as it moves
    the origin, or the notice would run out while nobody could be admitted.
    """
    if ledger.attempt != known.attempt:
        return None
    latest = shown_deadline(owner)
    return None if latest is None else latest + ledger.origin - known.origin
