"""AppWrapper: what its components declare, what the operator infers, and what the wrapped kind adds."""

from typing import Any

import pytest

from classifier.fit.gang import GangError
from classifier.objects import AppWrapper
from tests.unit.fit.kinds.shapes import Json, at, counts, made, podsets, template


def component(api_version: str, kind: str, spec: Any, *declared: tuple[str, int | None], **metadata: Any) -> Json:
    wrapped = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "inner", **metadata}, "spec": spec}
    sets = [{"path": path, **({} if count is None else {"replicas": count})} for path, count in declared]
    return {"template": wrapped, **({"podSets": sets} if sets else {})}


def wrapper(*components: Json) -> AppWrapper:
    return made(AppWrapper, {"components": list(components)}, "wrap")


def job(**spec: Any) -> Json:
    return component("batch/v1", "Job", {"template": template(), **spec})


def shape(built: AppWrapper) -> list[tuple[int, int]]:
    """Pods as Kueue counts them, and the fewest that need a place."""
    return [(podset.count, podset.fewest) for podset in podsets(built)]


RAY = {
    "headGroupSpec": {"template": template()},
    "workerGroupSpecs": [
        {"groupName": "a", "replicas": 2, "numOfHosts": 4, "template": template()},
        {"groupName": "b", "template": template()},
        {"groupName": "none"},
    ],
}
PYTORCH = {"Master": {"template": template()}, "Worker": {"replicas": 3, "template": template()}, "Other": {}}


@pytest.mark.parametrize(
    ("wrapped", "expected"),
    [
        (job(), [(1, 1)]),
        (job(parallelism=4, completions=3), [(3, 3)]),
        (component("apps/v1", "Deployment", {"replicas": 3, "template": template()}), [(3, 3)]),
        (component("apps/v1", "StatefulSet", {"template": template()}), [(1, 1)]),
        (component("v1", "Pod", template()["spec"]), [(1, 1)]),
        (component("kubeflow.org/v1", "PyTorchJob", {"pytorchReplicaSpecs": PYTORCH}), [(1, 1), (3, 3)]),
        # An absent number of workers is 1 to AppWrapper and 0 to KubeRay; AppWrapper does not know of hosts.
        (component("ray.io/v1", "RayCluster", RAY), [(1, 1), (2, 2), (1, 0)]),
        (component("ray.io/v1", "RayJob", {"rayClusterSpec": RAY}), [(1, 1), (2, 2), (1, 0)]),
        (
            component(
                "jobset.x-k8s.io/v1alpha2",
                "JobSet",
                {
                    "replicatedJobs": [
                        {"name": "a", "replicas": 2, "template": {"spec": {"parallelism": 3, "template": template()}}},
                        {"name": "b", "template": {"spec": {"template": template()}}},
                    ]
                },
            ),
            [(6, 6), (1, 1)],
        ),
    ],
)
def test_kinds_the_operator_knows(wrapped: Json, expected: list[tuple[int, int]]) -> None:
    assert shape(wrapper(wrapped)) == expected


def test_components_are_numbered_through() -> None:
    service = component("v1", "Service", {"ports": []})
    assert counts(wrapper(job(parallelism=2), service, job())) == {"wrap-0": 2, "wrap-1": 1}


def test_a_component_may_declare_its_podsets() -> None:
    declared = ("template.spec.groups[1].pods", 3), ("template.spec.groups[0].pods", None)
    wrapped = component("example.com/v1", "Thing", {"groups": [{"pods": template()}, {"pods": template()}]}, *declared)
    assert counts(wrapper(wrapped)) == {"wrap-0": 3, "wrap-1": 1}


@pytest.mark.parametrize(
    "wrapped",
    [
        job(),
        component("v1", "Pod", template()["spec"]),
        component("ray.io/v1", "RayCluster", RAY),
        component("example.com/v1", "Thing", {"a/b": [{"pods": template()}]}, ("template.spec.a/b[0].pods", 1)),
    ],
)
def test_every_template_is_found(wrapped: Json) -> None:
    spec = {"spec": {"components": [{"template": {}}, wrapped]}}
    for podset in podsets(wrapper({"template": {}}, wrapped)):
        assert "containers" in at(spec, podset.path)["spec"]


