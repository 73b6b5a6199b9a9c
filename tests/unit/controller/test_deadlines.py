"""The heap of instants: not before, in order, replaced, forgotten, steps of the clock noticed, no growth."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from classifier.instant import HOUR, SECOND
from controller.deadlines import LONGEST_SLEEP, SLACK, Deadlines

pytestmark = pytest.mark.looptime


class Clock:
    """The server's clock: it runs with the loop, and steps on request."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()
        self.step = 0

    def now(self) -> int:
        return 1_000_000 + self.step + int((self._loop.time() - self._began) * SECOND)


class Fired:
    """Deadlines at work; ``fired`` lists (key, instant at which it fired)."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.fired: list[tuple[str, int]] = []
        self.deadlines: Deadlines[str] = Deadlines(self.clock.now, self._fire)

    def _fire(self, key: str) -> None:
        self.fired.append((key, self.clock.now()))

    @property
    def keys(self) -> list[str]:
        return [key for key, _ in self.fired]


@contextlib.asynccontextmanager
async def at_work() -> AsyncIterator[Fired]:
    fired = Fired()
    task = asyncio.create_task(fired.deadlines.run())
    try:
        yield fired
        assert not task.done()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_it_fires_at_the_instant_and_not_before() -> None:
    async with at_work() as fired:
        start = fired.clock.now()
        for seconds in (3600, 0.05, 7.3, 0):
            fired.deadlines.set(f"{seconds}", start + int(seconds * SECOND))
        await asyncio.sleep(2 * 3600)
    assert fired.keys == ["0", "0.05", "7.3", "3600"]
    for key, at in fired.fired:
        late = at - start - int(float(key) * SECOND)
        assert 0 <= late <= 2
    assert len(fired.deadlines) == 0


async def test_an_earlier_one_does_not_wait_for_a_later_one_set_before() -> None:
    async with at_work() as fired:
        start = fired.clock.now()
        fired.deadlines.set("later", start + HOUR)
        await asyncio.sleep(1.5)
        fired.deadlines.set("soon", start + 2 * SECOND)
        await asyncio.sleep(1)
        assert fired.keys == ["soon"]
        assert 0 <= fired.fired[0][1] - start - 2 * SECOND <= 2


async def test_what_is_past_already_fires_at_once() -> None:
    async with at_work() as fired:
        fired.deadlines.set("a", 0)
        await asyncio.sleep(0.01)
        assert fired.keys == ["a"]


@pytest.mark.parametrize("moved", [-5, 5, 0])
async def test_another_instant_replaces_the_first(moved: int) -> None:
    async with at_work() as fired:
        start = fired.clock.now()
        fired.deadlines.set("a", start + 10 * SECOND)
        await asyncio.sleep(1)
        fired.deadlines.set("a", start + (10 + moved) * SECOND)
        await asyncio.sleep(60)
    assert fired.keys == ["a"]
    assert 0 <= fired.fired[0][1] - start - (10 + moved) * SECOND <= 2


async def test_an_instant_taken_back_and_set_again_fires_once() -> None:
    async with at_work() as fired:
        start = fired.clock.now()
        for at in (5, 9, None, 5, 9, 5):
            fired.deadlines.set("a", None if at is None else start + at * SECOND)
        await asyncio.sleep(60)
    assert fired.keys == ["a"]


async def test_what_is_forgotten_does_not_fire() -> None:
    async with at_work() as fired:
        fired.deadlines.set("a", fired.clock.now() + SECOND)
        fired.deadlines.set("a", None)
        fired.deadlines.set("b", None)
        await asyncio.sleep(60)
    assert fired.fired == []


async def test_a_fired_key_may_be_set_again_from_within() -> None:
    async with at_work() as fired:
        start = fired.clock.now()
        times = iter(range(1, 4))

        def again(key: str) -> None:
            fired.fired.append((key, fired.clock.now()))
            for count in times:
                fired.deadlines.set(key, start + count * SECOND)
                break

        fired.deadlines._fire = again
        fired.deadlines.set("a", start)
        await asyncio.sleep(60)
    assert [round((at - start) / SECOND) for _, at in fired.fired] == [0, 1, 2, 3]


async def test_five_thousand_at_one_instant_fire_in_the_order_they_were_set() -> None:
    async with at_work() as fired:
        at = fired.clock.now() + 10 * SECOND
        for number in range(5000):
            fired.deadlines.set(f"{number}", at)
        await asyncio.sleep(9.9)
        assert fired.fired == []
        await asyncio.sleep(0.2)
    assert fired.keys == [f"{number}" for number in range(5000)]


async def test_a_step_ahead_of_the_clock_is_noticed_soon() -> None:
    async with at_work() as fired:
        fired.deadlines.set("a", fired.clock.now() + HOUR)
        await asyncio.sleep(1)
        fired.clock.step = 2 * HOUR
        await asyncio.sleep(LONGEST_SLEEP + 0.01)
        assert fired.keys == ["a"]


async def test_after_a_step_back_it_waits_for_the_instant_to_come_again() -> None:
    async with at_work() as fired:
        fired.deadlines.set("a", fired.clock.now() + 10 * SECOND)
        await asyncio.sleep(9)
        fired.clock.step = -HOUR
        await asyncio.sleep(3600)
        assert fired.fired == []
        await asyncio.sleep(2)
        assert fired.keys == ["a"]


async def test_a_key_set_again_and_again_takes_no_more_room() -> None:
    deadlines = Fired().deadlines
    for count in range(100_000):
        deadlines.set("a", 10_000_000_000 + count % 2)
        deadlines.set("b", None if count % 3 else 10_000_000_000 - count)
    assert len(deadlines._heap) <= 2 * 2 + SLACK + 1


moves = st.lists(st.tuples(st.sampled_from("abcd"), st.one_of(st.none(), st.integers(0, 50))), max_size=200)


@given(moves, st.integers(0, 50))
def test_after_any_moves_just_those_are_due_whose_last_instant_has_come(
    moves: list[tuple[str, int | None]], now: int
) -> None:
    deadlines: Deadlines[str] = Deadlines(lambda: now, lambda key: None)
    expected: dict[str, int] = {}
    for key, at in moves:
        deadlines.set(key, at)
        if at is None:
            expected.pop(key, None)
        else:
            expected[key] = at
    due = deadlines.pop_due()
    assert sorted(due) == sorted(key for key, at in expected.items() if at <= now)
    assert [expected[key] for key in due] == sorted(expected[key] for key in due)
    assert deadlines.pop_due() == []
    assert len(deadlines) == len(expected) - len(due)
