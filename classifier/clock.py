"""Is the wait for admission counting, since when, until when (design §3, "Clock" and "Announce before acting").

Pure: a copy of the Workload, its owner, its LocalQueue, the timeout and the time in; a :class:`Reading` out. The
ledger on the owner is the clock's memory, because Kueue may delete and re-create the Workload at any time
(reference/kueue.md §0, 8). All instants and durations are milliseconds.
"""

from enum import StrEnum
from typing import Final, NamedTuple

import msgspec

from classifier import api
from classifier.instant import MINUTE, format_instant, instant_or_none, parse_instant
from classifier.objects import LocalQueue, Meta, Workload
from classifier.policy import Timeout

#: The longest notice given by default before a deadline that nobody had seen is enforced.
MAX_NOTICE = 10 * MINUTE
#: So many attempts, or instants this late, are nobody's doing but a forger's. The last attempt is never ended: its
#: marker could not be followed by a higher one.
_MAX_ATTEMPT: Final = 1_000_000
_MAX_INSTANT: Final = parse_instant("3000-01-01T00:00:00Z")


class Standing(StrEnum):
    """What the wait is doing."""

    WAITING = "waiting"  # it counts
    PAUSED = "paused"  # gated, held, or its queue does not run
    ADMITTED = "admitted"  # between admission and start: nothing is committed
    STARTED = "started"  # the wait is over
    FINISHED = "finished"  # so is the job, or the Workload is being deleted
    DEACTIVATED = "deactivated"  # somebody else set active=false
    COMMITTED = "committed"  # we did


class Ledger(msgspec.Struct, frozen=True):
    """The clock's memory, on the owner as ``muster.dev/admission-clock``.

    ``queue`` says what a pause (``paused``, its begin) is for: the LocalQueue that does not run, ``""`` a gate or a
    hold, None a deactivation, which ends with a new attempt instead of a moved origin.
    """

    uid: str
    origin: int
    attempt: int = 1
    started: int | None = None
    paused: int | None = None
    queue: str | None = None


class _LedgerText(msgspec.Struct, omit_defaults=True):
    uid: str
    origin: str
    attempt: int = 1
    started: str | None = None
    paused: str | None = None
    queue: str | None = None


class Marker(msgspec.Struct, frozen=True):
    """A decision on a Workload: ``<RFC 3339> attempt=<n> uid=<workload uid>``."""

    at: int
    attempt: int
    uid: str


class Gap(NamedTuple):
    """A span nobody watched, in which the wait's queue stood still for all that is known (design §3, "Clock").

    ``since`` is the last renewal of the Lease before it, ``until`` when the queue became Active after that.
    """

    since: int
    until: int


class Reading(msgspec.Struct, frozen=True):
    """What the clock says of one copy.

    ``ledger`` and ``deadline`` are what owner and Workload ought to show (None: nothing); ``policy_at`` is where the
    policy alone would put the deadline. ``due`` means: on this very copy the shown deadline has passed, the policy
    agrees, and the gang still waits.
    """

    standing: Standing
    cause: str = ""
    ledger: Ledger | None = None
    policy_at: int | None = None
    deadline: int | None = None
    due: bool = False


def parse_ledger(owner: Meta) -> Ledger | None:
    """The owner's ledger; None if absent, unreadable or of another object (copied manifests, MultiKueue's clones)."""
    text = owner.annotation(api.ADMISSION_CLOCK)
    if not text:
        return None
    try:
        raw = msgspec.json.decode(text, type=_LedgerText)
        ledger = Ledger(
            raw.uid,
            parse_instant(raw.origin),
            raw.attempt,
            parse_instant(raw.started) if raw.started else None,
            parse_instant(raw.paused) if raw.paused else None,
            raw.queue,
        )
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    instants = (at for at in (ledger.origin, ledger.started, ledger.paused) if at is not None)
    honest = 1 <= ledger.attempt <= _MAX_ATTEMPT and all(0 <= at <= _MAX_INSTANT for at in instants)
    return ledger if honest and ledger.uid == owner.uid else None


