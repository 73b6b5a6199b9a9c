"""RayCluster and RayJob: head, worker groups, and what KubeRay adds to them."""

from typing import Any

import pytest

from classifier import api
from classifier.fit.gang import GangError, Podset, Unresolved
from classifier.fit.skip import why_not_judged
from classifier.objects import PodSpec, RayCluster, RayJob
from tests.unit.fit.kinds.shapes import counts, made, podsets, template

ELASTIC = {api.ELASTIC_JOB: "true"}


def group(name: str = "small", **fields: Any) -> dict[str, Any]:
    return {"groupName": name, "template": template(), **fields}


def spec(*groups: dict[str, Any], head: Any = None, **fields: Any) -> dict[str, Any]:
    return {"headGroupSpec": {"template": head or template()}, "workerGroupSpecs": list(groups), **fields}


def cluster(*groups: dict[str, Any], annotations: dict[str, str] | None = None, **fields: Any) -> RayCluster:
    return made(RayCluster, spec(*groups, **fields), annotations=annotations or {})


def job(cluster_spec: Any = None, annotations: dict[str, str] | None = None, **fields: Any) -> RayJob:
    return made(RayJob, {"rayClusterSpec": cluster_spec or spec(group()), **fields}, annotations=annotations or {})


def asked(spec: PodSpec) -> list[Any]:
    """Names of the containers and what they request."""
    found = spec.containers or ()
    return [(one.name, one.resources.requests if one.resources else None) for one in found]


@pytest.mark.parametrize(
    ("fields", "count", "fewest"),
    [
        ({}, 0, 0),  # the CRD's default; Kueue's own would be 1
        ({"replicas": 3}, 3, 3),
        ({"replicas": 3, "numOfHosts": 4}, 12, 12),
        ({"replicas": 3, "numOfHosts": 0}, 3, 0),
        # KubeRay keeps what it makes between the two.
        ({"replicas": 3, "maxReplicas": 2, "numOfHosts": 2}, 6, 4),
        ({"replicas": 3, "minReplicas": 5}, 3, 3),
        ({"replicas": 3, "minReplicas": 1}, 3, 3),
        ({"replicas": 3, "suspend": True}, 3, 0),
    ],
)
def test_workers(fields: dict[str, Any], count: int, fewest: int) -> None:
    head, workers = podsets(cluster(group(**fields)))
    assert (head.name, head.count, head.fewest) == ("head", 1, 1)
    assert (workers.name, workers.count, workers.min_count, workers.fewest) == ("small", count, count, fewest)


@pytest.mark.parametrize(
    ("annotations", "autoscaling"), [(ELASTIC, False), ({}, True), (ELASTIC, True)], ids=["elastic", "scaled", "both"]
)
def test_workers_that_are_scaled_may_be_as_few_as_their_minimum(annotations: dict[str, str], autoscaling: bool) -> None:
    groups = group(replicas=8, minReplicas=2, numOfHosts=2), group("other", replicas=2)
    scaled = cluster(*groups, annotations=annotations, enableInTreeAutoscaling=autoscaling)
    assert [(podset.count, podset.fewest) for podset in podsets(scaled)] == [(1, 1), (16, 4), (2, 0)]


def test_every_template_is_found() -> None:
    found = podsets(cluster(group("a"), group("B")))
    assert [(podset.name, podset.path) for podset in found] == [
        ("head", "/spec/headGroupSpec/template"),
        ("a", "/spec/workerGroupSpecs/0/template"),
        ("b", "/spec/workerGroupSpecs/1/template"),
    ]


def test_the_autoscaler_stands_beside_the_head() -> None:
    head = podsets(cluster(head=template({"cpu": "2"}), enableInTreeAutoscaling=True))[0]
    assert asked(head.spec) == [("main", {"cpu": "2"}), ("autoscaler", {"cpu": "500m", "memory": "512Mi"})]
    assert head.counted_spec is head.spec
    own = {"resources": {"requests": {"cpu": "1"}}}
    head = podsets(cluster(enableInTreeAutoscaling=True, autoscalerOptions=own))[0]
    assert asked(head.spec)[1] == ("autoscaler", {"cpu": "1"})


