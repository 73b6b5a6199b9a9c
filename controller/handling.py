"""What follows when a step for a key fails: said once, counted where it is a bug, and tried again in any case."""

import logging
from collections.abc import Awaitable, Callable, Hashable
from typing import Final, Generic, TypeVar

from classifier.cluster.client import ApiError, ClientError, Unreachable
from controller.election import NotLeading
from controller.metrics import Metrics
from controller.queue import WorkQueue

K = TypeVar("K", bound=Hashable)

log = logging.getLogger(__name__)

#: After a bug a key is tried again no sooner than this, seconds.
AFTER_A_BUG: Final = 5.0


class Outdated(Exception):
    """The server knows more of an object than its copy here: to be looked at again, each time later."""


class Handling(Generic[K]):
    """``handle`` is the work of one worker of the queue on one key; it never raises, and never drops a key.

    ``step`` does it; ``read_again`` takes in what stands there now, after a conflict or a write of unknown outcome.
    """

    def __init__(
        self,
        queue: WorkQueue[K],
        metrics: Metrics,
        step: Callable[[K], Awaitable[None]],
        read_again: Callable[[K], Awaitable[None]],
    ) -> None:
        self._queue = queue
        self._metrics = metrics
        self._step = step
        self._read = read_again
        self._bugs: set[K] = set()

    async def handle(self, key: K) -> None:
        """Every failure is said and retried; only bugs are logged with a traceback."""
        try:
            await self._handle(key)
        except Exception:
            # Twice a minute, for each of thousands that may meet one bug: its traceback is told once a key.
            self._metrics.decision_failures.inc()
            level = logging.DEBUG if key in self._bugs else logging.ERROR
            log.log(level, "cannot decide", exc_info=True, extra={"key": str(key)})
            self._bugs.add(key)
            self._queue.retry(key, AFTER_A_BUG)

    async def _handle(self, key: K) -> None:
        try:
            await self._step(key)
        except NotLeading as error:
            # The end of the term forgets it, and whoever leads next begins with everything. But a renewal may be
            # answered in the very moment in which the lease runs out: then the term, and this key's work, go on.
            log.debug("not sent: this replica leads no more", extra={"key": str(key), "write": str(error)})
            self._queue.retry(key)
        except Outdated:
            self._queue.retry(key)
        except ApiError as error:
            await self._failed(key, error)
        except ClientError as error:
            self._say(key, "no answer; the outcome is read before anything else is done", error)
            await self._read_again(key)
        else:
            self._queue.forget(key)
            self._bugs.discard(key)

    async def _failed(self, key: K, error: ApiError) -> None:
        if error.conflict or error.missing:
            # The watch tells of a deletion, and then this key is forgotten.
            await self._read_again(key)
        else:
            self._say(key, "refused", error)
            self._queue.retry(key, error.retry_after or 0.0)

    def _say(self, key: K, what: str, error: Exception) -> None:
        """Once a key until it succeeds: in an outage thousands of them fail again and again."""
        level = logging.DEBUG if self._queue.failing(key) else logging.WARNING
        log.log(level, what, extra={"key": str(key), "cause": str(error)})

    async def _read_again(self, key: K) -> None:
        """After a write of unknown outcome, or a conflict: what stands there now decides."""
        try:
            await self._read(key)
        except (ApiError, Unreachable) as error:
            log.debug("cannot read it again yet", extra={"key": str(key), "cause": str(error)})
        self._queue.retry(key)
