"""Rows of reference/classification.md §C1 and §C2 that no vector reaches, and a child Job's deadline (§F, F24)."""

import pytest

from classifier.state.settings import Mode
from tests.unit.state.builders import (
    JS,
    TJ,
    WL,
    Input,
    Said,
    child_job,
    ended,
    kueue,
    plain,
    pod,
    running,
    said,
    vector,
)

BY_PODS = ("FailedJobs", "ReachedMaxRestarts", "FailJobSetFailurePolicyAction")
DEADLINE = "Failed=True/DeadlineExceeded: Job was active longer than specified deadline"
JOB_TIMEOUT = "Job train-3-node-0 Failed: DeadlineExceeded: Job was active longer than specified deadline"

ROWS = [
    *(
        row
        for reason in BY_PODS
        for row in (
            vector(
                f"C2 {reason} with a finding",
                plain(TJ(f"Failed=True/{reason}: why"), JS(), pod("p0").failed().exit(3)),
                ended("non-zero-exit", "container", "pod p0: exit code 3", R=1),
            ),
            vector(
                f"C2 {reason} without a finding",
                plain(TJ(f"Failed=True/{reason}: why"), JS(), pod("p0")),
                ended("unknown", "", f"{reason}: why; no pod evidence was captured", R=1),
            ),
        )
    ),
    vector(
        "C2 a finding that is itself unknown",
        plain(TJ("Failed=True/FailedJobs: why"), JS(), pod("p0").failed().exit(137, "ContainerStatusUnknown", at="-")),
        ended("unknown", "", "pod p0: exit code 137 (ContainerStatusUnknown)", R=1),
    ),
    *(
        vector(
            f"C2 {reason}: the pods are not asked",
            plain(TJ(f"Failed=True/{reason}: why"), JS(), pod("p0").failed().exit(3)),
            ended(kind, provenance, f"{reason}: why", R=1),
        )
        for reason, kind, provenance in (
            ("DeadlineExceeded", "timeout", "trainjob"),
            ("TrainingRuntimeNotSupported", "rejected", "trainjob"),
            ("RemoteLost", "unknown", ""),
        )
    ),
    vector("C2 words without a message", plain(TJ("Failed=True/RemoteLost")), ended("unknown", "", "RemoteLost")),
    vector(
        "C2 words are stripped and one line (F11)",
        plain(TJ("Failed=True/RemoteLost: \n worker cluster\r\nis\u2028gone \n")),
        ended("unknown", "", "RemoteLost: worker cluster is gone"),
    ),
    *(
        vector(
            f"C1 C2 {condition} ends nothing",
            plain(TJ(condition), JS(), pod("p0")),
            running(R=1),
        )
        for condition in ("Complete=False/AllJobsCompleted", "Failed=Unknown/FailedJobs", "Complete=Unknown/X")
    ),
    vector(
        "C1 ended, whatever suspends, gates or holds it",
        plain(TJ("Complete=True/AllJobsCompleted", "Suspended=True/Suspended").suspend().ann("P/gate", "closed"), JS()),
        ended("completed", "trainjob", "AllJobsCompleted"),
    ),
    vector(
        "C1 ended before held: the hold is still reported",
        plain(TJ("Complete=True/AllJobsCompleted").suspend().ann("P/hold-instance", "4"), JS()),
        ended("completed", "trainjob", "AllJobsCompleted", hold=4),
    ),
    vector(
        "F24 a child Job's deadline before what its pods say",
        plain(TJ("Failed=True/FailedJobs: why"), JS(), child_job(DEADLINE), pod("p0").failed().exit(143)),
        ended("timeout", "job", JOB_TIMEOUT, R=1),
    ),
    vector(
        "F24 the first child Job by name",
        plain(
            TJ("Failed=True/FailedJobs: why"),
            JS(),
            child_job(DEADLINE, name="train-3-node-1").uid("job-2"),
            child_job(DEADLINE),
        ),
        ended("timeout", "job", JOB_TIMEOUT),
    ),
    vector(
        "F24 without a pod",
        plain(TJ("Failed=True/FailedJobs: why"), JS(), child_job(DEADLINE)),
        ended("timeout", "job", JOB_TIMEOUT),
    ),
    vector(
        "F24 another reason of the child Job says nothing",
        plain(TJ("Failed=True/FailedJobs: why"), JS(), child_job("Failed=True/BackoffLimitExceeded: x")),
        ended("unknown", "", "FailedJobs: why; no pod evidence was captured"),
    ),
    vector(
        "F24 a deadline that is not True says nothing",
        plain(TJ("Failed=True/FailedJobs: why"), JS(), child_job("Failed=False/DeadlineExceeded")),
        ended("unknown", "", "FailedJobs: why; no pod evidence was captured"),
    ),
    vector(
        "F24 a deadline that is about to fail it has not failed it yet",
        plain(TJ("Failed=True/FailedJobs: why"), JS(), child_job("FailureTarget=True/DeadlineExceeded")),
        ended("unknown", "", "FailedJobs: why; no pod evidence was captured"),
    ),
    vector(
        "F24 a Job of another JobSet is no child",
        plain(TJ("Failed=True/FailedJobs: why"), JS(), child_job(DEADLINE).owner("js-0", "JobSet")),
        ended("unknown", "", "FailedJobs: why; no pod evidence was captured"),
    ),
    *(
        vector(
            f"F24 a child Job {name}",
            plain(TJ("Failed=True/FailedJobs: why"), JS(), told),
            ended("unknown", "", "FailedJobs: why; no pod evidence was captured"),
        )
        for name, told in (
            ("without a status", child_job().only_metadata()),
            ("without conditions", child_job().no_conditions()),
        )
    ),
    vector(
        "F24 the job's own reason comes first",
        plain(TJ("Failed=True/RemoteLost: why"), JS(), child_job(DEADLINE)),
        ended("unknown", "", "RemoteLost: why"),
    ),
]


@pytest.mark.parametrize(("given", "want"), ROWS)
def test_how_it_ended(given: Input, want: Said) -> None:
    assert said(given.observe()) == want


@pytest.mark.parametrize(("given", "want"), [v for v in ROWS if v.id.startswith(("C2", "F24"))])
def test_the_same_in_kueue_mode(given: Input, want: Said) -> None:
    assert said(given.but(WL("Finished=True/Failed"), mode=Mode.KUEUE).observe()) == want


def test_C2_the_workload_is_not_asked_of_an_ended_job() -> None:
    workload = WL("Evicted=True/Preempted: by w9", "QuotaReserved=False/Pending").inactive().requeue_at("x")
    given = kueue(TJ("Complete=True/AllJobsCompleted"), workload.ann("P/hold-instance", "4"))
    assert said(given.observe()) == ended("completed", "trainjob", "AllJobsCompleted", hold=4)
