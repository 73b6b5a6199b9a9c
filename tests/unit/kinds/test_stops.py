"""How one sees that a job is stopped, and that it is somebody else's (reference/classification.md §C6, §E)."""

import pytest

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
    PyTorchJob,
    RayCluster,
    RayJob,
    TFJob,
    TrainJob,
    XGBoostJob,
)
from classifier.scope import why_not_ours
from classifier.state.kinds import KindView, view_for
from tests.unit.kinds.builders import Fields, condition, conditions, gated_pod, group, read

BY_SPEC = (Job, JobSet, TrainJob, RayJob, RayCluster, AppWrapper)
BY_POLICY = (MPIJob, PyTorchJob, TFJob, XGBoostJob, PaddleJob, JAXJob)


def view(job: Meta) -> KindView:
    found = view_for(job)
    assert found is not None
    return found


def spec_of(type_: type[Meta], **fields: object) -> Fields:
    return {"runPolicy": fields} if type_ in BY_POLICY else fields


@pytest.mark.parametrize("type_", [*BY_SPEC, *BY_POLICY])
def test_suspend_is_the_lever(type_: type[Meta]) -> None:
    for value, expected in ((True, True), (False, False), (None, False)):
        job = read(type_, spec_of(type_, suspend=value))
        assert view(job).suspended(job) is expected


@pytest.mark.parametrize("type_", [Job, JobSet, TrainJob, *BY_POLICY])
def test_suspended_is_said_by_condition(type_: type[Meta]) -> None:
    for status, expected in (("True", True), ("False", False), ("Unknown", False)):
        # Running may still be True for a moment.
        said = conditions(condition("Running"), condition("Suspended", "Why", status=status))
        job = read(type_, status=said)
        assert view(job).paused(job) is expected


@pytest.mark.parametrize(
    ("deployment", "expected"),
    [
        ("", False),
        ("Initializing", False),
        ("Running", False),
        ("Waiting", False),
        ("Retrying", False),
        ("Suspending", True),
        ("Suspended", True),
    ],
)
def test_a_rayjob_is_suspended_by_deployment_status(deployment: str, expected: bool) -> None:
    job = read(RayJob, status={"jobDeploymentStatus": deployment})
    assert view(job).paused(job) is expected


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({"state": "suspended"}, True),
        ({"state": "ready"}, False),
        (conditions(condition("RayClusterSuspended")), True),
        (conditions(condition("RayClusterSuspending")), True),
        (conditions(condition("RayClusterSuspended", status="False")), False),
        (conditions(condition("HeadPodReady")), False),
    ],
)
def test_a_raycluster_is_suspended_by_condition_or_state(status: Fields, expected: bool) -> None:
    job = read(RayCluster, status=status)
    assert view(job).paused(job) is expected


@pytest.mark.parametrize(
    ("phase", "expected"),
    [
        ("", False),
        ("Suspended", True),
        ("Suspending", True),
        ("Resuming", False),
        ("Resetting", False),
        ("Running", False),
    ],
)
def test_an_appwrapper_is_suspended_by_phase(phase: str, expected: bool) -> None:
    job = read(AppWrapper, status={"phase": phase})
    assert view(job).paused(job) is expected


def test_a_leaderworkerset_is_stopped_by_its_workloads_alone() -> None:
    job = read(LeaderWorkerSet, {"replicas": 0, "suspend": True}, conditions(condition("Suspended")))
    assert not view(job).suspended(job)
    assert not view(job).paused(job)
    assert view(job).many_workloads
    assert not view(job).controls_workload


def test_a_pod_is_stopped_by_kueues_gate() -> None:
    for pod, expected in (
        (gated_pod(), True),
        (gated_pod(("other", "kueue.x-k8s.io/admission")), True),
        (gated_pod(("kueue.x-k8s.io/topology",)), False),
        (gated_pod(()), False),
        (read(Pod), False),
    ):
        assert view(pod).suspended(pod) is expected
        assert view(pod).paused(pod) is expected


def test_a_group_is_stopped_while_none_of_its_pods_may_run() -> None:
    free, held = read(Pod, {}, {"phase": "Running"}), gated_pod(status={"phase": "Pending"})
    done = read(Pod, {}, {"phase": "Failed"})
    for pods, expected in (
        ((held, held), True),
        ((free, held), False),  # a replacement, or one not yet let go
        ((done, held), True),  # the only one left that could run
        ((free, free), False),
        ((done, done), False),
        ((), False),
    ):
        job = group(*pods)
        assert view(job).suspended(job) is expected
        assert view(job).paused(job) is expected


MANAGERS = {
    Job: "kubernetes.io/job-controller",
    JobSet: "jobset.sigs.k8s.io/jobset-controller",
    TrainJob: "trainer.kubeflow.org/trainjob-controller",
    RayJob: "ray.io/kuberay-operator",
    RayCluster: "ray.io/kuberay-operator",
    MPIJob: "kubeflow.org/mpi-operator",
    PyTorchJob: "kubeflow.org/training-operator",
    TFJob: "kubeflow.org/training-operator",
    XGBoostJob: "kubeflow.org/training-operator",
    PaddleJob: "kubeflow.org/training-operator",
    JAXJob: "kubeflow.org/training-operator",
    AppWrapper: "workload.codeflare.dev/appwrapper-controller",
}


@pytest.mark.parametrize(("type_", "own"), list(MANAGERS.items()))
def test_a_foreign_manager_is_named(type_: type[Meta], own: str) -> None:
    for manager, expected in (
        (own, None),
        ("", None),
        (None, None),
        ("kueue.x-k8s.io/multikueue", "kueue.x-k8s.io/multikueue"),
    ):
        job = read(type_, spec_of(type_, managedBy=manager))
        assert view(job).foreign(job) == expected
        assert why_not_ours(job) == (f"is managed by {expected}" if expected else None)


@pytest.mark.parametrize("type_", [Pod, LeaderWorkerSet])
def test_no_manager_can_be_named(type_: type[Meta]) -> None:
    job = read(type_, {"managedBy": "kueue.x-k8s.io/multikueue"})
    assert view(job).foreign(job) is None
