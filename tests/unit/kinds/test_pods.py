"""Which pods are a job's, through what, and what counts in them (reference/classification.md §C8, §C10, §E)."""

import pytest

from classifier import api
from classifier.objects import (
    AppWrapper,
    JAXJob,
    Job,
    JobSet,
    LeaderWorkerSet,
    Meta,
    MPIJob,
    PaddleJob,
    Pod,
    PodGroup,
    PyTorchJob,
    RayCluster,
    RayJob,
    TFJob,
    TrainJob,
    XGBoostJob,
)
from classifier.state.container import container
from classifier.state.kinds import KINDS, KindView, view_for
from classifier.state.kinds.podgroup import group_name
from classifier.state.kinds.view import FIRST, Labels, Selection
from classifier.state.settings import Settings
from tests.unit.kinds.builders import gated_pod, group, owned, read

SETTINGS = Settings()
P = "dispatch.phpboyscout.uk/"
JOBSET = "jobset.sigs.k8s.io/jobset-name"


def view(job: Meta) -> KindView:
    found = view_for(job)
    assert found is not None
    return found


def kubeflow(operator: str) -> tuple[Labels, ...]:
    return ({"training.kubeflow.org/job-name": "train", "training.kubeflow.org/operator-name": operator},)


SELECTED: list[tuple[Meta, tuple[Labels, ...]]] = [
    (read(Job), ({"batch.kubernetes.io/job-name": "train"},)),
    (read(JobSet), ({JOBSET: "train"},)),
    (read(TrainJob), ({JOBSET: "train"},)),
    (read(MPIJob), kubeflow("mpi-operator")),
    (read(PyTorchJob), kubeflow("pytorchjob-controller")),
    (read(TFJob), kubeflow("tfjob-controller")),
    (read(XGBoostJob), kubeflow("xgboostjob-controller")),
    (read(PaddleJob), kubeflow("paddlejob-controller")),
    (read(JAXJob), kubeflow("jaxjob-controller")),
    (read(RayCluster), ({"ray.io/cluster": "train"},)),
    (read(RayJob), ({"batch.kubernetes.io/job-name": "train"},)),
    (
        read(RayJob, status={"rayClusterName": "train-x7"}),
        ({"ray.io/cluster": "train-x7"}, {"batch.kubernetes.io/job-name": "train"}),
    ),
    (
        # Somebody else's cluster: its pods are not this job's.
        read(RayJob, {"clusterSelector": {"ray.io/cluster": "shared"}}, {"rayClusterName": "shared"}),
        ({"batch.kubernetes.io/job-name": "train"},),
    ),
    (read(LeaderWorkerSet), ({"leaderworkerset.sigs.k8s.io/name": "train"},)),
    (read(AppWrapper), ({"workload.codeflare.dev/appwrapper": "train"},)),
    (read(Pod), ()),
    (read(PodGroup, labels={"kueue.x-k8s.io/pod-group-name": "g"}), ({"kueue.x-k8s.io/pod-group-name": "g"},)),
    (read(PodGroup, annotations={"kueue.x-k8s.io/pod-group-name": "g"}), ()),
]


@pytest.mark.parametrize(("job", "labels"), SELECTED)
def test_its_pods_bear(job: Meta, labels: tuple[Labels, ...]) -> None:
    assert view(job).pods(job, SETTINGS) == labels


def test_no_kind_selects_every_pod() -> None:
    for each in KINDS.values():
        empty = each.type_()
        assert all(labels for labels in each.pods(empty, SETTINGS))


@pytest.mark.parametrize(
    ("name", "labels", "expected"),
    [
        ("train-3", {}, {P + "job-id": "train", P + "submission": "3"}),
        ("train-3", {P + "job-id": "x", P + "submission": "9"}, {P + "job-id": "train", P + "submission": "3"}),
        ("big-train-12", {}, {P + "job-id": "big-train", P + "submission": "12"}),
        ("train", {P + "job-id": "t", P + "submission": "4"}, {P + "job-id": "t", P + "submission": "4"}),
        ("train", {P + "job-id": "t"}, None),
        ("train", {P + "submission": "4"}, None),
        ("train", {P + "job-id": "t", P + "submission": "x"}, None),
        ("train-x3", {}, None),
        ("train-³", {}, None),
        ("-3", {}, None),
    ],
)
def test_a_trainjob_of_dispatch_has_pods_by_submission_too(name: str, labels: Labels, expected: Labels | None) -> None:
    job = read(TrainJob, name=name, labels=labels)
    assert view(job).pods(job, SETTINGS) == ({JOBSET: name}, *([expected] if expected else []))


def test_the_prefix_is_configuration() -> None:
    job = read(TrainJob, name="train-3")
    assert view(job).pods(job, Settings(prefix="x.y/"))[1] == {"x.y/job-id": "train", "x.y/submission": "3"}


