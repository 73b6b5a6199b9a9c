"""The CapacityProfile CRD, without an API server: its schema against samples, and against what the code reads.

Its CEL rules run in ``e2e/test_profile_crd.py``, on the real one.
"""

import copy
from typing import Any, get_args, get_type_hints

import jsonschema
import msgspec
import pytest

from classifier.objects.profile import CapacityProfile, CapacityProfileSpec, CapacityProfileStatus, PoolStatus
from classifier.report.profiles import ProfileCondition
from controller.fence import FenceState
from controller.profile_status import Known, status_of
from tests.chart.conftest import rendered
from tests.chart.profiles import DEFAULTS, FULL, Absent, changed
from tests.chart.render import Object, of_kind, only, render


@pytest.fixture
def crd(defaults: list[Object]) -> Object:
    return only(defaults, "CustomResourceDefinition")


@pytest.fixture
def schema(crd: Object) -> dict[str, Any]:
    (version,) = crd["spec"]["versions"]
    return dict(version["schema"]["openAPIV3Schema"])


def strict(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema as a strict client applies it: a field that it does not name is an error, not pruned."""
    out = copy.deepcopy(schema)
    if "properties" in out:
        out.setdefault("additionalProperties", False)
        out["properties"] = {key: strict(value) for key, value in out["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(out.get(key), dict):
            out[key] = strict(out[key])
    return out


def validator(schema: dict[str, Any]) -> Any:
    out = strict(schema)
    out["properties"]["metadata"] = {"type": "object"}
    return jsonschema.Draft202012Validator(out)


def test_names_and_scope_are_the_contracts(crd: Object) -> None:
    spec = crd["spec"]
    assert crd["metadata"]["name"] == f"{spec['names']['plural']}.{spec['group']}" == "capacityprofiles.muster.dev"
    assert spec["scope"] == "Cluster"
    assert spec["names"]["shortNames"] == ["capprof"]
    assert spec["versions"][0]["name"] == "v1alpha1"
    assert spec["versions"][0]["subresources"] == {"status": {}}
    columns = spec["versions"][0]["additionalPrinterColumns"]
    narrow = [column["name"] for column in columns if not column.get("priority")]
    assert narrow == ["Flavor", "Preflight", "Closed", "Timeout", "Ready", "ProvisioningReady", "Age"]
    assert [column["name"] for column in columns if column.get("priority")] == ["Drift", "Reason"]


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"admission.timeout": "5s", "admission.maxTimeout": "1.5h"},
        {"pools.0.node.allocatable.cpu": 94},
        {"pools.0.node.allocatable.cpu": "1e3"},
        {"pools.0.maxNodes": 0},
        {"provisioning": Absent, "management": "External"},
    ],
)
def test_samples_are_accepted(schema: dict[str, Any], changes: dict[str, Any]) -> None:
    validator(schema).validate(changed(changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"flavor": Absent},
        {"flavour": "a100"},
        {"preflight": "Deny"},
        {"management": "Auto"},
        {"deletionPolicy": "Orphan"},
        {"admission.requeue": "Always"},
        {"admission.timeout": "30 minutes"},
        {"admission.timeout": 30},
        {"admission.scheduledBy": "soon"},
        {"admission.timeout": ""},
        {"pools.0.name": Absent},
        {"pools.0.maxNodes": -1},
        {"pools.0.maxNodes": "2"},
        {"pools.0.node.allocatable.cpu": "-1"},
        {"pools.0.node.allocatable.cpu": "1 GiB"},
        {"pools.0.node.taints.0.effect": "Never"},
        {"topology.workloadLabel.value": Absent},
        {"provisioning.retry.limit": -1},
        {"pools": [{"name": f"pool-{n}"} for n in range(65)]},
    ],
)
def test_what_no_profile_can_mean_is_refused(schema: dict[str, Any], changes: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        validator(schema).validate(changed(changes))


def test_defaults_are_the_contracts(schema: dict[str, Any]) -> None:
    fields = schema["properties"]["spec"]["properties"]
    assert {name: field["default"] for name, field in fields.items() if "default" in field} == DEFAULTS
    assert fields["admission"]["properties"]["requeue"]["default"] == "None"


def test_every_field_is_described(schema: dict[str, Any]) -> None:
    status = schema["properties"]["status"]["properties"]
    pool = {name: field for name, field in status["pools"]["items"]["properties"].items() if name != "name"}
    for name, field in (schema["properties"]["spec"]["properties"] | status | pool).items():
        assert field.get("description"), name


def names_of(struct: type[msgspec.Struct]) -> dict[str, Any]:
    """Field names as they stand in JSON, with the struct behind each where there is one."""
    hints = get_type_hints(struct)

    def inner(hint: Any) -> Any:
        for argument in (hint, *get_args(hint)):
            if isinstance(argument, type) and issubclass(argument, msgspec.Struct):
                return names_of(argument)
            if argument is not hint and (found := inner(argument)) is not None:
                return found
        return None

    return {field.encode_name: inner(hints[field.name]) for field in msgspec.structs.fields(struct)}


def fields_of(schema: dict[str, Any]) -> dict[str, Any]:
    """The same of a schema; a list's fields are its items'."""
    items = {name: field.get("items", field) for name, field in schema["properties"].items()}
    return {name: fields_of(field) if "properties" in field else None for name, field in items.items()}


def test_the_schema_has_the_fields_the_code_reads_and_no_others(schema: dict[str, Any]) -> None:
    """A field that only the code knows would be pruned by the API server and never arrive."""
    assert fields_of(schema["properties"]["spec"]) == names_of(CapacityProfileSpec)
    assert fields_of(schema["properties"]["status"]) == names_of(CapacityProfileStatus)


@pytest.mark.parametrize("size", [0, 1, 1000, 40_000])
def test_no_status_is_refused_for_what_others_wrote_long_or_large(schema: dict[str, Any], size: int) -> None:
    said = ProfileCondition("False", "AdmissionCheckNotActive", "é" * size)
    many = size**3
    pool = PoolStatus(name="gpupool", nodes=many, ready_nodes=many, target_nodes=many, max_nodes=many)
    known = Known(said, ["f" * size] * 8 if size else [], [pool])
    for fence in (FenceState(True, ""), FenceState(False, "f" * size)):
        status = msgspec.to_builtins(status_of(CapacityProfile(), said, fence, known, 0))
        validator(schema).validate({**FULL, "status": status})
        assert max(value for value in status["pools"][0].values() if isinstance(value, int)) < 2**31


def test_the_full_profile_reaches_the_code() -> None:
    profile = msgspec.convert(FULL, CapacityProfile)
    assert profile.spec.pools is not None
    assert profile.spec.pools[0].max_nodes == 2
    assert profile.spec.admission is not None
    assert profile.spec.admission.ttl_after_timeout == "1h"


def test_uninstalling_leaves_profiles_and_nothing_else(objects: list[Object]) -> None:
    kept = [o["kind"] for o in objects if "helm.sh/resource-policy" in o["metadata"].get("annotations", {})]
    assert kept == [o["kind"] for o in of_kind(objects, "CustomResourceDefinition")]
    hooks = [o for o in objects if any(key.startswith("helm.sh/hook") for key in o["metadata"].get("annotations", {}))]
    assert not hooks, "what a hook creates is not the release's, and stays behind"


def test_the_crd_may_be_installed_by_others_or_go_with_the_release() -> None:
    assert not of_kind(rendered("without the CRD"), "CustomResourceDefinition")
    crd = only(render({"capacityProfile": {"crd": {"keep": False}}}), "CustomResourceDefinition")
    assert "annotations" not in crd["metadata"]
