"""The two listeners and how they end.

kube-apiserver keeps idle connections for 90 s and may post into a pod that is terminating, without a second try
(kubernetes/kubernetes#127335). So idle connections outlive its patience, and after SIGTERM the listener goes on for a
while, closing each connection with its answer, until endpoints have forgotten us (gatekeeper#3780).
"""

import asyncio
import logging
import ssl
from functools import partial
from typing import Final

from aiohttp import web

from classifier.cluster import probes
from webhook import health, pipeline
from webhook.authority import Authority
from webhook.connection import Reviews
from webhook.decide import Reviewer
from webhook.listener import Listener
from webhook.metrics import Metrics
from webhook.settings import Settings
from webhook.snapshot import Snapshot

log = logging.getLogger(__name__)

#: Seconds. Above kube-apiserver's 90; aiohttp's one knob also ends connections that send nothing or half a header.
KEEPALIVE: Final = 300.0
#: Seconds a connection is read on after a body was refused, so that the refusal arrives before the connection is reset.
LINGER: Final = 2.0
#: Seconds for answers under way when the listener closes. Longer than any review takes.
LAST_ANSWERS: Final = 5.0
#: Seconds after these for what aiohttp answers, which no API server asks; it waits as long again for what it cancels.
LAST_OF_OTHERS: Final = 2.0
#: Seconds from the end of the drain in which all of it is over. The chart refuses a grace period that is too short.
ENDING: Final = LAST_ANSWERS + 2 * LAST_OF_OTHERS + 2 * probes.LAST_ANSWERS


class Server:
    """TLS for reviews, plain HTTP for probes and metrics."""

    def __init__(
        self,
        settings: Settings,
        context: ssl.SSLContext,
        *,
        reviewer: Reviewer,
        snapshot: Snapshot,
        authority: Authority,
        metrics: Metrics,
    ) -> None:
        self.draining = False
        self._settings = settings
        self._context = context

        async def serving() -> str | None:
            return "stopping" if self.draining else None

        async def synced() -> str | None:
            return snapshot.trouble

        async def trusted() -> str | None:
            return authority.trouble

        async def own_port() -> str | None:
            return await health.served_as_intended(
                authority, settings.bind_address, settings.port, settings.server_name
            )

        for kind in ("ca", "leaf"):
            metrics.follow_expiry(kind, partial(authority.seconds_left, kind))
        checks = {"serving": serving, "snapshot": synced, "trust": trusted, "tls": own_port}
        endpoints = {
            f"/{phase}": pipeline.Endpoint(phase, decide, metrics, lambda: reviewer.judging)
            for phase, decide in (("mutate", reviewer.mutate), ("validate", reviewer.validate))
        }
        #: For what is not as an API server sends it.
        self._others = web.AppRunner(
            pipeline.application(endpoints, lambda: self.draining),
            keepalive_timeout=KEEPALIVE,
            lingering_time=LINGER,
            shutdown_timeout=LAST_OF_OTHERS,
            access_log=None,
        )
        self._reviews = Reviews(endpoints, self._other, lambda: self.draining, keepalive=KEEPALIVE, linger=LINGER)
        self._listener: Listener | None = None
        self._probes = health.application(checks, metrics)
        self._probed: web.AppRunner | None = None

    def _other(self) -> asyncio.Protocol:
        assert self._others.server is not None
        return self._others.server()

    async def start(self) -> None:
        """Listen on both ports. Raises OSError when one cannot be had."""
        settings = self._settings
        await self._others.setup()
        self._probed = await probes.listen(self._probes, settings.bind_address, settings.metrics_port)
        listener = Listener(self._reviews, self._context)
        listener.open(settings.bind_address, settings.port)
        self._listener = listener

    async def drain(self, seconds: float) -> None:
        """Not ready from now on, yet still answering for ``seconds``."""
        self.draining = True
        log.info("draining", extra={"seconds": seconds})
        await asyncio.sleep(seconds)

    async def stop(self) -> None:
        """Within :data:`ENDING`."""
        if self._listener is not None:
            self._listener.close()
        await self._reviews.stop(LAST_ANSWERS)
        await self._others.cleanup()
        if self._probed is not None:
            await self._probed.cleanup()
