"""Is the fence in force: only the chart's very policy and binding, long enough unchanged; and was it ever breached."""

import asyncio
import copy
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from classifier import api, clock
from classifier.clock import Marker
from classifier.cluster.client import Client
from classifier.fence import PolicyObject
from classifier.fence_spec import EXPECTED_BINDING_SPEC, EXPECTED_POLICY_SPEC
from classifier.instant import MINUTE, SECOND, format_instant
from classifier.objects import Meta
from controller.fence import Fence, judge, overtaken
from tests.apiserver import ApiServer, serving, silent, watches
from tests.builders import T0, Builder, WorkloadBuilder, workload
from tests.unit.cluster.conftest import write_kubeconfig
from tests.until import until

NAME = "muster-fence"
SETTLE = 30 * SECOND
NOW = T0 + 10 * MINUTE
Json = dict[str, Any]
T = TypeVar("T", bound=Meta)


class PolicyBuilder(Builder[PolicyObject]):
    def __init__(self, resource: api.Resource, spec: Json) -> None:
        super().__init__(PolicyObject, resource, NAME)
        self._raw["spec"] = copy.deepcopy(spec)
        self.created(T0)

    def change(self, path: str, value: Any) -> "PolicyBuilder":
        """Set one field of the spec, by dotted path; None removes it."""
        *parents, last = path.split(".")
        at: Any = self.spec
        for part in parents:
            at = at[int(part)] if part.isdigit() else at[part]
        if value is None:
            del at[last]
        else:
            at[int(last) if last.isdigit() else last] = value
        return self

    def written(self, at: int, subresource: str | None = None) -> "PolicyBuilder":
        entry = {"manager": "helm", "operation": "Apply", "time": format_instant(at)}
        self._raw["metadata"].setdefault("managedFields", []).append(
            entry | ({"subresource": subresource} if subresource else {})
        )
        return self


def done(builder: Builder[T] | None) -> T | None:
    return None if builder is None else builder.done()


def policy() -> PolicyBuilder:
    return PolicyBuilder(api.ADMISSION_POLICIES, EXPECTED_POLICY_SPEC)


def binding() -> PolicyBuilder:
    return PolicyBuilder(api.ADMISSION_POLICY_BINDINGS, EXPECTED_BINDING_SPEC(NAME))


def state(policy: PolicyBuilder | None, binding: PolicyBuilder | None, now: int = NOW) -> tuple[bool, str]:
    judged = judge(done(policy), done(binding), NAME, now, SETTLE)
    return judged.in_force, judged.reason


def test_the_charts_pair_is_in_force() -> None:
    assert state(policy(), binding()) == (True, "")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("failurePolicy", "Ignore"),
        ("failurePolicy", None),
        ("matchConstraints.matchPolicy", "Exact"),
        ("matchConstraints.namespaceSelector", {"matchLabels": {"team": "a"}}),
        ("matchConstraints.objectSelector", {"matchLabels": {"team": "a"}}),
        ("matchConstraints.excludeResourceRules", [{"apiGroups": ["*"]}]),
        ("matchConstraints.resourceRules", []),
        ("matchConstraints.resourceRules.0.operations", ["CREATE"]),
        ("matchConstraints.resourceRules.0.resources", ["workloads"]),
        ("matchConstraints.resourceRules.0.apiVersions", ["v1beta1"]),
        ("matchConstraints.resourceRules.0.resourceNames", ["one"]),
        ("matchConditions", None),
        ("matchConditions.0.expression", "false"),
        ("validations", None),
        ("validations.0.expression", "true"),
        ("validations.0.reason", "Forbidden"),
        ("paramKind", {"apiVersion": "v1", "kind": "ConfigMap"}),
        ("variables", [{"name": "x", "expression": "1"}]),
    ],
)
def test_a_policy_that_differs_in_any_field_is_not_the_charts(path: str, value: Any) -> None:
    in_force, reason = state(policy().change(path, value), binding())
    assert not in_force
    assert reason == f"ValidatingAdmissionPolicy {NAME} is not the chart's; upgrade or re-install the Muster chart"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("validationActions", ["Warn"]),
        ("validationActions", ["Audit"]),
        ("validationActions", ["Deny", "Audit"]),
        ("validationActions", None),
        ("policyName", "another"),
        ("matchResources", {"namespaceSelector": {"matchLabels": {"team": "a"}}}),
        ("paramRef", {"name": "p", "parameterNotFoundAction": "Allow"}),
    ],
)
def test_a_binding_that_differs_in_any_field_is_not_the_charts(path: str, value: Any) -> None:
    in_force, reason = state(policy(), binding().change(path, value))
    assert not in_force
    assert reason.startswith(f"ValidatingAdmissionPolicyBinding {NAME} is not the chart's; ")


