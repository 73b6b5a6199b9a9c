"""The fence the chart renders is the one the controller demands: it enforces nothing while the two differ."""

from classifier.fence_spec import EXPECTED_BINDING_SPEC, EXPECTED_POLICY_SPEC
from tests.chart.render import Object, of_kind


def fences(objects: list[Object], kind: str) -> Object:
    """The one object of a kind that is the fence's."""
    (found,) = [obj for obj in of_kind(objects, kind) if obj["metadata"]["name"].endswith("-fence")]
    return found


def test_policy_and_binding_are_the_controllers_to_the_letter(objects: list[Object]) -> None:
    policy = fences(objects, "ValidatingAdmissionPolicy")
    binding = fences(objects, "ValidatingAdmissionPolicyBinding")
    assert policy["spec"] == EXPECTED_POLICY_SPEC
    assert binding["spec"] == EXPECTED_BINDING_SPEC(policy["metadata"]["name"])


def test_the_controller_is_told_the_fences_name(objects: list[Object]) -> None:
    name = fences(objects, "ValidatingAdmissionPolicy")["metadata"]["name"]
    (controller,) = [
        container
        for obj in objects
        if obj["kind"] == "Deployment"
        for container in obj["spec"]["template"]["spec"]["containers"]
        if container["name"] == "controller"
    ]
    assert f"--fence={name}" in controller["args"]
    assert fences(objects, "ValidatingAdmissionPolicyBinding")["metadata"]["name"] == name


def test_no_workload_is_outside_the_fence() -> None:
    """A selector, another scope or an unlisted version would be a hole, a lenient failurePolicy a bigger one."""
    match = EXPECTED_POLICY_SPEC["matchConstraints"]
    assert match["namespaceSelector"] == {}
    assert match["objectSelector"] == {}
    assert "excludeResourceRules" not in match
    assert match["matchPolicy"] == "Equivalent"
    assert EXPECTED_POLICY_SPEC["failurePolicy"] == "Fail"
    assert "matchResources" not in EXPECTED_BINDING_SPEC("muster-fence")
    # A Conflict would make Kueue's scheduler try again.
    assert [validation["reason"] for validation in EXPECTED_POLICY_SPEC["validations"]] == ["Invalid"]
