"""Keeps what only reports from ending what decides: where it fails it is begun anew, each time later."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Final

from prometheus_client import Counter

from classifier.cluster.backoff import Backoff

log = logging.getLogger(__name__)

#: The longest pause, seconds. What ran for longer before it failed is begun anew as if it had never failed.
LONGEST: Final = 300.0


async def aside(
    run: Callable[[], Awaitable[None]],
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
        try:
            await run()
        except Exception:
            log.exception("it has failed, and is begun anew", extra={"part": name})
            failures.labels(name).inc()
            # A task group whose child fails drops the cancellation that came at the same time: who cancelled waits.
            if (task := asyncio.current_task()) and task.cancelling():
                raise asyncio.CancelledError from None
        if monotonic() - began > LONGEST:
            backoff.reset()
        await sleep(backoff.next())
