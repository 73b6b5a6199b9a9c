"""The policies that protect what the controller wrote: whom they reach, whom they spare, that nothing is outside."""

import re
from typing import Any

import pytest

from classifier import api
from classifier.scope import JUDGED
from tests.chart.conftest import MATRIX
from tests.chart.render import CHART, Object, Refused, of_kind, only, render
from webhook import restore, stamp

POLICY, BINDING = "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"
NAMES = ("muster-keys", "muster-cleanup", "muster-controller")


def conditions(policy: Object) -> dict[str, str]:
    return {condition["name"]: condition["expression"] for condition in policy["spec"]["matchConditions"]}


def validations(policy: Object) -> list[str]:
    return [validation["expression"] for validation in policy["spec"]["validations"]]


@pytest.mark.parametrize("name", NAMES)
def test_each_policy_denies_everywhere_and_in_every_version(defaults: list[Object], name: str) -> None:
    policy, binding = only(defaults, POLICY, name), only(defaults, BINDING, name)
    assert binding["spec"] == {"policyName": name, "validationActions": ["Deny"]}
    match = policy["spec"]["matchConstraints"]
    assert (match["namespaceSelector"], match["objectSelector"], match["matchPolicy"]) == ({}, {}, "Equivalent")
    assert "excludeResourceRules" not in match
    assert "paramKind" not in policy["spec"]
    assert policy["spec"]["failurePolicy"] == "Fail"
    assert all(validation["reason"] == "Forbidden" for validation in policy["spec"]["validations"])


def rules(policy: Object) -> dict[tuple[str, str, str], Object]:
    return {
        (group, version, resource): rule
        for rule in policy["spec"]["matchConstraints"]["resourceRules"]
        for group in rule["apiGroups"]
        for version in rule["apiVersions"]
        for resource in rule["resources"]
    }


def test_keys_are_protected_on_every_kind_and_where_a_status_carries_them(defaults: list[Object]) -> None:
    found = rules(only(defaults, POLICY, "muster-keys"))
    wanted = {(resource.group, resource.version, resource.plural) for resource in JUDGED}
    wanted |= {("batch", "v1", "jobs/status"), ("", "v1", "pods/status"), ("kueue.x-k8s.io", "v1beta1", "workloads")}
    assert set(found) == wanted
    # A creation is never refused: uid binding and the webhook see to it.
    assert {tuple(rule["operations"]) for rule in found.values()} == {("UPDATE",)}


def quoted(keys: Any) -> str:
    return f"[{', '.join(repr(key) for key in keys)}]"


def test_the_keys_are_those_of_the_code(defaults: list[Object]) -> None:
    policy = only(defaults, POLICY, "muster-keys")
    touched = conditions(policy)["touches-a-key"]
    assert touched.startswith(f"{quoted(api.PROTECTED_KEYS)}.exists(key, ")
    assert f"!(key in {quoted(api.MIRROR_KEYS)})" in touched
    (variable,) = policy["spec"]["variables"]
    assert variable["expression"] == touched.replace(".exists(", ".filter(")
    ours = {v["name"]: v["expression"] for v in only(defaults, POLICY, "muster-controller")["spec"]["variables"]}
    assert ours["ours"] == quoted(api.PROTECTED_KEYS)
    assert set(restore.KEPT) == set(api.PROTECTED_KEYS) - set(api.MIRROR_KEYS)


def test_what_decides_whether_anything_is_evaluated_cannot_fail(defaults: list[Object]) -> None:
    """Every field but metadata itself is looked for first, and none of the spec is read: errors would refuse, too."""
    for name in NAMES:
        for text in conditions(only(defaults, POLICY, name)).values():
            read = set(re.findall(r"\b(?:object|oldObject|request)\.[\w.]+", text))
            looked_for = set(re.findall(r"has\(([\w.]+)\)", text))
            paths = {path.removesuffix(".exists") for path in read}
            assert paths <= looked_for, (name, paths - looked_for)
            assert not any(".spec" in path for path in read)


