"""Upstream's manifests, changed in memory as kustomize would."""

from pathlib import Path

from e2e.controlplane import manifests
from e2e.controlplane.apply import rank
from e2e.controlplane.chart import merged

WEBHOOKS = """
kind: ValidatingWebhookConfiguration
metadata: {name: validating-webhook-configuration}
webhooks:
- name: vjob.kb.io
  clientConfig: {service: {name: webhook-service, namespace: system, path: /validate-job}}
  rules: [{apiGroups: [batch], resources: [jobs]}]
- name: vrayjob.kb.io
  clientConfig: {service: {name: webhook-service, namespace: system, path: /validate-rayjob}}
  rules: [{apiGroups: [ray.io], resources: [rayjobs]}]
"""
RBAC = """
kind: ClusterRole
metadata: {name: manager-role}
rules:
- {resources: [mutatingwebhookconfigurations], resourceNames: [mutating-webhook-configuration], verbs: [get]}
- {resources: [customresourcedefinitions], resourceNames: [workloads.kueue.x-k8s.io], verbs: [get]}
---
kind: RoleBinding
metadata: {name: manager-binding, namespace: system}
roleRef: {kind: ClusterRole, name: manager-role}
subjects: [{kind: ServiceAccount, name: controller-manager, namespace: system}, {kind: Group, name: all}]
---
kind: Kustomization
resources: [x]
"""


def test_webhooks_lead_to_the_service_and_those_of_absent_kinds_are_dropped(tmp_path: Path) -> None:
    path = tmp_path / "manifests.yaml"
    path.write_text(WEBHOOKS)
    [found] = manifests.webhooks(
        path, prefix="kueue-", service="s", namespace="kueue-system", served=lambda group: group != "ray.io"
    )
    assert found["metadata"]["name"] == "kueue-validating-webhook-configuration"
    [entry] = found["webhooks"]
    assert entry["clientConfig"]["service"] == {"name": "s", "namespace": "kueue-system", "path": "/validate-job"}
    [excluded] = entry["namespaceSelector"]["matchExpressions"]
    assert excluded["values"] == ["kube-system", "kueue-system"]


def test_roles_follow_the_names_of_what_they_speak_of(tmp_path: Path) -> None:
    path = tmp_path / "rbac.yaml"
    path.write_text(RBAC)
    role, binding = manifests.rbac(path, prefix="kueue-", namespace="kueue-system")
    assert [rule["resourceNames"] for rule in role["rules"]] == [
        ["kueue-mutating-webhook-configuration"],
        ["workloads.kueue.x-k8s.io"],
    ]
    assert binding["metadata"] == {"name": "kueue-manager-binding", "namespace": "kueue-system"}
    assert binding["roleRef"]["name"] == "kueue-manager-role"
    assert binding["subjects"] == [
        {"kind": "ServiceAccount", "name": "kueue-controller-manager", "namespace": "kueue-system"},
        {"kind": "Group", "name": "all"},
    ]


def test_what_others_need_is_applied_first_and_what_judges_the_rest_last() -> None:
    kinds = ["MutatingWebhookConfiguration", "Deployment", "CustomResourceDefinition", "Service", "Namespace"]
    assert sorted(kinds, key=lambda kind: rank({"kind": kind})) == [
        "Namespace",
        "CustomResourceDefinition",
        "Service",
        "Deployment",
        "MutatingWebhookConfiguration",
    ]


def test_values_are_merged_as_helm_merges_them() -> None:
    base = {"webhook": {"replicas": 2, "drain": "1s"}, "list": [1]}
    assert merged(base, {"webhook": {"replicas": 1}, "list": [2], "new": {}}) == {
        "webhook": {"replicas": 1, "drain": "1s"},
        "list": [2],
        "new": {},
    }
