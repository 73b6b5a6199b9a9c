"""One connection of an API server: its reviews, read and answered with as little as possible in between.

A complete HTTP server costs more than our decision does. So what comes in the one form that API servers send is read
here (:mod:`webhook.head`), and from the first request in any other on the connection is aiohttp's, which knows all of
them and every way to break one. Timeouts, limits and endings are the same on both sides.
"""

import asyncio
import logging
import socket
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass, field
from email.utils import formatdate
from functools import lru_cache
from typing import Any, Final

from webhook.head import Head, head_of
from webhook.pipeline import BODY_LIMIT, BODY_SECONDS, Endpoint, Reply, too_slow, torn

log = logging.getLogger(__name__)

#: Reviews of one connection that are answered before others have their turn. API servers send one at a time.
TURN: Final = 4
#: Seconds after which API servers have long asked, and sent all of what they ask about.
PATIENCE: Final = 1.0
#: Bytes of reviews that are not answered yet, on all connections; and what none is asked to give up for others: as many
#: as there may be connections hold less together. Most reviews have a few kilobytes.
HELD: Final = 32 << 20
SHARE: Final = HELD >> 8

#: Bytes that may come before their turn. API servers wait for each answer.
AHEAD: Final = 64 << 10
#: Connections that are aiohttp's at once: it holds up to a megabyte of each before anybody has read it. Of API servers
#: there is none.
OTHERS: Final = 32

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
    #: Bytes of reviews that are not answered yet.
    held: int = 0
    _at_rest: asyncio.Event | None = None

    def __call__(self) -> "Connection":
        return Connection(self)

    def least_missed(self, coming: Iterable["Connection"], most: int) -> "Connection | None":
        """Who goes where there is no room for another beside ``most``; None while all are being answered. ``coming``
        are those that shake hands.

        Who was never answered is a stranger, whatever it does instead of asking. The oldest goes first, if it had its
        time or strangers have their half of the room: so each has some time, and who has asked has the other half. Of
        those first who sends a body without end, then who was silent for longest.
        """
        now = asyncio.get_running_loop().time()
        strangers = [one for one in (*coming, *self.open) if not (one.asked or one.answering)]
        oldest = min(strangers, key=lambda one: one.since, default=None)
        if oldest is not None and (len(strangers) >= most // 2 or now - oldest.since > PATIENCE):
            return oldest
        known = [one for one in self.open if one.asked and not one.answering]
        return min(known, key=lambda one: one.worth(now), default=oldest)

    def relieve(self) -> None:
        """Give up those that hold more than their share, from the one that is at it for longest."""
        while self.held > HELD:
            holding = [one for one in self.open if one.holds]
            min(holding, key=lambda one: (one.holds <= SHARE, one.started)).abort()

    def make_way(self) -> None:
        """For one more that is others': where there are as many as may be, the one goes that was silent for longest."""
        theirs = [one for one in self.open if one.handed_over]
        if len(theirs) >= OTHERS:
            min(theirs, key=lambda one: one.heard).abort()

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
        self.started = 0.0
        self._limit: asyncio.TimerHandle | None = None
        #: What came before the last review was answered, if no more of it is read; whether it waits for its turn.
        self._early = b""
        self._waits = False
        self._others: asyncio.Protocol | None = None
        self._full = False
        self._ending = False
        self._deaf = False
        #: When something came last; whether a review was ever answered, and since when it has been at anything else.
        self.heard = self.since = self._loop.time()
        self.asked = False
        #: Bytes that are held of reviews, and of these those of the one that waits.
        self.holds = 0
        self._waiting = 0
        self._silence: asyncio.TimerHandle

    @property
    def under_way(self) -> bool:
        """Whether a review is being read, or answered, or waits for its turn."""
        return self.answering or self._head is not None

    @property
    def handed_over(self) -> bool:
        return self._others is not None

    @property
    def answering(self) -> bool:
        return self.task is not None or self._waits

    def worth(self, now: float) -> tuple[int, float]:
        """Of those that have asked the one with the least goes first."""
        if self._head is None:
            return 1, self.heard
        return 0 if now - self.since > PATIENCE else 2, self.since

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
        if self._others is not None:
            self._others.connection_lost(exc)
        self._drop(exc)

    def eof_received(self) -> bool | None:
        return self._others.eof_received() if self._others is not None else None

    def end(self) -> None:
        """With the answer under way, or at once if there is none."""
        self._ending = True
        if not self.under_way:
            self._transport.close()

    def abort(self) -> None:
        self._transport.abort()
        self._drop(None)

    def _drop(self, why: Exception | None) -> None:
        """All that came of it."""
        self._reviews.open.discard(self)
        if self.task is not None:
            self.task.cancel()
        if self._head is not None:
            self._endpoint(self._head).refuse(torn(why), self.started)
            self._forget()
        self._early, self._waits, self._waiting, self._deaf = b"", False, 0, True
        self._weigh()
        self._reviews.rested()

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
        """If nothing that came is still to be answered, and answers are taken. Not what is others' by now: what they do
        not take they would have to hold."""
        if not (self.handed_over or self.answering or self._full or self._transport.is_closing()):
            self._transport.resume_reading()

    def _look(self) -> None:
        """End it if it has long been silent: to close it would wait for who does not take what was answered."""
        quiet_until = self.heard + self._reviews.keepalive
        if self.task is None and self._loop.time() >= quiet_until:
            self.abort()
        else:
            at = max(quiet_until, self._loop.time() + 1)
            self._silence = self._loop.call_at(at, self._look)

    # --- reviews ------------------------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        if self._deaf:
            return
        self.heard = self._loop.time()
        if self._others is not None:
            self._others.data_received(data)
            return
        if self.task is not None or self._waits:
            # API servers wait for an answer; who does not is heard after it.
            self._early += data
            self._transport.pause_reading()
            self._weigh()
            return
        if self._head is None:
            self._begin(data)
        else:
            self._parts.append(data)
            self._missing -= len(data)
            if self._missing <= 0:
                self._read(self._head, b"".join(self._parts))
        self._go_on()
        if self.holds or self.under_way:
            self._weigh()

    def _begin(self, data: bytes) -> None:
        head = head_of(data)
        if head is None or head.path not in self._reviews.endpoints or head.length > BODY_LIMIT:
            self._hand_over(data)
            return
        self.started = time.perf_counter()
        self._missing = head.start + head.length - len(data)
        if self._missing <= 0:
            self._read(head, data)
            return
        self._head, self._parts = head, [data]
        if self.asked:
            self.since = self.heard
        self._limit = self._loop.call_later(self._reviews.body_seconds, self._refuse)

    def _read(self, head: Head, data: bytes) -> None:
        """``data`` is the whole request, and perhaps more."""
        self._forget()
        end = head.start + head.length
        self._early = data[end:]
        reply = self._endpoint(head).answer(data[head.start : end], head.query, self.started)
        if isinstance(reply, Reply):
            self._write(reply)
        else:
            self._waiting = end
            self.task = self._loop.create_task(self._wait(reply))
            # Where the connection goes before the task had a turn nobody else ends what it was to wait for.
            self.task.add_done_callback(lambda _: reply.close())

    async def _wait(self, reply: Coroutine[Any, Any, Reply]) -> None:
        try:
            self._write(await reply)
        except Exception:
            log.exception("a review could not be answered")
            self._transport.abort()
        finally:
            self.task, self._waiting = None, 0
            self._reviews.rested()
        self._go_on()
        self._read_on()
        self._weigh()

    def _go_on(self) -> None:
        """With what came early: some of it, then others have their turn."""
        for _ in range(TURN):
            if not self._early or self.task is not None or self._transport.is_closing():
                return
            if self._full or len(self._early) > AHEAD:
                # No API server: what it is owed, and what TLS holds of it meanwhile, would be for nobody.
                self.abort()
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
        self._weigh()

    def _refuse(self) -> None:
        """The body does not arrive. What of it comes now is not read, so that the refusal is."""
        assert self._head is not None
        reply = self._endpoint(self._head).refuse(too_slow(self._reviews.body_seconds), self.started)
        self._forget()
        self._weigh()
        self._deaf = True
        self._transport.write(_encoded(reply, last=True))
        self._loop.call_later(self._reviews.linger, self._transport.close)
        self._reviews.rested()

    def _write(self, reply: Reply) -> None:
        if self._transport.is_closing():
            return
        if reply.status == 200:
            self.asked = True
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

    def _weigh(self) -> None:
        """Anew what is held, after that has changed."""
        holds = len(self._early) + self._waiting
        if self._head is not None:
            holds += self._head.start + self._head.length - self._missing
        more = holds - self.holds
        self.holds = holds
        self._reviews.held += more
        if more > 0:
            self._reviews.relieve()

    def _hand_over(self, data: bytes) -> None:
        """The connection is aiohttp's from here on; we only pass on what happens to it. Of its answers we know nothing:
        it is a stranger's again."""
        self._silence.cancel()
        if self.asked:
            self.asked, self.since = False, self.heard
        self._reviews.make_way()
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
