"""Keeps what only reports from ending what decides: where it fails it is begun anew, each time later."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final

from prometheus_client import Counter

from classifier.cluster.backoff import Backoff

log = logging.getLogger(__name__)

#: The longest pause, seconds. What ran for longer before it failed is begun anew as if it had never failed.
LONGEST: Final = 300.0


async def aside(
    run: Callable[[], Coroutine[Any, Any, None]],
    name: str,
    failures: Counter,
    *,
    monotonic: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Until cancelled. Only a bug ends ``run`` by itself: it is told with its traceback, and counted."""
    backoff = Backoff(low=1.0, high=LONGEST)
    while True:
        began = monotonic()
        # A task of its own: a task group whose child fails drops a cancellation that came at the same time, and in
        # Python 3.11 leaves one of its own behind, so that from within nobody can tell whether to end.
        work = asyncio.create_task(run(), name=name)
        try:
            await asyncio.wait({work})
        finally:
            work.cancel()
            await asyncio.wait({work})
            if not work.cancelled() and (bug := work.exception()):
                log.error("it has failed", exc_info=bug, extra={"part": name})
                failures.labels(name).inc()
        if monotonic() - began > LONGEST:
            backoff.reset()
        await sleep(backoff.next())
