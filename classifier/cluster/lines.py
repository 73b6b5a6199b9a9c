"""Cuts a stream of bytes into lines, in time linear in its length however it is torn into chunks."""


class LineTooLong(Exception):
    """A line exceeds the limit; what follows cannot be trusted to be a line."""


class Lines:
    """``limit`` is the longest line kept, in bytes. A last line without its newline is never given out."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        # Joined only once a line is whole: adding each chunk to the rest would copy the rest for every chunk.
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that ``chunk`` completes, without blank ones. Raises :class:`LineTooLong`."""
        *whole, rest = chunk.split(b"\n")
        if whole:
            whole[0] = b"".join([*self._parts, whole[0]])
            self._parts.clear()
            self._size = 0
        self._parts.append(rest)
        self._size += len(rest)
        if self._size > self._limit or any(len(line) > self._limit for line in whole):
            raise LineTooLong(f"a line is longer than {self._limit} bytes")
        return [line for line in whole if line.strip()]
