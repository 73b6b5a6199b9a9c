"""Pauses that nobody saw: between the last renewal of the Lease before this term, and its beginning (design §3).

A LocalQueue that became Active in that time had stood still for all that is known. A Workload's wait is told of it
once: as long as the ledger is the one that this term found.
"""

from collections.abc import Callable

from classifier import api
from classifier.clock import Gap, Ledger
from classifier.instant import instant_or_none
from classifier.objects import LocalQueue

#: The last renewal before this term, and its beginning, both ms by the API server; None while there was none before.
GapSource = Callable[[], tuple[int, int] | None]


class Unseen:
    """``of`` must be asked at every look at a Workload, by its key."""

    def __init__(self, gap: GapSource) -> None:
        self._gap = gap
        self._term: tuple[int, int] | None = None
        #: By key the queue and the ledger that this term found; None where the queue had nothing to tell then.
        self._first: dict[str, tuple[str, Ledger | None] | None] = {}

    def of(self, key: str, ledger: Ledger | None, queue: LocalQueue | None) -> Gap | None:
        """The span that is to be taken out of this wait, if there is one and it was not taken out yet.

        A Workload that comes to the queue later has not waited there meanwhile.
        """
        term = self._gap()
        if term != self._term:
            self._term = term
            self._first.clear()
        if term is None:
            return None
        active = queue.status.condition(api.ACTIVE) if queue is not None and queue.status is not None else None
        until = instant_or_none(active.last_transition_time) if active is not None and active.true else None
        found = None
        if queue is not None and until is not None and term[0] < until <= term[1]:
            found = queue.key, ledger
        first = self._first.setdefault(key, found)
        return Gap(term[0], until) if until is not None and found is not None and found == first else None

    def forget(self, key: str) -> None:
        self._first.pop(key, None)
