"""What a pod turns out to be once it is created: less than its template says, or more than its file does."""

from typing import Any

import msgspec
import pytest

from classifier import api
from classifier.fit import Outcome, Verdict, World, judge
from classifier.objects import Pod, RayCluster, RuntimeClass
from tests.builders import GPU, NAMESPACE, ProfileBuilder, cluster_queue, flavor, gpu_world, job, profile

NEVER, UNKNOWN, GROWS = Outcome.NEVER_FITS, Outcome.UNKNOWN, Outcome.FITS_AFTER_SCALE_UP


def pod(requests: dict[str, str], **spec: Any) -> Pod:
    containers = [{"name": "main", "resources": {"requests": requests, "limits": requests}}]
    metadata = {"name": "p", "namespace": NAMESPACE, "labels": {api.QUEUE_NAME: "gpu"}}
    return msgspec.convert({"metadata": metadata, "spec": {"containers": containers, **spec}}, Pod)


def tainted(key: str) -> World:
    kata = {"metadata": {"name": "kata"}, "scheduling": {"tolerations": [{"key": "sandbox", "operator": "Exists"}]}}
    world = gpu_world(flavor().node_labels(agentpool="gpupool").taint(key, "present"))
    world.runtime_classes = {"kata": msgspec.convert(kata, RuntimeClass)}
    return world


@pytest.mark.parametrize(
    ("taint", "spec", "outcome"),
    [
        ("sandbox", {}, NEVER),
        ("sandbox", {"runtimeClassName": "kata"}, GROWS),
        (GPU, {}, GROWS),
        ("other", {"runtimeClassName": "kata"}, NEVER),
    ],
)
def test_kueue_sees_a_bare_pod_with_the_tolerations_it_is_created_with(
    taint: str, spec: dict[str, str], outcome: Outcome
) -> None:
    """Those of its RuntimeClass, and for devices where the API server adds them (ExtendedResourceToleration)."""
    assert judge(pod({GPU: "1"}, **spec), tainted(taint), 0).outcome is outcome


@pytest.mark.parametrize(("taint", "spec"), [("sandbox", {"runtimeClassName": "kata"}), (GPU, {})])
def test_kueue_sees_a_template_without_them(taint: str, spec: dict[str, str]) -> None:
    world = tainted(taint)
    assert judge(pod({GPU: "1"}, **spec), world, 0).outcome is GROWS
    assert judge(job().queue("gpu").gpus(1).pod_spec(**spec).done(), world, 0).outcome is NEVER


def sized(pod_level: dict[str, str], requests: dict[str, str]) -> Verdict:
    asking = job().queue("gpu").requests(requests).pod_spec(resources={"requests": pod_level})
    return judge(asking.done(), gpu_world(), 0)


def test_pod_level_resources_prove_nothing_of_nodes() -> None:
    """An API server before 1.34 drops them from the pods it makes."""
    assert sized({"cpu": "95"}, {"cpu": "1"}).outcome is UNKNOWN
    assert sized({"cpu": "94"}, {"cpu": "1"}).outcome is GROWS
    assert sized({"cpu": "96"}, {"cpu": "95"}).outcome is NEVER


@pytest.mark.parametrize(("least", "outcome"), [(0, UNKNOWN), (1, NEVER)])
def test_part_of_a_device_refuses_no_pods_that_need_not_be(least: int, outcome: Outcome) -> None:
    """A Ray cluster runs without the workers that its autoscaler may leave out."""
    head = {"template": {"spec": {"containers": [{"name": "head", "resources": {"requests": {"cpu": "1"}}}]}}}
    worker = {"spec": {"containers": [{"name": "w", "resources": {"requests": {GPU: "1500m"}}}]}}
    group = {"groupName": "w", "replicas": 1, "minReplicas": least, "template": worker}
    raw = {
        "metadata": {"name": "r", "namespace": NAMESPACE, "labels": {api.QUEUE_NAME: "gpu"}},
        "spec": {"enableInTreeAutoscaling": True, "headGroupSpec": head, "workerGroupSpecs": [group]},
    }
    assert judge(msgspec.convert(raw, RayCluster), gpu_world(), 0).outcome is outcome


def plain() -> ProfileBuilder:
    return profile("plain", "default").closed().mode("Enforce").pool()


def cluster(cpu: str, **spec: Any) -> RayCluster:
    head = {"containers": [{"name": "head", "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}}]}
    metadata = {"name": "r", "namespace": NAMESPACE, "labels": {api.QUEUE_NAME: "gpu"}}
    return msgspec.convert(
        {"metadata": metadata, "spec": {"headGroupSpec": {"template": {"spec": head}}, **spec}}, RayCluster
    )


@pytest.mark.parametrize(
    ("spec", "cpu", "outcome"),
    [
        ({}, "1", GROWS),
        ({}, "1100m", NEVER),
        ({"enableInTreeAutoscaling": True}, "500m", GROWS),
        ({"enableInTreeAutoscaling": True}, "1", UNKNOWN),
        ({"enableInTreeAutoscaling": True}, "1100m", NEVER),
        ({"gcsFaultToleranceOptions": {}}, "100m", GROWS),
        ({"gcsFaultToleranceOptions": {}}, "1100m", NEVER),
    ],
)
def test_quota_is_short_only_if_it_is_for_every_release_of_kueue(
    spec: dict[str, Any], cpu: str, outcome: Outcome
) -> None:
    """The autoscaler beside a Ray head counts since 0.19."""
    queue = cluster_queue().group(["cpu"], "a100-scale", quota="1").group(["memory"], "default", quota="1Ti")
    found = judge(cluster(cpu, **spec), gpu_world(queue.checks("capacity"), flavor("default"), plain()), 0)
    assert found.outcome is outcome, found.line
    assert found.binding == ("quota" if outcome is not GROWS else None)


def test_pod_level_resources_prove_nothing_of_quota() -> None:
    def asking(pod_level: str, cpu: str) -> Outcome:
        world = gpu_world(cluster_queue().group(["cpu", "memory", GPU], "a100-scale", quota="4").checks("capacity"))
        pods = job().queue("gpu").requests({"cpu": cpu}).pod_spec(resources={"limits": {"cpu": pod_level}})
        return judge(pods.done(), world, 0).outcome

    assert asking("4", "1") is GROWS
    assert asking("5", "1") is UNKNOWN  # 0.19 counts 5
    assert asking("5", "5") is NEVER
