"""Whose wait is bounded, and whose never (design §3, "Whose wait is bounded")."""

from typing import Any

import msgspec
import pytest

from classifier import api, scope
from classifier.objects import JobSet, Meta, Pod, PodGroup, RayCluster, Workload
from classifier.state.kinds import KINDS
from tests.builders import JobBuilder, WorkloadBuilder, job, workload


def owner(api_version: str, kind: str, controller: bool = True) -> dict[str, Any]:
    return {
        "apiVersion": api_version,
        "kind": kind,
        "name": "parent",
        "uid": "uid-of-parent",
        "controller": controller,
    }


def owned(builder: Any, api_version: str, kind: str, controller: bool = True) -> Any:
    return builder.metadata(ownerReferences=[owner(api_version, kind, controller)])


@pytest.mark.parametrize(
    ("builder", "why"),
    [
        (workload(), None),
        (workload().annotate(api.PREBUILT_WORKLOAD, "mine"), None),
        (owned(workload(), "batch/v1beta9", "Job"), None),  # the version is no part of a kind's identity
        (workload().label(api.MULTIKUEUE_ORIGIN, "manager"), "MultiKueue"),
        (workload().label(api.MULTIKUEUE_ORIGIN, ""), "MultiKueue"),
        (workload().annotate(api.SLICE_REPLACEMENT_FOR, "team/old"), "elastic"),
        (workload().metadata(ownerReferences=[]), "no controller owner"),
        (workload().metadata(ownerReferences=None), "no controller owner"),
        (owned(workload(), "batch/v1", "Job", controller=False), "no controller owner"),
        (owned(workload(), "apps/v1", "StatefulSet"), "StatefulSet"),
        (owned(workload(), "apps/v1", "Deployment"), "Deployment"),
        (owned(workload(), "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet"), "LeaderWorkerSet"),
        (owned(workload(), "ray.io/v1", "RayService"), "RayService"),
        (owned(workload(), "example.com/v1", "Job"), "kind Job"),
        (owned(workload(), "", "Job"), "kind Job"),
    ],
)
def test_what_the_workload_tells(builder: WorkloadBuilder, why: str | None) -> None:
    said = scope.why_never(builder.done())
    assert said is None if why is None else said is not None and why in said


@pytest.mark.parametrize(
    ("type_", "metadata", "why"),
    [
        (Pod, {}, None),
        (Pod, {"ownerReferences": [owner("v1", "Anything", controller=False)]}, None),
        (Pod, {"ownerReferences": [owner("apps/v1", "ReplicaSet")]}, "ReplicaSet/parent"),
        (Pod, {"ownerReferences": [owner("argoproj.io/v1alpha1", "Workflow")]}, "Workflow/parent"),
        (Pod, {"annotations": {"kueue.x-k8s.io/pod-suspending-parent": "statefulset"}}, "a statefulset"),
        (PodGroup, {"ownerReferences": [owner("apps/v1", "StatefulSet")]}, "StatefulSet/parent"),
        (PodGroup, {"annotations": {"kueue.x-k8s.io/pod-suspending-parent": "statefulset"}}, "a statefulset"),
        (RayCluster, {"ownerReferences": [owner("ray.io/v1", "RayJob")]}, "RayJob/parent"),
        (JobSet, {"ownerReferences": [owner("trainer.kubeflow.org/v1alpha1", "TrainJob")]}, "TrainJob/parent"),
        (Workload, {}, None),
        (Workload, {"ownerReferences": [owner("batch/v1", "Job")]}, "Job/parent"),
        (Workload, {"ownerReferences": [owner("v1", "Pod", controller=False)]}, "Pod/parent"),
        (Workload, {"labels": {api.JOB_UID: "1"}}, "Kueue's own"),
        (Workload, {"labels": {api.MULTIKUEUE_ORIGIN: "hub"}}, "MultiKueue's copy"),
    ],
)
def test_what_is_a_part_of_something_is_not_ours(type_: type[Meta], metadata: dict[str, Any], why: str | None) -> None:
    said = scope.why_not_ours(msgspec.convert({"metadata": metadata}, type_))
    assert said is None if why is None else said is not None and why in said


def test_the_queue_of_a_workload_stands_in_its_spec() -> None:
    assert scope.queue_of(msgspec.convert({"spec": {"queueName": "gpu"}}, Workload)) == "gpu"
    assert scope.queue_of(msgspec.convert({"metadata": {"labels": {api.QUEUE_NAME: "gpu"}}}, Pod)) == "gpu"
    assert scope.queue_of(Pod()) == scope.queue_of(Workload()) == ""


