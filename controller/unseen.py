"""Pauses that nobody saw: before this replica led, and while the watch of LocalQueues was down (design §3, "Clock").

A LocalQueue that became Active between the last renewal of the Lease before this term and its beginning had stood still
for all that is known. So had one of which a later copy says that it became Active after the copy before. A Workload's
wait is told of it once: as long as the ledger is the one that was found then.

Who follows remembers what whoever leads may not have written yet: there may be thousands of ledgers, and it may die.
"""

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from classifier import api
from classifier.clock import Gap, Ledger
from classifier.instant import MINUTE, instant_or_none
from classifier.ledger import parse_ledger
from classifier.objects import Condition, LocalQueue, Meta

#: A leader has written what became known to it so long ago, milliseconds.
WRITTEN: Final = 10 * MINUTE

#: The last renewal before this term, and its beginning, both ms by the API server; None while there was none before.
GapSource = Callable[[], tuple[int, int] | None]


def missed(old: LocalQueue | None, new: LocalQueue | None, followed: int) -> Gap | None:
    """How long a queue stood still between two copies of it, the later of which runs; None if it did not.

    Whoever saw both in time has it in the ledger already. Where not even a copy of the pause was told, it began after
    ``followed`` (ms): until then nothing was missed.
    """
    was, runs = _active(old), _active(new)
    if old is None or runs is None or not runs.true:
        return None
    until = instant_or_none(runs.last_transition_time)
    before = instant_or_none(was.last_transition_time) if was is not None else None
    if until is None or (was is not None and was.true and before == until):
        return None
    since = before if before is not None and was is not None and not was.true else followed
    return Gap(since, until) if since < until else None


def later_origin(old: Meta, new: Meta) -> bool:
    """Whether a wait begins later by what its owner says now, or the owner tells of it for the first time."""
    if old.annotation(api.ADMISSION_CLOCK) == new.annotation(api.ADMISSION_CLOCK):
        return False
    was, now = parse_ledger(old), parse_ledger(new)
    return now is not None and (was is None or now.origin > was.origin)


def _active(queue: LocalQueue | None) -> Condition | None:
    return queue.status.condition(api.ACTIVE) if queue is not None and queue.status is not None else None


class _Missed(NamedTuple):
    """``ledger`` is the one found at the first look after it, once there was one.

    ``earlier`` is the begin of one before it, and the ledger that did not have that one yet.
    """

    queue: str
    gap: Gap
    looked: bool = False
    ledger: Ledger | None = None
    earlier: tuple[int, Ledger] | None = None

    def then(self, gap: Gap) -> "_Missed":
        """With one that came after it. Those that no ledger has yet are one: in doubt the queue has stood still."""
        if not self.looked:
            return self._replace(gap=Gap(min(self.gap.since, gap.since), gap.until))
        earlier = (self.gap.since, self.ledger) if self.ledger is not None else None
        return _Missed(self.queue, gap, earlier=earlier)

    def look(self, ledger: Ledger | None) -> "_Missed":
        """As it is from the first look on."""
        gap = self.gap
        if self.earlier is not None and self.earlier[1] == ledger:
            gap = Gap(min(self.earlier[0], gap.since), gap.until)
        return _Missed(self.queue, gap, True, ledger)


class Unseen:
    """``of`` must be asked at every look at a Workload, by its key."""

    def __init__(self, gap: GapSource) -> None:
        self._gap = gap
        self._term: tuple[int, int] | None = None
        #: By key the queue and the ledger that this term found; None where the queue had nothing to tell then.
        self._first: dict[str, tuple[str, Ledger | None] | None] = {}
        #: By key, what was missed in this term and is not in the ledger yet.
        self._missed: dict[str, _Missed] = {}

    def missed(self, keys: Iterable[str], queue: str, gap: Gap) -> None:
        """These Workloads waited in a queue that had stood still unseen."""
        self._notice_term()
        for key in keys:
            before = self._missed.get(key)
            if before is not None and before.queue == queue:
                self._missed[key] = before.then(gap)
            else:
                self._missed[key] = _Missed(queue, gap)

    def written(self, key: str) -> None:
        """Somebody else who leads has taken out of this wait what is known of."""
        self._missed.pop(key, None)

    def forget_before(self, instant: int) -> None:
        """Forget what ended so early (ms) that it has been written since."""
        self._missed = {key: missed for key, missed in self._missed.items() if missed.gap.until >= instant}

    def of(self, key: str, ledger: Ledger | None, queue: LocalQueue | None) -> Gap | None:
        """The span that is to be taken out of this wait, if there is one and it was not taken out yet.

        A Workload that comes to the queue later has not waited there meanwhile.
        """
        before, since = self._before_term(key, ledger, queue), self._since_then(key, ledger, queue)
        return Gap(min(before.since, since.since), since.until) if before and since else before or since

    def _notice_term(self) -> tuple[int, int] | None:
        term = self._gap()
        if term != self._term:
            self._term = term
            self._first.clear()
            if term is not None:
                self.forget_before(term[0] - WRITTEN)
        return term

    def _before_term(self, key: str, ledger: Ledger | None, queue: LocalQueue | None) -> Gap | None:
        term = self._notice_term()
        if term is None:
            return None
        active = _active(queue)
        until = instant_or_none(active.last_transition_time) if active is not None and active.true else None
        found = None
        if queue is not None and until is not None and term[0] < until <= term[1]:
            found = queue.key, ledger
        first = self._first.setdefault(key, found)
        return Gap(term[0], until) if until is not None and found is not None and found == first else None

    def _since_then(self, key: str, ledger: Ledger | None, queue: LocalQueue | None) -> Gap | None:
        found = self._missed.get(key)
        if found is None:
            return None
        if not found.looked:
            found = self._missed[key] = found.look(ledger)
        if queue is None or queue.key != found.queue or ledger != found.ledger:
            del self._missed[key]
            return None
        return found.gap

    def forget(self, key: str) -> None:
        self._first.pop(key, None)
        self._missed.pop(key, None)
