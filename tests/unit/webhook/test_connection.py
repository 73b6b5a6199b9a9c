"""A connection as an API server keeps it: however its bytes come, each review is answered once and in its turn."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

import pytest
from aiohttp import web

from tests.unit.webhook.builders import job, review
from tests.unit.webhook.conftest import Eventually
from tests.unit.webhook.running import Webhook
from webhook import pipeline, tls
from webhook.connection import AHEAD, Connection, Reviews
from webhook.metrics import Metrics
from webhook.review import ALLOWED, Answer
from webhook.whole import AnyRequest

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def request(uid: str, path: str = "/validate", extra: str = "", body: bytes | None = None) -> bytes:
    sent = json.dumps(review(job(), uid=uid)).encode() if body is None else body
    head = f"POST {path}?timeout=2s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n{extra}"
    return f"{head}Content-Length: {len(sent)}\r\n\r\n".encode() + sent


async def answered(reader: asyncio.StreamReader) -> tuple[bytes, dict[str, Any]]:
    """Head and review of the next answer."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
    return head, json.loads(await reader.readexactly(length))


class Running:
    """Reviews on a plain port; ``decide`` may be replaced."""

    def __init__(self, **options: Any) -> None:
        self.metrics = Metrics()
        self.closing = False
        self.endpoint = pipeline.Endpoint("validate", self._decide, self.metrics, bool)
        app = pipeline.application({"/validate": self.endpoint}, lambda: self.closing)
        self._others = web.AppRunner(app, access_log=None)
        settings = {"keepalive": 60.0, "linger": 0.1, **options}
        self.reviews = Reviews({"/validate": self.endpoint}, self._other, lambda: self.closing, **settings)
        self.handed_over = 0

    async def decide(self, _: AnyRequest) -> Answer:
        return ALLOWED

    async def _decide(self, asked: AnyRequest) -> Answer:
        return await self.decide(asked)

    def _other(self) -> asyncio.Protocol:
        self.handed_over += 1
        assert self._others.server is not None
        return self._others.server()

    def count(self, cause: str) -> float | None:
        return self.metrics.registry.get_sample_value("muster_review_errors_total", {"cause": cause})

    @asynccontextmanager
    async def __call__(self) -> AsyncIterator[Callable[[], Awaitable[Streams]]]:
        await self._others.setup()
        listener = await asyncio.get_running_loop().create_server(self.reviews, "127.0.0.1", 0)
        made: list[asyncio.StreamWriter] = []

        async def connect() -> Streams:
            reader, writer = await asyncio.open_connection(*listener.sockets[0].getsockname())
            made.append(writer)
            return reader, writer

        async with asyncio.timeout(20):
            yield connect
        listener.close()
        for writer in made:
            writer.transport.abort()
        await self.reviews.stop(1.0)
        await self._others.cleanup()


class Wire(asyncio.Transport):
    """What a connection writes, and whether it reads."""

    def __init__(self) -> None:
        super().__init__()
        self.sent = b""
        self.turns: list[str] = []
        self.closed = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.sent += data

    def pause_reading(self) -> None:
        self.turns.append("pause")

    def resume_reading(self) -> None:
        self.turns.append("resume")

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    abort = close


async def idle(connection: Connection) -> None:
    while connection.task is not None:
        await asyncio.wait([connection.task])


async def test_wherever_the_bytes_are_parted_after_the_head_the_answer_is_the_same() -> None:
    running, wire = Running(), Wire()
    connection = running.reviews()
    connection.connection_made(wire)
    whole = request("abc")
    start = whole.index(b"\r\n\r\n") + 4
    connection.data_received(whole)
    await idle(connection)
    one, wire.sent = wire.sent, b""
    assert b'"uid":"abc"' in one
    for at in range(start, len(whole)):
        connection.data_received(whole[:at])
        connection.data_received(whole[at : at + 50])
        if at + 50 < len(whole):
            assert connection.task is None
            connection.data_received(whole[at + 50 :])
        await idle(connection)
        assert wire.sent.partition(b"\r\n\r\n")[2] == one.partition(b"\r\n\r\n")[2]
        wire.sent = b""
    connection.connection_lost(None)
    assert running.handed_over == 0