def test_both_must_be_there_and_not_on_their_way_out() -> None:
    going = {"deletionTimestamp": format_instant(NOW)}
    for pair, kind in (
        ((None, binding()), "ValidatingAdmissionPolicy"),
        ((policy(), None), "ValidatingAdmissionPolicyBinding"),
        ((policy().metadata(**going), binding()), "ValidatingAdmissionPolicy"),
        ((policy(), binding().metadata(**going)), "ValidatingAdmissionPolicyBinding"),
        ((None, None), "ValidatingAdmissionPolicy"),
    ):
        in_force, reason = state(*pair)
        assert not in_force
        assert reason.startswith(f"{kind} {NAME} does not exist; ")


@pytest.mark.parametrize("ago", [0, 10 * SECOND, SETTLE - 1, SETTLE, MINUTE])
@pytest.mark.parametrize("which", ["policy", "binding"])
@pytest.mark.parametrize("how", ["created", "written"])
def test_a_change_must_have_settled(ago: int, which: str, how: str) -> None:
    pair = {"policy": policy(), "binding": binding()}
    at = NOW - NOW % SECOND - MINUTE
    pair[which].created(at) if how == "created" else pair[which].written(at)
    in_force, reason = state(pair["policy"], pair["binding"], at + ago)
    assert in_force is (ago >= SETTLE)
    assert reason == ("" if in_force else f"changed at {format_instant(at)}; API servers may not have loaded it yet")


def test_the_latest_of_several_writes_counts_and_status_writes_do_not() -> None:
    written = policy().written(NOW - SECOND).written(NOW - MINUTE)
    assert not state(written, binding())[0]
    # The API server's type checker writes the status whenever it likes.
    assert state(policy().written(NOW - MINUTE).written(NOW, "status"), binding().written(NOW, "status"))[0]


def test_a_write_without_a_readable_time_does_not_hide_the_others() -> None:
    odd = policy().written(NOW - SECOND)
    odd._raw["metadata"]["managedFields"] += [{"manager": "a"}, {"manager": "b", "time": "lately"}]
    assert not state(odd, binding())[0]


# --- followed ---------------------------------------------------------------------------------------------------

POLICY = f"/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/{NAME}"
BINDING = f"/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/{NAME}"


@pytest.fixture
async def server() -> AsyncIterator[ApiServer]:
    async with serving(ApiServer()) as server:
        server.headers = {"Date": "Sun, 29 Nov 2026 10:10:00 GMT"}
        server.put(POLICY, policy().raw())
        server.put(BINDING, binding().raw())
        yield server


@pytest.fixture
async def client(server: ApiServer, tmp_path: Path) -> AsyncIterator[Client]:
    async with await Client.connect(kubeconfig=write_kubeconfig(tmp_path / "config", server.url)) as client:
        yield client


@pytest.fixture
async def fence(client: Client) -> AsyncIterator[Fence]:
    fence = Fence(client, NAME, SETTLE, lambda: None)
    tasks = [asyncio.create_task(reflector.run()) for reflector in (fence.policies, fence.bindings)]
    yield fence
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def said(fence: Fence, in_force: bool, reason: str = "") -> None:
    await until(lambda: fence.state().in_force is in_force and reason in fence.state().reason)


