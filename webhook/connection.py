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

_REASONS: Final = {200: "OK", 400: "Bad Request", 408: "Request Timeout"}
_HEAD: Final = "HTTP/1.1 {} {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nDate: {}\r\n"


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
    #: Those that are ours.
    open: set["Connection"] = field(default_factory=set)

    def __call__(self) -> "Connection":
        return Connection(self)

    async def stop(self, seconds: float) -> None:
        """Close what is idle now, and the rest with the answers under way, or after ``seconds``."""
        for connection in tuple(self.open):
            connection.end()
        answering = [task for connection in self.open if (task := connection.task) is not None]
        if answering:
            await asyncio.wait(answering, timeout=seconds)
        for connection in tuple(self.open):
            connection.abort()


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
        #: What came before the last review was answered, if no more of it is read.
        self._early = b""
        self._full = False
        self._ending = False
        self._refused = False
        self._heard = self._loop.time()
        self._idle: asyncio.TimerHandle

    # --- the connection -----------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._reviews.open.add(self)
        sock = transport.get_extra_info("socket")
        if sock is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        self._idle = self._loop.call_at(self._heard + self._reviews.keepalive, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        self._leave()
        if self._head is not None:
            self._endpoint(self._head).refuse(torn(exc), self._started)
            self._forget()

    def end(self) -> None:
        """With the answer under way, or at once if there is none."""
        self._ending = True
        if self.task is None:
            self._transport.close()

    def abort(self) -> None:
        self._transport.abort()
        if self.task is not None:
            self.task.cancel()

    def pause_writing(self) -> None:
        self._full = True
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        self._full = False
        if self.task is None:
            self._transport.resume_reading()

    def _look(self) -> None:
        """Close it if it has long been silent."""
        quiet_until = self._heard + self._reviews.keepalive
        if self.task is None and self._loop.time() >= quiet_until:
            self._transport.close()
        else:
            at = max(quiet_until, self._loop.time() + 1)
            self._idle = self._loop.call_at(at, self._look)

    def _leave(self) -> None:
        self._idle.cancel()
        self._reviews.open.discard(self)

    # --- reviews ------------------------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        if self._refused:
            return
        self._heard = self._loop.time()
        if self.task is not None:
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
        if not self._full and not self._transport.is_closing():
            self._transport.resume_reading()
        self._go_on()

    def _go_on(self) -> None:
        """With what came early."""
        while self._early and self.task is None and not self._transport.is_closing():
            early, self._early = self._early, b""
            self._begin(early)

    def _refuse(self) -> None:
        """The body does not arrive. What of it comes now is not read, so that the refusal is."""
        assert self._head is not None
        reply = self._endpoint(self._head).refuse(too_slow(self._reviews.body_seconds), self._started)
        self._forget()
        self._refused = True
        self._transport.write(_encoded(reply, last=True))
        self._loop.call_later(self._reviews.linger, self._transport.close)

    def _write(self, reply: Reply) -> None:
        if self._transport.is_closing():
            return
        last = self._ending or self._reviews.closing()
        self._transport.write(_encoded(reply, last=last))
        if last:
            self._transport.close()

    def _endpoint(self, head: Head) -> Endpoint:
        return self._reviews.endpoints[head.path]

    def _forget(self) -> None:
        self._head, self._parts = None, []
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None

    def _hand_over(self, data: bytes) -> None:
        """The connection is aiohttp's from here on."""
        self._leave()
        others = self._reviews.others()
        self._transport.set_protocol(others)
        others.connection_made(self._transport)
        others.data_received(data)


def _encoded(reply: Reply, *, last: bool) -> bytes:
    head = _HEAD.format(reply.status, _REASONS[reply.status], len(reply.payload), _date(int(time.time())))
    return b"%b%b\r\n%b" % (head.encode("ascii"), b"Connection: close\r\n" if last else b"", reply.payload)


@lru_cache(maxsize=1)
def _date(second: int) -> str:
    return formatdate(second, usegmt=True)