def format_ledger(ledger: Ledger) -> str:
    """Compact JSON, keys in the order of the contract, nulls left out."""

    def text(at: int | None) -> str | None:
        return None if at is None else format_instant(at)

    raw = _LedgerText(
        ledger.uid,
        format_instant(ledger.origin),
        ledger.attempt,
        text(ledger.started),
        text(ledger.paused),
        ledger.queue,
    )
    return msgspec.json.encode(raw).decode()


def parse_marker(workload: Workload) -> Marker | None:
    """The marker, if it speaks of this very Workload; it is a decision only while the Workload is inactive."""
    parts = (workload.annotation(api.COMMITTED) or "").split(" ")
    if len(parts) != 3 or not parts[1].startswith("attempt=") or parts[2] != f"uid={workload.uid}":
        return None
    number = parts[1].removeprefix("attempt=")
    at = instant_or_none(parts[0])
    if at is None or not (number.isascii() and number.isdigit() and len(number) < len(str(_MAX_ATTEMPT))):
        return None
    return Marker(at, int(number), workload.uid) if int(number) else None


def format_marker(marker: Marker) -> str:
    return f"{format_instant(marker.at)} attempt={marker.attempt} uid={marker.uid}"


def committed(workload: Workload) -> Marker | None:
    """The live decision: marked and inactive."""
    return None if workload.active else parse_marker(workload)


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


def has_started(workload: Workload) -> bool:
    """Whether the gang has started, now or in a past that only traces tell of; in doubt it has.

    With Kueue's waitForPodsReady the PodsReady condition exists even on pending Workloads, and only it counts.
    The Admitted condition is absent until the first admission (Kueue: pkg/workload/admissionchecks.go
    SyncAdmittedCondition), so a False one is the trace of an admission; it was no start only if every eviction since
    says that the pods never became ready.
    """
    admitted, ready = (
        workload.status.condition(t) if workload.status else None for t in (api.ADMITTED, api.PODS_READY)
    )
    if ready is not None and (ready.true or ready.reason == "WaitForRecovery"):
        return True
    if admitted is None:
        return False
    if admitted.true:
        return ready is None
    stats = workload.status.scheduling_stats if workload.status else None
    evictions = (stats.evictions if stats else None) or ()
    never_ready = bool(evictions) and all(
        e.reason == api.PODS_READY_TIMEOUT and e.underlying_cause == api.WAIT_FOR_START for e in evictions
    )
    return not never_ready


class _Pause(NamedTuple):
    """Why the wait does not count: ``queue`` is the LocalQueue that stands still, ``since`` its begin, if told."""

    cause: str
    queue: str = ""
    since: str | None = None


def _pause(workload: Workload, queue: LocalQueue | None) -> _Pause | None:
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


def _standing(workload: Workload, ledger: Ledger | None, pause: _Pause | None) -> Standing:
    if workload.metadata.deletion_timestamp or workload.is_true(api.FINISHED):
        return Standing.FINISHED
    if not workload.active:
        return Standing.COMMITTED if parse_marker(workload) else Standing.DEACTIVATED
    if (ledger is not None and ledger.started is not None) or has_started(workload):
        return Standing.STARTED
    if workload.is_true(api.ADMITTED):
        return Standing.ADMITTED
    return Standing.WAITING if pause is None else Standing.PAUSED


