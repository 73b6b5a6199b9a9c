"""The event loop's hold-ups are seen."""

import asyncio

import pytest

from controller.heartbeat import PERIOD, beat
from controller.metrics import Metrics


def held_up(metrics: Metrics, seconds: str, what: str = "delay") -> float:
    """How many beats were late by more than ``seconds``, one of the buckets."""
    value = metrics.registry.get_sample_value
    within = value(f"muster_event_loop_{what}_seconds_bucket", {"le": seconds})
    total = value(f"muster_event_loop_{what}_seconds_count")
    assert within is not None
    assert total is not None
    return total - within


@pytest.mark.parametrize(("computed", "held"), [(0.3, 1), (0.0, 0)], ids=["by us", "by others"])
def test_a_blocked_loop_is_late_for_its_beat(computed: float, held: int) -> None:
    """Whether it computed for so long, or waited for a processor, is told beside it."""
    metrics = Metrics()

    class Slow(asyncio.SelectorEventLoop):
        """Each look at its clock takes a millisecond, whatever the machine takes."""

        looks = 0
        ahead = 0.0

        def time(self) -> float:
            self.looks += 1
            return self.looks / 1000 + self.ahead

    loop = Slow()

    async def run() -> None:
        task = asyncio.create_task(beat(metrics, computed=lambda: computed * (loop.ahead > 0)))
        await asyncio.sleep(2 * PERIOD)
        loop.ahead += 0.3
        await asyncio.sleep(2 * PERIOD)
        assert metrics.registry.get_sample_value("muster_event_loop_tasks") == 2
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(run())
    assert held_up(metrics, "0.25") == 1
    assert held_up(metrics, "0.25", "held") == held
