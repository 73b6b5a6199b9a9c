"""One connection of an API server: its reviews, read and answered with as little as possible in between.

A complete HTTP server costs more than our decision does. So what comes in the one form that API servers send is read
here (:mod:`webhook.head`), and from the first request in any other on the connection is aiohttp's, which knows all of
them and every way to break one. Timeouts, limits and endings are the same on both sides.
"""

import asyncio
import logging
import socket
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from email.utils import formatdate
from functools import lru_cache
from typing import Any, Final

from webhook.head import Head, head_of
from webhook.pipeline import BODY_LIMIT, BODY_SECONDS, Endpoint, Reply, too_slow, torn

log = logging.getLogger(__name__)

#: Reviews of one connection that are answered before others have their turn. API servers send one at a time.
TURN: Final = 4
#: Seconds of silence after which nothing can be under way, whoever reads the connection: more than for a body and its
#: answer together.
SILENCE: Final = 10.0

_REASONS: Final = {200: b"OK", 400: b"Bad Request", 408: b"Request Timeout"}
_FORM: Final = b"HTTP/1.1 %d %b\r\nContent-Type: application/json\r\nDate: %b\r\nContent-Length: %%d\r\n%%b\r\n%%b"


@dataclass(eq=False)
class Reviews:
    """What all connections share. ``others`` makes aiohttp's side of one; ``closing`` tells whether connections end
    with the next answer. Seconds: of silence after which one is closed, for a body, to read on after refusing one."""

    endpoints: Mapping[str, Endpoint]
    others: Callable[[], asyncio.Protocol]
    closing: Callable[[], bool]
    keepalive: float
    linger: float
    body_seconds: float = BODY_SECONDS
    #: Those whose handshake is over.
    open: set["Connection"] = field(default_factory=set)
    _at_rest: asyncio.Event | None = None

    def __call__(self) -> "Connection":
        return Connection(self)

    def idlest(self) -> "Connection | None":
        """Who is missed least of those nothing is under way for: first who never asked, then who was silent longest."""
        idle = [connection for connection in self.open if connection.idle]
        return min(idle, key=lambda connection: (connection.asked, connection.heard), default=None)

    async def stop(self, seconds: float) -> None:
        """Close what is idle now, and the rest with the answers to what is read or answered, or after ``seconds``.
        Those of others are theirs to end."""
        ours = [connection for connection in self.open if not connection.handed_over]
        self._at_rest = asyncio.Event()
        for connection in ours:
            connection.end()
        self.rested()
        try:
            async with asyncio.timeout(seconds):
                await self._at_rest.wait()
        except TimeoutError:
            log.warning("reviews were not answered in time before the end")
        for connection in ours:
            connection.abort()

    def rested(self) -> None:
        """One of them is through with a review, or gone."""
        if self._at_rest is not None and not any(one.under_way for one in self.open if not one.handed_over):
            self._at_rest.set()


