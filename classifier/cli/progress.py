"""A word on stderr about what takes long, so that nobody wonders."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Final

from classifier.cli.output import warn

#: Seconds until the first word, and between the next ones.
FIRST: Final = 2.0
NEXT: Final = 10.0


@contextlib.asynccontextmanager
async def telling(what: str) -> AsyncIterator[None]:
    """``what`` is being done inside: ``reading from https://...``."""
    task = asyncio.create_task(_tell(what))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _tell(what: str) -> None:
    await asyncio.sleep(FIRST)
    while True:
        warn(f"still {what} ...")
        await asyncio.sleep(NEXT)
