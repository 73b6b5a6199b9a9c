"""How many connections are held, who goes when there is no room for another, and who never does."""

import asyncio
import errno
import gc
import json
import socket
import ssl
from asyncio.sslproto import SSLProtocol
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import pytest
from aiohttp import web

from tests.unit.webhook.apiserver import ApiServer
from tests.unit.webhook.builders import job, review
from tests.unit.webhook.conftest import Eventually
from tests.unit.webhook.running import Webhook
from tests.unit.webhook.test_connection import Streams, answered, request
from webhook import listener, tls

Connect = Callable[[bool], Coroutine[Any, Any, Streams]]


@pytest.fixture
async def dial(ready: Webhook) -> AsyncIterator[Connect]:
    """With a handshake or in silence."""
    made: list[asyncio.StreamWriter] = []

    async def connection(handshake: bool) -> Streams:
        settings = ready.settings
        context: ssl.SSLContext | None = tls.verify_context(ready.authority.bundle) if handshake else None
        name = settings.server_name if handshake else None
        streams = await asyncio.open_connection(settings.bind_address, settings.port, ssl=context, server_hostname=name)
        made.append(streams[1])
        return streams

    async with asyncio.timeout(30):
        yield connection
    for writer in made:
        writer.transport.abort()


async def ask(streams: Streams, uid: str) -> None:
    streams[1].write(request(uid))
    assert (await answered(streams[0]))[1]["response"]["uid"] == uid


@pytest.fixture
def few(ready: Webhook, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """How many there may be besides what the webhook's own look at its port has left."""

    def limit(most: int) -> None:
        for connection in tuple(ready.server._reviews.open):
            connection.abort()
        monkeypatch.setattr(listener, "CONNECTIONS", most)

    return limit


async def test_whoever_connects_and_says_nothing_makes_room_for_who_asks(
    ready: Webhook, dial: Connect, few: Callable[[int], None], eventually: Eventually
) -> None:
    few(4)
    half_read = await dial(True)
    await ask(half_read, "whole")
    sent = request("half")
    half_read[1].write(sent[:-10])
    await eventually(lambda: any(one.under_way for one in ready.server._reviews.open))
    silent = [await dial(False) for _ in range(20)]
    await ask(await dial(True), "asked")
    assert [await reader.read() for reader, _ in silent[:16]] == [b""] * 16, "the oldest were let go"
    half_read[1].write(sent[-10:])
    assert (await answered(half_read[0]))[1]["response"]["uid"] == "half"


async def test_who_never_shook_hands_leaves_nothing_for_the_collector(
    ready: Webhook, dial: Connect, few: Callable[[int], None], eventually: Eventually
) -> None:
    few(2)

    def tls_states() -> int:
        return sum(isinstance(obj, SSLProtocol) for obj in gc.get_objects())

    gc.collect()
    gc.disable()
    try:
        before = tls_states()
        silent = [await dial(False) for _ in range(10)]
        for reader, _ in silent[:8]:
            assert await reader.read() == b""
        await eventually(lambda: tls_states() <= before + 2)
    finally:
        gc.enable()


async def test_of_idle_connections_the_one_goes_that_has_asked_nothing(
    ready: Webhook, dial: Connect, few: Callable[[int], None]
) -> None:
    few(2)
    asked = await dial(True)
    await ask(asked, "first")
    silent = await dial(True)
    await ask(await dial(True), "another")
    with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
        await silent[0].readexactly(1)
    await ask(asked, "second")


async def test_where_all_are_being_answered_who_comes_waits(
    ready: Webhook, dial: Connect, few: Callable[[int], None], eventually: Eventually, apiserver: ApiServer
) -> None:
    few(1)
    busy, free = await dial(True), asyncio.Event()

    async def hold(asked: web.Request) -> None:
        if asked.path.endswith("/localqueues/slow"):
            await free.wait()

    apiserver.before = hold
    busy[1].write(request("busy", body=json.dumps(review(job(queue="slow"), uid="busy")).encode()))
    await eventually(lambda: any(one.task is not None for one in ready.server._reviews.open))
    waiting = asyncio.create_task(dial(True))
    held = ready.server._listener
    assert held is not None
    await eventually(lambda: held._again is not None)
    free.set()
    assert (await answered(busy[0]))[1]["response"]["uid"] == "busy"
    await ask(await waiting, "at last")


class Full:
    """A socket of a system that has no room for another connection, the first time."""

    def __init__(self, real: socket.socket) -> None:
        self._real = real
        self._asked = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def accept(self) -> Any:
        self._asked += 1
        if self._asked == 1:
            raise OSError(errno.EMFILE, "Too many open files")
        return self._real.accept()


async def test_a_system_without_room_is_asked_again(
    ready: Webhook, dial: Connect, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    held = ready.server._listener
    assert held is not None
    monkeypatch.setattr(listener, "LATER", 0.01)
    monkeypatch.setattr(held, "_socket", Full(held._socket))  # type: ignore[arg-type]
    await ask(await dial(True), "asked")
    assert [record for record in caplog.records if "Too many open files" in record.getMessage()]
