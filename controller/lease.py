"""Who leads, as far as one candidate can tell by its own clock (design §3, "Replicas"). Pure.

A leader counts from when it *sent* its last good renewal and stops ``renew`` seconds after it. Anybody else takes the
lease only when its record was not seen to change for ``lease`` seconds, counted from when it was first *seen*, which
is never before it was written. So the clocks of two machines are never compared, and as long as both run about equally
fast there are ``lease - renew`` seconds between the last act of one leader and the first of the next.
"""

import math
from typing import NamedTuple

import msgspec

from classifier.instant import format_micro, instant_or_none
from classifier.objects.meta import Meta, Obj


class Terms(NamedTuple):
    """Seconds: how long a lease lasts, until when it must be renewed, and how often that is tried."""

    lease: float
    renew: float
    retry: float


class Record(Obj):
    """The spec of a Lease. Times are the API server's; they are there to be read, nothing is decided by them."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None

    @property
    def renewed(self) -> int | None:
        """When it was renewed last, or given up; ms."""
        return instant_or_none(self.renew_time)


class Lease(Meta):
    spec: Record = msgspec.field(default_factory=Record)


class Candidate:
    """One process's view. ``now`` and ``sent`` are seconds of its own monotonic clock.

    ``identity`` belongs to one life of one process: what carries it was written by this very one.
    """

    def __init__(self, identity: str, terms: Terms) -> None:
        self.identity = identity
        self.terms = terms
        #: The lease as it was seen or written last, also after it was deleted; None before the first look.
        self.record: Record | None = None
        #: What a write is guarded by; empty: the lease has to be created.
        self.version = ""
        #: Whether nothing is known of the lease but what we wrote ourselves.
        self.holds = False
        self._seen = -math.inf
        self._until = -math.inf

    def leading(self, now: float) -> bool:
        return now < self._until

    def left(self, now: float) -> float:
        """Seconds for which it goes on leading without a renewal."""
        return max(0.0, self._until - now)

    def saw(self, lease: Lease, now: float) -> None:
        """The lease was read; the answer is in at ``now``."""
        self.version = lease.metadata.resource_version
        if lease.spec != self.record:
            self.record, self._seen = lease.spec, now
        if lease.spec.holder_identity != self.identity:
            self.resign()

    def missed(self) -> None:
        """There is none. If somebody deleted it, whoever held it may not know yet: the old record has to run out."""
        self.version = ""

    def may_take(self, now: float) -> bool:
        record = self.record
        if record is None or record.holder_identity in (None, "", self.identity):
            return True
        return now - self._seen >= max(self.terms.lease, record.lease_duration_seconds or 0)

    def claim(self, at: int) -> Record:
        """What to write in order to lead, or to go on leading, at the API server's time ``at`` (ms)."""
        record = self.record or Record()
        mine = record.holder_identity == self.identity
        return Record(
            holder_identity=self.identity,
            lease_duration_seconds=math.ceil(self.terms.lease),
            acquire_time=record.acquire_time if mine else format_micro(at),
            renew_time=format_micro(at),
            lease_transitions=(record.lease_transitions or 0) + (not mine and self.record is not None),
        )

    def won(self, lease: Lease, sent: float, now: float) -> None:
        """The claim sent at ``sent`` was written."""
        self.saw(lease, now)
        self.holds = True
        self._until = sent + self.terms.renew

    def doubt(self) -> None:
        """A write was refused as outdated, or its outcome is unknown: look before the next one."""
        self.holds = False

    def resign(self) -> None:
        """Lead no more; what was written is not taken back by this."""
        self.holds = False
        self._until = -math.inf