def test_kueue_sees_less_of_a_template_than_its_pods_are() -> None:
    sidecar = {"name": "side", "restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}}
    pod = template({"cpu": "2"}, initContainers=[sidecar], runtimeClassName="gvisor", hostNetwork=True)
    (podset,) = podsets(wrapper(component("batch/v1", "Job", {"template": pod})))
    for spec, policy, runtime in ((podset.spec, "Always", "gvisor"), (podset.counted_spec, None, None)):
        (container,) = spec.init_containers or []
        assert (container.restart_policy, spec.runtime_class_name) == (policy, runtime)
        assert container.resources is not None
        assert container.resources.requests == {"cpu": "1"}


def test_kueue_sees_all_that_places_a_pod() -> None:
    where: Json = {
        "nodeSelector": {"a": "b"},
        "nodeName": "n",
        "tolerations": [{"key": "c"}],
        "overhead": {"cpu": "1m"},
    }
    (podset,) = podsets(wrapper(component("batch/v1", "Job", {"template": template(affinity={}, **where)})))
    for field in ("node_selector", "node_name", "tolerations", "overhead", "affinity"):
        assert getattr(podset.counted_spec, field) == getattr(podset.spec, field) is not None


def test_what_the_wrapped_kind_adds_is_for_nodes_alone() -> None:
    scaled = {**RAY, "enableInTreeAutoscaling": True}
    head, *_ = podsets(wrapper(component("ray.io/v1", "RayCluster", scaled)))
    assert [one.name for one in head.spec.containers or ()] == ["main", "autoscaler"]
    assert [one.name for one in head.counted_spec.containers or ()] == ["main"]


def test_stages_of_components_are_their_own() -> None:
    def jobs(status: str) -> Json:
        after = [{"name": "a", "status": status}]
        steps = [{"name": "a", "template": {"spec": {"template": template()}}}]
        steps.append({"name": "b", "template": {"spec": {"template": template()}}, "dependsOn": after})  # type: ignore[dict-item]
        return component("jobset.x-k8s.io/v1alpha2", "JobSet", {"replicatedJobs": steps})

    found = podsets(wrapper(jobs("Complete"), jobs("Complete"), jobs("Ready")))
    assert [podset.stage for podset in found] == [0, 1, 0, 2, 0, 0]


@pytest.mark.parametrize(
    ("wrapped", "says"),
    [
        (job(parallelism=-1), r"spec.components\[0\]: .*parallelism is -1"),
        (component("batch/v1", "Job", {}), "template.spec.template leads to no pod template"),
        (component("batch/v1", "Job", {"template": {}}), "leads to no pod template"),
        (component("batch/v1", "Job", {"template": {"spec": {"containers": 5}}}), "Expected `array"),
        (component("example.com/v1", "Thing", {}, ("spec.template", 1)), "spec.template leads to no pod template"),
        (component("example.com/v1", "Thing", {}, ("template.spec[0]", 1)), "leads to no pod template"),
        (component("example.com/v1", "Thing", {}, (f"template.spec[{'9' * 5000}]", 1)), "leads to no pod template"),
        (component("example.com/v1", "Thing", {"t": template()}, ("template.spec.t", -1)), "replicas is -1"),
        (component("apps/v1", "Deployment", {"replicas": "two", "template": template()}), "is no whole number"),
        (component("ray.io/v1", "RayCluster", {}), "headGroupSpec.template leads to no pod template"),
        (component("v1", "ConfigMap", None), "spec.components has no pods"),
        ({}, "spec.components has no pods"),
        ({"template": {"apiVersion": [], "kind": {}}}, "spec.components has no pods"),
    ],
)
def test_what_no_workload_can_be_made_of(wrapped: Json, says: str) -> None:
    with pytest.raises(GangError, match=says):
        podsets(wrapper(wrapped))


@pytest.mark.parametrize(
    ("kind", "fewest"), [(("apps/v1", "Deployment"), 3), (("example.com/v1", "Thing"), 0), (("v1", "Pod"), 3)]
)
def test_what_a_component_of_an_unknown_kind_declares_is_a_claim_on_quota_only(
    kind: tuple[str, str], fewest: int
) -> None:
    """A workflow may declare the sum of its steps."""
    spec = {"replicas": 3, "template": template(), **template()["spec"]}
    path = "template" if kind[1] == "Pod" else "template.spec.template"
    (podset,) = podsets(wrapper(component(*kind, spec, (path, 3))))
    assert (podset.count, podset.min_count, podset.fewest) == (3, 3, fewest)
