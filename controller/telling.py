"""Tells of changes of verdict on what waits: an event and a log line each, a few a second, and no more than can wait.

The first thing to be dropped where there is too much to say: the figures and ``muster audit`` say the same.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from classifier import api
from classifier.cluster.client import ApiError, Client, Unreachable
from classifier.fit import Outcome
from classifier.objects import Workload
from controller import events
from controller.bucket import TokenBucket
from controller.metrics import Metrics

log = logging.getLogger(__name__)

#: Events a second on average, and at once. Writes of decisions do not wait for these.
RATE: Final = 5.0
BURST: Final = 25
#: Changes that wait to be told. What finds no room comes again with the next look at everything.
ROOM: Final = 500

_FITS: Final = (Outcome.FITS, Outcome.FITS_AFTER_SCALE_UP)


class _Told(NamedTuple):
    uid: str
    never: bool
    line: str
    #: How often its verdict changed before.
    turn: int


class Telling:
    """What was told of each Workload is kept here, and in the names of the events: a restart repeats none of them."""

    def __init__(
        self,
        client: Client,
        workloads: Mapping[str, Workload],
        metrics: Metrics,
        identity: str,
        monotonic: Callable[[], float] = time.monotonic,
        leading: Callable[[], bool] = lambda: True,
    ) -> None:
        self._client = client
        self._workloads = workloads
        self._metrics = metrics
        self._identity = identity
        self._leading = leading
        self._bucket = TokenBucket(RATE, BURST, monotonic)
        self._told: dict[str, _Told] = {}
        self._queued: dict[str, tuple[Outcome, str]] = {}
        self._some = asyncio.Event()
        self._full = False

    def look(self, key: str, outcome: Outcome, line: str) -> None:
        """The verdict on ``key`` as of now: whether it is told depends on what was told last."""
        if not self._worth(key, outcome, line):
            self._queued.pop(key, None)
        elif key in self._queued or len(self._queued) < ROOM:
            self._queued[key] = outcome, line
            self._some.set()
        else:
            self._metrics.untold.inc()
            if not self._full:
                self._full = True
                log.warning("more verdicts have changed than can be told one by one; see muster audit")

    def forget(self, key: str) -> None:
        """It waits no more."""
        self._told.pop(key, None)
        self._queued.pop(key, None)

    def clear(self) -> None:
        """Forget all of it. Another replica may go on, and finds by their names what was told."""
        self._told.clear()
        self._queued.clear()

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            while not self._queued:
                self._full = False
                self._some.clear()
                await self._some.wait()
            await self._bucket.take()
            if self._queued:
                key = next(iter(self._queued))
                await self._tell(key, *self._queued.pop(key))

    def _last(self, key: str) -> _Told | None:
        workload, told = self._workloads.get(key), self._told.get(key)
        return told if workload is not None and told is not None and told.uid == workload.uid else None

    def _worth(self, key: str, outcome: Outcome, line: str) -> bool:
        """A proof that was not told yet, or that one that was told holds no longer. In doubt nothing is said."""
        told = self._last(key)
        if outcome is Outcome.NEVER_FITS:
            return told is None or told.line != line
        return outcome in _FITS and told is not None and told.never

    async def _tell(self, key: str, outcome: Outcome, line: str) -> None:
        workload = self._workloads.get(key)
        if workload is None or not self._leading():
            return
        told, never = self._last(key), outcome is Outcome.NEVER_FITS
        turn = told.turn + 1 if told is not None else 0
        self._told[key] = _Told(workload.uid, never, line, turn)
        if never:
            log.warning("it waits and can never be admitted", extra={"workload": key, "verdict": line})
        else:
            log.info("it can be admitted after all", extra={"workload": key, "verdict": line})
        event = events.judged(workload, never, line, turn, self._client.time.now(), self._identity)
        try:
            await self._client.request("POST", api.EVENTS.path(workload.namespace), body=event)
        except ApiError as error:
            if error.retry_after:
                self._bucket.hold(error.retry_after)
            if not error.conflict:  # else it is told already: before a restart, or by another replica
                self._drop(key, error)
        except Unreachable as error:
            self._drop(key, error)

    def _drop(self, key: str, error: Exception) -> None:
        log.debug("an event of a verdict is dropped", extra={"workload": key, "cause": str(error)})
