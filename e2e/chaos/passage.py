"""How one request passes through the proxy, and how it fails to."""

import asyncio
import contextlib
import logging
import socket
import struct
from collections import deque
from collections.abc import AsyncIterator, Coroutine, Mapping
from typing import Final

import aiohttp
from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from e2e.chaos.request import Exchange, Request
from e2e.chaos.rule import Answer, Delay, Hold, Reset, Rule
from e2e.chaos.stream import Torn, with_faults

log = logging.getLogger(__name__)

#: Headers of one hop (RFC 9110 §7.6.1) and those that the next hop writes itself.
_HOP: Final = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "host",
        "content-length",
    }
)
#: Seconds that requests under way get when the proxy closes.
CLOSING: Final = 2.0


class _Broken(Exception):
    """The client gets no (further) answer: its connection is broken, by ``RST`` unless ``clean``."""

    def __init__(self, clean: bool) -> None:
        self.clean = clean


class Passage:
    """Requests on their way to ``upstream``; ``rules`` and ``exchanges`` are the proxy's own, shared."""

    def __init__(
        self, session: aiohttp.ClientSession, upstream: str, rules: list[Rule], exchanges: deque[Exchange]
    ) -> None:
        self._session = session
        self._upstream = upstream
        self._rules = rules
        self._log = exchanges
        self._exchanges: set[asyncio.Task[web.StreamResponse]] = set()
        self._streams: dict[asyncio.Task[None], Request] = {}
        self._closing = False

    async def finish(self) -> None:
        """Let go of everything: what is held goes on, streams end, nobody is waited for longer than CLOSING."""
        self._closing = True
        for rule in self._rules:
            rule.stop()
        for stream in self._streams:
            stream.cancel()
        if self._exchanges:
            _, late = await asyncio.wait(self._exchanges, timeout=CLOSING)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    def break_streams(self, path: str = "") -> int:
        """Break every open watch whose path contains ``path``; how many there were."""
        broken = [task for task, request in self._streams.items() if path in request.path]
        for task in broken:
            task.cancel()
        return len(broken)

    async def handle(self, incoming: web.Request) -> web.StreamResponse:
        request = Request(incoming.method, incoming.path, incoming.query, incoming.headers, await incoming.read())
        exchange = Exchange(request.method, request.path, request.query, request.user_agent)
        self._log.append(exchange)
        rule = next((rule for rule in self._rules if rule.takes(request)), None)
        try:
            if request.streaming:
                return await self._stream(incoming, request, exchange, rule)
            # As on a real network: a client that has given up does not undo what is on its way.
            task = asyncio.create_task(self._exchange(incoming, request, exchange, rule))
            self._exchanges.add(task)
            task.add_done_callback(self._done)
            return await asyncio.shield(task)
        except _Broken as broken:
            return _break(incoming, broken.clean)

    def _done(self, task: asyncio.Task[web.StreamResponse]) -> None:
        self._exchanges.discard(task)
        # Asked for here as well: the client may have gone, and then nobody else does.
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, _Broken):
            log.error("a request could not be passed on", exc_info=error)

    async def _exchange(
        self, incoming: web.Request, request: Request, exchange: Exchange, rule: Rule | None
    ) -> web.StreamResponse:
        answer = await _strike(rule, after=False)
        if answer is None:
            try:
                async with self._forward(incoming, request) as upstream:
                    exchange.forwarded = True
                    answer = web.Response(
                        status=upstream.status, headers=_passed(upstream.headers), body=await upstream.read()
                    )
            except aiohttp.ClientError as error:
                # The API server gave no answer, so the client gets none either.
                raise _Broken(clean=False) from error
            answer = await _strike(rule, after=True) or answer
        exchange.status = answer.status
        return answer

    async def _stream(
        self, incoming: web.Request, request: Request, exchange: Exchange, rule: Rule | None
    ) -> web.StreamResponse:
        answer = await _strike(rule, after=False)
        if answer is not None:
            exchange.status = answer.status
            return answer
        try:
            async with self._forward(incoming, request) as upstream:
                exchange.forwarded = True
                answer = await _strike(rule, after=True)
                if answer is not None:
                    exchange.status = answer.status
                    return answer
                exchange.status = upstream.status
                outgoing = web.StreamResponse(status=upstream.status, headers=_passed(upstream.headers))
                await outgoing.prepare(incoming)
                await self._follow(request, self._copy(upstream, outgoing, rule))
                return outgoing
        except (aiohttp.ClientError, Torn) as error:
            # In good order as far as TCP goes, so that all that was passed on arrives; HTTP has no end.
            raise _Broken(clean=True) from error

    async def _follow(self, request: Request, copy: Coroutine[None, None, None]) -> None:
        """Run the copying of a stream so that :meth:`break_streams` can end it."""
        if self._closing:
            copy.close()
            raise _Broken(clean=True)
        copying = asyncio.create_task(copy)
        self._streams[copying] = request
        try:
            await asyncio.wait([copying])
        finally:
            copying.cancel()
            self._streams.pop(copying)
        if copying.cancelled():
            raise _Broken(clean=True)
        copying.result()

    async def _copy(self, upstream: aiohttp.ClientResponse, outgoing: web.StreamResponse, rule: Rule | None) -> None:
        chunks: AsyncIterator[bytes] = aiter(upstream.content.iter_any())
        if rule is not None and rule.lines and upstream.status == 200:
            chunks = with_faults(chunks, rule.lines, rule.released)
        async for chunk in chunks:
            await outgoing.write(chunk)
        await outgoing.write_eof()

    def _forward(
        self, incoming: web.Request, request: Request
    ) -> contextlib.AbstractAsyncContextManager[aiohttp.ClientResponse]:
        # The path as it came, percent signs included.
        return self._session.request(
            request.method,
            URL(self._upstream + incoming.raw_path, encoded=True),
            headers=_passed(incoming.headers),
            data=request.body or None,
            allow_redirects=False,
        )


async def _strike(rule: Rule | None, *, after: bool) -> web.Response | None:
    """Carry a rule's faults of one stage out, in order; the answer of the one that gives it."""
    if rule is None:
        return None
    for fault in rule.after if after else rule.before:
        match fault:
            case Hold():
                await rule.released()
            case Delay(seconds):
                await asyncio.sleep(seconds)
            case Answer(status, body, headers):
                return web.Response(status=status, body=body, headers=headers)
            case Reset(clean):
                raise _Broken(clean)
    return None


def _passed(headers: Mapping[str, str]) -> CIMultiDict[str]:
    """Headers without those that concern one hop only."""
    return CIMultiDict((name, value) for name, value in headers.items() if name.lower() not in _HOP)


def _break(incoming: web.Request, clean: bool) -> web.Response:
    """End the client's connection. aiohttp drops the answer returned here, since nobody can be told."""
    transport = incoming.transport
    if transport is not None and clean:
        transport.close()
    elif transport is not None:
        # A linger of zero seconds: the kernel sends RST instead of FIN.
        linger = struct.pack("ii", 1, 0)
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        transport.abort()
    return web.Response()
