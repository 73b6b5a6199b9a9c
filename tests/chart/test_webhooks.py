"""The webhook configurations: what they see, in what order, and how they fail."""

import pytest

from classifier import api
from classifier.scope import JUDGED
from tests.chart.conftest import MATRIX, rendered
from tests.chart.render import Object, of_kind, only, render
from webhook import restore
from webhook.starts import COUNTED

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


#: The field by which Kueue holds each kind; None: it is seen at creation alone.
HELD = {
    "appwrapper": "spec.suspend",
    "jaxjob": "spec.runPolicy.suspend",
    "job": "spec.suspend",
    "jobset": "spec.suspend",
    "leaderworkerset": None,
    "mpijob": "spec.runPolicy.suspend",
    "paddlejob": "spec.runPolicy.suspend",
    "pod": None,
    "pytorchjob": "spec.runPolicy.suspend",
    "raycluster": "spec.suspend",
    "rayjob": "spec.suspend",
    "tfjob": "spec.runPolicy.suspend",
    "trainjob": "spec.suspend",
    "workload": None,
    "xgboostjob": "spec.runPolicy.suspend",
}


def entries(objects: list[Object], kind: str) -> dict[str, Object]:
    """By the kind of objects they see."""
    return {entry["name"][1:].removesuffix(".muster.dev"): entry for entry in only(objects, kind)["webhooks"]}


def conditions(entry: Object) -> dict[str, str]:
    return {condition["name"]: condition["expression"] for condition in entry["matchConditions"]}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_that_is_judged_is_seen_and_no_other(defaults: list[Object], kind: str) -> None:
    """A kind in the chart alone would cost every submission a call for nothing."""
    seen = {}
    for name, entry in entries(defaults, kind).items():
        (rule,) = entry["rules"]
        assert rule["scope"] == "Namespaced"
        (group,), (version,), (plural,) = rule["apiGroups"], rule["apiVersions"], rule["resources"]
        resource = next(r for r in JUDGED if (r.group, r.version, r.plural) == (group, version, plural))
        seen[name] = resource
    assert set(seen.values()) == set(JUDGED)
    assert {name: resource.kind.lower() for name, resource in seen.items()} == {name: name for name in HELD}


def test_counted_is_what_the_code_counts(defaults: list[Object]) -> None:
    seen = entries(defaults, "MutatingWebhookConfiguration")
    counted = {name for name, entry in seen.items() if "started" in entry["matchConditions"][-1]["name"]}
    assert counted == {resource.kind.lower() for resource in COUNTED}
    for entry in seen.values():
        assert entry["rules"][0]["operations"] == ["CREATE", "UPDATE"]
        assert "/" not in entry["rules"][0]["resources"][0]


def test_updates_are_judged_of_what_kueue_holds_by_a_field(defaults: list[Object]) -> None:
    seen = entries(defaults, "ValidatingWebhookConfiguration")
    updated = {name for name, entry in seen.items() if "UPDATE" in entry["rules"][0]["operations"]}
    assert updated == {name for name, field in HELD.items() if field or name == "workload"}
    for entry in seen.values():
        assert set(entry["rules"][0]["operations"]) <= {"CREATE", "UPDATE"}
        assert "/" not in entry["rules"][0]["resources"][0]


QUEUED = (
    "has(object.metadata.labels) && 'kueue.x-k8s.io/queue-name' in object.metadata.labels && "
    "object.metadata.labels['kueue.x-k8s.io/queue-name'] != ''"
)
CARRYING = (
    f"has(object.metadata.annotations) && [{', '.join(repr(key) for key in api.PROTECTED_KEYS)}]"
    ".exists(key, key in object.metadata.annotations)"
)


def held(name: str, of: str) -> str:
    """That the field is there, step by step, and true."""
    steps = str(HELD[name]).split(".")
    paths = [".".join([of, *steps[: n + 1]]) for n in range(len(steps))]
    return "".join(f"has({path}) && " for path in paths) + f"{paths[-1]} == true"


