"""Rows of reference/classification.md §C12: what is said to explain a stall, and in which order."""

from typing import Any

import pytest

from classifier import api
from classifier.objects import TrainJob
from tests.unit.state.builders import (
    FORBIDDEN,
    JS,
    TJ,
    WL,
    Input,
    Said,
    Suspendable,
    Thing,
    WorkloadTold,
    captured,
    child_job,
    ended,
    gated,
    kueue,
    node,
    pending,
    plain,
    pod,
    ready,
    running,
    said,
    vector,
)

GATED_BY = api.ADMISSION_GATED_BY
DELETING = "TrainJob deleting since 2026-11-29T10:00:00Z"
MULTIKUEUE = "kueue.x-k8s.io/multikueue"
DOOMED = "cloud.google.com/impending-node-termination"
EVICTING = "DisruptionTarget=True/EvictionByEvictionAPI: evicting"
RESERVED = "QuotaReserved=True/QuotaReserved"
NO_QUOTA = "QuotaReserved=False/Pending: no quota"
NO_QUOTA_SAID = "Workload QuotaReserved: Pending: no quota"


def managed_by(manager: str) -> Suspendable[TrainJob]:
    built = TJ().suspend()
    built.spec["managedBy"] = manager
    return built


def waits(name: str, workload: WorkloadTold, detail: str, job: Suspendable[TrainJob] | None = None) -> Any:
    return vector(f"C12 {name}", kueue(job or TJ().suspend(), workload), pending(detail=detail))


def runs(name: str, detail: str, *things: Thing, **flags: Any) -> Any:
    return vector(f"C12 {name}", plain(TJ(), *things), running(detail=detail, **flags))


WAITING = [
    vector(
        "C12.1 without finalizers",
        plain(TJ().deleting(), JS()),
        running(detail=DELETING),
    ),
    vector(
        "C12.1 several finalizers, in no order of their own",
        plain(TJ().deleting("b/x", "a/y"), JS()),
        running(detail=f"{DELETING}, finalizers a/y, b/x"),
    ),
    vector(
        "C12.1 alone is said of an ended object",
        kueue(TJ("Complete=True/AllJobsCompleted").deleting(), WL(NO_QUOTA).requeue_at("2026-11-29T10:05:00Z")),
        ended("completed", "trainjob", f"AllJobsCompleted; {DELETING}"),
    ),
    waits(
        "2 gates of others",
        WL(NO_QUOTA),
        f"gated by example.com/a, example.com/b; {NO_QUOTA_SAID}",
        TJ().suspend().ann(GATED_BY, "example.com/a,example.com/b"),
    ),
    waits("2 an empty gate", WL(NO_QUOTA), NO_QUOTA_SAID, TJ().suspend().ann(GATED_BY, "")),
    waits(
        "2 not beside AdmissionGated",
        WL("QuotaReserved=False/AdmissionGated: Admission is gated by: example.com/a"),
        "Workload QuotaReserved: AdmissionGated: Admission is gated by: example.com/a",
        TJ().suspend().ann(GATED_BY, "example.com/a"),
    ),
    vector(
        "C12.3 no Workload, gated",
        kueue(TJ().suspend().ann(GATED_BY, "P/open,example.com/a")),
        gated(detail="gated by example.com/a; no Workload"),
    ),
    waits("4 finished before its job", WL("Finished=True/OutOfSync"), "Workload Finished: OutOfSync"),
    waits("4 not finished", WL("Finished=False/X", NO_QUOTA), NO_QUOTA_SAID),
    waits("5 neither True nor False", WL("QuotaReserved=Unknown/Odd"), "Workload QuotaReserved: Odd"),
    vector(
        "C12.5 of a gated object another reason is said",
        kueue(TJ().suspend().ann(GATED_BY, "P/open"), WL(NO_QUOTA)),
        gated(detail=NO_QUOTA_SAID),
    ),
    waits(
        "6 checks by name, those ready left out",
        WL(RESERVED).check("zeta", "Pending", "b").check("prov", "Ready", "ok").check("alpha", "Pending", "a"),
        "admission check alpha Pending: a; admission check zeta Pending: b",
    ),
    waits("6 without a message", WL(RESERVED).check("prov", "Pending"), "admission check prov Pending"),
    waits("6 not before quota is reserved", WL(NO_QUOTA).check("prov", "Pending", "a"), NO_QUOTA_SAID),
    *(
        waits(
            f"6 once one is in {state}",
            WL(NO_QUOTA).check("prov", state, "no").check("budget", "Pending", "a"),
            f"{NO_QUOTA_SAID}; admission check budget Pending: a; admission check prov {state}: no",
        )
        for state in ("Retry", "Rejected")
    ),
    waits(
        "6 messages are one line",
        WL(RESERVED).check("prov", "Pending", " a\nb "),
        "admission check prov Pending: a b",
    ),
    waits(
        "7 an eviction that is no cause", WL("Evicted=True/Deactivated: back"), "Workload Evicted: Deactivated: back"
    ),
    waits(
        "8 the backoff",
        WL(NO_QUOTA).requeue_at("2026-11-29T10:05:00Z"),
        f"{NO_QUOTA_SAID}; requeued at 2026-11-29T10:05:00Z",
    ),
    waits("8 a count without a time", WL(NO_QUOTA).requeue_at(None), NO_QUOTA_SAID),
    vector(
        "F31 a MultiKueue job, without a Workload yet",
        kueue(managed_by(MULTIKUEUE)),
        pending(detail=f"managed by {MULTIKUEUE}; no Workload"),
    ),
    vector(
        "F31 a MultiKueue job is not foreign",
        kueue(managed_by(MULTIKUEUE), WL(NO_QUOTA)),
        pending(detail=f"managed by {MULTIKUEUE}; {NO_QUOTA_SAID}"),
    ),
    vector(
        "F31 Trainer's own controller is not said",
        kueue(managed_by("trainer.kubeflow.org/trainjob-controller"), WL(NO_QUOTA)),
        pending(detail=NO_QUOTA_SAID),
    ),
    vector(
        "C12 all that is said of a waiting object, in its order",
        kueue(
            managed_by(MULTIKUEUE).ann(GATED_BY, "example.com/a").deleting(),
            WL("Finished=True/X: done", NO_QUOTA, "Evicted=True/Deactivated: back")
            .check("prov", "Retry", "no")
            .requeue_at("2026-11-29T10:05:00Z")
            .ann("P/hold-instance", "5"),
            JS("RestartingJobSet=True/X: never said"),
            pod("p0").unscheduled("never said"),
        ),
        pending(
            detail=f"{DELETING}; gated by example.com/a; managed by {MULTIKUEUE}; Workload Finished: X: done; "
            f"{NO_QUOTA_SAID}; admission check prov Retry: no; Workload Evicted: Deactivated: back; "
            "requeued at 2026-11-29T10:05:00Z; hold 5 is set but the Workload is active",
            hold=5,
            R=1,
        ),
    ),
]

