"""Waiting for what has no event of its own, never for time to pass. On the real control plane: ``e2e/wait.py``."""

import asyncio
from collections.abc import Callable
from typing import Final

#: Seconds. Generous: a wait that succeeds costs nothing of it.
PATIENCE: Final = 30.0


async def until(condition: Callable[[], object]) -> None:
    """Raises TimeoutError after PATIENCE."""
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110  # there is no event for what is asked
            await asyncio.sleep(0.001)
