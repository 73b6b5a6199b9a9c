"""One request to each pod of a group: several at once, and none is held up by another one that is refused.

A pod that somebody's webhook protects from us would keep its whole group without a bound: it is left out for a while,
and the group goes by what the others carry.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from classifier.cluster.client import ApiError
from classifier.objects import Meta
from controller.groups import Owned, without

log = logging.getLogger(__name__)

#: Requests at once for one group.
AT_ONCE: Final = 8
#: After so many failures the rest waits for the next time.
MANY: Final = 8
#: A pod that was refused is left out so long, seconds.
LEFT_OUT: Final = 300.0


class Members:
    """Which pods are left out, by their UID."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._left_out: dict[str, float] = {}

    def heard(self, owned: Owned) -> Owned:
        """A group without those of its pods that are left out; at least one is left."""
        if not self._left_out:
            return owned
        now = self._monotonic()
        self._left_out = {uid: until for uid, until in self._left_out.items() if until > now}
        return without(owned, self._left_out.keys())

    def left(self, parts: Iterable[Meta]) -> float | None:
        """Seconds until the first of those that are left out is heard again; None if none is."""
        waits = [until for part in parts if (until := self._left_out.get(part.uid)) is not None]
        return max(0.0, min(waits) - self._monotonic()) if waits else None

    async def write(self, owned: Owned, write: Callable[[Meta], Awaitable[None]]) -> bool:
        """Write to each carrier; whether some are left out from now on, and all is to be decided again.

        Raises what stands in the way of all of them or of many, of several failures the one that is worth another try.
        """
        failed = await each(owned.carriers, write)
        failed.sort(key=lambda one: _for_good(one[1]))
        if failed and (not _for_good(failed[0][1]) or len(failed) >= min(MANY, len(owned.carriers))):
            raise failed.pop(0)[1]
        for part, error in failed:
            log.warning(
                "a pod refuses what its group is told; the group goes on without it",
                extra={"pod": part.key, "cause": str(error)},
            )
            self._left_out[part.uid] = self._monotonic() + LEFT_OUT
        return bool(failed)


async def each(parts: Iterable[Meta], request: Callable[[Meta], Awaitable[None]]) -> list[tuple[Meta, ApiError]]:
    """Several at once; those that the API server answered with an error, up to :data:`MANY`. Raises everything else.

    An error and a frame that names it hold each other until Python's collector comes, or for ever where it was told to
    leave everything alone (as it is for what the reflectors keep). So those that are returned know of no frame, and who
    raises one takes it out of the list first.
    """
    waiting, failed = deque(parts), []

    async def work() -> None:
        while waiting:
            part = waiting.popleft()
            try:
                await request(part)
            except ApiError as error:
                failed.append((part, error.with_traceback(None)))
                if error.status == 429 or len(failed) >= MANY:
                    waiting.clear()
            except Exception:
                waiting.clear()
                raise

    outcomes = await asyncio.gather(*(work() for _ in range(min(AT_ONCE, len(waiting)))), return_exceptions=True)
    raised = [outcome for outcome in outcomes if outcome is not None]
    del outcomes
    if raised:
        raise raised.pop(0)
    return failed


def _for_good(error: ApiError) -> bool:
    """Whether this object is refused, be it by a policy or somebody's webhook: trying again changes nothing."""
    return 400 <= error.status < 500 and error.status not in (401, 404, 409, 429)
