"""The head of a request in the one form that API servers send reviews in. Pure.

Whatever has another form, be it right or wrong, is nothing here: who asks has a complete HTTP server for it. So a head
is only taken for one where nothing in it could be understood in two ways (RFC 9112 §6.3, §11.2).
"""

from functools import lru_cache
from typing import Final, NamedTuple

END: Final = b"\r\n\r\n"
#: Bytes. An API server's has 300 to 500.
LONGEST: Final = 8192
#: As Go writes it. What else is in a head is always the same on a connection, and nearly so on all.
_LENGTH: Final = b"\r\nContent-Length: "
#: Digits of a length; more are no body of ours.
_DIGITS: Final = 10

#: Headers that change how a message is framed or read, or ask for more than an answer.
_MEANINGFUL: Final = frozenset(
    (
        b"connection",
        b"content-encoding",
        b"content-length",
        b"expect",
        b"http2-settings",
        b"keep-alive",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    )
)
_JSON: Final = b"application/json"


class Head(NamedTuple):
    """``query`` without its question mark; ``start`` is where the body begins, ``length`` how long it is."""

    path: str
    query: str
    start: int
    length: int


def head_of(data: bytes) -> Head | None:
    """The head that ``data`` begins with; None for a part of one, and for all that is not the one form."""
    end = data.find(END, 0, LONGEST)
    at = data.find(_LENGTH, 0, end) if end >= 0 else -1
    if at < 0:
        return None
    rest = data.find(b"\r\n", at + len(_LENGTH))
    digits = data[at + len(_LENGTH) : rest]
    target = _target(data[:at] + data[rest:end])
    if target is None or not digits.isdigit() or len(digits) > _DIGITS or not (length := int(digits)):
        return None
    return Head(*target, end + len(END), length)


@lru_cache(maxsize=64)
def _target(head: bytes) -> tuple[str, str] | None:
    """Path and query of a request whose head says this beside its length; None for any other form."""
    request, *lines = head.split(b"\r\n")
    typed = False
    for line in lines:
        name, colon, value = line.partition(b":")
        name = name.lower()
        # Of a line that goes on in the next one, and of what stands between a name and its colon, something is left.
        if (
            not colon
            or not name.replace(b"-", b"").isalnum()
            or name in _MEANINGFUL
            or b"\n" in value
            or b"\r" in value
        ):
            return None
        if name == b"content-type":
            if typed or value.strip(b" \t") != _JSON:
                return None
            typed = True
    method, _, rest = request.partition(b" ")
    target, _, version = rest.partition(b" ")
    if not typed or method != b"POST" or version != b"HTTP/1.1" or not target.startswith(b"/") or not target.isascii():
        return None
    path, _, query = target.decode("ascii").partition("?")
    return (path, query) if target.decode("ascii").isprintable() and "#" not in query else None
