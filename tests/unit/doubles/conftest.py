"""A small API server's stand-in over TLS, the proxy before it, and a client that trusts the proxy."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import pytest
import trustme
from aiohttp import web

from e2e.chaos import ChaosProxy
from tests.until import PATIENCE

BOOKMARK = '{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9"}}}\n'


def event(number: int) -> str:
    return f'{{"type":"MODIFIED","object":{{"metadata":{{"name":"w","resourceVersion":"{number}"}}}}}}\n'


@dataclass
class Upstream:
    """Answers every request with what it got; watches send what ``say`` puts into them."""

    url: str = ""
    ca_file: Path = field(default_factory=Path)
    #: Requests that arrived: ``METHOD path body``.
    seen: list[str] = field(default_factory=list)
    authorization: list[str | None] = field(default_factory=list)
    watches: list[asyncio.Queue[str | None]] = field(default_factory=list)
    opened: asyncio.Event = field(default_factory=asyncio.Event)
    closed: asyncio.Event = field(default_factory=asyncio.Event)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.text()
        self.seen.append(f"{request.method} {request.path} {body}".strip())
        self.authorization.append(request.headers.get("Authorization"))
        if request.query.get("watch") == "1":
            return await self.watch(request)
        if request.path.endswith("/missing"):
            return web.json_response({"kind": "Status", "code": 404}, status=404)
        return web.json_response({"path": request.path, "body": body}, headers={"X-Upstream": "yes"})

    async def watch(self, request: web.Request) -> web.StreamResponse:
        stream = web.StreamResponse(headers={"Content-Type": "application/json"})
        await stream.prepare(request)
        queue: asyncio.Queue[str | None] = asyncio.Queue()
        self.watches.append(queue)
        self.opened.set()
        try:
            while (line := await queue.get()) is not None:
                await stream.write(line.encode())
        finally:
            self.closed.set()
        return stream

    async def say(self, *lines: str | None) -> None:
        """Send lines on the latest watch; None ends it."""
        async with asyncio.timeout(PATIENCE):
            await self.opened.wait()
        for line in lines:
            self.watches[-1].put_nowait(line)


@pytest.fixture
async def upstream(tmp_path: Path) -> AsyncIterator[Upstream]:
    double = Upstream(ca_file=tmp_path / "upstream.crt")
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(double.ca_file))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", double.handle)
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.5)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
    await site.start()
    double.url = f"https://127.0.0.1:{site.port}"
    yield double
    await runner.cleanup()


@pytest.fixture
async def proxy(upstream: Upstream) -> AsyncIterator[ChaosProxy]:
    async with ChaosProxy(upstream.url, upstream.ca_file) as proxy:
        yield proxy


@contextlib.asynccontextmanager
async def session_for(proxy: ChaosProxy) -> AsyncIterator[aiohttp.ClientSession]:
    """A client of the proxy that never tries again by itself, so that what arrives can be counted."""
    connector = aiohttp.TCPConnector(ssl=ssl.create_default_context(cafile=proxy.ca_file), force_close=True)
    async with aiohttp.ClientSession(
        proxy.url, connector=connector, timeout=aiohttp.ClientTimeout(total=10)
    ) as session:
        yield session


@pytest.fixture
async def http(proxy: ChaosProxy) -> AsyncIterator[aiohttp.ClientSession]:
    async with session_for(proxy) as session:
        yield session
