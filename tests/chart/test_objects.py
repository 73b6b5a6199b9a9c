"""Every rendered object, over the matrix of values: legal, named apart, confined, and free of what is written later."""

import json
from functools import cache

import kubernetes_validate
import pytest

from tests.chart.conftest import MATRIX, rendered
from tests.chart.render import Object, of_kind, only, render, walk

#: Kinds that no Kubernetes schema describes; tests of their own look at them.
OTHERS = ("CustomResourceDefinition", "PrometheusRule", "ServiceMonitor")
#: The oldest version the chart installs on, and those it is tested on.
VERSIONS = ("1.30", "1.34", "1.36", "1.37")


@cache
def known(text: str, version: str) -> None:
    """Most objects are the same in most cases, and to look at one takes a while."""
    kubernetes_validate.validate(json.loads(text), version, strict=True)


@pytest.mark.parametrize("version", VERSIONS)
def test_kubernetes_knows_every_field(objects: list[Object], version: str) -> None:
    for obj in objects:
        if obj["kind"] not in OTHERS:
            known(json.dumps(obj), version)


def test_no_two_objects_share_a_name(objects: list[Object]) -> None:
    names = [(o["apiVersion"], o["kind"], o["metadata"].get("namespace"), o["metadata"]["name"]) for o in objects]
    assert len(set(names)) == len(names)


def test_namespaced_objects_go_to_the_release_namespace(case: str, objects: list[Object]) -> None:
    """But for the right to read one object of another namespace, which cannot be given from here."""
    namespaced = [obj for obj in objects if "namespace" in obj["metadata"]]
    abroad = {obj["kind"] for obj in namespaced if obj["metadata"]["namespace"] != MATRIX[case].namespace}
    assert abroad <= {"Role", "RoleBinding"}
    assert len(namespaced) > len(abroad)


def test_every_object_is_known_as_the_releases(case: str, objects: list[Object]) -> None:
    for obj in objects:
        labels = obj["metadata"]["labels"]
        assert labels["app.kubernetes.io/instance"] == MATRIX[case].release
        assert labels["app.kubernetes.io/managed-by"] == "Helm"
        assert all(isinstance(value, str) for value in labels.values())


def test_nothing_the_programs_write_is_rendered(objects: list[Object]) -> None:
    """Helm 4 applies server-side: a rendered caBundle or Secret would fight with its writer on every upgrade."""
    assert not of_kind(objects, "Secret")
    assert "caBundle" not in {key for obj in objects for key, _ in walk(obj)}


def test_containers_meet_the_restricted_profile(objects: list[Object]) -> None:
    deployments = of_kind(objects, "Deployment")
    assert len(deployments) == 2
    for deployment in deployments:
        pod = deployment["spec"]["template"]["spec"]
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert not {"hostNetwork", "hostPID", "hostIPC", "volumes", "initContainers"} & pod.keys()
        for container in pod["containers"]:
            security = container["securityContext"]
            assert security["allowPrivilegeEscalation"] is False
            assert security["readOnlyRootFilesystem"] is True
            assert security["capabilities"] == {"drop": ["ALL"]}
            assert all("hostPort" not in port for port in container["ports"])
            assert {"requests", "limits"} <= container["resources"].keys()


def test_services_and_budgets_select_the_pods_of_one_component(objects: list[Object]) -> None:
    pods = {d["metadata"]["name"]: d["spec"]["template"]["metadata"]["labels"] for d in of_kind(objects, "Deployment")}

    def selected(selector: dict[str, str]) -> list[str]:
        return [name for name, labels in pods.items() if selector.items() <= labels.items()]

    for service in of_kind(objects, "Service"):
        assert selected(service["spec"]["selector"]) == [service["metadata"]["name"]]
    for budget in of_kind(objects, "PodDisruptionBudget"):
        assert selected(budget["spec"]["selector"]["matchLabels"]) == [budget["metadata"]["name"]]
    for deployment in of_kind(objects, "Deployment"):
        assert selected(deployment["spec"]["selector"]["matchLabels"]) == [deployment["metadata"]["name"]]


def test_ports_named_by_services_and_probes_exist(objects: list[Object]) -> None:
    containers = {
        d["metadata"]["name"]: d["spec"]["template"]["spec"]["containers"][0] for d in of_kind(objects, "Deployment")
    }
    ports = {name: {port["name"] for port in container["ports"]} for name, container in containers.items()}
    for service in of_kind(objects, "Service"):
        assert {port["targetPort"] for port in service["spec"]["ports"]} <= ports[service["metadata"]["name"]]
    for name, container in containers.items():
        assert container["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "metrics"}
        assert container["livenessProbe"]["httpGet"] == {"path": "/healthz", "port": "metrics"}
        assert "metrics" in ports[name]


def test_a_budget_is_for_two_replicas_or_more() -> None:
    assert len(of_kind(rendered("defaults"), "PodDisruptionBudget")) == 2
    assert not of_kind(rendered("one of each"), "PodDisruptionBudget")


def test_a_network_policy_lets_in_what_its_pods_serve_and_nothing_else() -> None:
    """From the peers of the values alone where metrics are read; reviews from anywhere."""
    objects = rendered("network policy")
    ports = {}
    for policy in of_kind(objects, "NetworkPolicy"):
        deployment = only(objects, "Deployment", policy["metadata"]["name"])
        assert policy["spec"]["podSelector"]["matchLabels"] == deployment["spec"]["selector"]["matchLabels"]
        assert policy["spec"]["policyTypes"] == ["Ingress"]
        served = {p["name"] for p in deployment["spec"]["template"]["spec"]["containers"][0]["ports"]}
        let_in = {port["port"]: rule.get("from") for rule in policy["spec"]["ingress"] for port in rule["ports"]}
        assert let_in.keys() == served
        assert let_in.pop("metrics") == [{"namespaceSelector": {}}]
        ports[deployment["metadata"]["name"]] = let_in
    assert ports == {"muster-webhook": {"https": None}, "muster-controller": {}}
    assert not of_kind(rendered("defaults"), "NetworkPolicy")


def test_values_reach_the_pods() -> None:
    controller = only(rendered("everything about pods"), "Deployment", "muster-controller")["spec"]["template"]
    assert controller["metadata"]["labels"]["sidecar"] == "none"
    assert controller["metadata"]["annotations"] == {"note": "yes"}
    pod = controller["spec"]
    assert pod["priorityClassName"] == "system-cluster-critical"
    assert pod["nodeSelector"] == {"pool": "system"}
    assert pod["imagePullSecrets"] == [{"name": "pull"}]
    assert pod["containers"][0]["image"] == "example.com/muster@sha256:" + "0" * 64
    webhook = only(rendered("everything about pods"), "Deployment", "muster-webhook")["spec"]["template"]["spec"]
    assert [spread["topologyKey"] for spread in webhook["topologySpreadConstraints"]] == ["zone"]
    assert webhook["containers"][0]["ports"][0] == {"name": "https", "containerPort": 10250, "protocol": "TCP"}


def test_the_same_values_render_the_same_bytes() -> None:
    """GitOps renders again and again: nothing random, nothing looked up."""
    assert json.dumps(render()) == json.dumps(rendered("defaults"))
