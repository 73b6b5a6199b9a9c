"""The clock's two records, ledger and marker: as the contract writes them, and as anybody may forge them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from classifier import api, clock
from classifier.clock import Ledger, Marker
from classifier.instant import HOUR, MINUTE
from tests.builders import T0, job, workload
from tests.waits import DAY, UID, Wait, show

LEDGERS = st.builds(
    Ledger,
    st.just(UID),
    st.integers(0, 2 * T0),
    st.integers(1, 10**6),
    st.none() | st.integers(0, 2 * T0),
    st.none() | st.integers(0, 2 * T0),
    st.none() | st.text(st.characters(codec="utf-8"), max_size=8),
)


@given(LEDGERS)
def test_a_ledger_reads_back_as_it_was_written(ledger: Ledger) -> None:
    assert clock.parse_ledger(show(job(), None, ledger).done()) == ledger


def test_a_ledger_looks_as_the_contract_says() -> None:
    text = clock.format_ledger(Ledger(UID, T0, 2, paused=T0 + MINUTE, queue="gpu"))
    assert text == (
        '{"uid":"uid-of-train","origin":"2026-11-29T10:00:00Z","attempt":2,"paused":"2026-11-29T10:01:00Z","queue":"gpu"}'
    )


BAD_LEDGERS = [
    "",
    "null",
    "[]",
    "{}",
    "{",
    "[" * 100_000,
    '{"uid":"uid-of-train"}',
    '{"uid":"uid-of-train","origin":5}',
    '{"uid":"uid-of-train","origin":"yesterday"}',
    '{"uid":"uid-of-train","origin":"2026-11-29T10:00:00Z","attempt":0}',
    '{"uid":"uid-of-train","origin":"2026-11-29T10:00:00Z","attempt":-1}',
    '{"uid":"uid-of-train","origin":"2026-11-29T10:00:00Z","attempt":1.5}',
    '{"uid":"uid-of-train","origin":"2026-11-29T10:00:00Z","attempt":"1"}',
    '{"uid":"uid-of-train","origin":"2026-11-29T10:00:00Z","attempt":1000001}',
    '{"uid":"uid-of-train","origin":"2026-11-29T10:00:00Z","attempt":' + "9" * 5000 + "}",
    '{"uid":"uid-of-train","origin":"0001-01-01T00:00:00Z"}',
    '{"uid":"uid-of-train","origin":"9999-12-31T23:59:59Z"}',
    '{"uid":"uid-of-train","origin":"2026-11-29T10:00:00Z","paused":"9999-12-31T23:59:59Z"}',
    '{"uid":"uid-of-train","origin":"2026-11-29T10:00:00Z","started":"never"}',
    '{"uid":"uid-of-train","origin":"2026-11-29T10:00:00Z","queue":7}',
    '{"uid":null,"origin":"2026-11-29T10:00:00Z"}',
    '{"uid":"\\ud800","origin":"2026-11-29T10:00:00Z"}',
]


@pytest.mark.parametrize("text", BAD_LEDGERS, ids=range(len(BAD_LEDGERS)))
def test_a_ledger_that_cannot_be_ours_is_absent(text: str) -> None:
    assert clock.parse_ledger(job().annotate(api.ADMISSION_CLOCK, text).done()) is None


@given(st.integers(0, 2 * T0), st.integers(1, 10**6 - 1))
def test_a_marker_reads_back_as_it_was_written(at: int, attempt: int) -> None:
    marker = Marker(at, attempt, "uid-of-job-train-1a2b3")
    assert clock.parse_marker(workload().annotate(api.COMMITTED, clock.format_marker(marker)).done()) == marker


OURS = "uid=uid-of-job-train-1a2b3"
BAD_MARKERS = [
    "",
    "yes",
    f"2026-11-29T10:00:00Z attempt=1 {OURS} ",
    f" 2026-11-29T10:00:00Z attempt=1 {OURS}",
    f"2026-11-29T10:00:00Z  attempt=1 {OURS}",
    "2026-11-29T10:00:00Z attempt=1 uid=another",
    "2026-11-29T10:00:00Z attempt=1 uid=",
    "2026-11-29T10:00:00Z attempt=1",
    f"2026-11-29T10:00:00Z {OURS} attempt=1",
    f"2026-11-29 attempt=1 {OURS}",
    f"2026-11-29T10:00:00Z attempt= {OURS}",
    f"2026-11-29T10:00:00Z attempt=0 {OURS}",
    f"2026-11-29T10:00:00Z attempt=-1 {OURS}",
    f"2026-11-29T10:00:00Z attempt=1.0 {OURS}",
    f"2026-11-29T10:00:00Z attempt=１ {OURS}",
    f"2026-11-29T10:00:00Z attempt=² {OURS}",
    f"2026-11-29T10:00:00Z attempt=1000000 {OURS}",
    f"2026-11-29T10:00:00Z attempt={'9' * 5000} {OURS}",
]


@pytest.mark.parametrize("text", BAD_MARKERS, ids=range(len(BAD_MARKERS)))
def test_a_marker_that_cannot_be_ours_is_absent(text: str) -> None:
    forged = workload().active(False).annotate(api.COMMITTED, text).done()
    assert clock.parse_marker(forged) is None
    assert clock.committed(forged) is None


def test_a_marker_is_a_decision_only_while_the_workload_is_inactive() -> None:
    marker = Marker(T0, 1, "uid-of-job-train-1a2b3")
    marked = workload().annotate(api.COMMITTED, clock.format_marker(marker))
    assert clock.committed(marked.done()) is None
    assert clock.committed(marked.active(True).done()) is None
    assert clock.committed(marked.active(False).done()) == marker


@pytest.mark.parametrize("condition", [api.QUOTA_RESERVED, api.ADMITTED])
def test_settled_is_inactive_marked_and_without_quota_or_admission(condition: str) -> None:
    marked = workload().annotate(api.COMMITTED, clock.format_marker(Marker(T0, 1, "uid-of-job-train-1a2b3")))
    assert not clock.settled(marked.done())
    assert clock.settled(marked.active(False).done())
    assert not clock.settled(marked.condition(condition, True).done())
    assert clock.settled(marked.condition(condition, False).done())


@pytest.mark.parametrize("attempt", [1, 999_998, 999_999])
def test_attempts_can_always_go_on_and_the_last_one_is_never_ended(attempt: int) -> None:
    wait = Wait()
    wait.look(T0)
    marker = clock.format_marker(Marker(T0, attempt, "uid-of-job-train-1a2b3"))
    wait.workload.annotate(api.COMMITTED, marker).active(True)
    ledger = wait.look(T0 + 1).ledger
    assert ledger == Ledger(UID, T0 + 1, attempt + 1)
    assert wait.look(T0 + 2).ledger == ledger
    assert wait.look(T0 + DAY).due is (attempt < 999_999)


def test_reading_changes_nothing() -> None:
    wait = Wait()
    before = (wait.workload.raw(), wait.job.raw())
    assert wait.read(T0 + HOUR) == wait.read(T0 + HOUR)
    assert (wait.workload.raw(), wait.job.raw()) == before
