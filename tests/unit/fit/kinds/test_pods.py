"""A bare pod, one pod of a group, and a group."""

from typing import Any

import pytest

from classifier import api
from classifier.fit.gang import GangError, Unresolved
from classifier.fit.kinds.role import role_of
from classifier.objects import Pod, PodGroup, PodStatus
from tests.unit.fit.kinds.shapes import made, only, podsets, template

LABEL = {api.POD_GROUP_NAME: "gang"}


def pod(name: str = "p", gpus: int = 1, total: str | None = "3", **fields: Any) -> Pod:
    """One of a group of ``total``."""
    annotations = {api.POD_GROUP_TOTAL: total} if total is not None else {}
    spec = template({"nvidia.com/gpu": str(gpus)}, **fields)["spec"]
    return made(Pod, spec, name, labels=LABEL, annotations=annotations)


def group(*pods: Pod) -> PodGroup:
    return PodGroup(metadata=pods[0].metadata if pods else Pod().metadata, pods=list(pods))


def test_a_bare_pod_is_its_own_template() -> None:
    podset = only(made(Pod, template({"cpu": "1"})["spec"], labels={"app": "train"}))
    assert (podset.name, podset.count, podset.fewest, podset.path) == ("main", 1, 1, "")
    assert podset.labels == {"app": "train"}


@pytest.mark.parametrize("where", ["labels", "annotations"])
def test_one_pod_of_a_group_promises_for_all_and_proves_for_itself(where: str) -> None:
    notes = {api.POD_GROUP_TOTAL: "3"}
    metadata: dict[str, Any] = {"annotations": notes, where: LABEL | (notes if where == "annotations" else {})}
    podset = only(made(Pod, template()["spec"], **metadata))
    assert (podset.count, podset.min_count, podset.fewest) == (3, 1, 1)


@pytest.mark.parametrize("total", [None, "", "0", "-1", "three", "²", "9" * 5000, "4294967296"])
def test_a_group_says_how_many_it_is(total: str | None) -> None:
    with pytest.raises(GangError, match=api.POD_GROUP_TOTAL):
        podsets(pod(total=total))
    with pytest.raises(GangError, match=api.POD_GROUP_TOTAL):
        podsets(group(pod(total=total)))


def test_a_group_has_a_podset_for_each_role() -> None:
    found = podsets(group(pod("a", 8), pod("b", 0), pod("c", 8)))
    assert sorted((podset.count, podset.min_count) for podset in found) == [(1, 1), (2, 2)]
    assert [podset.name for podset in found] == sorted(podset.name for podset in found)
    assert len({podset.name for podset in found}) == 2


def test_a_role_may_be_named_by_the_pod() -> None:
    named = pod("a")
    (named.metadata.annotations or {})["kueue.x-k8s.io/role-hash"] = "Driver"
    assert {podset.name for podset in podsets(group(named, pod("b"), pod("c")))} == {"driver", role_of(pod())}


def test_pods_that_are_still_to_come_are_a_guess() -> None:
    assert [(one.count, one.min_count) for one in podsets(group(pod("a"), pod("b")))] == [(3, 2)]
    assert sorted((one.count, one.min_count) for one in podsets(group(pod("a"), pod("b", 8)))) == [(1, 1), (1, 1)]


def test_save_with_fast_admission_where_kueue_counts_all_with_the_first() -> None:
    fast = pod("a")
    (fast.metadata.annotations or {})["kueue.x-k8s.io/pod-group-fast-admission"] = "true"
    (podset,) = podsets(group(fast))
    assert (podset.count, podset.min_count, podset.fewest) == (3, 3, 1)


def test_pods_that_cannot_run_do_not_count() -> None:
    gone = pod("gone", 8)
    gone.metadata.deletion_timestamp = "2026-11-29T10:00:00Z"
    assert [one.count for one in podsets(group(gone, pod("a"), pod("b"), pod("c")))] == [3]
    bound = pod("bound", 8, nodeName="gpu-1")
    bound.metadata.deletion_timestamp = "2026-11-29T10:00:00Z"
    assert len(podsets(group(bound, pod("a"), pod("b")))) == 2