RUNNING = [
    vector("C12.10 no JobSet, admitted", kueue(TJ(), WL().admitted()), running(detail="no JobSet")),
    runs("10 a child Job is no JobSet", "no JobSet", child_job(name="train-3")),
    runs("10 another's JobSet is not its JobSet", "no JobSet", JS(name="train-9").uid("js-9")),
    runs("11", "JobSet restarting: FailurePolicy_r: again", JS("RestartingJobSet=True/FailurePolicy_r: again")),
    runs("11 not restarting any more", "", JS("RestartingJobSet=False/JobsReady")),
    runs(
        "11 another's JobSet restarts for itself",
        "JobSet train-3 is not controlled by this TrainJob",
        JS("RestartingJobSet=True/X: again").owner("tj-0"),
        foreign=True,
    ),
    runs(
        "12 the first by name",
        "2 of 3 pods unscheduled: pod p0: Unschedulable: a",
        JS(),
        pod("p2").unscheduled("b"),
        pod("p0").unscheduled("a"),
        pod("p1"),
        R=1,
    ),
    runs(
        "12 for whatever reason",
        "1 of 1 pods unscheduled: pod p0: SchedulingGated: gates",
        JS(),
        pod("p0").unscheduled("gates", "SchedulingGated"),
        R=1,
    ),
    *(
        runs(f"12 PodScheduled={status}", "", JS(), pod("p0").has(f"PodScheduled={status}/Odd"), R=1)
        for status in ("True", "Unknown")
    ),
    runs("12 captured pods are gone", "", JS(), captured(pod("p0").unscheduled("a")), R=1),
    *(
        runs(f"13 {reason or 'no reason'} is normal", "", JS(), pod("p0").pending().waiting(reason), R=1)
        for reason in ("ContainerCreating", "PodInitializing", "")
    ),
    runs(
        "13 an init container",
        "pod p0 container fetch waiting: ImagePullBackOff: back-off",
        JS(),
        pod("p0").pending().waiting("ImagePullBackOff", "back-off", of="fetch", init=True).waiting("PodInitializing"),
        R=1,
    ),
    runs(
        "13 a sidecar, without a message",
        "pod p0 container logs waiting: CreateContainerConfigError",
        JS(),
        pod("p0").pending().running().waiting("CreateContainerConfigError", of="logs"),
        R=1,
    ),
    runs(
        "13 the first pod by name",
        "pod p1 container node waiting: ErrImagePull: b",
        JS(),
        pod("p2").pending().waiting("ErrImagePull", "c"),
        pod("p1").pending().waiting("ErrImagePull", "b"),
        pod("p0").pending().waiting("ContainerCreating"),
        R=1,
    ),
    runs("14 a bound pod", "Nodes could not be read", JS(), pod("p0"), FORBIDDEN, R=1),
    runs("14 no pod", "", JS(), FORBIDDEN),
    vector(
        "C12 all that is said of a running object, in its order",
        kueue(
            TJ().ann(GATED_BY, "example.com/a").deleting(),
            JS("RestartingJobSet=True/X: again"),
            WL("Admitted=True/Admitted", NO_QUOTA).check("prov", "Retry", "no").requeue_at("2026-11-29T10:05:00Z"),
            pod("p0").unscheduled("a"),
            pod("p1").pending().waiting("ErrImagePull", "b"),
            FORBIDDEN,
        ),
        running(
            detail=f"{DELETING}; gated by example.com/a; {NO_QUOTA_SAID}; admission check prov Retry: no; "
            "requeued at 2026-11-29T10:05:00Z; JobSet restarting: X: again; "
            "1 of 2 pods unscheduled: pod p0: Unschedulable: a; pod p1 container node waiting: ErrImagePull: b; "
            "Nodes could not be read",
            R=1,
        ),
    ),
]