def test_the_message_says_who_and_what_to_do(defaults: list[Object]) -> None:
    (validation,) = only(defaults, POLICY, "muster-keys")["spec"]["validations"]
    message = validation["messageExpression"]
    assert "only Muster\\'s controller writes ' + variables.touched.join(', ')" in message
    assert "set muster.dev/admission-timeout on the job" in message
    assert "group system:masters, kubeadm:cluster-admins" in message
    assert "docs/protection.md" in validation["message"]


def exempt(objects: list[Object]) -> str:
    return " ".join(conditions(only(objects, POLICY, "muster-keys")).values())


def test_administrators_are_a_value() -> None:
    objects = render(
        {"protection": {"administrators": {"groups": ["oidc:batch admins"], "users": ["alice@example.com"]}}}
    )
    text = exempt(objects)
    assert "group in ['oidc:batch admins']" in text
    assert "'system:serviceaccount:muster-system:muster-controller', 'alice@example.com'" in text
    assert "system:masters" not in str(of_kind(objects, POLICY))
    # The webhook spares the same: they take off by leaving out.
    (job,) = [e for e in only(objects, "MutatingWebhookConfiguration")["webhooks"] if e["name"] == "mjob.muster.dev"]
    assert "group in ['oidc:batch admins']" in job["matchConditions"][-1]["expression"]
    assert "alice@example.com" in job["matchConditions"][-1]["expression"]


def test_nobody_may_be_an_administrator() -> None:
    objects = render({"protection": {"administrators": {"groups": [], "users": []}}})
    assert conditions(only(objects, POLICY, "muster-keys")).keys() == {"touches-a-key", "not-by-the-controller"}
    assert "none is named in protection.administrators" in str(only(objects, POLICY, "muster-keys"))


@pytest.mark.parametrize("name", ["o'brien", 'a"b', "a\\b", " a", "a\nb", ""])
@pytest.mark.parametrize("which", ["groups", "users"])
def test_a_name_that_would_break_the_expression_is_refused(which: str, name: str) -> None:
    with pytest.raises(Refused, match=which):
        render({"protection": {"administrators": {which: [name]}}})


def test_the_account_is_the_controllers(case: str, objects: list[Object]) -> None:
    """In whatever namespace and by whatever name it is installed."""
    (account,) = [
        o["metadata"] for o in of_kind(objects, "ServiceAccount") if o["metadata"]["name"].endswith("-controller")
    ]
    user = f"system:serviceaccount:{account['namespace']}:{account['name']}"
    assert account["namespace"] == MATRIX[case].namespace
    (own,) = [o for o in of_kind(objects, POLICY) if o["metadata"]["name"] == account["name"]]
    assert conditions(own)["by-the-controller"].endswith(f"request.userInfo.username == '{user}'")
    (keys,) = [o for o in of_kind(objects, POLICY) if o["metadata"]["name"].endswith("-keys")]
    assert f"in ['{user}'" in conditions(keys)["not-by-the-controller"]


def test_the_account_is_held_in_all_it_can_do(defaults: list[Object]) -> None:
    policy = only(defaults, POLICY, "muster-controller")
    found = rules(policy)
    for resource in JUDGED:
        for plural in (resource.plural, f"{resource.plural}/*"):
            assert found[resource.group, resource.version, plural]["operations"] == ["CREATE", "UPDATE", "DELETE"]
    assert len(validations(policy)) == len({v["message"] for v in policy["spec"]["validations"]}) == 9


def test_protection_can_be_left_out() -> None:
    objects = render({"protection": {"enabled": False}})
    assert {o["metadata"]["name"] for kind in (POLICY, BINDING) for o in of_kind(objects, kind)} == {"muster-fence"}


def test_the_command_that_takes_everything_off_names_every_key_and_kind() -> None:
    text = (CHART.parents[1] / "docs" / "install.md").read_text()
    command = text[text.index("for kind in") : text.index("done\n")]
    assert set(re.findall(r"(muster\.dev/[\w-]+)-\s", command)) == {*stamp.STAMPS, *api.PROTECTED_KEYS}
    named = set(re.findall(r"[\w.-]+", command[: command.index("; do")])) - {"for", "kind", "in"}
    assert named == {f"{r.plural}.{r.group}" if r.group else r.plural for r in JUDGED}
