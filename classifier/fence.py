"""Is the fence what the chart renders: the policy without which a commit is not exact (design §3, "Fence"). Pure.

The controller asks before it commits; the command line asks where the controller has not said. When the pair last
changed matters too, since API servers take time to load a policy (reference/kueue.md Appendix B, 1).
"""

from typing import Any, Final

from classifier.fence_spec import EXPECTED_BINDING_SPEC, EXPECTED_POLICY_SPEC
from classifier.instant import instant_or_none
from classifier.objects import Meta

POLICY: Final = "ValidatingAdmissionPolicy"
BINDING: Final = "ValidatingAdmissionPolicyBinding"


class PolicyObject(Meta):
    """A policy or a binding: metadata and the whole spec."""

    spec: dict[str, Any] | None = None


def missing(policy: PolicyObject | None, binding: PolicyObject | None, name: str) -> str | None:
    """Which of the two does not exist, or is being deleted; None if both are there."""
    for obj, kind in ((policy, POLICY), (binding, BINDING)):
        if obj is None or obj.metadata.deletion_timestamp:
            return f"{kind} {name} does not exist"
    return None


def wrong(policy: PolicyObject | None, binding: PolicyObject | None, name: str) -> str | None:
    """Which of the two is missing, or says something else than the chart; None if all is as rendered."""
    gone = missing(policy, binding, name)
    if gone is not None:
        return gone
    for obj, kind, expected in (
        (policy, POLICY, EXPECTED_POLICY_SPEC),
        (binding, BINDING, EXPECTED_BINDING_SPEC(name)),
    ):
        if obj is not None and obj.spec != expected:
            return f"{kind} {name} is not the chart's"
    return None


def changed(policy: PolicyObject, binding: PolicyObject) -> int:
    """When the pair last changed besides its status, ms: a creation, or the latest write managedFields tell of."""
    times = [policy.metadata.creation_timestamp, binding.metadata.creation_timestamp]
    for obj in (policy, binding):
        times += [field.time for field in obj.metadata.managed_fields or () if not field.subresource]
    return max((at for at in map(instant_or_none, times) if at is not None), default=0)