async def test_reviews_that_do_not_wait_are_answered_in_their_turn() -> None:
    running = Running()
    async with running() as connect:
        reader, writer = await connect()
        writer.write(b"".join(request(f"uid-{n}") for n in range(30)))
        found = [(await answered(reader))[1]["response"]["uid"] for _ in range(30)]
    assert found == [f"uid-{n}" for n in range(30)]


async def test_nothing_is_read_of_whoever_does_not_read_answers() -> None:
    running, wire = Running(), Wire()
    connection = running.reviews()
    connection.connection_made(wire)
    connection.pause_writing()
    assert wire.turns == ["pause"]
    connection.resume_writing()
    assert wire.turns == ["pause", "resume"]
    connection.connection_lost(None)


async def test_whoever_takes_over_while_answers_are_not_read_is_told_and_hears_when_they_are() -> None:
    running, wire, told = Running(), Wire(), list[str]()

    class Other(asyncio.Protocol):
        def pause_writing(self) -> None:
            told.append("pause")

        def resume_writing(self) -> None:
            told.append("resume")

        def data_received(self, data: bytes) -> None:
            told.append(data.decode())

        def connection_lost(self, exc: Exception | None) -> None:
            told.append("lost")

    running.reviews.others = Other
    connection = running.reviews()
    connection.connection_made(wire)
    connection.pause_writing()
    connection.data_received(b"GET /")
    assert told == ["pause", "GET /"]
    assert wire.turns[-1] == "resume", "what is read, and when, is the other's from now on"
    connection.resume_writing()
    connection.data_received(b" HTTP/1.1")
    connection.connection_lost(None)
    assert told == ["pause", "GET /", "resume", " HTTP/1.1", "lost"]


async def test_whoever_asks_on_without_taking_answers_is_given_up() -> None:
    """Two hundred who did had a third of a gigabyte of answers written to them."""
    running, wire = Running(), Wire()
    connection = running.reviews()
    connection.connection_made(wire)
    connection.data_received(request("a"))
    connection.pause_writing()
    while_slow = wire.closed
    connection.data_received(request("b") + request("c"))
    assert (while_slow, wire.closed) == (False, True)
    assert b'"uid":"c"' not in wire.sent
    connection.connection_lost(None)
    assert running.reviews.held == 0


async def test_whoever_asks_far_ahead_is_given_up() -> None:
    """Of 250 who did TLS held a hundred megabytes, behind what they had asked already."""
    running, wire = Running(), Wire()
    connection = running.reviews()
    connection.connection_made(wire)
    connection.data_received(request("a") + b" " * AHEAD + request("b"))
    assert b'"uid":"a"' in wire.sent
    assert wire.closed
    connection.connection_lost(None)
    assert running.reviews.held == 0
    assert running.handed_over == 0


@pytest.mark.parametrize("before", [1, 6])
@pytest.mark.parametrize("waits", [False, True])
async def test_whoever_takes_over_decides_alone_when_it_is_read_on(before: int, waits: bool) -> None:
    """Whether or not reading had to wait for the reviews before: what it does not take would else be held for it,
    without a bound."""
    running, wire = Running(), Wire()

    class Other(asyncio.Protocol):
        def data_received(self, data: bytes) -> None:
            wire.turns.append(data.decode())
            wire.pause_reading()

    async def decide(_: AnyRequest) -> Answer:
        if waits:
            await asyncio.sleep(0)
        return ALLOWED

    running.decide = decide  # type: ignore[method-assign]
    running.reviews.others = Other
    connection = running.reviews()
    connection.connection_made(wire)
    connection.data_received(b"".join(request(f"uid-{n}") for n in range(before)))
    connection.data_received(b"GET /")
    async with asyncio.timeout(20):
        while not connection.handed_over:  # noqa: ASYNC110  # each is a turn of the loop
            await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert wire.sent.count(b"HTTP/1.1 200") == before
    assert wire.turns[-3:] == ["resume", "GET /", "pause"]
    connection.connection_lost(None)


