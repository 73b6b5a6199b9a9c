"""Measures how long the event loop is held up: a step that computes too long delays deadlines and renewals alike.

On a machine with too much to do the loop is late as well, though nothing of ours held it: so what it computed meanwhile
is told beside it.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Final

from controller.metrics import Metrics

#: Seconds between two beats. A hold-up is seen up to this much shorter than it was.
PERIOD: Final = 0.01


async def beat(metrics: Metrics, period: float = PERIOD, computed: Callable[[], float] = time.thread_time) -> None:
    """Until cancelled. ``computed`` tells the CPU seconds of the loop's thread."""
    loop = asyncio.get_running_loop()
    metrics.tasks.set_function(lambda: len(asyncio.all_tasks(loop)))
    while True:
        expected, before = loop.time() + period, computed()
        await asyncio.sleep(period)
        delay = max(0.0, loop.time() - expected)
        metrics.loop_delay.observe(delay)
        # Within the period itself there may be many short steps; what is late is late by the last one.
        metrics.loop_held.observe(min(delay, computed() - before))
