"""Plain HTTP beside the webhook: ``/healthz``, ``/readyz``, ``/metrics``.

Ready means that the API server's next review would be answered well: the snapshot is there, the API server trusts what
we serve, and our own TLS port answers with just that certificate. A pod that was ready before its port answered is a
well-known way to lose the first reviews (gatekeeper ``pkg/webhook/health_check.go``; reference/engineering.md §D.2).
"""

import asyncio
import hmac
import ipaddress
import ssl
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from aiohttp import web
from cryptography.hazmat.primitives.serialization import Encoding

from webhook import tls
from webhook.authority import Authority
from webhook.metrics import Metrics

#: What is wrong, in words; None when nothing is.
Check = Callable[[], Awaitable[str | None]]

_HANDSHAKE_SECONDS: Final = 1.0


def application(checks: Mapping[str, Check], metrics: Metrics) -> web.Application:
    """``/readyz`` is 200 or 503, with one line for each check either way."""

    async def healthy(_: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def ready(_: web.Request) -> web.Response:
        found = {name: await check() for name, check in checks.items()}
        text = "".join(f"{name}: {problem or 'ok'}\n" for name, problem in found.items())
        return web.Response(text=text, status=503 if any(found.values()) else 200)

    async def scrape(_: web.Request) -> web.Response:
        return web.Response(body=metrics.render(), headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"})

    app = web.Application()
    app.add_routes([web.get("/healthz", healthy), web.get("/readyz", ready), web.get("/metrics", scrape)])
    return app


async def served_as_intended(authority: Authority, address: str, port: int, server_name: str) -> str | None:
    """Shake hands with our own port as the API server would, and compare the certificate with the intended one."""
    leaf = authority.leaf
    if leaf is None:
        return "no certificate yet"
    try:
        async with asyncio.timeout(_HANDSHAKE_SECONDS):
            _, writer = await asyncio.open_connection(
                _reachable(address), port, ssl=tls.verify_context(authority.bundle), server_hostname=server_name
            )
    except (OSError, ssl.SSLError, TimeoutError) as error:
        return f"own TLS port {port} does not answer as it should: {error or type(error).__name__}"
    try:
        presented = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    finally:
        writer.transport.abort()
    intended = leaf.certificate.public_bytes(Encoding.DER)
    return None if hmac.compare_digest(presented or b"", intended) else "another certificate is served than intended"


def _reachable(address: str) -> str:
    """Where a listener on ``address`` can be reached from here."""
    parsed = ipaddress.ip_address(address)
    if not parsed.is_unspecified:
        return address
    return "::1" if parsed.version == 6 else "127.0.0.1"
