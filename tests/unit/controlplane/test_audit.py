"""The audit log's reader: whole lines, in the order of revisions."""

import json
from pathlib import Path
from typing import Any

from e2e.audit import AuditLog, in_order, revision, succeeded


def event(name: str, version: int | None = None, *, code: int = 200, uri: str = "/x", namespace: str = "ns") -> Any:
    answer = {"responseObject": {"metadata": {"resourceVersion": str(version)}}} if version else {}
    return {
        "objectRef": {"name": name, "namespace": namespace},
        "responseStatus": {"code": code},
        "requestURI": uri,
        **answer,
    }


def names(events: list[Any]) -> list[str]:
    return [each["objectRef"]["name"] for each in events]


def test_of_one_revision_the_first_to_ask_comes_first() -> None:
    """A write that changed nothing may be answered before the one whose revision it saw."""
    late, early = event("same", 11), event("made", 11)
    late["requestReceivedTimestamp"], early["requestReceivedTimestamp"] = (
        "2026-12-01T12:26:36.69Z",
        "2026-12-01T12:26:36.21Z",
    )
    assert names(in_order([late, event("gone"), early, event("next", 12)])) == ["made", "same", "gone", "next"]


def test_writes_are_sorted_by_the_revision_they_made() -> None:
    assert names(in_order([event("c", 12), event("a", 10), event("b", 11)])) == ["a", "b", "c"]


def test_an_event_without_revision_stays_behind_the_newest_write_before_it() -> None:
    assert names(in_order([event("b", 11), event("gone"), event("a", 10), event("c", 12)])) == ["a", "b", "gone", "c"]


def test_a_refusal_does_not_move_though_it_shows_an_object() -> None:
    assert names(in_order([event("a", 10), event("no", 3, code=409), event("b", 11)])) == ["a", "no", "b"]


def test_refusals_and_dry_runs_changed_nothing() -> None:
    assert succeeded(event("a", 10))
    assert not succeeded(event("a", 10, code=422))
    assert not succeeded(event("a", 10, uri="/x?dryRun=All"))
    assert revision(event("a")) == 0


def test_each_event_is_read_once_and_a_line_still_being_written_later(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    log = AuditLog(path)
    assert log.read() == []
    first, second = json.dumps(event("a", 1)), json.dumps(event("b", 2))
    with path.open("w") as file:
        file.write(first + "\n" + second[:20])
        file.flush()
        assert names(log.read()) == ["a"]
        file.write(second[20:] + "\n")
        file.flush()
        assert names(log.read()) == ["b"]
    assert log.read() == []


def test_skipping_in_the_middle_of_a_line_leaves_out_that_line(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    log = AuditLog(path)
    first, second = json.dumps(event("a", 1)), json.dumps(event("b", 2))
    with path.open("w") as file:
        file.write(first[:30])
        file.flush()
        log.skip()
        file.write(first[30:] + "\n" + second + "\n")
    assert names(log.read()) == ["b"]


def test_other_namespaces_are_left_out_on_request(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    path.write_text("".join(json.dumps(event(n, i, namespace=n)) + "\n" for i, n in enumerate(["x", "y", "x"], 1)))
    assert names(AuditLog(path).read("x")) == ["x", "x"]