async def test_it_follows_the_pair(server: ApiServer, fence: Fence) -> None:
    await said(fence, in_force=True)
    server.remove(BINDING)
    await said(fence, in_force=False, reason="ValidatingAdmissionPolicyBinding muster-fence does not exist")
    server.put(BINDING, binding().raw())
    await said(fence, in_force=True)
    server.put(POLICY, policy().change("failurePolicy", "Ignore").raw())
    await said(fence, in_force=False, reason="is not the chart's")


async def test_what_cannot_be_followed_is_not_in_force(server: ApiServer, fence: Fence) -> None:
    await said(fence, in_force=True)
    await server.watched(2)
    server.fault, server.faulty = silent(), watches
    server.cut_watches()
    await said(fence, in_force=False, reason="cannot be followed: the watch of ")


async def test_before_the_first_list_nothing_is_in_force(client: Client) -> None:
    state = Fence(client, NAME, SETTLE, lambda: None).state()
    assert (state.in_force, state.reason) == (False, "validatingadmissionpolicies cannot be read: not yet")


async def test_once_breached_it_is_never_in_force_again(fence: Fence) -> None:
    await said(fence, in_force=True)
    fence.breached = True
    assert "a committed Workload was admitted afterwards" in fence.state().reason


# --- overtaken --------------------------------------------------------------------------------------------------

AT = T0 + MINUTE


def seen(
    *, marked: bool = True, active: bool = False, attempt: int = 1, by: str = api.CONTROLLER_MANAGER
) -> WorkloadBuilder:
    """A Workload; inactive and marked at AT unless told otherwise; ``by`` owns ``spec.active``."""
    builder = workload().active(active, by)
    if marked:
        marker = Marker(AT, attempt, builder.done().uid)
        builder.annotate(api.COMMITTED, clock.format_marker(marker))
    return builder


def reserved(
    builder: WorkloadBuilder, at: int, type_: str = api.QUOTA_RESERVED, status: bool = True
) -> WorkloadBuilder:
    return builder.condition(type_, status, at=at)


CASES: dict[str, tuple[WorkloadBuilder | None, WorkloadBuilder, bool]] = {
    "nothing reserved": (seen(), seen(), False),
    "quota reserved before and after": (reserved(seen(), T0), reserved(seen(), T0), False),
    "turned True since": (seen(), reserved(seen(), AT + SECOND), True),
    "turned True since, whatever time it claims": (seen(), reserved(seen(), T0), True),
    "was False, is True": (reserved(seen(), T0, status=False), reserved(seen(), AT + SECOND), True),
    "admitted since, reserved before": (
        reserved(seen(), T0),
        reserved(reserved(seen(), T0), AT + SECOND, api.ADMITTED),
        True,
    ),
    "False is not True": (seen(), reserved(seen(), AT + SECOND, status=False), False),
    "the copy before the commit had it": (reserved(seen(marked=False, active=True), T0), reserved(seen(), T0), False),
    "between commit and our first look": (seen(marked=False, active=True), reserved(seen(), AT + MINUTE), True),
    "within what two clocks may differ": (seen(marked=False, active=True), reserved(seen(), AT + SECOND), False),
    "just before the commit": (seen(marked=False, active=True), reserved(seen(), AT - SECOND), False),
    "after a restart, reserved before": (None, reserved(seen(), T0), False),
    "after a restart, admitted afterwards": (None, reserved(seen(), AT + MINUTE, api.ADMITTED), True),
    "of an earlier attempt": (seen(), reserved(seen(attempt=2), T0), False),
    "reactivated, so no decision": (seen(), reserved(seen(active=True), AT + SECOND), False),
    "a person paused it since": (None, reserved(seen(by="kubectl-edit"), AT + MINUTE), False),
    "no marker": (seen(), reserved(seen(marked=False), AT + SECOND), False),
    "another condition": (seen(), seen().condition(api.PODS_READY, True, at=AT + SECOND), False),
}


@pytest.mark.parametrize("name", CASES)
def test_an_admission_on_a_live_decision_is_a_breach(name: str) -> None:
    old, new, breach = CASES[name]
    assert overtaken(done(old), new.done()) is breach


def test_a_marker_of_another_workload_is_no_decision() -> None:
    new = reserved(seen(), AT + SECOND).metadata(uid="another")
    assert not overtaken(None, new.done())