TAINTS = [
    vector(
        "B7 a node that was announced to go, of a drained pod",
        plain(TJ(), JS(), pod("p0").has(EVICTING), ready("n1").taint(DOOMED)),
        running("preempted", "pod", f"pod p0: EvictionByEvictionAPI: evicting; node n1 tainted {DOOMED}", R=1),
    ),
    vector(
        "B7 of a lost node",
        plain(TJ(), JS(), pod("p0"), node("n1", "Ready=Unknown/X").taint(DOOMED)),
        running("node-lost", "node", f"pod p0: node n1 Ready=Unknown: X; node n1 tainted {DOOMED}", R=1),
    ),
    *(
        vector(
            f"B7 {key}",
            plain(TJ(), JS(), pod("p0").has(EVICTING), ready("n1").taint(key)),
            running("preempted", "pod", f"pod p0: EvictionByEvictionAPI: evicting; node n1 tainted {key}", R=1),
        )
        for key in (
            "node.kubernetes.io/out-of-service",
            "ToBeDeletedByClusterAutoscaler",
            "karpenter.sh/disruption",
            "karpenter.sh/disrupted",
            "aws-node-termination-handler/spot-itn",
        )
    ),
    vector(
        "B7 a spot pool's own taint announces nothing",
        plain(TJ(), JS(), pod("p0").has(EVICTING), ready("n1").taint("kubernetes.azure.com/scalesetpriority")),
        running("preempted", "pod", "pod p0: EvictionByEvictionAPI: evicting", R=1),
    ),
    vector(
        "B7 a key that only begins like one",
        plain(TJ(), JS(), pod("p0").has(EVICTING), ready("n1").taint(DOOMED + "-not")),
        running("preempted", "pod", "pod p0: EvictionByEvictionAPI: evicting", R=1),
    ),
    vector(
        "B7 nodes by name",
        plain(
            TJ(),
            JS(),
            pod("p0").on("n2").has(EVICTING),
            pod("p1").on("n1"),
            ready("n2").taint(DOOMED),
            ready("n1").taint(DOOMED),
        ),
        running("preempted", "pod", f"pod p0: EvictionByEvictionAPI: evicting; node n1, n2 tainted {DOOMED}", R=1),
    ),
    *(
        vector(
            f"B7 {key} announces nothing",
            plain(TJ(), JS(), pod("p0").has(EVICTING), ready("n1").taint(key, "PreferNoSchedule")),
            running("preempted", "pod", "pod p0: EvictionByEvictionAPI: evicting", R=1),
        )
        for key in ("DeletionCandidateOfClusterAutoscaler", "node.kubernetes.io/unreachable", "sku")
    ),
    vector(
        "B7 Nodes may not be read",
        plain(TJ(), JS(), pod("p0").has(EVICTING), FORBIDDEN),
        running("preempted", "pod", "pod p0: EvictionByEvictionAPI: evicting; Nodes could not be read", R=1),
    ),
    vector(
        "B7 nothing is said beside another cause",
        plain(TJ(), JS(), pod("p0").failed().exit(1), pod("p1"), ready("n1").taint(DOOMED)),
        running("non-zero-exit", "container", "pod p0: exit code 1", R=1),
    ),
    vector("B7 nor beside none", plain(TJ(), JS(), pod("p0"), ready("n1").taint(DOOMED)), running(R=1)),
    vector(
        "B7 nor of an ended object",
        plain(TJ("Failed=True/FailedJobs"), JS(), pod("p0").failed().has(EVICTING), ready("n1").taint(DOOMED)),
        ended("preempted", "pod", "pod p0: EvictionByEvictionAPI: evicting", R=1),
    ),
]


@pytest.mark.parametrize(("given", "want"), [*WAITING, *RUNNING, *TAINTS])
def test_the_situation(given: Input, want: Said) -> None:
    assert said(given.observe()) == want
