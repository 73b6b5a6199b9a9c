"""As many strangers as there is room for, who come again whenever they are let go: API servers are served all the same,
and what strangers send has a bound."""

import asyncio
import gc
import json
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import pytest

from tests.unit.webhook.builders import job, review
from tests.unit.webhook.conftest import Eventually
from tests.unit.webhook.running import Webhook
from tests.unit.webhook.test_connection import Running, Streams, Wire, answered, idle, request
from tests.unit.webhook.test_listener import Connect, ask, dial, few  # noqa: F401  # fixtures
from webhook import connection, listener, pipeline
from webhook.review import ALLOWED, Answer
from webhook.whole import AnyRequest

ROOM = 16


async def is_silent(dial: Connect) -> Streams:  # noqa: F811
    return await dial(False)


async def asks_nothing(dial: Connect) -> Streams:  # noqa: F811
    return await dial(True)


async def sends_half(dial: Connect) -> Streams:  # noqa: F811
    streams = await dial(True)
    streams[1].write(request("half")[:-10])
    return streams


async def asks_and_sends_half(dial: Connect) -> Streams:  # noqa: F811
    streams = await dial(True)
    await ask(streams, "whole")
    streams[1].write(request("half")[:-10])
    return streams


async def asks(dial: Connect) -> Streams:  # noqa: F811
    streams = await dial(True)
    await ask(streams, "asked")
    return streams


async def is_refused(dial: Connect) -> Streams:  # noqa: F811
    streams = await dial(True)
    streams[1].write(request("x", body=b"{"))
    assert (await answered(streams[0]))[0].startswith(b"HTTP/1.1 400")
    return streams


async def trickles(dial: Connect) -> Streams:  # noqa: F811
    """A head without an end: a byte with every turn of the loop that others leave."""
    streams = await dial(True)
    streams[1].write(b"POST /validate HTTP/1.1\r\nX: ")
    for _ in range(100):
        streams[1].write(b"a")
        await asyncio.sleep(0)
    return streams


Attack = Callable[[Connect], Awaitable[Streams]]


@asynccontextmanager
async def crowd(attack: Attack, dial: Connect) -> AsyncIterator[list[int]]:  # noqa: F811
    """Counts how often each was there."""
    there = [0] * ROOM

    async def stay(at: int) -> None:
        while True:
            with suppress(OSError, EOFError):
                reader, writer = await attack(dial)
                there[at] += 1
                await reader.read()
                writer.transport.abort()

    tasks = [asyncio.create_task(stay(at)) for at in range(ROOM)]
    yield there
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@pytest.mark.parametrize(
    ("attack", "lets_go"),
    [
        (is_silent, False),
        (asks_nothing, False),
        (sends_half, False),
        (is_refused, False),
        (trickles, False),
        (asks, True),
        (asks_and_sends_half, True),
    ],
)
async def test_whatever_fills_the_room_an_api_server_is_served(
    ready: Webhook,
    dial: Connect,  # noqa: F811
    few: Callable[[int], None],  # noqa: F811
    eventually: Eventually,
    attack: Attack,
    lets_go: bool,
) -> None:
    """On the connection it keeps, and at the first try on each new one. ``lets_go``: from whoever asks as it does
    nobody can tell it apart, and its kept one may be the one that was silent for longest."""
    few(ROOM)
    kept = await dial(True)
    await ask(kept, "first")
    async with crowd(attack, dial) as there:
        await eventually(lambda: sum(there) >= ROOM)
        for turn in range(20):
            await ask(await dial(True), f"new-{turn}")
            try:
                await ask(kept, f"kept-{turn}")
            except (OSError, EOFError):
                assert lets_go
                kept = await dial(True)
                await ask(kept, f"again-{turn}")


async def test_who_shakes_hands_is_not_let_go_for_strangers_that_came_before(
    ready: Webhook,
    dial: Connect,  # noqa: F811
    few: Callable[[int], None],  # noqa: F811
) -> None:
    few(ROOM)
    strangers = [await dial(True) for _ in range(ROOM)]
    young = await dial(False)
    for _ in range(ROOM - 1):
        await dial(True)
    assert [await reader.read() for reader, _ in strangers] == [b""] * ROOM
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await young[0].read()