def test_groups_that_cannot_be_judged() -> None:
    with pytest.raises(Unresolved, match="none of the pods"):
        podsets(group())
    with pytest.raises(Unresolved, match="4 pods, more than"):
        podsets(group(*(pod(name) for name in "abcd")))


EVICTING = [
    {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    for key in ("not-ready", "unreachable")
]
FULL = {
    "initContainers": [{"name": "i"}],
    "containers": [
        {
            "name": "main",
            "resources": {"requests": {"memory": "1Gi", "cpu": "1500m", "ephemeral-storage": "1Gi"}},
            "ports": [
                {"name": "http", "containerPort": 80, "protocol": "TCP"},
                {"hostPort": 81, "containerPort": 81, "protocol": "UDP"},
            ],
        }
    ],
    "nodeSelector": {"z": "1", "a": "2"},
    "tolerations": [{"key": "gpu", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30}, *EVICTING],
    "priority": 0,
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {
                        "matchExpressions": [{"key": "a", "operator": "In", "values": ["y", "x"]}],
                        "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}],
                    }
                ]
            },
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 3, "preference": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}}
            ],
        },
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {
                    "topologyKey": "kubernetes.io/hostname",
                    "labelSelector": {
                        "matchExpressions": [{"key": "b", "operator": "DoesNotExist"}],
                        "matchLabels": {"y": "2", "x": "1"},
                    },
                    "namespaces": ["q"],
                }
            ],
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 1, "podAffinityTerm": {"topologyKey": "zone", "namespaceSelector": {}}}
            ],
        },
    },
    "topologySpreadConstraints": [
        {
            "topologyKey": "zone",
            "maxSkew": 1,
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"a": "1", "b": "1"}},
        }
    ],
}


@pytest.mark.parametrize(
    ("spec", "role"),
    [
        (FULL, "6733ad22"),
        ({**template({"cpu": "1"})["spec"], "tolerations": EVICTING, "priority": 0}, "4b0469f7"),
        (
            {
                **template({"cpu": "100m", "memory": "1536Mi"})["spec"],
                "tolerations": [{"operator": "Exists"}],
                "priority": 2000001000,
            },
            "446db2b2",
        ),
    ],
    ids=["full", "plain", "critical"],
)
def test_the_role_is_the_one_kueue_finds(spec: dict[str, Any], role: str) -> None:
    """As Kueue 0.19.2 named the podsets of stored pods."""
    assert role_of(made(Pod, spec)) == role


def test_pods_of_a_group_that_have_succeeded_are_not_needed_again() -> None:
    ended, other = pod("a"), pod("b")
    ended.status = PodStatus(phase="Succeeded")
    (podset,) = podsets(group(ended, other))
    assert (podset.count, podset.min_count, podset.fewest) == (3, 1, 1)
    roles = podsets(group(ended, other, pod("c", 8)))
    assert sorted((one.count, one.fewest) for one in roles) == [(1, 1), (2, 1)]


def test_a_label_that_not_all_pods_of_a_role_have_is_none_of_theirs() -> None:
    """The role does not hang on labels: an anti-affinity that selects the one keeps the others apart from it alone."""
    pods = [pod(name) for name in ("a", "b", "c")]
    for one, rank in zip(pods, "011", strict=True):
        one.metadata.labels = {**LABEL, "app": "train", "rank": rank}
    assert only(group(*pods)).labels == {**LABEL, "app": "train"}


@pytest.mark.parametrize(
    "other",
    [
        {"gpus": 8},
        {"hostNetwork": True},
        {"nodeSelector": {"zone": "a"}},
        {"initContainers": [{"name": "init", "restartPolicy": "Always"}]},
    ],
)
def test_pods_that_name_one_role_and_differ_are_not_judged_by_the_first(other: dict[str, Any]) -> None:
    pods = [pod("a"), pod("b", **other), pod("c")]
    for one in pods:
        one.metadata.annotations = {**(one.metadata.annotations or {}), "kueue.x-k8s.io/role-hash": "worker"}
    with pytest.raises(Unresolved, match="pods of role worker differ"):
        podsets(group(*pods))
