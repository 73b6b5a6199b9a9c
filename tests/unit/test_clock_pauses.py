"""Pauses that end unseen, that nobody saw at all, and those of dispatch (design §3, "Clock")."""

import pytest

from classifier import api
from classifier.clock import HOLD, Gap, Ledger, Marker, Rules, Standing, format_marker, read
from classifier.instant import HOUR, MINUTE, SECOND
from classifier.policy import Timeout
from tests.builders import T0, local_queue
from tests.waits import DAY, TIMEOUT, UID, Wait, gated, missing, on_hold, stopped

BEGIN, END = T0 + 10 * MINUTE, T0 + 5 * HOUR


def paused() -> Wait:
    wait = Wait()
    wait.look(T0)
    stopped(wait, True, BEGIN)
    wait.look(BEGIN)
    return wait


# --- ends -----------------------------------------------------------------------------------------------------------


def test_a_pause_of_a_queue_ends_when_the_queue_ran_again_however_late_that_is_seen() -> None:
    wait = paused()
    stopped(wait, False, END)
    reading = wait.look(END + 20 * MINUTE)
    assert reading.ledger == Ledger(UID, T0 + END - BEGIN)
    assert reading.deadline == T0 + END - BEGIN + TIMEOUT


def test_a_deadline_that_such_an_end_shows_to_have_passed_is_shown_before_it_is_due() -> None:
    wait = paused()
    stopped(wait, False, END)
    assert not wait.look(END + DAY).due
    assert wait.look(END + DAY).due


def test_a_pause_whose_queue_was_left_lasts_until_now() -> None:
    wait = paused()
    wait.workload.queue("other")
    wait.queue = local_queue("other").running(BEGIN + MINUTE)
    assert wait.look(END).ledger == Ledger(UID, T0 + END - BEGIN)


def test_a_pause_whose_queue_claims_to_run_since_before_it_lasts_until_now() -> None:
    wait = paused()
    stopped(wait, False, BEGIN - MINUTE)
    assert wait.look(END).ledger == Ledger(UID, T0 + END - BEGIN)


def test_a_pause_whose_queue_runs_from_tomorrow_on_ends_now() -> None:
    wait = paused()
    stopped(wait, False, END + DAY)
    assert wait.look(END).ledger == Ledger(UID, T0 + END - BEGIN)


@pytest.mark.parametrize("pause", [on_hold, gated, missing], ids=["hold", "gate", "missing queue"])
def test_a_pause_that_nothing_dates_lasts_until_now(pause: object) -> None:
    assert callable(pause)
    wait = Wait()
    pause(wait, True, T0)
    wait.look(T0)
    pause(wait, False, T0)
    assert wait.look(END).ledger == Ledger(UID, END)


def test_a_pause_that_goes_on_for_another_reason_ends_with_that() -> None:
    wait = paused()
    on_hold(wait, True, 0)
    stopped(wait, False, BEGIN + MINUTE)
    reading = wait.look(BEGIN + 2 * MINUTE)
    assert reading.ledger == Ledger(UID, T0, paused=BEGIN, queue="")
    on_hold(wait, False, 0)
    assert wait.look(END).ledger == Ledger(UID, T0 + END - BEGIN)


def test_a_hold_that_goes_over_into_a_stopped_queue_can_be_dated_again() -> None:
    wait = Wait()
    wait.look(T0)
    on_hold(wait, True, 0)
    wait.look(BEGIN)
    on_hold(wait, False, 0)
    stopped(wait, True, BEGIN + MINUTE)
    assert wait.look(BEGIN + 2 * MINUTE).ledger == Ledger(UID, T0, paused=BEGIN, queue="gpu")
    stopped(wait, False, END)
    assert wait.look(END + HOUR).ledger == Ledger(UID, T0 + END - BEGIN)


