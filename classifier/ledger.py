"""The clock's two records: the ledger on the owner and the marker on the Workload, as text and as structs (design §2).

Each bears the uid of the object it stands on and counts under no other: copied manifests, MultiKueue's clones and
forgeries are absent. All instants are milliseconds.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from classifier import api
from classifier.instant import format_instant, instant_or_none, parse_instant
from classifier.objects import Meta, Workload

#: So many attempts, or instants this late, are nobody's doing but a forger's. The last attempt is never ended: its
#: marker could not be followed by a higher one.
MAX_ATTEMPT: Final = 1_000_000
_MAX_INSTANT: Final = parse_instant("3000-01-01T00:00:00Z")


class Ledger(msgspec.Struct, frozen=True):
    """The clock's memory, on the owner as ``muster.dev/admission-clock``.

    ``origin`` is where the wait counts from: each pause moves it on by its length. ``started`` is when the gang started
    last; an origin after that is the origin of a wait that began anew since. ``queue`` says what a pause (``paused``,
    its begin) is for: the LocalQueue that does not run, ``""`` a gate or a hold, None a deactivation, which ends with
    a new attempt instead of a moved origin.
    """

    uid: str
    origin: int
    attempt: int = 1
    started: int | None = None
    paused: int | None = None
    queue: str | None = None

    @property
    def over(self) -> bool:
        """The gang has started, and no wait has begun since."""
        return self.started is not None and self.started >= self.origin

    @property
    def anew(self) -> bool:
        """The gang has started once, and waits again."""
        return self.started is not None and self.started < self.origin

    @property
    def deactivated(self) -> bool:
        return self.paused is not None and self.queue is None


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


def parse_ledger(owner: Meta) -> Ledger | None:
    """The owner's ledger; None if absent, unreadable or of another object."""
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
    honest = 1 <= ledger.attempt <= MAX_ATTEMPT and all(0 <= at <= _MAX_INSTANT for at in instants)
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


def merge(ledgers: Iterable[Ledger]) -> Ledger | None:
    """What the pods of a group remember together; None if none of them remembers anything. The uid is one of theirs.

    They differ where a controller died between two of its writes, or where a pod came late. Only the highest attempt
    speaks: what belongs to an earlier one is over. Of those that do, the earliest origin and the earliest begin of a
    pause, so that in doubt the wait was shorter. A start that one of them knows of has happened, and ends the pause
    that another still shows. A deactivation outweighs another pause: nothing but a new attempt follows it.
    """
    every = list(ledgers)
    attempt = max((ledger.attempt for ledger in every), default=0)
    last = sorted((ledger for ledger in every if ledger.attempt == attempt), key=lambda one: (one.origin, one.uid))
    if not last:
        return None
    first = last[0]
    over = [one for one in last if one.over]
    if over:
        return Ledger(first.uid, first.origin, attempt, min(one.started or 0 for one in over))
    started = max((one.started for one in last if one.started is not None), default=None)
    origin = first.origin if started is None else max(first.origin, started + 1)
    stopped = [one for one in last if one.deactivated] or [one for one in last if one.paused is not None]
    if not stopped:
        return Ledger(first.uid, origin, attempt, started)
    pause = min(stopped, key=lambda one: (one.paused or 0, one.queue or ""))
    return Ledger(first.uid, origin, attempt, started, pause.paused, pause.queue)


def parse_marker(workload: Workload) -> Marker | None:
    """The marker, if it speaks of this very Workload; it is a decision only while the Workload is inactive."""
    parts = (workload.annotation(api.COMMITTED) or "").split(" ")
    if len(parts) != 3 or not parts[1].startswith("attempt=") or parts[2] != f"uid={workload.uid}":
        return None
    number = parts[1].removeprefix("attempt=")
    at = instant_or_none(parts[0])
    if at is None or not (number.isascii() and number.isdigit() and len(number) < len(str(MAX_ATTEMPT))):
        return None
    return Marker(at, int(number), workload.uid) if int(number) else None


def format_marker(marker: Marker) -> str:
    return f"{format_instant(marker.at)} attempt={marker.attempt} uid={marker.uid}"


def committed(workload: Workload) -> Marker | None:
    """The live decision: marked and inactive."""
    return None if workload.active else parse_marker(workload)
