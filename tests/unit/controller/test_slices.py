"""Long work goes on bit by bit, in its order, and leaves the event loop to others in between."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

from controller.slices import STEPS, STRETCH, Slices


class Work:
    """Of so many steps, each of which takes a hundredth of a stretch by its own clock."""

    def __init__(self) -> None:
        self.now = 0.0
        self.done: list[str] = []
        #: How many steps had been done at each turn of the loop.
        self.turns: list[int] = []

    def steps(self, name: str, count: int) -> Iterator[None]:
        for number in range(count):
            self.now += STRETCH / 100
            self.done.append(f"{name}{number}")
            yield

    async def count_turns(self) -> None:
        while True:
            self.turns.append(len(self.done))
            await asyncio.sleep(0)


async def idle(slices: Slices) -> None:
    async with asyncio.timeout(10):
        while not slices.idle:  # noqa: ASYNC110  # nothing tells of it, and it costs a turn of the loop
            await asyncio.sleep(0)


@asynccontextmanager
async def running(slices: Slices, work: Work) -> AsyncIterator[None]:
    tasks = [asyncio.create_task(slices.run()), asyncio.create_task(work.count_turns())]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def test_the_loop_has_a_turn_after_every_stretch() -> None:
    work = Work()
    slices = Slices(lambda: work.now)
    slices.add(work.steps("a", 1000))
    async with running(slices, work):
        await idle(slices)
    assert len(work.done) == 1000
    between = [after - before for before, after in zip(work.turns, work.turns[1:], strict=False)]
    assert max(between) <= 100 + STEPS


async def test_what_was_added_first_is_done_first_and_what_comes_later_is_not_lost() -> None:
    work = Work()
    slices = Slices(lambda: work.now)
    async with running(slices, work):
        for name in "ab":
            slices.add(work.steps(name, 2))
        await idle(slices)
        slices.add(work.steps("c", 1))
        await idle(slices)
    assert work.done == ["a0", "a1", "b0", "b1", "c0"]


async def test_what_is_cleared_is_not_done() -> None:
    work = Work()
    slices = Slices(lambda: work.now)
    slices.add(work.steps("a", 3))
    slices.clear()
    async with running(slices, work):
        slices.add(work.steps("b", 1))
        await idle(slices)
    assert work.done == ["b0"]
