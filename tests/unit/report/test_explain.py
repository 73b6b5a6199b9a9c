"""What people read about an explained object: every state, every cause, and what to do next."""

import re
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from classifier.instant import MINUTE, SECOND, parse_instant
from classifier.report.encode import observation_json
from classifier.report.explain import LENGTH, PARTS, PIECES, explain_lines
from classifier.report.remedy import next_steps
from classifier.report.text import printable
from classifier.state.observation import (
    Cause,
    CauseKind,
    Evidence,
    Execution,
    Explanation,
    Observation,
    Ref,
    State,
)
from tests.schemas import check_schema

T0 = parse_instant("2026-11-29T10:00:00Z")
NOW = T0 + 34 * MINUTE
WORKLOAD = "trainjob-train-3-ab12c"


def explained(
    state: str,
    cause: str = "none",
    detail: str = "",
    *,
    by: str = "",
    kind: str = "TrainJob",
    name: str = "train-3",
    since: int | None = T0,
    evidence: tuple[Evidence, ...] = (),
    workload: str = WORKLOAD,
    queue: str | None = "gpu",
    **fields: Any,
) -> Explanation:
    observation = Observation(
        ref=Ref(kind, "team-a", name, "tj-1"),
        state=State(state),
        cause=Cause(CauseKind(cause), by, detail),
        seen_at=NOW,
        **fields,
    )
    return Explanation(observation=observation, since=since, evidence=evidence, workload=workload, queue=queue)


def found(pod: str, kind: str, text: str, seconds: int | None = 0) -> Evidence:
    return Evidence(None if seconds is None else T0 + seconds * SECOND, f"pod {pod}", CauseKind(kind), text)


def screen(explanation: Explanation, **options: Any) -> str:
    return "\n".join(explain_lines(explanation, NOW, **options))


# --- the layout -------------------------------------------------------------------------------------------------


def test_a_failure_reads_from_top_to_bottom() -> None:
    explanation = explained(
        "ended",
        "out-of-memory",
        "pod p0: exit code 137 (OOMKilled); other ranks: p1 non-zero-exit (exit code 1: Error; see log)",
        by="container",
        execution=Execution(2, 1),
        submission=3,
        evidence=(
            found("p0", "out-of-memory", "exit code 137 (OOMKilled)", 5),
            found("p1", "non-zero-exit", "exit code 1: Error; see log", None),
        ),
    )
    assert screen(explanation).splitlines() == [
        "✗ TrainJob team-a/train-3: ended (out-of-memory): memory ran out",
        "  since:     2026-11-29T10:00:00Z, 34m ago",
        "  why:       pod p0: exit code 137 (OOMKilled)",
        "             other ranks: p1 non-zero-exit",
        "  evidence:  2026-11-29T10:00:05Z  pod p0  out-of-memory  exit code 137 (OOMKilled)",
        "             undated               pod p1  non-zero-exit  exit code 1: Error; see log",
        "  execution: 3 (admission 2, restart 1)",
        "  next:      raise the memory limit and request of container node, or let it need less; then submit it again",
        "             what it was given: kubectl describe pod p0 -n team-a",
    ]


def test_what_is_foreign_stands_apart() -> None:
    detail = "label P/submission is 9, the name says 3; Workload QuotaReserved: Pending: label x is y"
    lines = screen(explained("pending", detail=detail, foreign=True, hold_instance=7)).splitlines()
    assert lines[2:5] == [
        "  why:       Workload QuotaReserved: Pending: label x is y",
        "  hold:      7",
        "  foreign:   label P/submission is 9, the name says 3",
    ]


def test_wide_names_the_objects() -> None:
    text = screen(explained("gated"), wide=True)
    for line in ("  uid:       tj-1", f"  workload:  {WORKLOAD}", "  queue:     gpu"):
        assert line in text.splitlines()
    assert WORKLOAD not in screen(explained("gated"))


def ranks(count: int, text: str = "exit code 1") -> Explanation:
    others = ", ".join(f"p{i} non-zero-exit ({text})" for i in range(1, count))
    return explained(
        "running",
        "non-zero-exit",
        f"pod p0: {text}; other ranks: {others}; Nodes could not be read",
        by="container",
        evidence=tuple(found(f"p{i}", "non-zero-exit", text) for i in range(count)),
    )


