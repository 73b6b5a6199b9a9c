"""Is the fence in force, as far as a reader can tell (design §3)?

The controller compares policy and binding with the chart's, and says what it finds in the Ready condition of every
CapacityProfile. A reader does not have the chart, and the controller may be down; but it can see that both objects
exist, that the binding denies, that a failure refuses. Where the controller says nothing, their age has to do.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

import msgspec

from classifier import api
from classifier.instant import SECOND, format_duration, instant_or_none
from classifier.objects import CapacityProfile, Meta, Obj

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


class FencePolicySpec(Obj):
    failure_policy: str | None = None


class FencePolicy(Meta):
    """ValidatingAdmissionPolicy, the fields a reader judges by."""

    spec: FencePolicySpec | None = None


class FenceBindingSpec(Obj):
    policy_name: str = ""
    validation_actions: list[str] | None = None


class FenceBinding(Meta):
    """ValidatingAdmissionPolicyBinding, likewise."""

    spec: FenceBindingSpec | None = None


def _changed(obj: Meta) -> int:
    """When the object last changed, besides its status (milliseconds; 0 where it does not say)."""
    times = [obj.metadata.creation_timestamp]
    times += [m.time for m in obj.metadata.managed_fields or () if not m.subresource]
    return max((at for at in map(instant_or_none, times) if at is not None), default=0)


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
    policy: FencePolicy | None,
    binding: FenceBinding | None,
    now: int,
    name: str = FENCE_NAME,
    word: Fence | None = None,
) -> Fence:
    """Judge the two objects; None means that there is none. ``word`` is the controller's, if it said anything."""

    def no(why: str) -> Fence:
        return Fence(FenceState.NOT_IN_FORCE, name, why)

    if policy is None or binding is None:
        kind = "ValidatingAdmissionPolicy" if policy is None else "ValidatingAdmissionPolicyBinding"
        return no(f"{kind} {name} does not exist")
    if policy.metadata.deletion_timestamp or binding.metadata.deletion_timestamp:
        return no(f"{name} is being deleted")
    if policy.spec is not None and policy.spec.failure_policy not in (None, "Fail"):
        return no(f"ValidatingAdmissionPolicy {name} has failurePolicy {policy.spec.failure_policy}")
    spec = binding.spec or FenceBindingSpec()
    if spec.policy_name != policy.name or "Deny" not in (spec.validation_actions or ()):
        return no(f"ValidatingAdmissionPolicyBinding {name} does not deny by policy {policy.name}")
    if word is not None:
        return word
    age = now - max(_changed(policy), _changed(binding))
    if age < SETTLE:
        return no(f"{name} changed {format_duration(max(0, age))} ago; it counts after {format_duration(SETTLE)}")
    return Fence(FenceState.IN_FORCE, name)
