"""A kind that is refused is asked for again when somebody has seen it: soon, but however often that is, not often."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest

from classifier import api
from classifier.cluster.client import ApiError, Client
from classifier.cluster.reflector import Reflector
from classifier.objects import Job
from tests.unit.cluster.test_reflector_faults import ATTEMPTS

pytestmark = pytest.mark.looptime
PATIENCE = 300.0


class Closed:
    """Lets nobody see anything."""

    def __init__(self, status: int) -> None:
        self._status = status
        self.asked: list[float] = []

    async def request(self, *_: Any, **__: Any) -> bytes:
        self.asked.append(asyncio.get_running_loop().time())
        raise ApiError(self._status, "", "refused")


@contextlib.asynccontextmanager
async def following(server: Closed) -> AsyncIterator[Reflector[Job]]:
    loop = asyncio.get_running_loop()
    reflector = Reflector(cast(Client, server), api.JOBS, Job, patience=PATIENCE, monotonic=loop.time)
    task = asyncio.create_task(reflector.run())
    try:
        yield reflector
        assert not task.done()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest.mark.parametrize("status", [403, 404])
async def test_many_nudges_are_a_failure_like_any_other(status: int) -> None:
    server = Closed(status)
    async with following(server) as reflector:
        for _ in range(6000):
            reflector.nudge()
            await asyncio.sleep(0.01)
    assert 3 < len(server.asked) <= ATTEMPTS


async def test_one_after_a_while_is_answered_at_once() -> None:
    server = Closed(404)
    async with following(server) as reflector:
        await asyncio.sleep(100)
        assert len(server.asked) == 1
        reflector.nudge()
        await asyncio.sleep(0.1)
        assert len(server.asked) == 2


async def test_without_one_it_is_asked_for_patiently() -> None:
    server = Closed(404)
    async with following(server):
        await asyncio.sleep(10 * PATIENCE)
    assert 8 <= len(server.asked) <= 12