async def test_the_order_in_which_they_go() -> None:
    """Each is what the one before leaves as the next to go."""
    running, now = Running(), asyncio.get_running_loop().time()
    running.reviews.others = asyncio.Protocol
    coming: list[connection.Connection] = []

    def one(*, asked: bool, since: float = 0, heard: float = 0, sends: str = "", shakes: bool = False) -> None:
        made = running.reviews()
        if not shakes:
            made.connection_made(Wire())
        made.asked = asked
        if sends:
            made.data_received(sends.encode())
        made.since, made.heard = now - since, now - heard
        names[made] = f"{asked=} {since=} {heard=} {bool(sends)} {shakes=}"
        if shakes:
            coming.append(made)

    names: dict[connection.Connection, str] = {}
    half = request("half")[:-10].decode()
    one(asked=False, since=9.5, shakes=True)
    one(asked=False, since=9, sends=half)
    one(asked=False, since=8, sends="GET / HTTP/1.1")
    one(asked=False, since=7)
    one(asked=True, since=6, sends="GET / HTTP/1.1")
    one(asked=True, since=3, sends=half)
    one(asked=True, since=2, heard=2, sends=half)
    one(asked=True, since=300, heard=200)
    one(asked=True, since=400, heard=100)
    one(asked=True, since=0.5, sends=half)
    one(asked=False, since=0.2, shakes=True)
    one(asked=False, since=0.1)
    gone = []
    while (least := running.reviews.least_missed(coming, 1000)) is not None:
        gone.append(least)
        if least in coming:
            coming.remove(least)
        else:
            least.abort()
            least.connection_lost(None)
    assert running.reviews.open == set()
    assert [names[one] for one in gone] == list(names.values())


# --- what is held ---------------------------------------------------------------------------------------------------


def big(uid: str) -> bytes:
    return request(uid, body=b" " * pipeline.BODY_LIMIT)


def body(uid: str, size: int) -> bytes:
    return json.dumps(review(job(), uid=uid)).encode().ljust(size)


class Sent:
    """A connection that sends without an end, in pieces."""

    def __init__(self, running: Running, data: bytes) -> None:
        self.wire, self.data = Wire(), data
        self.one = running.reviews()
        self.one.connection_made(self.wire)

    def send(self, size: int = 1 << 16) -> None:
        now, self.data = self.data[:size], self.data[size:]
        self.one.data_received(now)


async def test_bodies_that_are_not_there_yet_have_a_bound_and_the_longest_begun_is_given_up() -> None:
    running = Running()
    small = Sent(running, request("small"))
    small.send(400)
    many = [Sent(running, big(f"{n}")[:-1]) for n in range(40)]
    most = 0
    for _ in range(50):
        for one in many:
            if one.data and not one.wire.closed:
                one.send(1 << 18)
                held = sum(len(part) for other in running.reviews.open for part in other._parts)
                assert held == running.reviews.held
                most = max(most, held)
    assert most <= connection.HELD
    assert [one.wire.closed for one in many] == sorted((one.wire.closed for one in many), reverse=True)
    assert running.count("malformed") == sum(one.wire.closed for one in many) > 30
    small.send()
    assert b'"uid":"small"' in small.wire.sent
    for one in (small, *many):
        one.one.connection_lost(None)
    assert running.reviews.held == 0