@pytest.mark.parametrize(
    "tolerant",
    [
        cluster(head=template({"cpu": "100m", "memory": "1Gi"}), gcsFaultToleranceOptions={}),
        cluster(head=template({"cpu": "100m", "memory": "1Gi"}), annotations={"ray.io/ft-enabled": "True"}),
        job(
            spec(head=template({"cpu": "100m", "memory": "1Gi"})),
            annotations={"ray.io/ft-enabled": "true"},
            submissionMode="HTTPMode",
        ),
    ],
)
def test_quota_for_a_fault_tolerant_head_holds_the_cleanup_too(tolerant: RayCluster | RayJob) -> None:
    head = podsets(tolerant)[0]
    assert asked(head.spec) == [("main", {"cpu": "100m", "memory": "1Gi"})]
    assert asked(head.counted_spec) == [("main", {"cpu": "200m", "memory": "1Gi"})]


def test_a_fault_tolerant_head_that_requests_nothing() -> None:
    head = podsets(cluster(gcsFaultToleranceOptions={}, enableInTreeAutoscaling=True))[0]
    cleanup, autoscaler = {"cpu": "200m", "memory": "256Mi"}, {"cpu": "500m", "memory": "512Mi"}
    assert asked(head.counted_spec) == [("main", cleanup), ("autoscaler", autoscaler)]
    assert asked(head.spec) == [("main", None), ("autoscaler", autoscaler)]


SUBMITTER = ("ray-job-submitter", {"cpu": "500m", "memory": "200Mi"})


@pytest.mark.parametrize("mode", [{}, {"submissionMode": "K8sJobMode"}])
def test_a_ray_job_is_submitted_by_a_pod(mode: dict[str, Any]) -> None:
    assert counts(job(spec(group(replicas=2)), **mode)) == {"head": 1, "small": 2, "submitter": 1}
    submitter = podsets(job(**mode))[-1]
    assert (asked(submitter.spec), submitter.path) == ([SUBMITTER], None)


def test_or_by_a_pod_of_the_users_making() -> None:
    submitter = podsets(job(submitterPodTemplate=template({"cpu": "3"})))[-1]
    assert (asked(submitter.spec), submitter.path) == ([("main", {"cpu": "3"})], "/spec/submitterPodTemplate")


def test_or_by_a_container_in_the_head() -> None:
    own = {"submitterPodTemplate": template({"cpu": "3"})}  # KubeRay does not read it in this mode
    head, workers = podsets(job(submissionMode="SidecarMode", **own))
    assert asked(head.spec) == [("main", None), SUBMITTER]
    assert head.path == "/spec/rayClusterSpec/headGroupSpec/template"
    assert workers.path == "/spec/rayClusterSpec/workerGroupSpecs/0/template"


def test_a_fault_tolerant_head_has_the_container_in_quota_too() -> None:
    head = podsets(job(spec(gcsFaultToleranceOptions={}), submissionMode="SidecarMode"))[0]
    assert asked(head.counted_spec) == [("main", {"cpu": "200m", "memory": "256Mi"}), SUBMITTER]


@pytest.mark.parametrize("mode", ["HTTPMode", "InteractiveMode"])
def test_or_by_nobody(mode: str) -> None:
    assert list(counts(job(submissionMode=mode))) == ["head", "small"]


def test_a_job_in_the_cluster_of_others_is_not_judged() -> None:
    guest = made(RayJob, {"clusterSelector": {"ray.io/cluster": "shared"}}, labels={api.QUEUE_NAME: "gpu"})
    assert why_not_judged(guest) == "runs in a RayCluster that is there already, and is not queued"
    with pytest.raises(Unresolved, match="clusterSelector"):
        podsets(guest)
    assert why_not_judged(made(RayJob, {}, labels={api.QUEUE_NAME: "gpu"})) is None


@pytest.mark.parametrize(
    ("obj", "says"),
    [
        (made(RayJob, {}), "spec.rayClusterSpec is missing"),
        (job(spec(head={"spec": {}})), "the head of spec.rayClusterSpec has no container"),
        (cluster(head={"spec": {}}, gcsFaultToleranceOptions={}), "has no container"),
        (cluster(group("head")), "two podsets of name 'head'"),
        (job(spec(group("submitter"))), "two podsets of name 'submitter'"),
        (cluster(group(replicas=-1)), r"spec.workerGroupSpecs\[0\].replicas is -1, less than 0"),
        (cluster(group(replicas=2**30, numOfHosts=2)), "more than 2147483647"),
    ],
)
def test_what_kueue_refuses(obj: RayCluster | RayJob, says: str) -> None:
    with pytest.raises(GangError, match=says):
        podsets(obj)


def test_a_cluster_without_anything_has_a_head() -> None:
    (head,) = podsets(RayCluster())
    assert isinstance(head, Podset)
    assert (head.name, head.path) == ("head", None)