class Connection(asyncio.Protocol):
    """``task`` waits for what the review that was read last waits for; None if there is no such."""

    def __init__(self, reviews: Reviews) -> None:
        self.task: asyncio.Task[None] | None = None
        self._reviews = reviews
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport
        #: The review that is being read: its head, what there is of it, how much is missing, since when, until when.
        self._head: Head | None = None
        self._parts: list[bytes] = []
        self._missing = 0
        self._started = 0.0
        self._limit: asyncio.TimerHandle | None = None
        #: What came before the last review was answered, if no more of it is read; whether it waits for its turn.
        self._early = b""
        self._waits = False
        self._others: asyncio.Protocol | None = None
        self._full = False
        self._ending = False
        self._refused = False
        #: When something came last, and whether any of it was a review.
        self.heard = self._loop.time()
        self.asked = False
        self._silence: asyncio.TimerHandle

    @property
    def under_way(self) -> bool:
        """Whether a review is being read, or answered, or waits for its turn."""
        return self.task is not None or self._head is not None or self._waits

    @property
    def handed_over(self) -> bool:
        return self._others is not None

    @property
    def idle(self) -> bool:
        """Whether nobody waits for an answer, or can."""
        if self._others is not None:
            return self._loop.time() - self.heard > SILENCE
        return not self.under_way

    # --- the connection -----------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._reviews.open.add(self)
        sock = transport.get_extra_info("socket")
        if sock is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        self._silence = self._loop.call_at(self.heard + self._reviews.keepalive, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        self._silence.cancel()
        self._reviews.open.discard(self)
        if self._others is not None:
            self._others.connection_lost(exc)
        elif self._head is not None:
            self._endpoint(self._head).refuse(torn(exc), self._started)
            self._forget()
        self._early, self._waits = b"", False
        self._reviews.rested()

    def eof_received(self) -> bool | None:
        return self._others.eof_received() if self._others is not None else None

    def end(self) -> None:
        """With the answer under way, or at once if there is none."""
        self._ending = True
        if not self.under_way:
            self._transport.close()

    def abort(self) -> None:
        self._transport.abort()
        if self.task is not None:
            self.task.cancel()

    def pause_writing(self) -> None:
        self._full = True
        if self._others is not None:
            self._others.pause_writing()
        else:
            self._transport.pause_reading()

    def resume_writing(self) -> None:
        self._full = False
        if self._others is not None:
            self._others.resume_writing()
        else:
            self._read_on()

    def _read_on(self) -> None:
        """If nothing that came is still to be answered, and answers are taken."""
        if not (self.task is not None or self._waits or self._full or self._transport.is_closing()):
            self._transport.resume_reading()

    def _look(self) -> None:
        """Close it if it has long been silent."""
        quiet_until = self.heard + self._reviews.keepalive
        if self.task is None and self._loop.time() >= quiet_until:
            self._transport.close()
        else:
            at = max(quiet_until, self._loop.time() + 1)
            self._silence = self._loop.call_at(at, self._look)

    # --- reviews ------------------------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        if self._refused:
            return
        self.heard = self._loop.time()
        if self._others is not None:
            self._others.data_received(data)
            return
        if self.task is not None or self._waits:
            # API servers wait for an answer; who does not is heard after it.
            self._early += data
            self._transport.pause_reading()
            return
        if self._head is None:
            self._begin(data)
        else:
            self._parts.append(data)
            self._missing -= len(data)
            if self._missing <= 0:
                self._read(self._head, b"".join(self._parts))
        self._go_on()

    def _begin(self, data: bytes) -> None:
        head = head_of(data)
        if head is None or head.path not in self._reviews.endpoints or head.length > BODY_LIMIT:
            self._hand_over(data)
            return
        self._started = time.perf_counter()
        self._missing = head.start + head.length - len(data)
        if self._missing <= 0:
            self._read(head, data)
            return
        self._head, self._parts = head, [data]
        self._limit = self._loop.call_later(self._reviews.body_seconds, self._refuse)

    def _read(self, head: Head, data: bytes) -> None:
        """``data`` is the whole request, and perhaps more."""
        self._forget()
        self.asked = True
        end = head.start + head.length
        self._early = data[end:]
        reply = self._endpoint(head).answer(data[head.start : end], head.query, self._started)
        if isinstance(reply, Reply):
            self._write(reply)
        else:
            self.task = self._loop.create_task(self._wait(reply))

    async def _wait(self, reply: Coroutine[Any, Any, Reply]) -> None:
        try:
            self._write(await reply)
        except Exception:
            log.exception("a review could not be answered")
            self._transport.abort()
        finally:
            self.task = None
            self._reviews.rested()
        self._go_on()
        self._read_on()

    def _go_on(self) -> None:
        """With what came early: some of it, then others have their turn."""
        for _ in range(TURN):
            if not self._early or self.task is not None or self._transport.is_closing():
                return
            early, self._early = self._early, b""
            self._begin(early)
        if self._early and self.task is None and not self._transport.is_closing():
            self._waits = True
            self._transport.pause_reading()
            self._loop.call_soon(self._have_turn)

    def _have_turn(self) -> None:
        self._waits = False
        self._go_on()
        self._read_on()

    def _refuse(self) -> None:
        """The body does not arrive. What of it comes now is not read, so that the refusal is."""
        assert self._head is not None
        reply = self._endpoint(self._head).refuse(too_slow(self._reviews.body_seconds), self._started)
        self._forget()
        self._refused = True
        self._transport.write(_encoded(reply, last=True))
        self._loop.call_later(self._reviews.linger, self._transport.close)
        self._reviews.rested()

    def _write(self, reply: Reply) -> None:
        if self._transport.is_closing():
            return
        last = self._ending or self._reviews.closing()
        self._transport.write(_encoded(reply, last=last))
        if last:
            self._transport.close()
            self._reviews.rested()

    def _endpoint(self, head: Head) -> Endpoint:
        return self._reviews.endpoints[head.path]

    def _forget(self) -> None:
        self._head, self._parts = None, []
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None

    def _hand_over(self, data: bytes) -> None:
        """The connection is aiohttp's from here on; we only pass on what happens to it."""
        self._silence.cancel()
        others = self._others = self._reviews.others()
        others.connection_made(self._transport)
        if self._full:
            others.pause_writing()
            self._transport.resume_reading()
        others.data_received(data)
        self._reviews.rested()


def _encoded(reply: Reply, *, last: bool) -> bytes:
    ends = b"Connection: close\r\n" if last else b""
    return _head(reply.status, int(time.time())) % (len(reply.payload), ends, reply.payload)


@lru_cache(maxsize=len(_REASONS))
def _head(status: int, second: int) -> bytes:
    """An answer with this status in this second, but for its length, whether it is the last, and its body."""
    return _FORM % (status, _REASONS[status], formatdate(second, usegmt=True).encode())
