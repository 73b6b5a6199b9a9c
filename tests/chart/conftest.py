"""The matrix of values the chart is rendered with. Rendered once per session: helm takes longer than the assertions."""

from functools import cache
from typing import Any, Final, NamedTuple

import pytest

from tests.chart.render import Object, render


class Case(NamedTuple):
    values: dict[str, Any]
    release: str = "muster"
    namespace: str = "muster-system"


MATRIX: Final = {
    "defaults": Case({}),
    "monitoring": Case(
        {
            "monitoring": {
                "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
                "prometheusRule": {
                    "enabled": True,
                    "labels": {"release": "prometheus"},
                    "alertLabels": {"team": "batch"},
                    "runbook": "https://wiki.example.com/muster",
                },
                "dashboard": {"enabled": True, "labels": {"dashboards": "batch"}},
            }
        }
    ),
    "release that sorts before Kueue": Case({}, release="batch", namespace="batch-system"),
    "names and labels": Case({"fullnameOverride": "quorum", "commonLabels": {"owner": "batch"}}),
    "scope": Case(
        {
            "webhook": {
                "excludedNamespaces": ["kube-system", "ci"],
                "namespaceSelector": {
                    "matchLabels": {"tier": "batch"},
                    "matchExpressions": [{"key": "sandbox", "operator": "DoesNotExist"}],
                },
                "objectSelector": {"matchLabels": {"gang": "true"}},
            }
        }
    ),
    "fail closed": Case({"webhook": {"failurePolicy": "Fail", "replicas": 3, "timeoutSeconds": 5}}),
    "everything about pods": Case(
        {
            "image": {"repository": "example.com/muster", "digest": "sha256:" + "0" * 64, "pullPolicy": "Always"},
            "imagePullSecrets": [{"name": "pull"}],
            "admission": {"defaultTimeout": "4h", "maxTimeout": "24h", "notice": "15m"},
            "controller": {
                "priorityClassName": "system-cluster-critical",
                "nodeSelector": {"pool": "system"},
                "tolerations": [{"key": "system", "operator": "Exists"}],
                "affinity": {"nodeAffinity": {}},
                "podLabels": {"sidecar": "none"},
                "podAnnotations": {"note": "yes"},
                "serviceAccountAnnotations": {"note": "yes"},
            },
            "webhook": {
                "port": 10250,
                "topologySpreadConstraints": [
                    {"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}
                ],
            },
        }
    ),
    "one of each": Case(
        {"webhook": {"replicas": 1}, "controller": {"replicas": 1}, "rbac": {"aggregateToView": False}}
    ),
    "network policy": Case({"networkPolicy": {"enabled": True, "metricsFrom": [{"namespaceSelector": {}}]}}),
    "without the CRD": Case({"capacityProfile": {"crd": {"install": False}}}),
}


@cache
def rendered(name: str) -> list[Object]:
    case = MATRIX[name]
    return render(case.values, release=case.release, namespace=case.namespace)


@pytest.fixture(params=MATRIX)
def case(request: pytest.FixtureRequest) -> str:
    """The name of one case of the matrix."""
    return str(request.param)


@pytest.fixture
def objects(case: str) -> list[Object]:
    """Every object of one case; not to be changed."""
    return rendered(case)


@pytest.fixture
def defaults() -> list[Object]:
    """Every object of a default install; not to be changed."""
    return rendered("defaults")
