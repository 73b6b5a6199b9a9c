"""Decodes the kinds the webhook looks into: those of ``classifier.scope.JUDGED``.

Any other kind is allowed as it is: a webhook configuration may be broader than that table.
"""

from typing import Final

import msgspec

from classifier import api
from classifier.objects import Meta
from classifier.scope import JUDGED
from webhook.review import GroupVersionKind

_DECODERS: Final = {
    (resource.group, resource.version, resource.kind): (resource, msgspec.json.Decoder(type_))
    for resource, type_ in JUDGED.items()
}
_metadata: Final = msgspec.json.Decoder(Meta)


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


def decode(resource: api.Resource, raw: msgspec.Raw) -> Meta:
    """The object. Raises :class:`Unreadable`."""
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
        return _metadata.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
