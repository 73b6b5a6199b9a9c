"""Rules: which request, and what happens to it."""

import asyncio
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, Final, Self

import msgspec

from e2e.chaos.request import Request, status_body

Predicate = Callable[[bytes], bool]

#: Seconds that :meth:`Rule.caught` waits unless told otherwise.
CAUGHT_TIMEOUT: Final = 30.0


@dataclass(frozen=True)
class Hold:
    """Wait until the rule is released."""


@dataclass(frozen=True)
class Delay:
    seconds: float


@dataclass(frozen=True)
class Answer:
    """An answer that did not come from the API server."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Reset:
    """End the connection without an answer: ``RST``, or an orderly ``FIN`` when ``clean``."""

    clean: bool = False


Fault = Hold | Delay | Answer | Reset


class LineKind(Enum):
    CUT = auto()
    CLOSE = auto()
    GONE = auto()
    STALL = auto()
    DUPLICATE = auto()
    NO_BOOKMARKS = auto()


@dataclass(frozen=True)
class LineFault:
    """What happens to the first line of a stream that ``line`` accepts; None: as soon as the stream is open."""

    kind: LineKind
    line: Predicate | None = None


def _any_line(_: bytes) -> bool:
    return True


class Rule:
    """Made by :meth:`ChaosProxy.when`; without a fault it only observes.

    Faults of one rule happen in the order in which they were asked for, those ``after=True`` once the API server has
    answered and before the client hears of it. Faults of streams (:meth:`cut` and following) apply to watches.
    """

    def __init__(self, matches: Callable[[Request], bool], *, nth: int, times: int | None) -> None:
        self._matches = matches
        self._skip = nth - 1
        self._left = times
        self._caught: asyncio.Queue[Request] = asyncio.Queue()
        self._released = asyncio.Event()
        self.before: list[Fault] = []
        self.after: list[Fault] = []
        self.lines: list[LineFault] = []

    # --- faults -------------------------------------------------------------------------------------------------

    def _add(self, fault: Fault, after: bool) -> Self:
        (self.after if after else self.before).append(fault)
        return self

    def hold(self, *, after: bool = False) -> Self:
        """Keep the request (or, ``after``, its answer) until :meth:`release`."""
        return self._add(Hold(), after)

    def delay(self, seconds: float, *, after: bool = False) -> Self:
        return self._add(Delay(seconds), after)

    def answer(
        self,
        status: int,
        *,
        retry_after: float | None = None,
        body: bytes | str | Mapping[str, Any] | None = None,
        content_type: str = "application/json",
        after: bool = False,
    ) -> Self:
        """Answer in the API server's place, by default with a ``metav1.Status``.

        ``after``: the API server has carried the request out and its own answer is thrown away.
        ``retry_after`` is in seconds.
        """
        headers = {"Content-Type": content_type}
        if retry_after is not None:
            headers["Retry-After"] = f"{retry_after:g}"
        match body:
            case None:
                data = status_body(status, "asked for by a test")
            case str():
                data = body.encode()
            case bytes():
                data = body
            case _:
                data = msgspec.json.encode(body)
        return self._add(Answer(status, data, headers), after)

    def reset(self, *, after: bool = False, clean: bool = False) -> Self:
        """Break the connection without an answer, before or after the request reached the API server."""
        return self._add(Reset(clean), after)

    # --- faults of streams --------------------------------------------------------------------------------------

    def _add_line(self, kind: LineKind, line: Predicate | None) -> Self:
        self.lines.append(LineFault(kind, line))
        return self

    def cut(self, line: Predicate | None = None) -> Self:
        """Pass on half of the line, then break the connection. None: of the first line."""
        return self._add_line(LineKind.CUT, line or _any_line)

    def close(self, line: Predicate | None = None) -> Self:
        """End the stream in good order instead of passing the line on. None: at once."""
        return self._add_line(LineKind.CLOSE, line)

    def gone(self, line: Predicate | None = None) -> Self:
        """Send a 410 ERROR event instead of the line and end the stream. None: at once."""
        return self._add_line(LineKind.GONE, line)

    def stall(self, line: Predicate | None = None) -> Self:
        """Keep the line, and all that follow it, until :meth:`release`. None: everything."""
        return self._add_line(LineKind.STALL, line)

    def duplicate(self, line: Predicate | None = None) -> Self:
        """Send the line twice. None: the first line."""
        return self._add_line(LineKind.DUPLICATE, line or _any_line)

    def without_bookmarks(self) -> Self:
        """Never pass a BOOKMARK event on."""
        return self._add_line(LineKind.NO_BOOKMARKS, None)

    # --- for the test -------------------------------------------------------------------------------------------

    async def caught(self, timeout: float = CAUGHT_TIMEOUT) -> Request:
        """The next request this rule took. Raises TimeoutError after ``timeout`` seconds."""
        async with asyncio.timeout(timeout):
            return await self._caught.get()

    def release(self) -> None:
        """Let go of what is held, and hold nothing from now on."""
        self._released.set()

    def stop(self) -> None:
        """Take no further request; what is held goes on."""
        self._left = 0
        self.release()

    # --- for the proxy ------------------------------------------------------------------------------------------

    def takes(self, request: Request) -> bool:
        """Whether this request is one of this rule's; counts it."""
        if self._left == 0 or not self._matches(request):
            return False
        if self._skip > 0:
            self._skip -= 1
            return False
        if self._left is not None:
            self._left -= 1
        self._caught.put_nowait(request)
        return True

    async def released(self) -> None:
        await self._released.wait()


def matcher(
    method: str | None,
    path: str,
    body: Predicate | None,
    query: Mapping[str, str] | None,
    agent: str | None,
    watch: bool | None,
) -> Callable[[Request], bool]:
    """Whether a request has this method (None: any), and a path and user agent in which the patterns are found."""
    path_pattern, agent_pattern = re.compile(path), re.compile(agent or "")

    def matches(request: Request) -> bool:
        return (
            (method is None or request.method == method)
            and (watch is None or request.streaming == watch)
            and path_pattern.search(request.path) is not None
            and agent_pattern.search(request.user_agent) is not None
            and all(request.query.get(name) == value for name, value in (query or {}).items())
            and (body is None or body(request.body))
        )

    return matches
