"""The webhook configurations: what they see, in what order, and how they fail."""

import pytest

from classifier import api
from tests.chart.conftest import MATRIX, rendered
from tests.chart.render import Object, of_kind, only
from webhook.kinds import name_of

KINDS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
KUEUE = "kueue-mutating-webhook-configuration"


@pytest.mark.parametrize("kind", KINDS)
def test_configurations_run_after_kueues(objects: list[Object], kind: str) -> None:
    """A webhook that did not match in its turn is never called again, and Kueue adds the label that ours matches."""
    assert only(objects, kind)["metadata"]["name"] > KUEUE


@pytest.mark.parametrize(("kind", "prefix", "path"), [(KINDS[0], "m", "/mutate"), (KINDS[1], "v", "/validate")])
def test_entries_reach_our_service(objects: list[Object], kind: str, prefix: str, path: str) -> None:
    services = {service["metadata"]["name"]: service for service in of_kind(objects, "Service")}
    for entry in only(objects, kind)["webhooks"]:
        assert entry["name"].startswith(prefix)
        assert entry["name"].endswith(".muster.dev")
        target = entry["clientConfig"]["service"]
        assert target["path"] == path
        service = services[target["name"]]
        assert service["metadata"]["namespace"] == target["namespace"]
        assert target["port"] in [port["port"] for port in service["spec"]["ports"]]


@pytest.mark.parametrize("kind", KINDS)
def test_no_side_effects_and_a_short_wait(defaults: list[Object], kind: str) -> None:
    for entry in only(defaults, kind)["webhooks"]:
        assert entry["sideEffects"] == "None"
        assert entry["timeoutSeconds"] == 2
        assert entry["failurePolicy"] == "Ignore"
        assert entry["matchPolicy"] == "Equivalent"
        assert entry.get("reinvocationPolicy") == ("IfNeeded" if kind == KINDS[0] else None)


@pytest.mark.parametrize("kind", KINDS)
def test_only_creation_is_seen(objects: list[Object], kind: str) -> None:
    for entry in only(objects, kind)["webhooks"]:
        (rule,) = entry["rules"]
        assert rule["operations"] == ["CREATE"]
        assert rule["scope"] == "Namespaced"


QUEUED = (
    "has(object.metadata.labels) && 'kueue.x-k8s.io/queue-name' in object.metadata.labels && "
    "object.metadata.labels['kueue.x-k8s.io/queue-name'] != ''"
)


def conditions(objects: list[Object], kind: str) -> dict[str, str]:
    (entry,) = only(objects, kind)["webhooks"]
    return {condition["name"]: condition["expression"] for condition in entry["matchConditions"]}


def test_queued_objects_are_judged(objects: list[Object]) -> None:
    found = conditions(objects, "ValidatingWebhookConfiguration")
    assert found == {"queued": QUEUED, "not-being-deleted": "!has(object.metadata.deletionTimestamp)"}


def test_queued_objects_are_stamped_and_all_others_lose_the_controllers_keys(objects: list[Object]) -> None:
    """A manifest saved from a decided job may have lost its queue, and is not to keep the decision."""
    found = conditions(objects, "MutatingWebhookConfiguration")
    assert found.keys() == {"queued-or-carrying-our-keys", "not-being-deleted"}
    queued, _, carrying = found["queued-or-carrying-our-keys"].partition(" || ")
    assert queued == f"({QUEUED})"
    keys = ", ".join(f"'{key}'" for key in api.CONTROLLER_KEYS)
    assert carrying == (
        f"(has(object.metadata.annotations) && [{keys}].exists(key, key in object.metadata.annotations))"
    )


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_that_is_sent_is_understood(defaults: list[Object], kind: str) -> None:
    """A kind in the chart alone would cost every submission a call for nothing."""
    singular = {resource.plural: resource for resource in vars(api).values() if isinstance(resource, api.Resource)}
    for entry in only(defaults, kind)["webhooks"]:
        for rule in entry["rules"]:
            for plural in rule["resources"]:
                resource = singular[plural]
                assert rule["apiGroups"] == [resource.group]
                assert rule["apiVersions"] == [resource.version]
                assert name_of(resource.group, resource.version, resource.kind) != "other"


@pytest.mark.parametrize("kind", KINDS)
def test_kube_system_and_the_own_namespace_are_never_seen(case: str, objects: list[Object], kind: str) -> None:
    for entry in only(objects, kind)["webhooks"]:
        first = entry["namespaceSelector"]["matchExpressions"][0]
        assert (first["key"], first["operator"]) == ("kubernetes.io/metadata.name", "NotIn")
        assert {"kube-system", MATRIX[case].namespace} <= set(first["values"])
        assert len(set(first["values"])) == len(first["values"])


@pytest.mark.parametrize("kind", KINDS)
def test_scope_of_the_values_is_added_to_the_exclusions(kind: str) -> None:
    for entry in only(rendered("scope"), kind)["webhooks"]:
        assert entry["namespaceSelector"] == {
            "matchLabels": {"tier": "batch"},
            "matchExpressions": [
                {
                    "key": "kubernetes.io/metadata.name",
                    "operator": "NotIn",
                    "values": ["ci", "kube-system", "muster-system"],
                },
                {"key": "sandbox", "operator": "DoesNotExist"},
            ],
        }
        assert entry["objectSelector"] == {"matchLabels": {"gang": "true"}}


@pytest.mark.parametrize("kind", KINDS)
def test_failing_closed_is_a_value(kind: str) -> None:
    for entry in only(rendered("fail closed"), kind)["webhooks"]:
        assert (entry["failurePolicy"], entry["timeoutSeconds"]) == ("Fail", 5)