def test_every_kind_that_can_be_explained_is_judged_and_those_that_can_be_stopped_are_bounded() -> None:
    assert {(r.group, r.kind) for r in scope.JUDGED} == {*KINDS, (api.KUEUE_GROUP, "Workload")}
    report_only = ("leaderworkerset.x-k8s.io", "LeaderWorkerSet")
    assert scope.BOUNDED.keys() == (KINDS.keys() - {report_only}) | {("", "PodGroup")}


def group_workload() -> WorkloadBuilder:
    """As Kueue makes it: named like the group, owned by its pods and controlled by none of them."""
    pods = [owner("v1", "Pod", controller=False) | {"uid": f"uid-of-{n}", "name": n} for n in ("g-0", "g-1")]
    return workload("g").metadata(ownerReferences=pods).annotate("kueue.x-k8s.io/is-group-workload", "true")


@pytest.mark.parametrize(
    ("builder", "holder"),
    [
        (workload(), (("batch", "Job"), "train", "uid-of-train")),
        (owned(workload(), "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet"), None),
        (owned(workload(), "v1", "Pod"), (("", "Pod"), "parent", "uid-of-parent")),
        (group_workload(), (("", "PodGroup"), "g", "")),
        (group_workload().annotate("kueue.x-k8s.io/is-group-workload", None), None),
        # Kueue shares a LeaderWorkerSet's Workloads with it, and lists it as an owner alone.
        (owned(group_workload(), "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", controller=False), None),
        (owned(group_workload(), "apps/v1", "StatefulSet", controller=False), None),
    ],
)
def test_what_carries_the_ledger(builder: WorkloadBuilder, holder: tuple[Any, ...] | None) -> None:
    found = scope.holder_of(builder.done())
    if holder is None:
        assert found is None or scope.bounded_view(found.kind) is None
    else:
        assert found == holder
        assert scope.bounded_view(found.kind) is not None
        assert scope.why_never(builder.done()) is None


def test_a_workload_that_nobody_owns_is_bounded_only_where_asked_for() -> None:
    alone = workload("alone").metadata(ownerReferences=None).done()
    assert scope.why_never(alone) is not None
    assert scope.why_never(alone, ownerless=True) is None
    found = scope.holder_of(alone)
    assert found == ((api.KUEUE_GROUP, "Workload"), "alone", "uid-of-alone")
    assert scope.bounded_view(found.kind) is None
    assert scope.bounded_view(found.kind, ownerless=True) is not None


def test_a_workload_that_lost_its_job_is_not_a_persons_own() -> None:
    lost = workload().metadata(ownerReferences=None).label(api.JOB_UID, "uid-of-train").done()
    assert scope.holder_of(lost) is None
    assert scope.why_never(lost, ownerless=True) is not None


@pytest.mark.parametrize(
    ("builder", "why"),
    [
        (job(), None),
        (job().managed_by("kubernetes.io/job-controller"), None),
        (job().managed_by("kueue.x-k8s.io/multikueue"), "is managed by"),
        (job().managed_by("example.com/other"), "is managed by"),
        (job().metadata(deletionTimestamp="2026-11-29T10:00:00Z"), "is being deleted"),
        (job().label(api.MULTIKUEUE_ORIGIN, "hub"), "MultiKueue's copy"),
        (owned(job(), "batch/v1", "Job"), "Job/parent"),
        (owned(job(), "batch/v1", "CronJob"), None),
        (owned(job(), "example.com/v1", "Pipeline"), None),
        (owned(job(), "jobset.x-k8s.io/v1alpha2", "JobSet", controller=False), None),
        (owned(job(), "jobset.x-k8s.io/v1alpha2", "JobSet"), "JobSet/parent"),
        (owned(job(), "trainer.kubeflow.org/v1alpha1", "TrainJob"), "TrainJob/parent"),
        (owned(job(), "ray.io/v1", "RayJob"), "RayJob/parent"),
        (owned(job(), "ray.io/v1", "RayCluster"), "RayCluster/parent"),
        (owned(job(), "ray.io/v1", "RayService"), "RayService/parent"),
        (owned(job(), "ray.io/v1", "RayCronJob"), None),
        (owned(job(), "kubeflow.org/v2beta1", "MPIJob"), "MPIJob/parent"),
        (owned(job(), "kubeflow.org/v1beta1", "Trial"), None),  # Katib's
        (owned(job(), "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet"), "LeaderWorkerSet/parent"),
        (owned(job(), "sparkoperator.k8s.io/v1beta2", "SparkApplication"), "SparkApplication/parent"),
        (owned(job(), "workload.codeflare.dev/v1beta2", "AppWrapper"), "AppWrapper/parent"),
    ],
)
def test_what_the_job_tells(builder: JobBuilder, why: str | None) -> None:
    said = scope.why_not_ours(builder.done())
    assert said is None if why is None else said is not None and why in said