async def test_many_reviews_at_once_leave_others_their_turn() -> None:
    running, wire = Running(), Wire()
    connection = running.reviews()
    connection.connection_made(wire)
    at_turns: list[int] = []

    def count() -> None:
        at_turns.append(wire.sent.count(b"HTTP/1.1 200"))
        if at_turns[-1] < 50:
            asyncio.get_running_loop().call_soon(count)

    connection.data_received(b"".join(request(f"uid-{n}") for n in range(49)))
    connection.data_received(request("uid-49"))
    count()
    async with asyncio.timeout(20):
        while wire.sent.count(b"HTTP/1.1 200") < 50:  # noqa: ASYNC110  # each is a turn of the loop
            await asyncio.sleep(0)
    assert max(after - before for before, after in pairwise([0, *at_turns])) < 10
    assert [f'"uid":"uid-{n}"'.encode() in wire.sent for n in range(50)] == [True] * 50
    assert wire.turns[-1] == "resume"
    connection.connection_lost(None)


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (request("a", extra="Connection: keep-alive\r\n"), b"200"),
        (request("a").replace(b"Content-Length", b"Expect: 100-continue\r\nContent-Length"), b"100"),
        (request("a", path="/nowhere"), b"404"),
        (request("a").replace(b"POST", b"GET"), b"405"),
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"404"),
        (b"\x16\x03\x01 no HTTP at all\r\n\r\n", b"400"),
        (request("a", body=b""), b"400"),
    ],
)
async def test_any_other_request_is_answered_by_whoever_knows_them_all(sent: bytes, status: bytes) -> None:
    running = Running()
    async with running() as connect:
        reader, writer = await connect()
        writer.write(request("first"))
        assert (await answered(reader))[1]["response"]["uid"] == "first"
        writer.write(sent)
        assert (await reader.readline()).split()[1] == status
    assert running.handed_over == 1


async def test_a_body_that_does_not_arrive_is_408_and_what_comes_late_harms_nobody() -> None:
    running = Running(body_seconds=0.05)
    async with running() as connect:
        reader, writer = await connect()
        writer.write(request("abc")[:-1])
        head, answer = await answered(reader)
        writer.write(b"}" + request("late"))
        assert await reader.read() == b""
    assert head.startswith(b"HTTP/1.1 408 Request Timeout\r\n")
    assert b"Connection: close\r\n" in head
    assert answer["response"]["status"]["message"] == "the body did not arrive within 0.05s"
    assert running.count("slow") == 1


async def test_a_body_that_breaks_off_is_counted() -> None:
    running, wire = Running(), Wire()
    connection = running.reviews()
    connection.connection_made(wire)
    connection.data_received(request("abc")[:-1])
    connection.connection_lost(ConnectionResetError("reset"))
    assert running.count("malformed") == 1
    assert running.reviews.open == set()


@pytest.mark.looptime
async def test_silence_ends_a_connection_and_a_review_does_not() -> None:
    held = asyncio.Event()

    async def hold(_: AnyRequest) -> Answer:
        await held.wait()
        return ALLOWED

    running = Running(keepalive=0.5)
    running.decide = hold  # type: ignore[method-assign]
    silent, asking = Wire(), Wire()
    running.reviews().connection_made(silent)
    connection = running.reviews()
    connection.connection_made(asking)
    connection.data_received(request("abc"))
    await asyncio.sleep(0.4)
    assert not silent.closed
    await asyncio.sleep(0.2)
    assert (silent.closed, asking.closed) == (True, False)
    held.set()
    await idle(connection)
    assert b'"uid":"abc"' in asking.sent
    assert not asking.closed
    await asyncio.sleep(2)
    assert asking.closed


