"""The work queue: one worker a key, nothing twice, nothing lost, failures pause."""

import asyncio
import itertools
from collections import Counter
from collections.abc import Awaitable, Callable

import looptime
import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.queue import BACKOFF, WorkQueue

pytestmark = pytest.mark.looptime


class Workers:
    """Workers on a queue; ``done`` lists every key with the time at which its handling began."""

    def __init__(self, queue: WorkQueue[str], count: int = 2, seconds: float = 1.0) -> None:
        self.queue = queue
        self.done: list[tuple[str, float]] = []
        self.inside: Counter[str] = Counter()
        self.most: Counter[str] = Counter()
        self.seconds = seconds
        self.meanwhile: Callable[[str], Awaitable[None]] | None = None
        self._tasks = [asyncio.create_task(queue.work(self._handle)) for _ in range(count)]

    async def __aenter__(self) -> "Workers":
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.queue.close()

    async def _handle(self, key: str) -> None:
        self.done.append((key, asyncio.get_running_loop().time()))
        self.inside[key] += 1
        self.most[key] = max(self.most[key], self.inside[key])
        await asyncio.sleep(self.seconds)
        if self.meanwhile is not None:
            await self.meanwhile(key)
        self.inside[key] -= 1

    async def idle(self) -> None:
        while not self.queue.idle:  # noqa: ASYNC110  # on the loop's own time it costs nothing
            await asyncio.sleep(0.1)

    @property
    def keys(self) -> list[str]:
        return [key for key, _ in self.done]


async def test_keys_are_worked_on_in_their_order_by_as_many_as_there_are() -> None:
    queue: WorkQueue[str] = WorkQueue()
    for key in "abcd":
        queue.add(key)
    async with Workers(queue, count=2) as workers:
        await workers.idle()
        began = [round(at - workers.done[0][1]) for _, at in workers.done]
    assert workers.keys == ["a", "b", "c", "d"]
    assert began == [0, 0, 1, 1]


async def test_a_key_that_waits_already_is_not_queued_twice() -> None:
    queue: WorkQueue[str] = WorkQueue()
    for key in "aabab":
        queue.add(key)
    assert len(queue) == 2
    async with Workers(queue) as workers:
        await workers.idle()
    assert workers.keys == ["a", "b"]


async def test_a_key_added_while_it_is_worked_on_runs_once_more_afterwards() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("a")
    async with Workers(queue, count=4) as workers:
        await asyncio.sleep(0.5)
        for _ in range(3):
            queue.add("a")
        await workers.idle()
    assert workers.keys == ["a", "a"]
    assert workers.most["a"] == 1


async def test_a_worker_that_waits_is_woken() -> None:
    queue: WorkQueue[str] = WorkQueue()
    async with Workers(queue, count=3) as workers:
        for key in "abc":
            await asyncio.sleep(5)
            queue.add(key)
        await workers.idle()
    assert workers.keys == ["a", "b", "c"]


async def test_failures_of_one_key_pause_longer_and_longer_up_to_a_limit() -> None:
    queue: WorkQueue[str] = WorkQueue()
    failures = 12

    async def fail(key: str) -> None:
        nonlocal failures
        failures -= 1
        if failures:
            queue.retry(key)

    queue.add("a")
    async with Workers(queue, seconds=0) as workers:
        workers.meanwhile = fail
        await workers.idle()
    began = [at for _, at in workers.done]
    pauses = [round(b - a, 3) for a, b in itertools.pairwise(began)]
    assert pauses == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, BACKOFF[1], BACKOFF[1]]


async def test_success_makes_the_next_failure_a_small_one_and_keys_do_not_share_theirs() -> None:
    queue: WorkQueue[str] = WorkQueue()
    loop = asyncio.get_running_loop()
    for _ in range(5):
        queue.retry("a")
    queue.forget("a")
    began = loop.time()
    queue.retry("a")
    queue.retry("b")
    async with Workers(queue, seconds=0) as workers:
        await workers.idle()
    assert [(key, round(at - began, 3)) for key, at in workers.done] == [("a", 0.1), ("b", 0.1)]


