"""What passes through the proxy: requests as rules see them, the log, and answers in the API server's form."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

#: Reasons of a ``metav1.Status`` by HTTP code (apimachinery: pkg/apis/meta/v1/types.go).
REASONS: Final = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    409: "Conflict",
    410: "Expired",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}

#: The streaming queries of the API: watches and followed logs.
_STREAMING: Final = ("watch", "follow")


@dataclass(frozen=True)
class Request:
    """One request, complete: its body has been read, nothing has been forwarded yet."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes

    @property
    def user_agent(self) -> str:
        return self.headers.get("User-Agent", "")

    @property
    def streaming(self) -> bool:
        """Whether the answer is a stream without an end: ``watch`` or ``follow`` is set."""
        return any(self.query.get(name) in ("1", "true") for name in _STREAMING)

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Exchange:
    """A line of the proxy's log."""

    method: str
    path: str
    query: Mapping[str, str]
    user_agent: str
    #: What the client was told; None while it waits, and for ever when the connection was broken instead.
    status: int | None = None
    #: Whether the API server saw it.
    forwarded: bool = field(default=False)


def contains(text: str | bytes) -> Callable[[bytes], bool]:
    """A predicate over a body or a watch line: ``text`` occurs in it, spaces after JSON's colons aside."""
    wanted = (text.encode() if isinstance(text, str) else text).replace(b": ", b":")
    return lambda data: wanted in data.replace(b": ", b":")


def status_body(status: int, message: str) -> bytes:
    """A ``metav1.Status`` as the API server sends it with an error."""
    return json.dumps(
        {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": message,
            "reason": REASONS.get(status, ""),
            "code": status,
        }
    ).encode()


def gone_event() -> bytes:
    """The watch line with which an API server says that the resourceVersion is too old."""
    return b'{"type":"ERROR","object":' + status_body(410, "too old resource version") + b"}\n"
