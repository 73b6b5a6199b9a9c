"""The token bucket: bursts, the rate, order, and what the server asks for."""

import asyncio
from collections.abc import Callable

import pytest

from controller.bucket import LONGEST_HOLD, TokenBucket

pytestmark = pytest.mark.looptime


def clock() -> Callable[[], float]:
    return asyncio.get_running_loop().time


async def takes(bucket: TokenBucket, count: int) -> list[float]:
    """When each of ``count`` concurrent takers got its token, seconds from now, in the order they asked."""
    began = clock()()
    got: dict[int, float] = {}

    async def take(number: int) -> None:
        await bucket.take()
        got[number] = round(clock()() - began, 3)

    await asyncio.gather(*(take(number) for number in range(count)))
    assert list(got) == sorted(got), "first come, first served"
    return list(got.values())


async def test_a_burst_goes_at_once_and_the_rest_at_the_rate() -> None:
    assert await takes(TokenBucket(10, 3, clock()), 6) == [0, 0, 0, 0.1, 0.2, 0.3]


async def test_a_pause_fills_it_up_to_the_burst_and_no_further() -> None:
    bucket = TokenBucket(10, 3, clock())
    await takes(bucket, 3)
    await asyncio.sleep(3600)
    assert await takes(bucket, 5) == [0, 0, 0, 0.1, 0.2]


async def test_without_a_rate_there_is_no_limit() -> None:
    assert set(await takes(TokenBucket(0, 1, clock()), 5000)) == {0}


@pytest.mark.parametrize("rate", [0, 50])
async def test_a_server_that_asks_to_be_left_alone_is(rate: float) -> None:
    bucket = TokenBucket(rate, 100, clock())
    bucket.hold(7)
    bucket.hold(2)  # the longer one counts
    assert await takes(bucket, 3) == [7, 7, 7]


async def test_but_not_for_ever() -> None:
    bucket = TokenBucket(50, 100, clock())
    bucket.hold(86_400)
    assert await takes(bucket, 1) == [LONGEST_HOLD]


async def test_whoever_gives_up_does_not_take_a_token_along() -> None:
    bucket = TokenBucket(1, 1, clock())
    await bucket.take()
    waiting = asyncio.create_task(bucket.take())
    await asyncio.sleep(0.5)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert await takes(bucket, 1) == [0.5]
