"""Puts back what a plain replace leaves out of an object that exists: the controller's annotations. Pure.

``kubectl replace`` and clients that send a whole object know nothing of what was written since. The chart's policy
would refuse them (``charts/muster/templates/protection/keys.yaml``); so what is left out stays as it was, whoever
leaves it out, and only a *changed* value is refused. Nothing is put back that copies a decision: mirror keys are for
anybody to take off, and whether a request took one off or merely did not name it, no review tells (a patch and a
replace look alike). Of administrators and the controller itself the webhook is not asked
(``charts/muster/templates/webhook/_conditions.tpl``).

A webhook's change is judged as the requester's: the very values of the old object are the only ones that pass.
"""

from typing import Final

from classifier import api
from classifier.objects import Meta
from webhook.template import Operation, have_room, token

#: Protected keys that stay until their writer, or an administrator, removes them.
KEPT: Final = tuple(key for key in api.PROTECTED_KEYS if key not in api.MIRROR_KEYS)

#: Room for the count of starts, which the same patch may write (``webhook.starts``).
_ROOM: Final = {api.ADMISSION_COUNT: "9" * 10}

PUT_BACK: Final = "muster: put back what only its controller takes off: "


def left_out(old: Meta, new: Meta) -> dict[str, str]:
    """Annotations of ``old`` that ``new`` lacks and must not: empty for nearly every update."""
    before, after = old.metadata.annotations or {}, new.metadata.annotations or {}
    return {key: before[key] for key in KEPT if key in before and key not in after}


def patch(old: Meta, new: Meta) -> tuple[Operation, ...]:
    """JSON Patch that puts them back. Where no room is left for them there is none, and the policy has its word."""
    missing = left_out(old, new)
    current = new.metadata.annotations
    if not missing or not have_room(current or {}, {**_ROOM, **missing}):
        return ()
    if not new.metadata.name:
        # The API server refuses it later, and there may be no metadata to patch.
        return ()
    if current is None:
        # Absent or null: "add" replaces either.
        return ({"op": "add", "path": "/metadata/annotations", "value": missing},)
    return tuple(
        {"op": "add", "path": "/metadata/annotations/" + token(key), "value": value} for key, value in missing.items()
    )


def notice(old: Meta, new: Meta) -> tuple[str, ...]:
    """What the person is told whose request was mended."""
    missing = left_out(old, new)
    return (PUT_BACK + ", ".join(key.removeprefix(api.PREFIX) for key in missing),) if missing else ()
