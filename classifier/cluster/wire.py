"""What lists and watches look like on the wire. Objects stay raw until their type is known."""

from typing import Final

import msgspec

from classifier.cluster.client import ApiError, ClientError

#: Objects asked for at once.
PAGE: Final = 500
#: Seconds without a byte before a watch counts as dead. Bookmarks come about once a minute.
IDLE: Final = 150.0
#: How long a watch may last, seconds: the server is asked to end it at a random moment between these.
WATCH_SECONDS: Final = (300, 600)
#: One watch line: an object is at most 3 MiB in etcd, JSON may be somewhat more.
MAX_LINE: Final = 16 * 2**20


class ListMeta(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    continue_: str | None = msgspec.field(default=None, name="continue")


class Page(msgspec.Struct):
    """A page of a list. Items stay raw: one object we cannot read must not cost us the page."""

    metadata: ListMeta = msgspec.field(default_factory=ListMeta)
    items: list[msgspec.Raw] | None = None


class Event(msgspec.Struct):
    """A watch line: ADDED, MODIFIED or DELETED with an object, or a BOOKMARK."""

    type: str
    object: msgspec.Raw

    @property
    def version(self) -> str:
        """Of a bookmark: the version up to which everything was sent."""
        return msgspec.json.decode(self.object, type=_Bookmark).metadata.resource_version


class _Bookmark(msgspec.Struct):
    metadata: ListMeta


class _Status(msgspec.Struct):
    code: int | None = None
    reason: str | None = None
    message: str | None = None


def event_of(line: bytes) -> Event:
    """What a line says. An ERROR raises its ApiError, an unknown event ClientError, no event at all MsgspecError."""
    event = msgspec.json.decode(line, type=Event)
    match event.type:
        case "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK":
            return event
        case "ERROR":
            error = msgspec.json.decode(event.object, type=_Status)
            raise ApiError(error.code or 500, error.reason or "", error.message or "the watch reported an error")
        case _:
            raise ClientError(f"unknown watch event {event.type[:32]!r}")
