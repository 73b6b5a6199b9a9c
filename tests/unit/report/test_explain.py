"""What people read about an explained object: its layout, what is cut, and the JSON of the contract."""

import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from classifier.instant import MINUTE
from classifier.report.encode import observation_json
from classifier.report.explain import LENGTH, PARTS, PIECES, explain_lines
from classifier.report.text import printable
from classifier.state.observation import (
    CauseKind,
    Evidence,
    Execution,
    Explanation,
    State,
)
from tests.schemas import check_schema
from tests.unit.report.explained import (
    CRASHING,
    GONE,
    LOST,
    NOW,
    T0,
    WORKLOAD,
    explained,
    found,
    screen,
)

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


def test_a_single_piece_of_evidence_that_adds_nothing_is_left_out() -> None:
    told = explained("pending", "preempted", "Workload Evicted: Preempted: by w9", by="workload")
    piece = Evidence(T0, f"Workload {WORKLOAD}", CauseKind.PREEMPTED, "Evicted: Preempted: by w9")
    lone = msgspec.structs.replace(told, evidence=(piece,))
    assert "evidence:" not in screen(lone)
    assert "evidence:" in screen(lone, wide=True)
    assert "evidence:" in screen(msgspec.structs.replace(lone, since=T0 + 1))
    assert "evidence:" in screen(msgspec.structs.replace(lone, evidence=(piece, piece)))


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
