"""Keeps what only reports from ending what decides: where it fails it is begun anew, each time later."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from prometheus_client import Counter

from classifier.cluster.backoff import Backoff

log = logging.getLogger(__name__)


async def aside(run: Callable[[], Awaitable[None]], name: str, failures: Counter) -> None:
    """Until cancelled. Only a bug ends ``run`` by itself: it is told with its traceback, and counted."""
    backoff = Backoff(low=1.0, high=300.0)
    while True:
        try:
            await run()
        except Exception:
            log.exception("it has failed, and is begun anew", extra={"part": name})
            failures.labels(name).inc()
        await asyncio.sleep(backoff.next())
