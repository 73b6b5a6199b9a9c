"""What the two programs may do: the whole table, and that it is what their code asks for and no more."""

import ast
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import controller
import webhook
from classifier import api
from classifier.scope import BOUNDED
from tests.chart.render import Object, of_kind, only

READ = "get list watch"

#: (group, resource, names, verbs), by role.
TABLE = {
    "ClusterRole/muster-webhook": {
        ("kueue.x-k8s.io", "admissionchecks", "", READ),
        ("kueue.x-k8s.io", "clusterqueues", "", READ),
        ("kueue.x-k8s.io", "localqueues", "", READ),
        ("kueue.x-k8s.io", "resourceflavors", "", READ),
        ("muster.dev", "capacityprofiles", "", READ),
        ("", "namespaces", "", READ),
        ("", "nodes", "", READ),
        ("admissionregistration.k8s.io", "mutatingwebhookconfigurations", "muster-webhook", f"{READ} patch"),
        ("admissionregistration.k8s.io", "validatingwebhookconfigurations", "muster-webhook", f"{READ} patch"),
    },
    "Role/muster-webhook": {
        ("", "secrets", "", "create"),
        ("", "secrets", "muster-webhook-ca", f"{READ} patch"),
    },
    "ClusterRole/muster-controller": {
        ("kueue.x-k8s.io", "workloads", "", f"{READ} patch"),
        ("batch", "jobs", "", f"{READ} patch"),
        ("kueue.x-k8s.io", "admissionchecks", "", READ),
        ("kueue.x-k8s.io", "clusterqueues", "", READ),
        ("kueue.x-k8s.io", "localqueues", "", READ),
        ("kueue.x-k8s.io", "provisioningrequestconfigs", "", READ),
        ("", "namespaces", "", READ),
        ("muster.dev", "capacityprofiles", "", READ),
        ("muster.dev", "capacityprofiles/status", "", "patch"),
        ("admissionregistration.k8s.io", "validatingadmissionpolicies", "muster-fence", READ),
        ("admissionregistration.k8s.io", "validatingadmissionpolicybindings", "muster-fence", READ),
        ("events.k8s.io", "events", "", "create"),
    },
    "ClusterRole/muster-view": {("muster.dev", "capacityprofiles", "", READ)},
}


def grants(role: Object) -> set[tuple[str, str, str, str]]:
    return {
        (group, resource, " ".join(rule.get("resourceNames", [])), " ".join(rule["verbs"]))
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }


def roles(objects: list[Object]) -> list[Object]:
    return of_kind(objects, "ClusterRole") + of_kind(objects, "Role")


def test_the_whole_table(defaults: list[Object]) -> None:
    assert {f"{role['kind']}/{role['metadata']['name']}": grants(role) for role in roles(defaults)} == TABLE


def test_no_wildcards(objects: list[Object]) -> None:
    for role in roles(objects):
        for rule in role["rules"]:
            assert all("*" not in entry for entries in rule.values() for entry in entries)
            assert "nonResourceURLs" not in rule


def test_each_role_is_bound_to_its_own_account_alone(objects: list[Object]) -> None:
    accounts = {(a["metadata"]["name"], a["metadata"]["namespace"]) for a in of_kind(objects, "ServiceAccount")}
    for binding in of_kind(objects, "ClusterRoleBinding") + of_kind(objects, "RoleBinding"):
        (subject,) = binding["subjects"]
        assert subject["kind"] == "ServiceAccount"
        assert (subject["name"], subject["namespace"]) in accounts
        assert subject["name"] == binding["roleRef"]["name"]
    for deployment in of_kind(objects, "Deployment"):
        metadata = deployment["metadata"]
        account = deployment["spec"]["template"]["spec"]["serviceAccountName"]
        assert account == metadata["name"]
        assert (account, metadata["namespace"]) in accounts


def asked_for(package: ModuleType) -> Iterator[api.Resource]:
    """Resources a package names, ``api.WORKLOADS``, and the kinds it gets from the table of job kinds."""
    for source in Path(str(package.__file__)).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(source.read_text())):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "api":
                found = getattr(api, node.attr)
                if isinstance(found, api.Resource):
                    yield found
            elif isinstance(node, ast.Name) and node.id == "BOUNDED":
                yield from (view.resource for view in BOUNDED.values())


@pytest.mark.parametrize("package", [controller, webhook], ids=["controller", "webhook"])
def test_granted_is_what_the_code_names(defaults: list[Object], package: ModuleType) -> None:
    named = {(resource.group, resource.plural) for resource in asked_for(package)}
    if package is webhook:
        # It judges jobs as the API server sends them, and never reads one.
        named.discard((api.JOBS.group, api.JOBS.plural))
    mine = [role for role in roles(defaults) if role["metadata"]["name"] == f"muster-{package.__name__}"]
    granted = {(group, resource.partition("/")[0]) for role in mine for group, resource, _, _ in grants(role)}
    assert granted == named


def test_reading_profiles_is_part_of_view(defaults: list[Object]) -> None:
    labels = only(defaults, "ClusterRole", "muster-view")["metadata"]["labels"]
    assert labels["rbac.authorization.k8s.io/aggregate-to-view"] == "true"
