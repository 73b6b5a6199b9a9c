"""The event loop's hold-ups are seen."""

import asyncio

from controller.heartbeat import PERIOD, beat
from controller.metrics import Metrics


def held_up(metrics: Metrics, seconds: str) -> float:
    """How many beats were late by more than ``seconds``, one of the buckets."""
    value = metrics.registry.get_sample_value
    within = value("muster_event_loop_delay_seconds_bucket", {"le": seconds})
    total = value("muster_event_loop_delay_seconds_count")
    assert within is not None
    assert total is not None
    return total - within


def test_a_blocked_loop_is_late_for_its_beat() -> None:
    metrics = Metrics()

    class Slow(asyncio.SelectorEventLoop):
        ahead = 0.0

        def time(self) -> float:
            return super().time() + self.ahead

    loop = Slow()

    async def run() -> None:
        task = asyncio.create_task(beat(metrics))
        await asyncio.sleep(2 * PERIOD)
        loop.ahead += 0.3
        await asyncio.sleep(2 * PERIOD)
        assert metrics.registry.get_sample_value("muster_event_loop_tasks") == 2
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(run())
    assert held_up(metrics, "0.25") == 1