def test_a_start_ends_the_wait_though_nothing_dates_the_end_of_the_pause_before_it() -> None:
    wait = Wait()
    wait.look(T0)
    on_hold(wait, True, 0)
    wait.look(BEGIN)
    wait.workload.condition(api.QUOTA_RESERVED, True).condition(api.ADMITTED, True, at=BEGIN + MINUTE)
    reading = wait.look(END)
    assert reading.standing is Standing.STARTED
    assert reading.ledger == Ledger(UID, BEGIN + MINUTE, started=BEGIN + MINUTE)


# --- nobody saw it --------------------------------------------------------------------------------------------------


def unwatched(since: int, until: int) -> Wait:
    wait = Wait()
    wait.look(T0)
    wait.unseen = Gap(since, until)
    return wait


def test_a_pause_nobody_saw_moves_the_origin_and_what_was_announced() -> None:
    wait = unwatched(BEGIN, END)
    reading = wait.look(END + MINUTE)
    assert reading.ledger == Ledger(UID, T0 + END - BEGIN)
    assert reading.deadline == T0 + END - BEGIN + TIMEOUT
    assert not reading.due


def test_a_job_that_came_while_nobody_watched_waits_since_its_queue_runs() -> None:
    wait = Wait()
    wait.unseen = Gap(T0 - HOUR, END)
    assert wait.look(END + MINUTE).ledger == Ledger(UID, END)


@pytest.mark.parametrize("gap", [Gap(END, BEGIN), Gap(T0 - HOUR, T0 - MINUTE), Gap(END, END)])
def test_a_gap_of_no_length_or_before_the_wait_moves_nothing(gap: Gap) -> None:
    assert unwatched(*gap).look(END + HOUR).ledger == Ledger(UID, T0)


def test_a_gap_that_ends_in_the_future_ends_now() -> None:
    """Give or take the second that now may be behind: what is left of a gap after it was taken out is lost."""
    assert unwatched(BEGIN, END + DAY).look(END).ledger == Ledger(UID, T0 + END + SECOND - BEGIN)
    assert unwatched(BEGIN, END + 999).look(END).ledger == Ledger(UID, T0 + END + 999 - BEGIN)


def test_a_recorded_pause_has_the_gap_in_it() -> None:
    wait = paused()
    stopped(wait, False, END)
    wait.unseen = Gap(BEGIN + MINUTE, END)
    assert wait.look(END + MINUTE).ledger == Ledger(UID, T0 + END - BEGIN)


def test_a_gap_moves_no_wait_that_is_over() -> None:
    wait = unwatched(BEGIN, END)
    wait.workload.condition(api.ADMITTED, True, at=T0 + MINUTE)
    assert wait.look(END).ledger == Ledger(UID, T0, started=T0 + MINUTE)


def test_a_start_in_the_gap_is_believed() -> None:
    wait = unwatched(BEGIN, END)
    wait.workload.condition(api.ADMITTED, False, at=BEGIN + HOUR).evicted("Preempted")
    assert wait.look(END).ledger == Ledger(UID, T0, started=BEGIN + HOUR - 1)


def test_a_gap_moves_a_new_attempt_not_at_all() -> None:
    wait = unwatched(BEGIN, END)
    marker = format_marker(Marker(T0 + TIMEOUT, 1, "uid-of-job-train-1a2b3"))
    wait.workload.annotate(api.COMMITTED, marker).active(True)
    assert wait.look(END + MINUTE).ledger == Ledger(UID, END + MINUTE, attempt=2)


# --- dispatch -------------------------------------------------------------------------------------------------------


def dispatch_holds(wait: Wait, on: bool, number: str = "7") -> None:
    wait.workload.annotate(HOLD, number if on else None).active(not on)


