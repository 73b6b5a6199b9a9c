"""Is the fence in force, as far as a reader can tell (design §3)?

The controller compares policy and binding with the chart's; a reader does not have the chart. It can see that both
exist, that the binding denies, that a failure refuses, and that nobody changed them within the settling time.
"""

from enum import StrEnum
from typing import Final

import msgspec

from classifier.instant import SECOND, format_duration, instant_or_none
from classifier.objects import Meta, Obj

FENCE_NAME: Final = "muster-fence"
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


def fence_of(policy: FencePolicy | None, binding: FenceBinding | None, now: int, name: str = FENCE_NAME) -> Fence:
    """Judge the two objects; None means that there is none."""

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
    age = now - max(_changed(policy), _changed(binding))
    if age < SETTLE:
        return no(f"{name} changed {format_duration(max(0, age))} ago; it counts after {format_duration(SETTLE)}")
    return Fence(FenceState.IN_FORCE, name)