def test_hundreds_of_ranks_are_cut_to_a_handful() -> None:
    lines = screen(ranks(512)).splitlines()
    assert len(lines) < 20
    assert max(map(len, lines)) < 400
    assert (
        "other ranks: p1 non-zero-exit, p2 non-zero-exit, p3 non-zero-exit, and 508 more; -o wide has all" in lines[3]
    )
    assert lines[4] == "             Nodes could not be read"
    assert f"and {512 - PIECES} more; -o wide has all" in screen(ranks(512))
    assert screen(ranks(512), wide=True).count("non-zero-exit") > 1000


@pytest.mark.parametrize("text", ["exit code 1: a; b", "exit code 1: (x), p9 unknown (y)); z"])
def test_messages_that_look_like_the_seams_stay_whole(text: str) -> None:
    lines = screen(ranks(3, text), wide=True).splitlines()
    assert lines[2:5] == [
        f"  why:       pod p0: {text}",
        f"             other ranks: p1 non-zero-exit ({text}), p2 non-zero-exit ({text})",
        "             Nodes could not be read",
    ]


def test_ranks_without_evidence_are_told_apart_all_the_same() -> None:
    detail = (
        "pod p0: exit code 1; other ranks: p1 non-zero-exit (exit code 1), p2 preempted (x); Nodes could not be read"
    )
    lines = screen(explained("running", "non-zero-exit", detail, by="container"), wide=True).splitlines()
    assert lines[3:5] == [
        "             other ranks: p1 non-zero-exit (exit code 1), p2 preempted (x)",
        "             Nodes could not be read",
    ]


def test_long_parts_and_many_parts_are_cut() -> None:
    long = screen(explained("pending", detail="Workload QuotaReserved: Pending: " + "x" * 2000))
    assert max(map(len, long.splitlines())) < LENGTH + 50
    assert "…; -o wide has all" in long
    many = screen(explained("pending", detail="; ".join(f"part {i}" for i in range(50))))
    assert f"and {50 - PARTS} more; -o wide has all" in many
    assert "part 49" in screen(explained("pending", detail="; ".join(f"part {i}" for i in range(50))), wide=True)


def test_nothing_reaches_the_terminal_but_letters() -> None:
    odd = "\x1b[31mred\x1b[0m \x9b2J \r\n\t\u202eback \ud800 \u2028"
    explanation = explained(
        "ended",
        "unknown",
        odd,
        kind=odd,
        name=odd,
        foreign=True,
        workload=odd,
        queue=odd,
        evidence=(Evidence(None, odd, CauseKind.UNKNOWN, odd),),
    )
    for wide in (False, True):
        for line in explain_lines(explanation, NOW, wide=wide):
            assert line.isprintable(), line
    assert printable("a\x1b[1mb\tc✗") == "a�[1mb c✗"


def test_times_that_cannot_be_told() -> None:
    assert "since:" not in screen(explained("running", since=None))
    assert "since:     2026-11-29T12:00:00Z, 0s ago" in screen(explained("running", since=T0 + 120 * MINUTE))


# --- every state and every cause --------------------------------------------------------------------------------


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


def test_a_single_piece_of_evidence_that_adds_nothing_is_left_out() -> None:
    told = explained("pending", "preempted", "Workload Evicted: Preempted: by w9", by="workload")
    piece = Evidence(T0, f"Workload {WORKLOAD}", CauseKind.PREEMPTED, "Evicted: Preempted: by w9")
    lone = msgspec.structs.replace(told, evidence=(piece,))
    assert "evidence:" not in screen(lone)
    assert "evidence:" in screen(lone, wide=True)
    assert "evidence:" in screen(msgspec.structs.replace(lone, since=T0 + 1))
    assert "evidence:" in screen(msgspec.structs.replace(lone, evidence=(piece, piece)))


# --- what to do next --------------------------------------------------------------------------------------------

