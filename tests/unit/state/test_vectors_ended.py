"""Vectors of reference/classification.md §D: how a job ended, and what its pods say of it."""

import pytest

from classifier.state.settings import Mode
from tests.unit.state.builders import (
    JS,
    TJ,
    WL,
    Input,
    Said,
    captured,
    ended,
    kueue,
    node,
    plain,
    pod,
    said,
    vector,
)

FAILED = "jobset failed due to one or more job failures (first failed job: train-3-node-0)"
FAILED_JOBS = f"Failed=True/FailedJobs: {FAILED}"
NO_EVIDENCE = f"FailedJobs: {FAILED}; no pod evidence was captured"
PREEMPTED = "PreemptionByScheduler: default-scheduler: preempting to accommodate a higher priority pod"
GARBAGE = "DeletionByPodGC: PodGC: node no longer exists"

VECTORS = [
    vector(
        "T01 Complete=True AllJobsCompleted",
        plain(TJ("Complete=True/AllJobsCompleted: jobset completed successfully"), JS()),
        ended("completed", "trainjob", "AllJobsCompleted: jobset completed successfully"),
    ),
    vector(
        "T02 Complete=True and Failed=True/DeadlineExceeded both set (deadline race)",
        plain(TJ("Failed=True/DeadlineExceeded", "Complete=True/AllJobsCompleted")),
        ended("completed", "trainjob", "AllJobsCompleted"),
    ),
    vector(
        "T03 Failed/DeadlineExceeded, JobSet already deleted, no pods",
        plain(TJ("Failed=True/DeadlineExceeded: TrainJob exceeded its active deadline")),
        ended("timeout", "trainjob", "DeadlineExceeded: TrainJob exceeded its active deadline"),
    ),
    vector(
        "T04 Failed/TrainingRuntimeNotSupported",
        plain(TJ("Failed=True/TrainingRuntimeNotSupported: unsupported runtime: Foo.example.com")),
        ended("rejected", "trainjob", "TrainingRuntimeNotSupported: unsupported runtime: Foo.example.com"),
    ),
    vector(
        "T05 Failed/FailedJobs, pods gone, nothing captured",
        plain(TJ(FAILED_JOBS), JS()),
        ended("unknown", "", NO_EVIDENCE),
    ),
    vector(
        "T06 same as T05 but Watch captured pod exit 1",
        plain(TJ(FAILED_JOBS), JS(), captured(pod("p0").failed().exit(1))),
        ended("non-zero-exit", "container", "pod p0: exit code 1", R=1),
    ),
    vector(
        "T07 Failed/FailedJobs; p0 OOMKilled 10:00:05, p1 exit 1 10:00:09",
        plain(
            TJ(FAILED_JOBS),
            JS(),
            pod("p1").failed().exit(1, at="10:00:09"),
            pod("p0").failed().exit(137, "OOMKilled", at="10:00:05"),
        ),
        ended(
            "out-of-memory",
            "container",
            "pod p0: exit code 137 (OOMKilled); other ranks: p1 non-zero-exit (exit code 1)",
            R=1,
        ),
    ),
    vector(
        "T08 tie at one second: p0 exit 1, p1 OOMKilled, p2 PreemptionByScheduler, p3 DeletionByPodGC",
        plain(
            TJ(FAILED_JOBS),
            JS(),
            pod("p0").failed().exit(1),
            pod("p1").failed().exit(137, "OOMKilled"),
            pod("p2").failed().has(f"DisruptionTarget=True/{PREEMPTED}"),
            pod("p3").failed().has(f"DisruptionTarget=True/{GARBAGE}"),
        ),
        ended(
            "node-lost",
            "pod",
            "pod p3: DeletionByPodGC: PodGC: node no longer exists; other ranks: p2 preempted (PreemptionByScheduler: "
            "default-scheduler: preempting to accommodate a higher priority pod), p1 out-of-memory (exit code 137 "
            "(OOMKilled)), p0 non-zero-exit (exit code 1)",
            R=1,
        ),
    ),
    vector(
        "T10 one pod, both findings: DisruptionTarget 10:00:00, container exit 143 10:00:30",
        plain(
            TJ(FAILED_JOBS),
            JS(),
            pod("p0").failed().has(f"DisruptionTarget=True/{PREEMPTED}").exit(143, at="10:00:30"),
        ),
        ended(
            "preempted",
            "pod",
            "pod p0: PreemptionByScheduler: default-scheduler: preempting to accommodate a higher priority pod; "
            "other ranks: p0 non-zero-exit (exit code 143)",
            R=1,
        ),
    ),
    vector(
        "T11 ReachedMaxRestarts; captured attempt-0 OOM is older, live attempt-1 pod exit 1: only R=2 counts",
        plain(
            TJ("Failed=True/ReachedMaxRestarts: jobset failed due to reaching max number of restarts"),
            JS(),
            pod("p0b").run(1, 1).failed().exit(1, at="11:00:00"),
            captured(pod("p0a").run(1, 0).failed().exit(137, "OOMKilled")),
        ),
        ended("non-zero-exit", "container", "pod p0b: exit code 1", R=2),
    ),
    vector(
        "T13 pod without the admission annotation is not counted; no execution; still evidence when no pod counts",
        plain(TJ(FAILED_JOBS), JS(), pod("p0").run(None, 0).failed().exit(1)),
        ended("non-zero-exit", "container", "pod p0: exit code 1"),
    ),
    vector(
        "T14 captured and live copy of one pod UID: the live copy wins",
        plain(
            TJ(FAILED_JOBS),
            JS(),
            pod("p0").failed().exit(137, "OOMKilled"),
            captured(pod("p0").failed().exit(1)),
        ),
        ended("out-of-memory", "container", "pod p0: exit code 137 (OOMKilled)", R=1),
    ),
    vector(
        "T18 failed initializer pod (container dataset-initializer)",
        plain(TJ(FAILED_JOBS), JS(), pod("pi").failed().exit(1, of="dataset-initializer")),
        ended("non-zero-exit", "container", "pod pi: container dataset-initializer exit code 1", R=1),
    ),
    vector(
        "T32 ended object with a NotReady node: Node is not consulted",
        plain(TJ(FAILED_JOBS), JS(), pod("p1").on("n2"), node("n2", "Ready=Unknown/NodeStatusUnknown")),
        # The page names no R here; by C10 the pod is an execution, whatever the object's state.
        ended("unknown", "", NO_EVIDENCE, R=1),
    ),
    vector(
        "T68 unknown condition on a completed object: still completed",
        plain(TJ("Complete=True/AllJobsCompleted", "Odd=True/Why")),
        ended("completed", "trainjob", "AllJobsCompleted"),
    ),
    vector(
        "T76 Failed with a reason nobody documented",
        kueue(TJ("Failed=True/RemoteLost: worker cluster is gone"), WL()),
        ended("unknown", "", "RemoteLost: worker cluster is gone"),
    ),
    vector(
        "T81 FailJobSetFailurePolicyAction, evidence captured only",
        kueue(
            TJ("Failed=True/FailJobSetFailurePolicyAction: jobset failed due to FailJobSet failure policy action"),
            JS(),
            WL().admitted(),
            captured(pod("p1").failed().exit(134, at="10:05:10")),
            captured(pod("p0").failed().exit(134, at="10:05:09")),
            captured(
                pod("p3")
                .failed()
                .has(
                    "DisruptionTarget=True/DeletionByTaintManager@10:05:00: "
                    "Taint manager: deleting due to NoExecute taint"
                )
            ),
        ),
        ended(
            "node-lost",
            "pod",
            "pod p3: DeletionByTaintManager: Taint manager: deleting due to NoExecute taint; "
            "other ranks: p0 non-zero-exit (exit code 134), p1 non-zero-exit (exit code 134)",
            R=1,
        ),
    ),
]


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize(("given", "want"), VECTORS)
def test_how_it_ended_is_the_same_in_both_modes(given: Input, want: Said, mode: Mode) -> None:
    assert said(given.but(mode=mode).observe()) == want


@pytest.mark.parametrize(("given", "want"), [v for v in VECTORS if v.values[0].settings.mode is Mode.PLAIN])
def test_no_workload_changes_an_ending(given: Input, want: Said) -> None:
    assert said(given.but(WL().admitted(), mode=Mode.KUEUE).observe()) == want
    assert said(given.but(WL().inactive(), mode=Mode.KUEUE).observe()) == want
    assert said(given.but(WL().inactive()).observe()) == want
