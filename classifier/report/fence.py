"""Is the fence in force, as far as a reader can tell (design §3)?

The controller says what it finds in the Ready condition of every CapacityProfile. Where it says nothing, a reader
compares policy and binding with the chart's itself, and their age has to do.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

import msgspec

from classifier import api, fence
from classifier.fence import PolicyObject
from classifier.instant import SECOND, format_duration
from classifier.objects import CapacityProfile

FENCE_NAME: Final = "muster-fence"
#: Reason of a profile's Ready condition while the controller does not enforce.
NOT_ENFORCED: Final = "FenceNotInForce"
#: How long policy and binding must have been unchanged before every API server has them.
SETTLE: Final = 30 * SECOND


class FenceState(StrEnum):
    IN_FORCE = "in-force"
    NOT_IN_FORCE = "not-in-force"
    UNKNOWN = "unknown"


class Fence(msgspec.Struct, frozen=True):
    """``why`` says what is missing, "" while it is in force."""

    state: FenceState = FenceState.UNKNOWN
    name: str = FENCE_NAME
    why: str = ""


def controllers_word(profiles: Iterable[CapacityProfile], name: str = FENCE_NAME) -> Fence | None:
    """What the controller says of the fence in the profiles' status; None where it says nothing."""
    for profile in profiles:
        ready = profile.status.condition(api.PROFILE_READY) if profile.status else None
        if ready is not None and ready.reason == NOT_ENFORCED:
            return Fence(FenceState.NOT_IN_FORCE, name, (ready.message or "").rpartition("enforced: ")[2])
        if ready is not None:
            return Fence(FenceState.IN_FORCE, name)
    return None


def fence_of(
    policy: PolicyObject | None,
    binding: PolicyObject | None,
    now: int,
    name: str = FENCE_NAME,
    word: Fence | None = None,
) -> Fence:
    """Judge the two objects; None means that there is none. ``word`` is the controller's, if it said anything.

    What is gone is gone, whatever was said of it; of what is there the controller knows best, since it compares with
    the chart it came with.
    """
    why = fence.missing(policy, binding, name)
    if why is None and word is not None:
        return word
    why = why or fence.wrong(policy, binding, name)
    if why is None and policy is not None and binding is not None:
        age = now - fence.changed(policy, binding)
        if age < SETTLE:
            why = f"{name} changed {format_duration(max(0, age))} ago; it counts after {format_duration(SETTLE)}"
    return Fence(FenceState.NOT_IN_FORCE, name, why) if why else Fence(FenceState.IN_FORCE, name)