def test_a_hold_of_dispatch_is_a_pause_and_no_deactivation() -> None:
    wait = Wait()
    wait.look(T0)
    dispatch_holds(wait, True)
    reading = wait.look(BEGIN)
    assert (reading.standing, reading.cause) == (Standing.PAUSED, "held by dispatch (hold 7)")
    assert reading.ledger == Ledger(UID, T0, paused=BEGIN, queue="")
    assert reading.deadline == T0 + TIMEOUT
    assert not wait.look(T0 + DAY).due
    dispatch_holds(wait, False)
    reading = wait.look(END)
    assert reading.ledger == Ledger(UID, T0 + END - BEGIN)
    assert reading.deadline == T0 + END - BEGIN + TIMEOUT


@pytest.mark.parametrize("number", ["", "0", "01", "x", "-1", " 7", "99999999999999999999"])
def test_what_is_no_hold_by_the_classification_is_a_deactivation(number: str) -> None:
    wait = Wait()
    wait.look(T0)
    dispatch_holds(wait, True, number)
    assert wait.look(BEGIN).standing is Standing.DEACTIVATED


def test_a_hold_on_an_active_workload_holds_nothing() -> None:
    wait = Wait()
    wait.look(T0)
    wait.workload.annotate(HOLD, "7")
    assert wait.look(T0 + TIMEOUT).due


def test_the_prefix_of_dispatch_is_configuration() -> None:
    wait = Wait()
    wait.workload.annotate("dispatch.example.com/hold-instance", "7").active(False)
    workload, owner, queue = wait.workload.done(), wait.job.done(), local_queue().running().done()
    rules = Rules(hold="dispatch.example.com/hold-instance")
    assert read(workload, owner, queue, Timeout(TIMEOUT, "default"), T0, rules).standing is Standing.PAUSED
    assert read(workload, owner, queue, Timeout(TIMEOUT, "default"), T0).standing is Standing.DEACTIVATED


def test_a_hold_of_what_a_person_had_deactivated_is_still_their_deactivation() -> None:
    wait = Wait()
    wait.look(T0)
    wait.workload.active(False)
    wait.look(BEGIN)
    dispatch_holds(wait, True)
    assert wait.look(BEGIN + MINUTE).standing is Standing.DEACTIVATED
    dispatch_holds(wait, False)
    assert wait.look(END).ledger == Ledger(UID, END, attempt=2)


def test_a_decision_stands_though_dispatch_holds_it() -> None:
    wait = Wait()
    wait.look(T0)
    dispatch_holds(wait, True)
    wait.workload.annotate(api.COMMITTED, format_marker(Marker(T0 + TIMEOUT, 1, "uid-of-job-train-1a2b3")))
    assert wait.look(END).standing is Standing.COMMITTED


@pytest.mark.parametrize("restart", [True, False])
def test_a_hold_of_a_gang_that_runs_is_the_end_of_its_run(restart: bool) -> None:
    wait = Wait()
    wait.restart = restart
    wait.look(T0)
    wait.workload.condition(api.ADMITTED, True, at=T0 + MINUTE)
    wait.look(T0 + MINUTE)
    dispatch_holds(wait, True)
    wait.workload.condition(api.ADMITTED, False, at=BEGIN).evicted("Deactivated")
    wait.workload.condition(api.REQUEUED, False, "Deactivated", BEGIN)
    reading = wait.look(BEGIN)
    assert (reading.standing, reading.ledger) == (Standing.STARTED, Ledger(UID, T0, started=T0 + MINUTE))
    dispatch_holds(wait, False)
    wait.workload.condition(api.REQUEUED, True, "Reactivated", END)
    again = Ledger(UID, END, attempt=2, started=T0 + MINUTE)
    assert wait.look(END).ledger == (again if restart else reading.ledger)


# --- the API server's time ------------------------------------------------------------------------------------------


def test_a_clock_that_goes_back_ends_nothing_early_and_shortens_no_wait() -> None:
    wait = paused()
    stopped(wait, False, BEGIN)
    reading = wait.look(BEGIN - 5 * MINUTE)  # the time of the pause has yet to come
    assert reading.ledger == Ledger(UID, T0)
    assert not wait.look(T0).due
    assert wait.look(T0 + TIMEOUT).due
