"""What to do next about an explained object."""

import pytest

from classifier.report.remedy import next_steps
from classifier.state.observation import (
    Execution,
    Explanation,
)
from tests.unit.report.explained import CRASHING, DESCRIBE, GONE, INITIALIZER, LOOK, LOST, REACTIVATE, explained

BLOCKED = "Workload QuotaReserved: Inadmissible:"


@pytest.mark.parametrize(
    ("explanation", "says"),
    [
        (explained("gated"), ["dispatch opens its gate", "ask whoever runs dispatch"]),
        (explained("held", hold_instance=7), ["only dispatch lifts its hold (instance 7)"]),
        # suspended
        (
            explained("suspended", detail="Workload Evicted: ClusterQueueStopped: stopped", admin_held=True),
            ["ask the administrators of LocalQueue gpu: they have stopped its ClusterQueue"],
        ),
        (
            explained("suspended", detail="Workload Evicted: LocalQueueStopped: x", admin_held=True, queue=None),
            ["ask the administrators of its queue: they have stopped its LocalQueue"],
        ),
        (explained("suspended", admin_held=True), ["somebody has set spec.active=false", REACTIVATE]),
        (
            explained("suspended", admin_held=True, workload=""),
            ["""kubectl patch trainjob train-3 -n team-a --type=merge -p '{"spec":{"suspend":false}}'"""],
        ),
        (
            explained("suspended", "timeout", "admission deadline exceeded: 2026-11-29T10:00:00Z", by="workload"),
            ["delete it and submit it again", REACTIVATE],
        ),
        (
            explained(
                "suspended", "timeout", "Workload Evicted: DeactivatedDueToMaximumExecutionTimeExceeded", by="workload"
            ),
            ["kueue.x-k8s.io/max-exec-time-seconds", REACTIVATE],
        ),
        (
            explained("suspended", "no-capacity", "Workload Evicted: x", by="workload", kind="Job", name="train"),
            ["kubectl get job train -n team-a -o yaml | muster preflight -f -", REACTIVATE],
        ),
        (
            explained(
                "suspended", "rejected", "Workload Evicted: x; admission check budget Rejected: no", by="workload"
            ),
            ["ask whoever runs admission check budget"],
        ),
        (explained("suspended", "unknown", "Workload Evicted: Deactivated"), [LOOK, REACTIVATE]),
        # pending
        (explained("pending", detail="no Workload", queue=""), ["it names no queue", "--mode plain"]),
        (explained("pending", detail="no Workload", queue=None), ["if it names no queue", "--mode plain", DESCRIBE]),
        (explained("pending", detail="no Workload"), ["is Kueue running", "kubectl get localqueue gpu -n team-a"]),
        (explained("pending", detail="gated by example.com/budget"), ["must take it away: example.com/budget"]),
        (
            explained(
                "pending",
                detail="Workload QuotaReserved: AdmissionGated: Admission is gated by: example.com/budget",
            ),
            ["must take it away: example.com/budget"],
        ),
        (
            explained("pending", detail="Workload QuotaReserved: WaitingForQuota: no", kind="Job", name="train"),
            ["waits for quota in LocalQueue gpu", "muster status job/train -n team-a", "muster preflight -f -"],
        ),
        (
            explained("pending", detail="Workload QuotaReserved: WaitingForQuota: no", kind="JobSet", name="train"),
            ["waits for quota in LocalQueue gpu", "kubectl get jobset train -n team-a -o yaml | muster preflight -f -"],
        ),
        (
            explained("pending", detail="Workload QuotaReserved: Inadmissible: ClusterQueue big is inactive"),
            ["ask the administrators of ClusterQueue big", "kubectl describe clusterqueue big"],
        ),
        (
            explained(
                "pending", "preempted", f"Workload Evicted: x; {BLOCKED} LocalQueue gpu is stopped", by="workload"
            ),
            ["ask the administrators of LocalQueue gpu", "kubectl describe localqueue gpu -n team-a"],
        ),
        (
            explained("pending", detail=f"{BLOCKED} LocalQueue gpu doesn't exist"),
            ["name a queue that exists", "kubectl get localqueues -n team-a"],
        ),
        (
            explained("pending", detail=f"{BLOCKED} ClusterQueue big doesn't exist"),
            ["ask the administrators of LocalQueue gpu: it points to ClusterQueue big, which does not exist"],
        ),
        (
            explained("pending", detail="admission check prov Pending: Waiting for 2 nodes"),
            ["it waits for admission check prov (Pending)", LOOK],
        ),
        (explained("pending", detail="Workload Finished: FailedToStart: bad"), ["delete it and submit it again", LOOK]),
        (explained("pending", "preempted", "Workload Evicted: Preempted", by="workload"), ["nothing: Kueue", LOOK]),
        (explained("pending", "unknown", "Workload Evicted: PodsReadyTimeout"), [DESCRIBE, LOOK]),
        (explained("pending"), ["about to start, or waits behind one of its kind", "to see how far it is: "]),
        # running
        (explained("running"), ["nothing: it runs"]),
        (explained("running", detail="no JobSet"), ["has made no JobSet so far", DESCRIBE]),
        (
            explained("running", detail="1 of 2 pods unscheduled: pod p0: Unschedulable: 0/3 nodes are available"),
            ["why no node takes the pod: kubectl describe pod p0 -n team-a"],
        ),
        (
            explained("running", detail="pod p1 container node waiting: ImagePullBackOff: Back-off"),
            ["correct the image of container node", "kubectl describe pod p1 -n team-a"],
        ),
        (
            explained("running", detail="pod p1 container node waiting: CreateContainerConfigError: no secret"),
            ["see why container node does not start: kubectl describe pod p1 -n team-a"],
        ),
        (explained("running", detail="hold 7 is set but the TrainJob is not suspended"), ["the hold stops nothing"]),
        (explained("running", detail="JobSet restarting: x: y"), ["it starts again by itself"]),
        (
            explained("running", detail="TrainJob deleting since 2026-11-29T10:00:00Z, finalizers a.com/b, c.com/d"),
            ["must let go of it: a.com/b, c.com/d"],
        ),
        (
            explained("running", detail="TrainJob deleting since 2026-11-29T10:00:00Z"),
            ["goes once its pods have ended"],
        ),
        (
            explained("pending", detail="TrainJob deleting since 2026-11-29T10:00:00Z"),
            ["goes once its pods have ended"],
        ),
        (explained("running", "node-lost", LOST, by="node"), ["five minutes", "kubectl describe node n2"]),
        (explained("running", "preempted", "Workload Preempted: x", by="workload"), ["nothing: Kueue stops it", LOOK]),
        (
            explained("running", "no-capacity", "Workload Evicted: PodsReadyTimeout", by="workload", kind="Job"),
            ["nothing: Kueue queues it again", "muster status job/train-3", "muster preflight -f -"],
        ),
        (
            explained("running", "non-zero-exit", CRASHING, by="container"),
            ["kubectl logs p0 -n team-a -c node --previous"],
        ),
        (
            explained("running", "non-zero-exit", "pod p0: exit code 139", by="container"),
            ["SIGSEGV", "kubectl logs p0 -n team-a -c node", "with --previous if"],
        ),
        (
            explained("running", "node-lost", "pod p1: DeletionByPodGC: PodGC: node no longer exists", by="pod"),
            ["did nothing wrong: its pods are replaced"],
        ),
        # ended
        (explained("ended", "completed", by="trainjob"), ["nothing: it is done"]),
        (explained("ended", "rejected", "x", by="trainjob"), ["correct what is refused"]),
        (explained("ended", "timeout", "x", by="trainjob"), ["activeDeadlineSeconds"]),
        (explained("ended", "no-capacity", "pod p0: OutOfcpu: x", by="pod"), ["submit it again"]),
        (
            explained("ended", "node-lost", "pod p3: DeletionByPodGC: x", by="pod"),
            ["did nothing wrong: submit it again"],
        ),
        (explained("ended", "preempted", "pod p0: x", by="pod"), ["did nothing wrong: submit it again", "priority"]),
        (
            explained("ended", "out-of-memory", "pod p0: exit code 137 (OOMKilled)", by="container"),
            ["memory limit and request of container node", "kubectl describe pod p0"],
        ),
        (
            explained("ended", "out-of-memory", "pod p0: TerminationByKubelet: The node was low", by="pod"),
            ["its node ran out of memory"],
        ),
        (
            explained("ended", "non-zero-exit", INITIALIZER, by="container"),
            ["kubectl logs pi -n team-a -c dataset-initializer"],
        ),
        (
            explained(
                "ended", "non-zero-exit", "pod j: container main exit code 1", by="container", kind="Job", name="j"
            ),
            ["kubectl logs j -n team-a -c main"],
        ),
        (explained("ended", "unknown", GONE), ["muster explain train -w -n team-a", "restartPolicy Never", DESCRIBE]),
        (explained("ended", "unknown", "RemoteLost: gone"), [DESCRIBE]),
        (
            explained("ended", "unknown", "pod p1: exit code 137 (Unknown)"),
            ["kubectl describe pod p1", "kubectl logs p1"],
        ),
        # groups of pods
        (
            explained("ended", "unknown", "PodsFailed: x", kind="PodGroup", name="p0"),
            ["kubectl describe pod p0 -n team-a"],
        ),
        (explained("suspended", admin_held=True, workload="", kind="PodGroup"), ["ask whoever has stopped it"]),
        # not what it seems
        (
            explained("running", detail="managed by kueue.x-k8s.io/multikueue; no JobSet"),
            ["look where it runs: it is managed by kueue.x-k8s.io/multikueue"],
        ),
        (
            explained("ended", "unknown", "pod p0 has no live TrainJob", kind="Pod", name="p0", foreign=True),
            ["garbage collector", "kubectl delete pod p0 -n team-a"],
        ),
        (
            explained("running", detail="Job is controlled by JobSet big", kind="Job", foreign=True),
            ["explain that instead: muster explain jobset/big -n team-a"],
        ),
        (
            explained("ended", "unknown", "JobSet train-3 has no live TrainJob", kind="JobSet", foreign=True),
            ["it has no owner, so nothing takes it away by itself: kubectl delete jobset train-3 -n team-a"],
        ),
        (
            explained(
                "ended",
                "non-zero-exit",
                "pod p0: exit code 1; Job is controlled by CronJob web",
                kind="Job",
                foreign=True,
            ),
            ["kubectl logs p0", "it was made by CronJob web: kubectl describe cronjob web -n team-a"],
        ),
        (
            explained("ended", "unknown", GONE, execution=Execution(1, 0)),
            ["its pods were seen, and none of them says why"],
        ),
    ],
)
def test_what_to_do_next(explanation: Explanation, says: list[str]) -> None:
    steps = "\n".join(next_steps(explanation))
    for words in says:
        assert words in steps


def test_a_job_that_never_restarts_needs_no_previous_log() -> None:
    ended = explained("ended", "non-zero-exit", "pod p0: exit code 1", by="container")
    assert "--previous" not in "\n".join(next_steps(ended))


def test_names_are_quoted_for_the_shell() -> None:
    steps = "\n".join(next_steps(explained("ended", "unknown", GONE, name="a; rm -rf x")))
    assert "describe trainjob 'a; rm -rf x'" in steps


@pytest.mark.parametrize("state", ["pending", "running", "gated", "held", "suspended", "ended"])
@pytest.mark.parametrize("cause", ["none", "preempted", "no-capacity"])
def test_nobody_is_told_that_what_is_being_deleted_starts_or_runs(state: str, cause: str) -> None:
    by = "" if cause == "none" else "workload"
    steps = next_steps(explained(state, cause, "TrainJob deleting since 2026-11-29T10:00:00Z", by=by))
    assert steps[0] == "it is being deleted and goes once its pods have ended"
    assert not [step for step in steps if step.startswith("nothing: ")]
