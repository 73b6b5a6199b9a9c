"""What only reports is begun anew after a bug, each time later, and ends when it is told to, come what may."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from controller.aside import LONGEST, aside
from controller.metrics import Metrics

pytestmark = pytest.mark.looptime


async def cancelled(run: Callable[[], Coroutine[Any, Any, None]], meanwhile: Callable[[], None] = lambda: None) -> bool:
    """Whether it has ended within a minute of being cancelled; ``meanwhile`` is called a turn of the loop before."""
    runs = iter([run])

    async def once() -> None:
        # Begun anew it must be possible to end it, or a test that fails hangs.
        await next(runs, asyncio.Event().wait)()

    task = asyncio.create_task(aside(once, "preflight", Metrics().report_failures))
    await asyncio.sleep(1)
    meanwhile()
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait({task}, timeout=60)
    return task.cancelled()


async def test_a_failure_on_the_way_out_keeps_nobody_waiting() -> None:
    async def child() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            raise ValueError("a bug")

    async def run() -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(child())

    assert await cancelled(run)


async def test_nor_does_one_just_before() -> None:
    fails = asyncio.Event()

    async def child() -> None:
        await fails.wait()
        raise ValueError("a bug")

    async def other() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(1)

    async def run() -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(child())
            tasks.create_task(other())

    assert await cancelled(run, fails.set)


async def test_after_a_part_of_it_has_failed_it_is_begun_anew() -> None:
    begun = asyncio.Semaphore(0)

    async def child() -> None:
        await asyncio.sleep(1)
        raise ValueError("a bug")

    async def run() -> None:
        begun.release()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(child())

    task = asyncio.create_task(aside(run, "preflight", Metrics().report_failures))
    async with asyncio.timeout(60):
        for _ in range(3):
            await begun.acquire()
    task.cancel()
    await asyncio.wait({task}, timeout=60)
    assert task.cancelled()


async def test_it_is_begun_anew_later_and_later_but_for_what_ran_well_for_long() -> None:
    loop, pauses = asyncio.get_running_loop(), list[float]()
    lasts = [1.0] * 6 + [LONGEST + 1, 1.0]

    async def run() -> None:
        await asyncio.sleep(lasts[len(pauses)])
        raise ValueError("a bug")

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == len(lasts):
            raise asyncio.CancelledError

    metrics = Metrics()
    with pytest.raises(asyncio.CancelledError):
        await aside(run, "preflight", metrics.report_failures, monotonic=loop.time, sleep=sleep)
    assert all(0.5 * 2**n <= pause <= 2**n for n, pause in enumerate(pauses[:6]))
    assert all(0.5 * 2**n <= pause <= 2**n for n, pause in enumerate(pauses[6:]))
    assert metrics.registry.get_sample_value("muster_report_failures_total", {"part": "preflight"}) == len(lasts)