def test_queued_objects_are_judged_when_created_or_changed_while_held(defaults: list[Object]) -> None:
    for name, entry in entries(defaults, "ValidatingWebhookConfiguration").items():
        found = conditions(entry)
        assert found.pop("not-being-deleted") == "!has(object.metadata.deletionTimestamp)"
        if name == "workload":
            assert found["queued"] == "has(object.spec) && has(object.spec.queueName) && object.spec.queueName != ''"
            continue
        assert found.pop("queued") == QUEUED
        if HELD[name]:
            changed = found.pop("created-or-changed-while-held")
            assert changed.startswith(f"request.operation == 'CREATE' || (!{by('kueue-system')} && ")
            for each in ("object", "oldObject"):
                assert f" && ({held(name, each)}) && " in changed
        assert found.keys() == ({"nobodys-part"} if name == "pod" else set())


def test_queued_objects_are_stamped_and_all_others_lose_the_controllers_keys(defaults: list[Object]) -> None:
    """A manifest saved from a decided job may have lost its queue, and is not to keep the decision."""
    counted = {resource.kind.lower() for resource in COUNTED}
    for name, entry in entries(defaults, "MutatingWebhookConfiguration").items():
        (condition,) = [c["expression"] for c in entry["matchConditions"] if "losing-our-keys" in c["name"]]
        created, _, updated = condition.partition(" : ")
        if name == "workload":
            assert created.startswith("request.operation == 'CREATE' ? (((!has(object.metadata.ownerReferences) || ")
            assert created.endswith(f"({CARRYING}))")
        else:
            assert created == f"request.operation == 'CREATE' ? (({QUEUED}) || ({CARRYING}))"
        if name in counted:
            started, _, updated = updated.partition(" || (")
            assert f"'{api.ADMISSION_COUNT}' in object.metadata.annotations" in started
            assert started.endswith(f"({held(name, 'oldObject')}) && !({held(name, 'object')}))")
        assert LOSING in updated


LOSING = (
    f"[{', '.join(repr(key) for key in restore.KEPT)}].exists(key, "
    "has(oldObject.metadata.annotations) && key in oldObject.metadata.annotations && "
    "!(has(object.metadata.annotations) && key in object.metadata.annotations)) && "
    "(!has(request.userInfo.username) || "
    "!(request.userInfo.username in ['system:serviceaccount:muster-system:muster-controller'])) && "
    "(!has(request.userInfo.groups) || "
    "!request.userInfo.groups.exists(group, group in ['system:masters', 'kubeadm:cluster-admins']))"
)


@pytest.mark.parametrize("kind", KINDS)
def test_what_kueue_or_a_controller_makes_is_never_seen(defaults: list[Object], kind: str) -> None:
    seen = entries(defaults, kind)
    assert (
        "!object.metadata.ownerReferences.exists(o, has(o.controller) && o.controller)"
        in (conditions(seen["pod"])["nobodys-part"])
    )
    made = conditions(seen["workload"])[
        "made-by-a-person" if kind == KINDS[1] else "created-by-a-person-or-losing-our-keys"
    ]
    assert "size(object.metadata.ownerReferences) == 0" in made
    assert f"!('{api.JOB_UID}' in object.metadata.labels)" in made
    assert f" && !{by('kueue-system')}" in made


def by(namespace: str) -> str:
    """An authenticator may name nobody, and the API server then leaves the field out."""
    named = "request.userInfo.username"
    return f"(has({named}) && {named}.startsWith('system:serviceaccount:{namespace}:'))"


def test_kueue_is_known_by_its_namespace_whatever_its_release_is_called() -> None:
    objects = render({"kueue": {"config": {"namespace": "queueing"}}})
    seen = entries(objects, "ValidatingWebhookConfiguration")
    for name, entry in seen.items():
        texts = " ".join(conditions(entry).values())
        assert texts.count(f"!{by('queueing')}") == (1 if HELD[name] or name == "workload" else 0)
        assert texts.count("userInfo") == 2 * texts.count(by("queueing"))


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_are_a_value(kind: str) -> None:
    assert entries(render({"webhook": {"kinds": ["rayjob", "job"]}}), kind).keys() == {"job", "rayjob"}


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