@pytest.mark.parametrize(
    ("asked", "pause"), [(7.0, 7.0), (0.01, 0.1), (86_400.0, BACKOFF[1]), (float("inf"), BACKOFF[1])]
)
async def test_the_servers_wish_counts_but_not_for_ever(asked: float, pause: float) -> None:
    queue: WorkQueue[str] = WorkQueue()
    began = asyncio.get_running_loop().time()
    queue.retry("a", asked)
    async with Workers(queue, seconds=0) as workers:
        await workers.idle()
    assert round(workers.done[0][1] - began, 3) == pause


async def test_news_end_the_pause_of_a_failed_key() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.retry("a", 20)
    async with Workers(queue, seconds=0) as workers:
        await asyncio.sleep(1)
        queue.add("a")
        await asyncio.sleep(1)
        assert workers.keys == ["a"]


async def test_after_closing_nothing_comes_back() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.retry("a")
    queue.close()
    await asyncio.sleep(60)
    assert len(queue) == 0


Step = tuple[str, str]
steps = st.lists(st.tuples(st.sampled_from(["add", "retry", "pause"]), st.sampled_from("abc")), max_size=40)


@given(steps, st.integers(1, 4), st.floats(0, 2))
def test_whatever_comes_is_worked_on_afterwards_and_never_twice_at_once(
    steps: list[Step], workers_count: int, seconds: float
) -> None:
    async def history() -> None:
        queue: WorkQueue[str] = WorkQueue()
        loop = asyncio.get_running_loop()
        asked: dict[str, float] = {}
        async with Workers(queue, workers_count, seconds) as workers:
            for what, key in steps:
                if what == "pause":
                    await asyncio.sleep(0.3)
                    continue
                asked[key] = loop.time()
                queue.add(key) if what == "add" else queue.retry(key)
            await workers.idle()
        for key, at in asked.items():
            # A run that began before the change may not have seen it.
            assert any(done == key and began >= at for done, began in workers.done)
        assert set(workers.keys) == set(asked)
        assert all(most == 1 for most in workers.most.values())

    run_in_no_time(history)


def run_in_no_time(main: Callable[[], Awaitable[None]]) -> None:
    """Run on a loop of its own whose time passes at once."""
    loop = looptime.new_event_loop(start=0)
    try:
        loop.run_until_complete(main())
    finally:
        loop.close()


async def test_what_is_put_off_waits_until_nothing_is_due_and_runs_once_more() -> None:
    queue: WorkQueue[str] = WorkQueue()
    async with Workers(queue, count=1) as workers:

        async def put_off(key: str) -> None:
            if key == "told":
                put.append(queue.put_off(key))

        put: list[bool] = []
        workers.meanwhile = put_off
        queue.add("told")
        await asyncio.sleep(0.5)
        for key in ("due 1", "due 2"):
            queue.add_due(key)
        await workers.idle()
    assert workers.keys == ["told", "due 1", "due 2", "told"]
    assert put == [True, False], "the second time it has waited"


async def test_nothing_is_put_off_where_nothing_is_due() -> None:
    queue: WorkQueue[str] = WorkQueue()
    async with Workers(queue, count=1) as workers:

        async def put_off(key: str) -> None:
            assert not queue.put_off(key)

        workers.meanwhile = put_off
        for key in "ab":
            queue.add(key)
        await workers.idle()
    assert workers.keys == ["a", "b"]


async def test_what_was_put_off_and_changes_is_looked_at_in_its_turn() -> None:
    queue: WorkQueue[str] = WorkQueue()
    async with Workers(queue, count=1) as workers:

        async def put_off(key: str) -> None:
            if key == "told" and not workers.keys.count("changed"):
                queue.put_off(key)
                queue.add("told")
                queue.add("changed")

        workers.meanwhile = put_off
        queue.add("told")
        await asyncio.sleep(0.5)
        queue.add_due("due")
        await workers.idle()
    assert workers.keys == ["told", "due", "changed", "told"]
