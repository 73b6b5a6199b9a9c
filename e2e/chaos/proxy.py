"""The proxy: TLS on both sides, requests passed on unless a rule says otherwise."""

import contextlib
import os
import ssl
import tempfile
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import aiohttp
import trustme
import yaml
from aiohttp import web

from e2e.chaos.passage import CLOSING, Passage
from e2e.chaos.request import Exchange
from e2e.chaos.rule import Predicate, Rule, matcher

#: Requests that the log keeps.
LOG_LENGTH: Final = 20_000
#: Idle connections are the client's to close: Go keeps them for 90 s.
KEEPALIVE: Final = 3600.0


class ChaosProxy:
    """Stands in front of the API server at ``upstream``, whose certificate the CA in ``upstream_ca`` has signed."""

    def __init__(self, upstream: str, upstream_ca: str | os.PathLike[str]) -> None:
        self.requests: deque[Exchange] = deque(maxlen=LOG_LENGTH)
        self._upstream = upstream.rstrip("/")
        self._upstream_ca = upstream_ca
        self._rules: list[Rule] = []
        self._stack = contextlib.AsyncExitStack()

    # --- life ---------------------------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        async with contextlib.AsyncExitStack() as stack:
            self._folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="chaos-")))
            #: The CA that signed the proxy's own certificate.
            self.ca_file = self._folder / "ca.crt"
            authority = trustme.CA()
            authority.cert_pem.write_to_path(str(self.ca_file))
            serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            authority.issue_cert("127.0.0.1", "localhost").configure_cert(serving)
            connector = aiohttp.TCPConnector(limit=0, ssl=ssl.create_default_context(cafile=self._upstream_ca))
            session = await stack.enter_async_context(
                aiohttp.ClientSession(
                    connector=connector,
                    timeout=aiohttp.ClientTimeout(total=None),
                    auto_decompress=False,
                    skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
                )
            )
            self._passage = Passage(session, self._upstream, self._rules, self.requests)
            # A client that leaves ends its watch at once (handler_cancellation); other requests go on (Passage.handle).
            app = web.Application(client_max_size=0)
            app.router.add_route("*", "/{path:.*}", self._passage.handle)
            runner = web.AppRunner(
                app, access_log=None, handler_cancellation=True, keepalive_timeout=KEEPALIVE, shutdown_timeout=CLOSING
            )
            await runner.setup()
            self._runner = runner
            stack.push_async_callback(runner.cleanup)
            stack.push_async_callback(self._passage.finish)
            site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=serving)
            await site.start()
            self.url = f"https://127.0.0.1:{site.port}"
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    # --- for the test -------------------------------------------------------------------------------------------

    def when(
        self,
        method: str | None,
        path: str,
        *,
        body: Predicate | None = None,
        query: Mapping[str, str] | None = None,
        agent: str | None = None,
        watch: bool | None = None,
        nth: int = 1,
        times: int | None = 1,
    ) -> Rule:
        """A rule for requests whose path (without query) ``path`` is found in, a regular expression.

        ``agent`` is one for the user agent. It takes ``times`` requests (None: all), from the ``nth`` on. Of several
        rules the oldest that takes a request has it alone.
        """
        rule = Rule(matcher(method, path, body, query, agent, watch), nth=nth, times=times)
        self._rules.append(rule)
        return rule

    def forget(self) -> None:
        """Every rule so far: what is held goes on, and nothing more is taken."""
        for rule in self._rules:
            rule.stop()
        self._rules.clear()

    def break_streams(self, path: str = "") -> int:
        """Break every open watch whose path contains ``path``; how many there were."""
        return self._passage.break_streams(path)

    def hang_up(self) -> None:
        """End every connection on which nothing is asked just now: a client takes those it has in turn, and so keeps
        as many as it once needed."""
        server = self._runner.server
        for connection in server.connections if server is not None else ():
            # aiohttp's own close() leaves the socket of an idle one open, and whatever is asked there unheard.
            if connection._current_request is None:
                connection.force_close()

    def kubeconfig(self, token: str, *, namespace: str = "default") -> Path:
        """A kubeconfig that reaches the API server through the proxy; gone with it."""
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {
                    "name": "chaos",
                    "cluster": {"server": self.url, "certificate-authority": str(self.ca_file)},
                }
            ],
            "users": [{"name": "chaos", "user": {"token": token}}],
            "contexts": [{"name": "chaos", "context": {"cluster": "chaos", "user": "chaos", "namespace": namespace}}],
            "current-context": "chaos",
        }
        handle, name = tempfile.mkstemp(prefix="kubeconfig-", dir=self._folder)
        with os.fdopen(handle, "w") as file:
            yaml.safe_dump(config, file)
        return Path(name)
