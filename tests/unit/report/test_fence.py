"""Whether the fence is in force, as far as a reader can tell."""

from typing import Any

import msgspec
import pytest

from classifier.fence import PolicyObject
from classifier.fence_spec import EXPECTED_BINDING_SPEC, EXPECTED_POLICY_SPEC
from classifier.objects import CapacityProfileStatus
from classifier.report import FenceState, fence_of
from classifier.report.fence import controllers_word
from tests.unit.report.builders import T0, at, condition, profile

NOW = T0 + 3_600_000


def policy(spec: dict[str, Any] | None = None, **metadata: Any) -> PolicyObject:
    return _object({**EXPECTED_POLICY_SPEC, **(spec or {})}, metadata)


def binding(spec: dict[str, Any] | None = None, **metadata: Any) -> PolicyObject:
    return _object({**EXPECTED_BINDING_SPEC("muster-fence"), **(spec or {})}, metadata)


def _object(spec: dict[str, Any], metadata: dict[str, Any]) -> PolicyObject:
    body = {"metadata": {"name": "muster-fence", "creationTimestamp": at(0), **metadata}, "spec": spec}
    return msgspec.convert(body, PolicyObject)


def test_both_there_and_old_enough() -> None:
    assert fence_of(policy(), binding(), NOW).state is FenceState.IN_FORCE


@pytest.mark.parametrize(
    ("first", "second", "why"),
    [
        (None, binding(), "ValidatingAdmissionPolicy muster-fence does not exist"),
        (policy(), None, "ValidatingAdmissionPolicyBinding muster-fence does not exist"),
        (policy({"failurePolicy": "Ignore"}), binding(), "ValidatingAdmissionPolicy muster-fence is not the chart's"),
        (
            policy(),
            binding({"validationActions": ["Warn", "Audit"]}),
            "ValidatingAdmissionPolicyBinding muster-fence is not",
        ),
        (policy(), binding({"policyName": "other"}), "muster-fence is not the chart's"),
        (policy(deletionTimestamp=at(1)), binding(), "does not exist"),
        (policy(creationTimestamp=at(3590)), binding(), "changed 10s ago; it counts after 30s"),
        (policy(), binding(managedFields=[{"manager": "kubectl-edit", "time": at(3599)}]), "changed 1s ago"),
    ],
)
def test_what_is_missing_is_said(first: PolicyObject | None, second: PolicyObject | None, why: str) -> None:
    fence = fence_of(first, second, NOW)
    assert fence.state is FenceState.NOT_IN_FORCE
    assert why in fence.why


@pytest.mark.parametrize(
    ("reason", "message", "state", "why"),
    [
        ("Ready", "", FenceState.IN_FORCE, ""),
        ("ConfigNotFound", "x", FenceState.IN_FORCE, ""),
        (
            "FenceNotInForce",
            "deadlines are reported, not enforced: policy is not the chart's",
            FenceState.NOT_IN_FORCE,
            "policy is not the chart's",
        ),
    ],
)
def test_the_controllers_word_counts_before_their_age(reason: str, message: str, state: FenceState, why: str) -> None:
    spoken = profile()
    spoken.status = msgspec.convert({"conditions": [condition("Ready", "Any", reason, message)]}, CapacityProfileStatus)
    word = controllers_word([profile(), spoken])
    assert word is not None
    assert (word.state, word.why) == (state, why)
    fresh = policy(creationTimestamp=at(3599))
    assert fence_of(fresh, binding(), NOW, word=word).state is state
    assert fence_of(None, binding(), NOW, word=word).state is FenceState.NOT_IN_FORCE, "what is gone is gone"


def test_no_profile_no_word() -> None:
    assert controllers_word([profile()]) is None


def test_the_type_checker_writing_status_is_no_change() -> None:
    checked = policy(managedFields=[{"manager": "kube-controller-manager", "time": at(3599), "subresource": "status"}])
    assert fence_of(checked, binding(), NOW).state is FenceState.IN_FORCE