async def test_silence_ends_a_connection_whose_answers_are_not_taken(eventually: Eventually) -> None:
    """Closing it would wait for them to be."""
    running = Running(keepalive=0.2)
    async with running() as connect:
        _, other = await connect()
        with socket.socket() as deaf:
            deaf.setblocking(False)
            deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
            await asyncio.get_running_loop().sock_connect(deaf, other.get_extra_info("peername"))
            await eventually(lambda: len(running.reviews.open) == 2)
            other.close()
            await eventually(lambda: len(running.reviews.open) == 1)
            (connection,) = running.reviews.open
            connection._transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1024)
            await asyncio.get_running_loop().sock_sendall(deaf, request("x", body=b"{") * 50)
            deaf.shutdown(socket.SHUT_WR)
            await eventually(lambda: running.count("malformed") == 50)
            await eventually(lambda: not running.reviews.open)


async def test_the_end_waits_for_the_answer_under_way() -> None:
    held = asyncio.Event()

    async def hold(_: AnyRequest) -> Answer:
        await held.wait()
        return ALLOWED

    running = Running()
    running.decide = hold  # type: ignore[method-assign]
    async with running() as connect:
        idle_one, _ = await connect()
        reader, writer = await connect()
        writer.write(request("abc"))
        while not any(connection.task for connection in running.reviews.open):  # noqa: ASYNC110  # nobody tells
            await asyncio.sleep(0.001)
        stopping = asyncio.create_task(running.reviews.stop(10.0))
        assert await idle_one.read() == b"", "at once"
        held.set()
        head, answer = await answered(reader)
        await stopping
    assert b"Connection: close\r\n" in head
    assert answer["response"]["uid"] == "abc"


async def test_the_end_waits_for_the_rest_of_a_review_that_is_half_read() -> None:
    running = Running()
    async with running() as connect:
        reader, writer = await connect()
        sent = request("abc")
        writer.write(sent[:-10])
        while not any(connection.under_way for connection in running.reviews.open):  # noqa: ASYNC110  # nobody tells
            await asyncio.sleep(0.001)
        stopping = asyncio.create_task(running.reviews.stop(10.0))
        await asyncio.sleep(0)
        writer.write(sent[-10:])
        head, answer = await answered(reader)
        await stopping
    assert b"Connection: close\r\n" in head
    assert answer["response"]["uid"] == "abc"


async def test_the_rest_of_a_review_that_never_comes_does_not_hold_up_the_end() -> None:
    running = Running()
    async with running() as connect:
        reader, writer = await connect()
        writer.write(request("abc")[:-10])
        while not any(connection.under_way for connection in running.reviews.open):  # noqa: ASYNC110  # nobody tells
            await asyncio.sleep(0.001)
        await running.reviews.stop(0.01)
        assert await reader.read() == b""


async def test_an_answer_that_never_comes_does_not_hold_up_the_end() -> None:
    async def never(_: AnyRequest) -> Answer:
        await asyncio.Event().wait()
        return ALLOWED

    running = Running()
    running.decide = never  # type: ignore[method-assign]
    async with running() as connect:
        reader, writer = await connect()
        writer.write(request("abc"))
        while not any(connection.task for connection in running.reviews.open):  # noqa: ASYNC110  # nobody tells
            await asyncio.sleep(0.001)
        await running.reviews.stop(0.01)
        assert await reader.read() == b""


async def test_over_tls_a_connection_that_changes_its_form_goes_on(ready: Webhook) -> None:
    reader, writer = await asyncio.open_connection(
        ready.settings.bind_address,
        ready.settings.port,
        ssl=tls.verify_context(ready.authority.bundle),
        server_hostname=ready.settings.server_name,
    )
    body = json.dumps(review(job(), uid="chunked")).encode()
    chunked = (
        b"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    for uid, sent in (
        ("one", request("one")),
        ("chunked", chunked + b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)),
        ("two", request("two")),
    ):
        writer.write(sent)
        assert (await answered(reader))[1]["response"]["uid"] == uid
    writer.close()
