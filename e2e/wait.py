"""Waiting for conditions, never for time to pass."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from classifier.cluster.client import ApiError

T = TypeVar("T")

#: Seconds. Generous: a wait that succeeds costs nothing of it.
TIMEOUT: Final = 60.0
POLL: Final = 0.05
#: Each look costs the API server, which everybody waits for: whoever waits for long looks less often, down to this.
LONGEST: Final = 0.25
LONGER: Final = 1.1


async def eventually(
    check: Callable[[], Awaitable[T]], timeout: float = TIMEOUT, *, what: str = "", poll: float | None = None
) -> T:
    """Call ``check`` until it neither raises AssertionError nor returns None or False; returns what it returned.

    An object that does not exist (yet) counts as not yet, too. Raises AssertionError with the last reason after
    ``timeout`` seconds. ``poll``: how often to look, seconds; else often at first, and ever less.
    """
    pause = POLL if poll is None else poll
    deadline = time.monotonic() + timeout
    while True:
        try:
            found = await check()
        except AssertionError as error:
            reason = str(error) or "the check failed"
        except ApiError as error:
            if not error.missing:
                raise
            reason = str(error)
        else:
            if found is not None and found is not False:
                return found
            reason = f"the check gave {found}"
        if time.monotonic() >= deadline:
            raise AssertionError(f"{what or 'not'} within {timeout:g} s: {reason}")
        await asyncio.sleep(pause)
        if poll is None:
            pause = min(LONGEST, pause * LONGER)
