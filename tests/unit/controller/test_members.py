"""Requests to many pods: a few at once, past those that fail for themselves, and no further than makes sense."""

import asyncio
import contextlib
import gc
import weakref
from collections.abc import Callable, Iterator

import pytest

from classifier import api
from classifier.cluster.client import ApiError, Unreachable
from classifier.objects import Meta, Pod
from controller.groups import group_of
from controller.members import AT_ONCE, LEFT_OUT, MANY, Members, each
from tests.builders import Builder

pytestmark = pytest.mark.looptime


def pods(number: int) -> list[Pod]:
    return [Builder(Pod, api.PODS, f"p-{n:03d}", "team").created(n).done() for n in range(number)]


class Server:
    """Takes a second for each. ``fails``: what it answers for the pods of these names."""

    def __init__(self, **fails: Exception) -> None:
        self.fails = {name.replace("_", "-"): error for name, error in fails.items()}
        self.served: list[str] = []
        self.now = self.most = 0

    async def write(self, part: Meta) -> None:
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(1)
        self.now -= 1
        if part.name in self.fails:
            raise self.fails[part.name]
        self.served.append(part.name)


def refusal(status: int = 403) -> ApiError:
    return ApiError(status, "", "refused")


async def test_several_at_once_and_no_more() -> None:
    server = Server()
    assert await each(pods(100), server.write) == []
    assert len(server.served) == 100
    assert server.most == AT_ONCE


@pytest.mark.parametrize("status", [400, 403, 404, 409, 422, 500])
async def test_one_that_fails_holds_up_no_other(status: int) -> None:
    server = Server(p_000=refusal(status))
    ((part, error),) = await each(pods(100), server.write)
    assert (part.name, error.status) == ("p-000", status)
    assert len(server.served) == 99


async def test_when_many_fail_or_the_server_wants_less_the_rest_waits() -> None:
    every = pods(100)
    server = Server(**{one.name.replace("-", "_"): refusal(500) for one in every})
    assert MANY <= len(await each(every, server.write)) < MANY + AT_ONCE
    server = Server(p_000=refusal(429))
    await each(every, server.write)
    assert len(server.served) < 2 * AT_ONCE


async def test_without_an_answer_nothing_more_is_sent() -> None:
    server = Server(p_001=Unreachable("reset"))
    with pytest.raises(Unreachable):
        await each(pods(100), server.write)
    assert len(server.served) < 2 * AT_ONCE


@pytest.fixture
def _uncollected() -> Iterator[None]:
    """As in what was told to be left alone: only what nothing names any more goes."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("_uncollected")
@pytest.mark.parametrize("make", [refusal, lambda: refusal(500), lambda: Unreachable("reset")])
@pytest.mark.parametrize("failing", [1, 2])
async def test_a_failure_that_was_dealt_with_leaves_nothing_behind(make: Callable[[], Exception], failing: int) -> None:
    """Of a group of two pods: left out, refused as a whole, to be tried again, or without an answer."""
    errors: list[weakref.ref[Exception]] = []

    async def write(part: Meta) -> None:
        await asyncio.sleep(1)
        if int(part.name.removeprefix("p-")) < failing:
            error = make()
            errors.append(weakref.ref(error))
            try:
                raise error
            finally:
                del error

    members = Members(asyncio.get_running_loop().time)
    owned = group_of(pods(2))
    assert owned is not None
    with contextlib.suppress(ApiError, Unreachable):
        await members.write(owned, write)
    assert len(errors) == failing
    await asyncio.sleep(1)
    assert [error() for error in errors] == [None] * failing


async def test_what_is_cancelled_sends_nothing_more() -> None:
    server = Server()
    task = asyncio.create_task(each(pods(100), server.write))
    await asyncio.sleep(1.5)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    served = len(server.served)
    await asyncio.sleep(10)
    assert len(server.served) == served < 100


async def test_a_pod_that_refuses_is_left_out_for_a_while() -> None:
    members = Members(asyncio.get_running_loop().time)
    owned = group_of(pods(3))
    assert owned is not None
    assert await members.write(owned, Server(p_001=refusal()).write)
    assert sorted(one.name for one in members.heard(owned).members) == ["p-000", "p-002"]
    await asyncio.sleep(LEFT_OUT)
    assert members.heard(owned) is owned


@pytest.mark.parametrize("status", [401, 404, 409, 429, 500, 503])
async def test_what_may_pass_next_time_leaves_nobody_out(status: int) -> None:
    members = Members(asyncio.get_running_loop().time)
    owned = group_of(pods(3))
    assert owned is not None
    with pytest.raises(ApiError, match=str(status)):
        await members.write(owned, Server(p_000=refusal(), p_001=refusal(status)).write)
    assert members.heard(owned) is owned


@pytest.mark.parametrize("number", [1, 3, 100])
async def test_a_group_that_refuses_as_a_whole_is_told_nothing(number: int) -> None:
    every = pods(number)
    members = Members(asyncio.get_running_loop().time)
    owned = group_of(every)
    assert owned is not None
    with pytest.raises(ApiError):
        await members.write(owned, Server(**{one.name.replace("-", "_"): refusal() for one in every}).write)
    assert members.heard(owned) is owned
