"""Parts of other jobs, asked for by themselves: Kueue queues the whole, and makes no Workload of a part."""

from typing import Any

import pytest

from classifier import api
from classifier.objects import Job, JobSet, Pod, PyTorchJob, RayCluster, TrainJob, Workload
from classifier.state import Mode
from tests.unit.state.others import condition, observe, of


def owned_by(api_version: str, kind: str) -> dict[str, Any]:
    owner = {"apiVersion": api_version, "kind": kind, "name": "whole", "uid": "w1", "controller": True}
    return {"ownerReferences": [owner]}


PARTS = [
    (Pod, "batch/v1", "Job"),
    (Pod, "kubeflow.org/v1", "PyTorchJob"),
    (Pod, "ray.io/v1", "RayCluster"),
    (Job, "jobset.x-k8s.io/v1alpha2", "JobSet"),
    (Job, "kubeflow.org/v2beta1", "MPIJob"),
    (Job, "ray.io/v1", "RayJob"),
    (JobSet, "trainer.kubeflow.org/v1alpha1", "TrainJob"),
    (RayCluster, "ray.io/v1", "RayJob"),
    (RayCluster, "ray.io/v1", "RayService"),
    (PyTorchJob, "workload.codeflare.dev/v1beta2", "AppWrapper"),
    (TrainJob, "workload.codeflare.dev/v1beta2", "AppWrapper"),
]
WHOLES = [
    (Job, "batch/v1", "CronJob"),
    (Pod, "apps/v1", "ReplicaSet"),
    (JobSet, "example.com/v1", "Pipeline"),
]


@pytest.mark.parametrize(("type_", "version", "parent"), PARTS)
@pytest.mark.parametrize("mode", Mode)
def test_a_part_that_nothing_stops_runs(type_: Any, version: str, parent: str, mode: Mode) -> None:
    told = observe(of(type_, **owned_by(version, parent)), mode=mode)
    assert told.state == "running"
    assert "no Workload" not in told.cause.detail
    assert f"{type_.__name__} is controlled by {parent} whole" in told.cause.detail


@pytest.mark.parametrize(("type_", "version", "parent"), WHOLES)
def test_whoever_else_owns_it_it_is_queued_itself(type_: Any, version: str, parent: str) -> None:
    told = observe(of(type_, **owned_by(version, parent)), mode=Mode.KUEUE)
    assert (told.state, "no Workload" in told.cause.detail) == ("pending", True)


def test_a_part_that_is_suspended_waits_and_nobody_is_blamed_for_it() -> None:
    part = of(JobSet, spec={"suspend": True}, **owned_by("trainer.kubeflow.org/v1alpha1", "TrainJob"))
    told = observe(part, mode=Mode.KUEUE)
    assert (told.state, told.admin_held, told.cause.detail) == (
        "pending",
        False,
        "JobSet is controlled by TrainJob whole",
    )


def test_the_pods_of_a_part_are_evidence() -> None:
    dead = of(
        Pod,
        "p0",
        "p",
        status={"phase": "Failed", "containerStatuses": [{"name": "main", "state": {"terminated": {"exitCode": 3}}}]},
        **owned_by("batch/v1", "Job"),
    )
    told = observe(dead, dead, mode=Mode.KUEUE)
    assert (told.state, told.cause.kind) == ("ended", "non-zero-exit")
    job = of(Job, **owned_by("jobset.x-k8s.io/v1alpha2", "JobSet"))
    dead.metadata.labels = {"batch.kubernetes.io/controller-uid": job.uid}
    told = observe(job, dead, mode=Mode.KUEUE)
    assert (told.state, told.cause.kind) == ("running", "non-zero-exit")


@pytest.mark.parametrize(("admitted", "state"), [("True", "running"), ("False", "pending")])
def test_a_part_that_has_a_workload_all_the_same_is_judged_by_it(admitted: str, state: str) -> None:
    part = of(Job, **owned_by("jobset.x-k8s.io/v1alpha2", "JobSet"))
    own = of(Workload, "wl", "w", status={"conditions": [condition("Admitted", admitted)]}, labels={api.JOB_UID: "u1"})
    assert observe(part, own, mode=Mode.KUEUE).state == state
