"""What the two programs may do: the whole table, and that it is what their code asks for and no more."""

import ast
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import controller
import webhook
from classifier import api
from classifier.cluster import following
from classifier.scope import BOUNDED
from tests.chart.render import Object, of_kind, only, render

READ = "get list watch"

#: What a gang is judged against: (group, resource, names, verbs).
WORLD = {
    (group, resource, "", READ)
    for group, resources in {
        "kueue.x-k8s.io": (
            "admissionchecks clusterqueues cohorts localqueues provisioningrequestconfigs resourceflavors topologies"
        ),
        "muster.dev": "capacityprofiles",
        "": "limitranges namespaces nodes",
        "node.k8s.io": "runtimeclasses",
        "resource.k8s.io": "deviceclasses",
        "trainer.kubeflow.org": "clustertrainingruntimes trainingruntimes",
        "karpenter.sh": "nodepools",
        "cluster.x-k8s.io": "machinedeployments machinepools machinesets",
    }.items()
    for resource in resources.split()
}

#: By role.
TABLE = {
    "ClusterRole/muster-webhook": WORLD
    | {
        ("kueue.x-k8s.io", "workloads", "", "get"),
        ("admissionregistration.k8s.io", "mutatingwebhookconfigurations", "muster-webhook", f"{READ} patch"),
        ("admissionregistration.k8s.io", "validatingwebhookconfigurations", "muster-webhook", f"{READ} patch"),
    },
    "Role/muster-webhook": {
        ("", "secrets", "", "create"),
        ("", "secrets", "muster-webhook-ca", f"{READ} patch"),
    },
    "ClusterRole/muster-controller": WORLD
    | {
        ("kueue.x-k8s.io", "workloads", "", f"{READ} patch delete"),
        ("batch", "jobs", "", f"{READ} patch delete"),
        ("", "pods", "", f"{READ} patch delete"),
        ("jobset.x-k8s.io", "jobsets", "", f"{READ} patch delete"),
        ("trainer.kubeflow.org", "trainjobs", "", f"{READ} patch delete"),
        ("workload.codeflare.dev", "appwrappers", "", f"{READ} patch delete"),
        *(("ray.io", f"ray{kind}s", "", f"{READ} patch delete") for kind in ("cluster", "job")),
        *(
            ("kubeflow.org", f"{kind}jobs", "", f"{READ} patch delete")
            for kind in ("jax", "mpi", "paddle", "pytorch", "tf", "xgboost")
        ),
        ("autoscaling.x-k8s.io", "provisioningrequests", "", READ),
        ("muster.dev", "capacityprofiles/status", "", "patch"),
        ("admissionregistration.k8s.io", "validatingadmissionpolicies", "muster-fence", READ),
        ("admissionregistration.k8s.io", "validatingadmissionpolicybindings", "muster-fence", READ),
        ("events.k8s.io", "events", "", "create"),
    },
    "Role/muster-controller": {
        ("coordination.k8s.io", "leases", "", "create"),
        ("coordination.k8s.io", "leases", "muster-controller", "get patch"),
    },
    "Role/muster-kueue-config": {("", "configmaps", "kueue-manager-config", READ)},
    "Role/muster-autoscaler-status": {("", "configmaps", "cluster-autoscaler-status", READ)},
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


def test_without_cleanup_nothing_may_be_deleted() -> None:
    without = render({"cleanup": {"enabled": False}})
    assert not [grant for role in roles(without) for grant in grants(role) if "delete" in grant[3]]


def test_what_controls_jobs_is_read_where_the_values_say_so(defaults: list[Object]) -> None:
    more = render({"controller": {"readOwners": [{"group": "example.com", "resource": "pipelines"}]}})
    new = set().union(*map(grants, roles(more))) - set().union(*map(grants, roles(defaults)))
    assert new == {("example.com", "pipelines", "", "get")}


def test_config_maps_are_read_one_by_one_where_they_are(defaults: list[Object]) -> None:
    assert {
        (role["metadata"]["namespace"], *names)
        for role in roles(defaults)
        if of_both(role)
        for names in [role["rules"][0]["resourceNames"]]
    } == {("kueue-system", "kueue-manager-config"), ("kube-system", "cluster-autoscaler-status")}
    without = render({"kueue": {"config": {"name": ""}}, "autoscaler": {"statusConfigMap": {"name": ""}}})
    assert not any(map(of_both, roles(without)))


def test_no_wildcards(objects: list[Object]) -> None:
    for role in roles(objects):
        for rule in role["rules"]:
            assert all("*" not in entry for entries in rule.values() for entry in entries)
            assert "nonResourceURLs" not in rule


def of_both(role: Object) -> bool:
    """Whether both programs have it."""
    resources = {resource for rule in role["rules"] for resource in rule["resources"]}
    return resources == {"configmaps"}


def test_each_role_is_bound_to_its_own_account_alone(objects: list[Object]) -> None:
    accounts = {(a["metadata"]["name"], a["metadata"]["namespace"]) for a in of_kind(objects, "ServiceAccount")}
    rules = {
        (role["kind"], role["metadata"].get("namespace"), role["metadata"]["name"]): role for role in roles(objects)
    }
    for binding in of_kind(objects, "ClusterRoleBinding") + of_kind(objects, "RoleBinding"):
        ref = binding["roleRef"]
        role = rules[ref["kind"], binding["metadata"].get("namespace"), ref["name"]]
        bound = {(subject["name"], subject["namespace"]) for subject in binding["subjects"]}
        assert {subject["kind"] for subject in binding["subjects"]} == {"ServiceAccount"}
        assert bound <= accounts
        assert bound == accounts if of_both(role) else {name for name, _ in bound} == {ref["name"]}
    for deployment in of_kind(objects, "Deployment"):
        metadata = deployment["metadata"]
        account = deployment["spec"]["template"]["spec"]["serviceAccountName"]
        assert account == metadata["name"]
        assert (account, metadata["namespace"]) in accounts


def asked_for(source: Path) -> Iterator[api.Resource]:
    """Resources a file names, ``api.WORKLOADS``, and the kinds it gets from the table of job kinds."""
    for node in ast.walk(ast.parse(source.read_text())):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "api":
            found = getattr(api, node.attr)
            if isinstance(found, api.Resource):
                yield found
        elif isinstance(node, ast.Name) and node.id == "BOUNDED":
            yield from (view.resource for view in BOUNDED.values())


def sources(package: ModuleType) -> Iterator[Path]:
    """Its files, and what it follows the world with."""
    own = sorted(Path(str(package.__file__)).parent.rglob("*.py"))
    assert any(f"import {following.Following.__name__}" in source.read_text() for source in own)
    yield from own
    yield Path(str(following.__file__))


@pytest.mark.parametrize("package", [controller, webhook], ids=["controller", "webhook"])
def test_granted_is_what_the_code_names(defaults: list[Object], package: ModuleType) -> None:
    named = {(resource.group, resource.plural) for source in sources(package) for resource in asked_for(source)}
    if package is webhook:
        # It judges jobs as the API server sends them, and never reads one.
        named -= {(view.resource.group, view.resource.plural) for view in BOUNDED.values()}
    mine = [
        role for role in roles(defaults) if role["metadata"]["name"] == f"muster-{package.__name__}" or of_both(role)
    ]
    granted = {(group, resource.partition("/")[0]) for role in mine for group, resource, _, _ in grants(role)}
    assert granted == named


def test_reading_profiles_is_part_of_view(defaults: list[Object]) -> None:
    labels = only(defaults, "ClusterRole", "muster-view")["metadata"]["labels"]
    assert labels["rbac.authorization.k8s.io/aggregate-to-view"] == "true"
