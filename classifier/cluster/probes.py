"""Plain HTTP for kubelet and Prometheus: ``/healthz``, ``/readyz``, ``/metrics``. Of it both daemons have the port,
which anybody in the cluster may connect to.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

#: Connections at once. Kubelets and scrapers have a handful; what is held for each is nobody's to fill.
CONNECTIONS: Final = 256
#: Seconds after which a silent connection is closed. Scrapers ask every minute or so.
KEEPALIVE: Final = 300.0
#: Seconds for answers under way in the end; aiohttp waits as long again for what it then cancels.
LAST_ANSWERS: Final = 0.5


class _Site(web.BaseSite):
    """An address that a runner listens on. Where there are as many connections as may be, the oldest goes for the next:
    who probes is through long before."""

    def __init__(self, runner: web.AppRunner, host: str, port: int) -> None:
        super().__init__(runner)
        self._address = host, port

    @property
    def name(self) -> str:
        return "http://{}:{}".format(*self._address)

    async def start(self) -> None:
        await super().start()
        self._server = await asyncio.get_running_loop().create_server(self._connection, *self._address)

    def _connection(self) -> asyncio.Protocol:
        server = self._runner.server
        assert server is not None
        there = server.connections
        for one in there[: max(0, len(there) + 1 - CONNECTIONS)]:
            if one.transport is not None:
                one.transport.abort()
        return server()


async def listen(app: web.Application, host: str, port: int) -> web.AppRunner:
    """Serve ``app`` until the runner is cleaned up. Raises OSError when the port cannot be had."""
    runner = web.AppRunner(app, access_log=None, keepalive_timeout=KEEPALIVE, shutdown_timeout=LAST_ANSWERS)
    await runner.setup()
    try:
        await _Site(runner, host, port).start()
    except OSError:
        await runner.cleanup()
        raise
    return runner


async def serve(
    host: str, port: int, registry: CollectorRegistry, not_ready: Callable[[], Sequence[str]]
) -> web.AppRunner:
    """The controller's, as :func:`listen`. ``not_ready`` names what is missing; empty means ready."""

    async def healthz(_: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def readyz(_: web.Request) -> web.Response:
        missing = not_ready()
        if missing:
            return web.Response(status=503, text="not ready: " + "; ".join(missing) + "\n")
        return web.Response(text="ok\n")

    async def metrics(_: web.Request) -> web.Response:
        return web.Response(body=generate_latest(registry), headers={"Content-Type": CONTENT_TYPE_LATEST})

    app = web.Application()
    app.router.add_get("/healthz", healthz)
    app.router.add_get("/readyz", readyz)
    app.router.add_get("/metrics", metrics)
    return await listen(app, host, port)
