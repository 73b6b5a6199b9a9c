"""Decodes the kinds the webhook looks into: those of ``classifier/state/kinds``.

Any other kind is allowed as it is: a webhook configuration may be broader than that table.
"""

from typing import Final

import msgspec

from classifier.objects import Meta
from classifier.scope import BOUNDED

_DECODERS: Final = {
    (view.resource.group, view.resource.version, view.resource.kind): msgspec.json.Decoder(view.type_)
    for view in BOUNDED.values()
}
_metadata: Final = msgspec.json.Decoder(Meta)


class Unreadable(Exception):
    """The object is not what its kind says; the text names the field."""


def name_of(group: str, version: str, kind: str) -> str:
    """The metric's label: a kind of the table, or ``other``."""
    return kind if (group, version, kind) in _DECODERS else "other"


def decode(group: str, version: str, kind: str, raw: msgspec.Raw) -> Meta | None:
    """The object, or None for a kind that is not ours. Raises :class:`Unreadable`."""
    decoder = _DECODERS.get((group, version, kind))
    if decoder is None:
        return None
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
