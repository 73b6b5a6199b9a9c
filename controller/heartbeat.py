"""Measures how long the event loop is held up: a step that computes too long delays deadlines and renewals alike."""

import asyncio
from typing import Final

from controller.metrics import Metrics

#: Seconds between two beats. A hold-up is seen up to this much shorter than it was.
PERIOD: Final = 0.01


async def beat(metrics: Metrics, period: float = PERIOD) -> None:
    """Until cancelled."""
    loop = asyncio.get_running_loop()
    metrics.tasks.set_function(lambda: len(asyncio.all_tasks(loop)))
    while True:
        expected = loop.time() + period
        await asyncio.sleep(period)
        metrics.loop_delay.observe(max(0.0, loop.time() - expected))
