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
        self._first: dict[str, Ledger | None] = {}

    def of(self, key: str, ledger: Ledger | None, queue: LocalQueue | None) -> Gap | None:
        """The span that is to be taken out of this wait, if there is one and it was not taken out yet."""
        term = self._gap()
        if term != self._term:
            self._term = term
            self._first.clear()
        active = queue.status.condition(api.ACTIVE) if queue is not None and queue.status is not None else None
        until = instant_or_none(active.last_transition_time) if active is not None and active.true else None
        if term is None or until is None or not term[0] < until <= term[1]:
            return None
        if self._first.setdefault(key, ledger) != ledger:
            return None
        return Gap(term[0], until)

    def forget(self, key: str) -> None:
        self._first.pop(key, None)