def _advance(ledger: Ledger, workload: Workload, standing: Standing, pause: _Pause | None, now: int) -> Ledger:
    """The ledger after this look."""
    marker = parse_marker(workload)
    if workload.active and marker is not None and marker.attempt >= ledger.attempt:
        # Reactivated over a decision: a new attempt, with a clock that starts now.
        ledger = Ledger(ledger.uid, now, marker.attempt + 1)
    match standing:
        case Standing.FINISHED | Standing.COMMITTED:
            return ledger
        case Standing.PAUSED if ledger.paused is None:
            assert pause is not None
            since = instant_or_none(pause.since)
            begin = now if since is None else min(max(since, ledger.origin), now)
            return msgspec.structs.replace(ledger, paused=begin, queue=pause.queue)
        case Standing.PAUSED:
            if ledger.queue is None:
                return msgspec.structs.replace(_new_attempt(ledger, now), paused=now, queue="")
            return ledger
        case Standing.DEACTIVATED:
            if ledger.started is not None or (ledger.paused is not None and ledger.queue is None):
                return ledger
            return msgspec.structs.replace(_resumed(ledger, now), paused=now, queue=None)
        case Standing.STARTED if ledger.started is None:
            return msgspec.structs.replace(_resumed(ledger, now), started=now)
    return _resumed(ledger, now)


def _bridged(ledger: Ledger, unseen: Gap | None, now: int) -> Ledger:
    """The ledger with a pause nobody saw taken out of the wait; one that stands still already has it in its pause."""
    if unseen is None or ledger.started is not None or ledger.paused is not None:
        return ledger
    unwatched = min(unseen.until, now) - max(unseen.since, ledger.origin)
    return msgspec.structs.replace(ledger, origin=ledger.origin + max(0, unwatched))


def _new_attempt(ledger: Ledger, now: int) -> Ledger:
    return Ledger(ledger.uid, now, min(ledger.attempt + 1, _MAX_ATTEMPT))


def _resumed(ledger: Ledger, now: int) -> Ledger:
    """The ledger without its pause: the origin moves by its length; after a deactivation the clock starts anew."""
    if ledger.paused is None:
        return ledger
    if ledger.queue is None:
        return _new_attempt(ledger, now)
    return msgspec.structs.replace(ledger, origin=ledger.origin + max(0, now - ledger.paused), paused=None, queue=None)


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
    notice: int | None = None,
    unseen: Gap | None = None,
) -> Reading:
    """Read the clock on this very copy. ``notice`` None means the default of :func:`notice_of`.

    ``unseen`` is given only until the ledger has been written once: it moves the origin each time it is given.
    """
    known = parse_ledger(owner)
    pause = _pause(workload, queue)
    standing = _standing(workload, known, pause)
    cause = pause.cause if pause is not None and standing is Standing.PAUSED else ""
    if known is None and (timeout is None or standing in (Standing.FINISHED, Standing.STARTED)):
        # No policy touches it, or there is no wait to remember: not a single write.
        return Reading(standing, cause)
    first = Ledger(owner.uid, instant_or_none(workload.metadata.creation_timestamp) or now)
    ledger = _advance(_bridged(known or first, unseen, now), workload, standing, pause, now)
    shown = shown_deadline(workload)
    if standing not in (Standing.WAITING, Standing.ADMITTED, Standing.PAUSED):
        return Reading(standing, cause, ledger, None, shown)
    if timeout is None:
        return Reading(standing, cause, ledger)
    policy_at = ledger.origin + timeout.millis
    before = None if known is None else _announced(owner, shown, known, ledger)
    if standing is Standing.PAUSED and before is not None:
        return Reading(standing, cause, ledger, policy_at, before)
    deadline = announce(before, policy_at, now, notice_of(timeout, notice))
    due = (
        standing is Standing.WAITING
        and ledger == known
        and ledger.attempt < _MAX_ATTEMPT
        and shown is not None
        and now >= max(shown, deadline)
    )
    return Reading(standing, cause, ledger, policy_at, deadline, due)


def _announced(owner: Meta, shown: int | None, known: Ledger, ledger: Ledger) -> int | None:
    """The deadline announced so far; it binds only within the attempt it was announced for.

    The owner is written first: what it shows is the latest word, and a re-created Workload takes it over. (Going by the
    Workload, a deadline that ``notice`` holds up would be a little later at each look and never reach it.) A pause
    moves it as it moves the origin, or the notice would run out while nobody could be admitted.
    """
    if ledger.attempt != known.attempt:
        return None
    latest = shown_deadline(owner)
    latest = shown if latest is None else latest
    return None if latest is None else latest + ledger.origin - known.origin
