"""Decodes the kinds the webhook looks into: those of ``classifier.scope.JUDGED``.

Any other kind is allowed as it is: a webhook configuration may be broader than that table.
"""

from typing import Final

import msgspec

from classifier import api
from classifier.objects import Meta, Metadata, Obj
from classifier.scope import JUDGED
from webhook.review import GroupVersionKind

_DECODERS: Final = {
    (resource.group, resource.version, resource.kind): (resource, msgspec.json.Decoder(type_))
    for resource, type_ in JUDGED.items()
}
#: Values in one object beyond which it is not looked into: ``{},`` takes a hundred times its bytes in memory, and a few
#: megabytes of it seconds to be judged. A job of a thousand containers has fewer, so at most some 20 MiB are taken.
MOST: Final = 100_000


class _Outside(Obj):
    """The metadata as it came, apart from all else."""

    metadata: msgspec.Raw = msgspec.Raw(b"{}")


_metadata: Final = msgspec.json.Decoder(Metadata)
_outside: Final = msgspec.json.Decoder(_Outside)


class Unreadable(Exception):
    """The object is not what its kind says; the text names the field."""


def resource_of(kind: GroupVersionKind) -> api.Resource | None:
    """The kind of the table, or None for one that is not ours."""
    found = _DECODERS.get((kind.group, kind.version, kind.kind))
    return found[0] if found else None


def name_of(kind: GroupVersionKind) -> str:
    """The metric's label: a kind of the table, or ``other``."""
    resource = resource_of(kind)
    return resource.kind if resource else "other"


def crowded(raw: bytes) -> bool:
    """Whether JSON may hold more than :data:`MOST` values: each but the outermost comes after a comma, or first in what
    it is in."""
    return len(raw) > MOST and len(raw) - len(raw.translate(None, b",{[")) >= MOST


def decode(resource: api.Resource, raw: msgspec.Raw) -> Meta:
    """The object. Raises :class:`Unreadable`."""
    if crowded(bytes(raw)):
        raise Unreadable(f"it has more than {MOST} values")
    _, decoder = _DECODERS[resource.group, resource.version, resource.kind]
    try:
        return decoder.decode(raw)
    except RecursionError:
        raise Unreadable("it is nested too deeply") from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise Unreadable(str(error).replace(" - at `$.", " at `")) from None


def metadata(raw: msgspec.Raw) -> Meta | None:
    """The metadata of an object that :func:`decode` cannot read; None where not even that can be."""
    try:
        found = _outside.decode(raw).metadata
        return None if crowded(bytes(found)) else Meta(metadata=_metadata.decode(found))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
