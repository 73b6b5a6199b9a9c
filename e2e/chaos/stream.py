"""The faults of a stream, line by line; no I/O of its own."""

from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable

from e2e.chaos.request import gone_event
from e2e.chaos.rule import LineFault, LineKind


class Torn(Exception):
    """The stream ends here without a proper end: the connection is to be broken."""


async def lines(chunks: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    """Whole lines, newline included; what follows the last newline comes at the end."""
    rest = b""
    async for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield line + b"\n"
    if rest:
        yield rest


async def with_faults(
    chunks: AsyncIterable[bytes], faults: Iterable[LineFault], released: Callable[[], Awaitable[None]]
) -> AsyncIterator[bytes]:
    """What the client gets to see of ``chunks``. Ends early for a close or a 410; raises :class:`Torn` for a cut.

    Every fault strikes once, except that bookmarks stay away for the whole stream.
    """
    waiting = [fault for fault in faults if fault.kind is not LineKind.NO_BOOKMARKS]
    bookmarks = len(waiting) == len(list(faults))
    for fault in [f for f in waiting if f.line is None]:
        waiting.remove(fault)
        match fault.kind:
            case LineKind.GONE:
                yield gone_event()
                return
            case LineKind.CLOSE:
                return
            case LineKind.STALL:
                await released()
    async for line in lines(chunks):
        if not bookmarks and b'"BOOKMARK"' in line[:32]:
            continue
        copies = 1
        for fault in [f for f in waiting if f.line is not None and f.line(line)]:
            waiting.remove(fault)
            match fault.kind:
                case LineKind.CUT:
                    yield line[: len(line) // 2]
                    raise Torn
                case LineKind.GONE:
                    yield gone_event()
                    return
                case LineKind.CLOSE:
                    return
                case LineKind.STALL:
                    await released()
                case LineKind.DUPLICATE:
                    copies = 2
        for _ in range(copies):
            yield line
