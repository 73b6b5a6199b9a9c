"""The kinds the webhook looks into. The next kind is one line here, beside its gang in ``classifier/fit/kinds``.

Any other kind is allowed as it is: a webhook configuration may be broader than this table.
"""

from typing import Final

import msgspec

from classifier import api
from classifier.fit.kinds import is_gang_owner, kind_of
from classifier.objects import Job, Meta

_TABLE: Final[tuple[tuple[api.Resource, type[Meta]], ...]] = ((api.JOBS, Job),)

_DECODERS: Final = {
    (resource.group, resource.version, resource.kind): msgspec.json.Decoder(type_) for resource, type_ in _TABLE
}


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


def not_ours(obj: Meta) -> str | None:
    """Why Muster never stamps, judges or bounds this object (design §3, "whose wait is bounded"); None if it does."""
    owner = obj.controller
    if owner is not None and is_gang_owner(owner):
        return f"child of {owner.kind} {owner.name}"
    if obj.label(api.MULTIKUEUE_ORIGIN) is not None:
        return "copy made by MultiKueue"
    kind = kind_of(obj)
    foreign = kind.foreign(obj) if kind else None
    if foreign:
        return f"managed by {foreign}"
    if obj.metadata.deletion_timestamp is not None:
        return "being deleted"
    return None