@pytest.mark.looptime
async def test_ten_slow_senders_of_the_largest_updates_are_all_answered() -> None:
    """Two objects of 1.5 MiB each, as many as etcd takes, in pieces over nearly as long as a body may take."""
    running = Running()
    many = [Sent(running, request(f"{n}", body=body(f"{n}", 3 << 20))) for n in range(10)]
    pieces = 40
    for _ in range(pieces + 1):
        for one in many:
            if one.data:
                one.send((3 << 20) // pieces)
        await asyncio.sleep(0.9 * pipeline.BODY_SECONDS / pieces)
    for n, one in enumerate(many):
        assert f'"uid":"{n}"'.encode() in one.wire.sent
        assert not one.wire.closed
        one.one.connection_lost(None)


LARGE = request("large", body=json.dumps(review(job(annotations={"a": "x" * 6_000_000}))).encode())


@pytest.mark.parametrize("sent", [LARGE, request("small") + big("next")])
async def test_reviews_that_wait_and_what_came_after_them_have_the_same_bound(sent: bytes) -> None:
    async def wait(_: AnyRequest) -> Answer:
        await asyncio.get_running_loop().create_future()
        return ALLOWED

    running = Running()
    running.decide = wait  # type: ignore[method-assign]
    many = [Sent(running, sent) for _ in range(40)]
    for one in many:
        one.send(len(one.data))
        await asyncio.sleep(0)
    assert running.reviews.held <= connection.HELD
    held = [one for one in many if not one.wire.closed]
    assert 0 < len(held) <= connection.HELD // 6_000_000
    for one in held:
        assert one.one.task is not None
        one.one.abort()
    assert running.reviews.held == 0
    for one in many:
        await idle(one.one)
        one.one.connection_lost(None)


async def test_of_who_has_gone_nothing_is_held_by_a_review_that_waits() -> None:
    """Whoever sends, goes and comes again would else have as much held as it likes."""
    waiting: list[None] = []

    async def wait(_: AnyRequest) -> Answer:
        waiting.append(None)
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            waiting.pop()
        return ALLOWED

    running = Running()
    running.decide = wait  # type: ignore[method-assign]
    one = Sent(running, LARGE)
    one.send(len(one.data))
    await asyncio.sleep(0)
    assert len(waiting) == 1
    one.one.connection_lost(ConnectionResetError("gone"))
    for _ in range(5):
        await asyncio.sleep(0)
    assert waiting == [], "at once, and not when its time is over"


async def test_of_a_review_that_is_given_up_before_it_began_to_wait_nothing_is_left_for_the_collector() -> None:
    """As that of whoever is at it for longest, when its last piece is one too many: six megabytes each time."""

    async def wait(_: AnyRequest) -> Answer:
        await asyncio.get_running_loop().create_future()
        return ALLOWED

    running = Running()
    running.decide = wait  # type: ignore[method-assign]
    gc.collect()
    gc.disable()
    tracemalloc.start()
    try:
        for _ in range(3):
            one = Sent(running, LARGE)
            one.send(len(LARGE))
            one.one.abort()
            one.one.connection_lost(None)
            del one
            for _ in range(5):
                await asyncio.sleep(0)
        left, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        gc.enable()
    assert left < len(LARGE)


def test_what_none_is_asked_to_give_up_for_others_is_there_for_all_that_may_come() -> None:
    assert connection.SHARE * listener.CONNECTIONS <= connection.HELD


async def test_answered_reviews_of_several_pieces_are_not_held() -> None:
    running = Running()
    one = Sent(running, request("a") + request("b"))
    while one.data:
        one.send(300)
    assert one.wire.sent.count(b"HTTP/1.1 200") == 2
    assert running.reviews.held == one.one.holds == 0
    one.one.connection_lost(None)


async def test_of_those_in_another_form_few_are_kept_and_who_was_silent_for_longest_goes() -> None:
    """aiohttp holds what it has not read yet, a megabyte of each."""
    running = Running()
    running.reviews.others = asyncio.Protocol
    usual, many = Sent(running, request("usual")), [Sent(running, b"GET /") for _ in range(connection.OTHERS + 3)]
    for heard, one in enumerate(many):
        one.send()
        one.one.heard = heard
    assert [one.wire.closed for one in many] == [True] * 3 + [False] * connection.OTHERS
    usual.send()
    assert b'"uid":"usual"' in usual.wire.sent
    for one in (usual, *many):
        one.one.connection_lost(None)


async def test_of_whoever_asks_in_another_form_few_bodies_are_read_at_once(eventually: Eventually) -> None:
    """The rest is left in the sender's hands, and told so in the end."""
    running = Running(body_seconds=60.0)
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    head = b"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    async with running() as connect:
        many = [await connect() for _ in range(3 * pipeline.AT_ONCE)]
        sent = [0] * len(many)

        async def send(at: int) -> None:
            many[at][1].write(head)
            while sent[at] < 100:
                many[at][1].write(chunk)
                await many[at][1].drain()
                sent[at] += 1

        tasks = [asyncio.create_task(send(at)) for at in range(len(many))]
        await eventually(lambda: sum(n == 100 for n in sent) == pipeline.AT_ONCE)
        await asyncio.wait([task for task, n in zip(tasks, sent, strict=True) if n < 100], timeout=0.2)
        assert sum(n == 100 for n in sent) == pipeline.AT_ONCE
        for task in tasks:
            task.cancel()


async def test_who_is_through_with_the_handshake_when_it_ends_is_answered(
    ready: Webhook,
    dial: Connect,  # noqa: F811
) -> None:
    """The greeting's task may have a turn to go."""
    held = ready.server._listener
    assert held is not None
    streams = await dial(True)
    streams[1].write(request("half")[:-10])
    reviews = ready.server._reviews
    while not (half := [one for one in reviews.open if one.under_way]):  # noqa: ASYNC110  # nobody tells
        await asyncio.sleep(0.001)
    held._coming[half[0]] = half[0]._transport.get_extra_info("socket")
    held.close()
    held._coming.clear()
    streams[1].write(request("half")[-10:])
    assert (await answered(streams[0]))[1]["response"]["uid"] == "half"
