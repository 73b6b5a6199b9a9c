"""Renews the token that a kubeconfig's command gives: the official client asks for it once, and most live for minutes.

Nothing here imports that client: it is told its loader, and hangs on its configuration as the hook it has for this.
"""

import asyncio
import logging
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Final

#: Seconds between two runs of the command at least: some tokens live no longer than they are renewed ahead of time.
AGAIN: Final = 30.0


class CommandFailed(OSError):
    """The command gave no token, and the one at hand is over."""


@contextmanager
def complaints() -> Iterator[list[str]]:
    """What the official client logs of a command that gives no credentials: it goes on without any, and all the API
    server says then is that nobody may do anything."""
    said: list[str] = []
    handler = logging.Handler(logging.ERROR)
    handler.emit = lambda record: said.append(" ".join(record.getMessage().split()))  # type: ignore[method-assign]
    logger = logging.getLogger("kubernetes.aio.config.kube_config")
    logger.addHandler(handler)
    try:
        yield said
    finally:
        logger.removeHandler(handler)


class Renewal:
    """To be called before each request. ``loader`` is the official client's, which has run the command once.

    A command that names no end of its token is not run again.
    """

    def __init__(self, loader: Any) -> None:
        self._loader = loader
        self._turn = asyncio.Lock()
        self._looked = -math.inf
        #: Why it gave none the last time.
        self._said = ""

    async def __call__(self, configuration: Any) -> None:
        """Raises :class:`CommandFailed`."""
        if getattr(self._loader, "exec_plugin_expiry", None) is None:
            return
        async with self._turn:
            if time.monotonic() >= self._looked + AGAIN:
                with complaints() as said:
                    # It looks at the token's end itself, and runs the command minutes ahead of it.
                    await self._loader.load_from_exec_plugin()
                self._looked, self._said = time.monotonic(), said[-1] if said else ""
                configuration.api_key["BearerToken"] = self._loader.token
            if self._said and self._loader.exec_plugin_expiry <= datetime.now(UTC):
                raise CommandFailed(self._said)