JOBS_OF_JOBSET = Selection(api.JOBS, labels={JOBSET: "train"})
CHILDREN: list[tuple[Meta, tuple[Selection, ...], api.Resource | None]] = [
    (read(JobSet), (JOBS_OF_JOBSET,), None),
    (read(TrainJob), (Selection(api.JOBSETS, name="train"), JOBS_OF_JOBSET), api.JOBSETS),
    (
        read(RayJob, status={"rayClusterName": "train-x7"}),
        (Selection(api.RAY_CLUSTERS, name="train-x7"), Selection(api.JOBS, name="train")),
        api.RAY_CLUSTERS,
    ),
    (
        read(RayJob),
        (
            Selection(
                api.RAY_CLUSTERS,
                labels={"ray.io/originated-from-cr-name": "train", "ray.io/originated-from-crd": "RayJob"},
            ),
            Selection(api.JOBS, name="train"),
        ),
        api.RAY_CLUSTERS,
    ),
    (
        read(RayJob, {"clusterSelector": {"ray.io/cluster": "shared"}}, {"rayClusterName": "shared"}),
        (Selection(api.JOBS, name="train"),),
        api.RAY_CLUSTERS,
    ),
    (read(MPIJob), (Selection(api.JOBS, name="train-launcher"),), None),
    *((read(kind), (), None) for kind in (Job, PyTorchJob, TFJob, XGBoostJob, PaddleJob, JAXJob, RayCluster)),
    *((read(kind), (), None) for kind in (LeaderWorkerSet, AppWrapper, Pod, PodGroup)),
]


@pytest.mark.parametrize(("job", "children", "middle"), CHILDREN)
def test_between_it_and_its_pods_stands(
    job: Meta, children: tuple[Selection, ...], middle: api.Resource | None
) -> None:
    assert view(job).children(job) == children
    assert view(job).middle == middle


def test_a_pod_names_what_it_is_part_of() -> None:
    pod = read(
        Pod,
        uid="p-1",
        labels={"batch.kubernetes.io/controller-uid": "by-job", "jobset.sigs.k8s.io/jobset-uid": "by-jobset"},
        ownerReferences=owned("Any", "by-owner"),
    )
    expected = dict.fromkeys((MPIJob, PyTorchJob, TFJob, XGBoostJob, PaddleJob, JAXJob, RayJob, RayCluster), "by-owner")
    expected |= {Job: "by-job", JobSet: "by-jobset", TrainJob: "by-jobset", Pod: "p-1"}
    for each in KINDS.values():
        assert each.part_of(pod) == expected.get(each.type_)
    assert view(group()).part_of(pod) is None


def test_a_pod_that_names_nothing_is_part_of_nothing() -> None:
    bystander = read(Pod, uid="", ownerReferences=owned("Any", "x")[:1])
    assert not any(each.part_of(bystander) for each in KINDS.values())


def test_only_jobsets_count_their_restarts_on_pods() -> None:
    second = read(Pod, labels={"jobset.sigs.k8s.io/restart-attempt": "1"})
    for each in KINDS.values():
        counts = each.type_ in (JobSet, TrainJob)
        assert each.restart(second) == ("1" if counts else "0")
        assert each.restart(read(Pod)) == (None if counts else "0")


def test_the_containers_whose_exit_counts() -> None:
    named = {
        TrainJob: ("node", "dataset-initializer", "model-initializer", "launcher"),
        PyTorchJob: ("pytorch",),
        TFJob: ("tensorflow",),
        XGBoostJob: ("xgboost",),
        PaddleJob: ("paddle",),
        JAXJob: ("jax",),
        RayJob: (FIRST, "ray-job-submitter"),
    }
    for each in [*KINDS.values(), view(group())]:
        assert each.steps == named.get(each.type_, (FIRST,))


def test_a_sidecar_that_submits_counts_beside_the_head_itself() -> None:
    failed = {"state": {"terminated": {"exitCode": 1, "finishedAt": "2026-01-01T10:00:00Z"}}}
    for job, name, counts in (
        (read(RayJob), "ray-job-submitter", True),
        (read(RayJob), "head", True),
        (read(RayJob), "autoscaler", False),
        (read(RayCluster), "ray-job-submitter", False),
        (read(RayCluster), "head", True),
        (read(PyTorchJob), "head", False),
    ):
        statuses = [{"name": other} for other in ("autoscaler", "head", "ray-job-submitter") if other != name]
        pod = read(
            Pod,
            {"containers": [{"name": "head"}, {"name": "autoscaler"}, {"name": "ray-job-submitter"}]},
            {"phase": "Failed", "containerStatuses": [*statuses, {"name": name} | failed]},
        )
        assert pod.status is not None
        assert (container(pod, pod.status, view(job).steps) is not None) is counts


def test_a_group_is_named_by_annotation_or_else_by_label() -> None:
    key = "kueue.x-k8s.io/pod-group-name"
    assert group_name(gated_pod()) is None
    assert group_name(read(Pod, labels={key: "l"})) == "l"
    assert group_name(read(Pod, labels={key: "l"}, annotations={key: "a"})) == "a"
    assert group_name(read(Pod, labels={key: ""})) is None