REACTIVATE = (
    f"kubectl patch workloads.kueue.x-k8s.io {WORKLOAD} -n team-a --type=merge -p " + """'{"spec":{"active":true}}'"""
)
DESCRIBE = "kubectl describe trainjob train-3 -n team-a"
LOOK = f"kubectl describe workloads.kueue.x-k8s.io {WORKLOAD} -n team-a"
CRASHING = "pod p0: exit code 1; pod p0 container node waiting: CrashLoopBackOff: back-off 20s"
INITIALIZER = "pod pi: container dataset-initializer exit code 1"
LOST = "pod p1: node n2 Ready=Unknown: NodeStatusUnknown: Kubelet stopped posting node status."
GONE = "FailedJobs: jobset failed; no pod evidence was captured"


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
        (explained("pending", detail="Workload QuotaReserved: Suspended: inactive"), ["it is stopped or not ready"]),
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
            explained("running", detail="Pod is controlled by ReplicaSet web", kind="Pod", foreign=True),
            ["kubectl describe replicaset web -n team-a"],
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


TEXTS = st.text(st.sampled_from(";:, ()\x1b\n\u202eabx") | st.characters(), max_size=40) | st.sampled_from(
    [GONE, CRASHING, LOST, "pod p: x; other ranks: ", "other ranks: p1 unknown (", "; ", "no ", "gated by ", "hold "]
)


@given(data=st.data())
def test_whatever_it_says_it_is_told(data: st.DataObject) -> None:
    texts = [data.draw(TEXTS) for _ in range(6)]
    piece = Evidence(
        data.draw(st.none() | st.just(T0)), texts[0], data.draw(st.sampled_from(list(CauseKind))), texts[1]
    )
    explanation = explained(
        data.draw(st.sampled_from(list(State))),
        data.draw(st.sampled_from(list(CauseKind))),
        data.draw(st.lists(TEXTS, max_size=4).map("; ".join)),
        by=data.draw(st.sampled_from(["", "workload", "pod", "container", "node"])),
        kind=texts[2],
        name=texts[3],
        workload=texts[4],
        queue=texts[5],
        evidence=(piece,) * data.draw(st.integers(0, 9)),
        foreign=data.draw(st.booleans()),
        admin_held=data.draw(st.booleans()),
        hold_instance=data.draw(st.integers(0, 2)),
    )
    for wide in (False, True):
        lines = explain_lines(explanation, NOW, wide=wide)
        assert all(line.isprintable() for line in lines)
        assert any(line.startswith("  next:") for line in lines)
    # Nothing of the detail is lost on the way.
    shown = "".join(explain_lines(explanation, NOW, wide=True))
    for word in re.findall("[a-zA-Z0-9]+", explanation.observation.cause.detail):
        assert word in shown


# --- JSON -------------------------------------------------------------------------------------------------------


def test_the_contract() -> None:
    explanation = explained(
        "ended", "non-zero-exit", "pod p0: exit code 1", by="container", execution=Execution(2, 1), submission=3
    )
    data = observation_json(explanation.observation)
    check_schema("explain.json", data)
    check_schema("explain.json", [data, data])
    check_schema("explain.json", [])
    assert data == {
        "ref": {"kind": "TrainJob", "namespace": "team-a", "name": "train-3", "uid": "tj-1"},
        "state": "ended",
        "adminHeld": False,
        "holdInstance": 0,
        "cause": {"kind": "non-zero-exit", "provenance": "container", "detail": "pod p0: exit code 1"},
        "execution": {"admission": 2, "restart": 1},
        "foreign": False,
        "submission": 3,
        "seenAt": "2026-11-29T10:34:00Z",
    }
    bare = observation_json(explained("gated").observation)
    assert (bare["execution"], bare["submission"]) == (None, None)


@pytest.mark.parametrize("state", ["pending", "running", "gated", "held", "suspended", "ended"])
@pytest.mark.parametrize("cause", ["none", "preempted", "no-capacity"])
def test_nobody_is_told_that_what_is_being_deleted_starts_or_runs(state: str, cause: str) -> None:
    by = "" if cause == "none" else "workload"
    steps = next_steps(explained(state, cause, "TrainJob deleting since 2026-11-29T10:00:00Z", by=by))
    assert steps[0] == "it is being deleted and goes once its pods have ended"
    assert not [step for step in steps if step.startswith("nothing: ")]
