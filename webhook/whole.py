"""A review and its objects read in one pass, where the review names a kind of ours where API servers write it.

Whatever cannot be read so is nothing here, and read step by step (``webhook.review``, ``webhook.kinds``): that knows
what is wrong, and with which of the two. Where both can, they find the same. Most of a review is to be skipped, and one
pass skips it once.
"""

from typing import Any, Final, Generic, TypeVar

import msgspec

from classifier import api
from classifier.objects import Meta, Obj
from classifier.scope import JUDGED
from webhook import kinds, review
from webhook.review import Asked, GroupVersionKind, Request

T = TypeVar("T", bound=Meta)

#: The first of a review's own fields but its uid: 36 characters of the API server's making.
_KIND: Final = b'"kind":{'
#: Bytes in which it stands, if it does.
_WITHIN: Final = 256


class Whole(Asked, Generic[T], kw_only=True):
    """``old`` is None on CREATE."""

    obj: T = msgspec.field(name="object")
    old: T | None = msgspec.field(default=None, name="oldObject")
    #: All of the review, whatever it says of that itself.
    body: bytes = b""

    @property
    def document(self) -> msgspec.Raw:
        return review.decode(self.body).document


#: However a review was read.
AnyRequest = Request | Whole[Any]


class _Review(Obj, Generic[T], kw_only=True):
    request: Whole[T]
    api_version: str = ""
    kind: str = ""


class _Reader:
    """Of one kind."""

    def __init__(self, resource: api.Resource, type_: type[Meta]) -> None:
        self.kind = GroupVersionKind(group=resource.group, version=resource.version, kind=resource.kind)
        # The type is no static one, as far as a checker can see.
        self.decode = msgspec.json.Decoder[Any](_Review[type_]).decode  # type: ignore[valid-type]


_READERS: Final = {
    b'{"group":"%b","version":"%b","kind":"%b"}'
    % (resource.group.encode(), resource.version.encode(), resource.kind.encode()): _Reader(resource, type_)
    for resource, type_ in JUDGED.items()
}


def read(body: bytes) -> Whole[Any] | None:
    """The creation or update of an object of our kinds; None for any other review, and for what is none."""
    at = body.find(_KIND, 0, _WITHIN) + len(_KIND) - 1
    reader = _READERS.get(body[at : body.find(b"}", at) + 1])
    if reader is None or kinds.crowded(body):
        return None
    try:
        found = reader.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    asked: Whole[Any] = found.request
    if (
        found.kind != review.KIND
        or found.api_version != review.API_VERSION
        or not asked.uid
        # It may have been another's kind that stood there.
        or asked.kind != reader.kind
        or not (asked.operation == "CREATE" or (asked.operation == "UPDATE" and asked.old is not None))
    ):
        return None
    asked.body = body
    return asked
