"""Workloads that Kueue has queued, judged by their own podsets: what their job leaves open proves nothing."""

from typing import Any

import msgspec
import pytest

from classifier import api
from classifier.fit import Outcome, Verdict, judge, judge_waiting
from classifier.objects import WorkloadStatus
from tests.builders import (
    GPU,
    Builder,
    WorkloadBuilder,
    cluster_queue,
    gpu_world,
    job,
    namespace,
    workload,
)

JOBSET = ("JobSet", "jobset.x-k8s.io/v1alpha2")
TRAIN_JOB = ("TrainJob", "trainer.kubeflow.org/v1alpha1")
RAY_CLUSTER = ("RayCluster", "ray.io/v1")
APP_WRAPPER = ("AppWrapper", "workload.codeflare.dev/v1beta2")
SPARK = ("SparkApplication", "sparkoperator.k8s.io/v1beta2")
MPI_JOB = ("MPIJob", "kubeflow.org/v2beta1")
LEADER_WORKER_SET = ("LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1")
PYTORCH_JOB = ("PyTorchJob", "kubeflow.org/v1")
RESOURCES = ["cpu", "memory", GPU]


def verdict(waiting: WorkloadBuilder, *more: Builder[Any], owner: Builder[Any] | None = None) -> Verdict:
    return judge_waiting(waiting.done(), gpu_world(*more), 0, owner=owner.done() if owner else None)


@pytest.mark.parametrize("pods", [1, 2, 3])
def test_a_job_and_its_workload_get_the_same_line(pods: int) -> None:
    by_job = judge(job().queue("gpu").pods(pods).gpus(8).done(), gpu_world(), 0)
    assert verdict(workload().podset("main", pods)).line == by_job.line


@pytest.mark.parametrize("kind", [JOBSET, TRAIN_JOB, MPI_JOB, LEADER_WORKER_SET, PYTORCH_JOB])
def test_a_podset_that_alone_needs_too_many_nodes_never_fits(kind: tuple[str, str]) -> None:
    assert verdict(workload().made_of(*kind).podset("workers", 3)).outcome is Outcome.NEVER_FITS


@pytest.mark.parametrize("kind", [MPI_JOB, LEADER_WORKER_SET, PYTORCH_JOB])
def test_podsets_that_run_together_are_judged_together(kind: tuple[str, str]) -> None:
    together = workload().made_of(*kind).podset("leader", 1).podset("workers", 2)
    assert verdict(together).outcome is Outcome.NEVER_FITS


@pytest.mark.parametrize("kind", [JOBSET, TRAIN_JOB])
def test_podsets_that_may_run_one_after_the_other_may_share_nodes(kind: tuple[str, str]) -> None:
    ordered = workload().made_of(*kind).podset("first", 1).podset("second", 2)
    assert verdict(ordered).outcome is not Outcome.NEVER_FITS


@pytest.mark.parametrize("kind", [RAY_CLUSTER, APP_WRAPPER, SPARK])
def test_nodes_prove_nothing_where_only_the_job_knows_its_pods(kind: tuple[str, str]) -> None:
    assert verdict(workload().made_of(*kind).podset("workers", 99)).outcome is not Outcome.NEVER_FITS


@pytest.mark.parametrize("kind", [RAY_CLUSTER, APP_WRAPPER, SPARK, JOBSET, TRAIN_JOB, MPI_JOB])
def test_quota_is_that_of_all_podsets_whoever_made_them(kind: tuple[str, str]) -> None:
    small = cluster_queue().group(RESOURCES, "a100-scale", quota=16)
    found = verdict(workload().made_of(*kind).podset("one", 1).podset("two", 2, gpus=8), small)
    assert (found.outcome, found.binding) == (Outcome.NEVER_FITS, "quota")


def test_the_one_worker_that_kueue_counts_of_an_mpi_job_may_be_none() -> None:
    launcher = workload().made_of(*MPI_JOB).podset("launcher", 2)
    assert verdict(launcher.podset("worker", 1)).outcome is not Outcome.NEVER_FITS


def test_a_job_that_asked_not_to_be_judged_is_not_where_that_is_honoured() -> None:
    off = job().annotate(api.PREFLIGHT_MODE, "Off")
    waiting = workload().podset("main", 3)
    assert verdict(waiting, owner=off).outcome is Outcome.NEVER_FITS
    optional = namespace().annotate(api.PREFLIGHT_OPTIONAL, "true")
    assert verdict(waiting, optional, owner=off).outcome is Outcome.SKIPPED
    assert verdict(waiting, optional).outcome is Outcome.NEVER_FITS


@pytest.mark.parametrize(
    "other",
    [
        workload().label(api.MULTIKUEUE_ORIGIN, "manager"),
        workload().annotate(api.SLICE_REPLACEMENT_FOR, "team/other"),
        workload().metadata(deletionTimestamp="2026-11-29T10:00:00Z"),
        workload().queue(""),
    ],
    ids=["remote copy", "slice", "deleted", "no queue"],
)
def test_what_does_not_wait_here_is_not_judged(other: WorkloadBuilder) -> None:
    assert verdict(other.podset("main", 3)).outcome is Outcome.SKIPPED


@pytest.mark.parametrize("kind", [PYTORCH_JOB, ("PaddleJob", "kubeflow.org/v1")])
def test_an_elastic_policy_may_start_with_fewer_workers_than_are_queued(kind: tuple[str, str]) -> None:
    """Only the job tells of it."""
    assert verdict(workload().made_of(*kind).podset("worker", 3)).outcome is Outcome.UNKNOWN
    assert verdict(workload().made_of(*kind).podset("worker", 3, gpus=9)).outcome is Outcome.NEVER_FITS
    assert verdict(workload().made_of(*kind).podset("master", 3)).outcome is Outcome.NEVER_FITS


def test_a_workload_that_ran_before_needs_no_room_for_what_has_ended() -> None:
    waiting = workload().podset("main", 3).done()
    assert judge_waiting(waiting, gpu_world(), 0).outcome is Outcome.NEVER_FITS
    waiting.status = msgspec.convert({"reclaimablePods": [{"name": "main", "count": 1}]}, WorkloadStatus)
    assert judge_waiting(waiting, gpu_world(), 0).outcome is Outcome.UNKNOWN
