"""The first line of an explanation, for every state and every cause."""

import pytest

from classifier.report.explain import explain_lines
from classifier.report.remedy import next_steps
from classifier.state.observation import (
    CauseKind,
    Explanation,
    State,
)
from tests.unit.report.explained import NOW, WORKLOAD, explained


@pytest.mark.parametrize("cause", list(CauseKind))
@pytest.mark.parametrize("state", list(State))
def test_each_state_with_each_cause_says_what_it_is_and_what_to_do(state: State, cause: CauseKind) -> None:
    for by in ("", "workload", "pod", "trainjob"):
        for kind in ("TrainJob", "Job", "Pod", "Unheard"):
            for workload in ("", WORKLOAD):
                explanation = explained(state, cause, by=by, kind=kind, workload=workload)
                lines = explain_lines(explanation, NOW)
                head, _, words = lines[0][2:].partition(": ")
                assert head == f"{kind} team-a/train-3"
                known = "" if cause is CauseKind.NONE else f" ({cause})"
                assert words.startswith(f"{state}{known}: ")
                assert lines[0][0] in "✓…·✗"
                assert next_steps(explanation)
                assert any(line.startswith("  next:      ") for line in lines)


@pytest.mark.parametrize(
    ("explanation", "first"),
    [
        (explained("gated"), "· TrainJob team-a/train-3: gated: dispatch has not opened its gate yet"),
        (explained("held", hold_instance=7), "· TrainJob team-a/train-3: held: dispatch holds it back"),
        (explained("suspended", admin_held=True), "· TrainJob team-a/train-3: suspended: somebody has stopped it"),
        (
            explained("suspended", "timeout", "admission deadline exceeded: 2026-11-29T10:00:00Z", by="workload"),
            "✗ TrainJob team-a/train-3: suspended (timeout): its admission deadline passed before it could start",
        ),
        (
            explained("suspended", "timeout", "Workload Evicted: x", by="workload"),
            "✗ TrainJob team-a/train-3: suspended (timeout): it ran longer than it may",
        ),
        (explained("pending"), "… TrainJob team-a/train-3: pending: it waits for its turn"),
        (
            explained("pending", "preempted", by="workload"),
            "… TrainJob team-a/train-3: pending (preempted): it had to make way, and waits for its turn again",
        ),
        (explained("running"), "… TrainJob team-a/train-3: running: it runs, and nothing speaks against it"),
        (
            explained("running", "node-lost", by="node"),
            "✗ TrainJob team-a/train-3: running (node-lost): a node was lost under it",
        ),
        (
            explained("ended", "completed", by="trainjob"),
            "✓ TrainJob team-a/train-3: ended (completed): it finished well",
        ),
        (explained("ended", "unknown"), "✗ TrainJob team-a/train-3: ended (unknown): no known cause"),
    ],
)
def test_the_first_line_says_it_all(explanation: Explanation, first: str) -> None:
    assert explain_lines(explanation, NOW)[0] == first


@pytest.mark.parametrize(
    ("state", "detail", "words"),
    [
        ("pending", "Workload Finished: FailedToStart: bad", "✗ Kueue takes it for finished, and will not start it"),
        ("pending", "no Workload", "… Kueue has not taken it in"),
        ("pending", "managed by kueue.x-k8s.io/multikueue; no Workload", "… it is run by somebody else"),
        ("pending", "gated by example.com/budget; no Workload", "… Kueue has not taken it in"),
        ("pending", "gated by example.com/budget", "… somebody's gate holds it back"),
        ("pending", "Workload QuotaReserved: AdmissionGated: by x", "… somebody's gate holds it back"),
        ("pending", "Workload QuotaReserved: Pending: no", "… it waits for quota"),
        (
            "pending",
            "Workload QuotaReserved: Inadmissible: LocalQueue gpu doesn't exist",
            "… its queue does not exist",
        ),
        *(
            ("pending", f"Workload QuotaReserved: {reason}: {queue} q {how}", "… its queue is stopped or not ready")
            for reason in ("Inadmissible", "Suspended")
            for queue in ("LocalQueue", "ClusterQueue")
            for how in ("is inactive", "is stopped")
        ),
        (
            "pending",
            "admission check prov Pending: Waiting",
            "… it has its quota, and waits for an admission check",
        ),
        ("pending", "TrainJob deleting since x; no Workload", "… it is being deleted"),
        ("running", "no JobSet", "… it may run, but nothing of it is there yet"),
        ("running", "JobSet restarting: x", "… it starts again"),
        ("running", "managed by kueue.x-k8s.io/multikueue; no JobSet", "… it is run by somebody else"),
        (
            "running",
            "1 of 2 pods unscheduled: pod p0: Unschedulable; pod p1 container c waiting: ErrImagePull",
            "… it may run, but not all of its pods have a node",
        ),
        ("running", "pod p1 container c waiting: ErrImagePull", "… it may run, but a container does not start"),
        ("running", "Nodes could not be read", "… it runs, and nothing speaks against it"),
        ("running", "hold 7 is set but the TrainJob is not suspended", "… it runs, and nothing speaks against it"),
    ],
)
def test_the_first_line_tells_a_stall(state: str, detail: str, words: str) -> None:
    head = explain_lines(explained(state, detail=detail), NOW)[0]
    assert f"{head[0]} {head.rpartition(': ')[2]}" == words
