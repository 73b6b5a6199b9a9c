"""The clock of a wait, sentence by sentence (design §3, "Clock")."""

from typing import Any

import pytest

from classifier import api, clock
from classifier.clock import Ledger, Marker, Reading, Standing
from classifier.instant import HOUR, MINUTE, SECOND, format_instant
from tests.builders import T0, WorkloadBuilder, local_queue, workload
from tests.waits import DAY, NOTICE, TIMEOUT, UID, Wait, gated, missing, on_hold, show, stopped, without_status


def reserved(on: bool, reason: str = "") -> WorkloadBuilder:
    return workload().condition(api.QUOTA_RESERVED, on, reason)


# --- whose wait, since when -----------------------------------------------------------------------------------------


def test_a_wait_begins_with_the_creation_of_the_workload() -> None:
    reading = Wait().look(T0 + 5 * SECOND)
    assert reading.standing is Standing.WAITING
    assert reading.ledger == Ledger(UID, T0)
    assert reading.deadline == T0 + TIMEOUT


def test_without_a_policy_nothing_is_remembered_and_nothing_is_shown() -> None:
    wait = Wait(timeout=None)
    for change in (on_hold, stopped, missing):
        change(wait, True, T0)
        reading = wait.read(T0 + DAY)
        assert (reading.ledger, reading.deadline, reading.due) == (None, None, False)
    wait.workload.active(False)
    assert wait.read(T0 + DAY) == Reading(Standing.DEACTIVATED)


@pytest.mark.parametrize(
    "over",
    [
        workload().condition(api.FINISHED, True),
        workload().metadata(deletionTimestamp=format_instant(T0)),
    ],
    ids=["finished", "being deleted"],
)
def test_a_wait_that_was_over_before_anybody_looked_is_not_remembered(over: WorkloadBuilder) -> None:
    wait = Wait()
    wait.workload = over
    assert wait.read(T0 + DAY).ledger is None


def test_the_wait_is_due_at_its_deadline_and_not_a_millisecond_before() -> None:
    wait = Wait()
    wait.look(T0)
    assert not wait.look(T0 + TIMEOUT - 1).due
    assert wait.look(T0 + TIMEOUT).due


def test_never_due_before_the_deadline_was_shown() -> None:
    wait = Wait()
    wait.look(T0)
    wait.workload = workload()  # the owner shows it, this copy does not
    reading = wait.read(T0 + DAY)
    assert reading.deadline == T0 + TIMEOUT
    assert not reading.due


def test_never_due_before_the_deadline_that_this_very_copy_shows() -> None:
    wait = Wait()
    wait.look(T0)
    show(wait.workload, T0 + HOUR)  # a later one than its owner shows
    assert not wait.read(T0 + HOUR - 1).due
    assert wait.read(T0 + HOUR).due


def test_never_due_by_a_ledger_that_has_yet_to_be_written() -> None:
    wait = Wait()
    show(wait.workload, T0)  # a Workload somebody forged a deadline on; its owner has no ledger
    assert not wait.read(T0 + DAY).due


def test_quota_reserved_with_checks_pending_is_still_waiting() -> None:
    wait = Wait()
    wait.look(T0)
    wait.workload = show(reserved(True), T0 + TIMEOUT)
    assert wait.look(T0 + TIMEOUT).due


# --- start ----------------------------------------------------------------------------------------------------------


READY_TIMEOUT = (api.PODS_READY_TIMEOUT, api.WAIT_FOR_START)


def pods_ready(builder: WorkloadBuilder, on: bool, reason: str) -> WorkloadBuilder:
    return builder.condition(api.PODS_READY, on, reason)


@pytest.mark.parametrize(
    ("builder", "started"),
    [
        (workload(), False),
        (reserved(True), False),
        (reserved(True).condition(api.ADMITTED, True), True),
        (reserved(True).condition(api.ADMITTED, False), True),  # was admitted once; in doubt it started
        (reserved(False).condition(api.ADMITTED, False).evicted("Preempted"), True),
        (reserved(False).condition(api.ADMITTED, False).evicted(*READY_TIMEOUT), False),
        (reserved(False).condition(api.ADMITTED, False).evicted(*READY_TIMEOUT).evicted(*READY_TIMEOUT), False),
        (reserved(False).condition(api.ADMITTED, False).evicted(*READY_TIMEOUT).evicted("Preempted"), True),
        (reserved(False).condition(api.ADMITTED, False).evicted(api.PODS_READY_TIMEOUT, "WaitForRecovery"), True),
        (reserved(False).evicted("AdmissionCheck"), False),  # evicted, but never admitted
        (pods_ready(workload(), False, "WaitForStart"), False),
        (pods_ready(reserved(True).condition(api.ADMITTED, True), False, "WaitForStart"), False),
        (pods_ready(reserved(True).condition(api.ADMITTED, True), True, "Started"), True),
        (pods_ready(reserved(True).condition(api.ADMITTED, True), False, "WaitForRecovery"), True),
    ],
)
def test_what_counts_as_a_start(builder: WorkloadBuilder, started: bool) -> None:
    assert clock.has_started(builder.done()) is started


def test_a_missed_start_counts() -> None:
    wait = Wait()
    wait.look(T0)
    # Admitted and preempted between two looks.
    wait.workload.condition(api.ADMITTED, False, at=T0 + HOUR).evicted("Preempted")
    reading = wait.look(T0 + DAY)
    assert reading.standing is Standing.STARTED
    assert reading.ledger == Ledger(UID, T0, started=T0 + HOUR - 1)
    assert not reading.due


def test_a_gang_that_has_started_is_not_bounded_again() -> None:
    wait = Wait()
    wait.look(T0)
    wait.workload.condition(api.ADMITTED, True)
    wait.look(T0 + MINUTE)
    wait.workload.condition(api.ADMITTED, False).evicted("Preempted")
    reading = wait.look(T0 + DAY)
    assert (reading.standing, reading.due) == (Standing.STARTED, False)
    wait.recreate(T0 + DAY)
    reading = wait.look(T0 + 2 * DAY)
    assert (reading.standing, reading.due) == (Standing.STARTED, False)


def test_a_started_gang_that_a_person_paused_and_resumed_is_not_bounded_again() -> None:
    wait = Wait()
    wait.look(T0)
    wait.workload.condition(api.ADMITTED, True, at=T0 + MINUTE)
    wait.look(T0 + MINUTE)
    for now, active in ((HOUR, False), (2 * HOUR, True)):
        wait.workload.active(active)
        assert wait.look(T0 + now).ledger == Ledger(UID, T0, started=T0 + MINUTE)


def test_with_wait_for_pods_ready_admission_is_no_start_and_nothing_is_due_before_it() -> None:
    wait = Wait()
    wait.look(T0)
    wait.workload.condition(api.ADMITTED, True).condition(api.PODS_READY, False, "WaitForStart")
    reading = wait.look(T0 + DAY)
    assert reading.standing is Standing.ADMITTED
    assert not reading.due


def test_pods_ready_timeout_is_no_start_and_back_in_the_queue_past_the_deadline_it_is_due() -> None:
    wait = Wait()
    wait.look(T0)
    wait.workload.condition(api.ADMITTED, True).condition(api.PODS_READY, False, "WaitForStart")
    wait.look(T0 + 29 * MINUTE)
    wait.workload.condition(api.ADMITTED, False).evicted(*READY_TIMEOUT)
    reading = wait.look(T0 + 31 * MINUTE)
    assert reading.standing is Standing.WAITING
    assert reading.deadline == T0 + TIMEOUT
    assert reading.due


# --- pauses ---------------------------------------------------------------------------------------------------------


PAUSES = {
    "on_hold": (on_hold, "on hold", ""),
    "stopped_queue": (stopped, "LocalQueue gpu is not active", "gpu"),
    "missing_queue": (missing, "LocalQueue gpu does not exist", ""),
    "queue_without_status": (without_status, "LocalQueue gpu is not active", "gpu"),
}


@pytest.mark.parametrize(("pause", "cause", "queue"), PAUSES.values(), ids=PAUSES)
def test_a_pause_moves_the_origin_by_its_length(pause: Any, cause: str, queue: str) -> None:
    wait = Wait()
    wait.look(T0)
    pause(wait, True, T0 + 10 * MINUTE)
    reading = wait.look(T0 + 10 * MINUTE)
    assert (reading.standing, reading.cause) == (Standing.PAUSED, cause)
    assert reading.ledger == Ledger(UID, T0, paused=T0 + 10 * MINUTE, queue=queue)
    assert not wait.look(T0 + DAY).due
    assert wait.look(T0 + DAY).ledger == reading.ledger
    pause(wait, False, T0 + DAY)
    reading = wait.look(T0 + DAY)
    assert reading.ledger == Ledger(UID, T0 + DAY - 10 * MINUTE)
    assert reading.deadline == T0 + DAY + 20 * MINUTE
    assert not wait.look(T0 + DAY + 20 * MINUTE - 1).due
    assert wait.look(T0 + DAY + 20 * MINUTE).due


def test_a_gate_pauses_from_the_creation_on_whenever_it_is_first_seen() -> None:
    wait = Wait()
    gated(wait, True, T0)
    reading = wait.look(T0 + 3 * DAY)
    assert (reading.standing, reading.cause) == (Standing.PAUSED, "gated by example.com/quota")
    assert reading.ledger == Ledger(UID, T0, paused=T0, queue="")
    gated(wait, False, T0)
    reading = wait.look(T0 + 4 * DAY)
    assert reading.ledger == Ledger(UID, T0 + 4 * DAY)
    assert reading.deadline == T0 + 4 * DAY + TIMEOUT


def test_a_gate_whose_name_sounds_like_a_stopped_queue_is_still_a_gate() -> None:
    wait = Wait()
    wait.workload.annotate(api.ADMISSION_GATED_BY, "example.com/not active")
    ledger = wait.look(T0).ledger
    assert ledger is not None
    assert ledger.queue == ""


def test_a_queue_seen_stopped_late_paused_the_wait_since_it_stopped() -> None:
    wait = Wait()
    wait.look(T0)
    stopped(wait, True, T0 + 10 * MINUTE)
    assert wait.look(T0 + HOUR).ledger == Ledger(UID, T0, paused=T0 + 10 * MINUTE, queue="gpu")


def test_a_queue_that_stopped_before_the_job_came_paused_it_no_earlier_than_its_creation() -> None:
    wait = Wait()
    stopped(wait, True, T0 - DAY)
    assert wait.look(T0 + HOUR).ledger == Ledger(UID, T0, paused=T0, queue="gpu")


def test_a_pause_of_many_reasons_is_one_pause() -> None:
    wait = Wait()
    wait.look(T0)
    on_hold(wait, True, T0)
    wait.look(T0 + MINUTE)
    stopped(wait, True, T0 + 2 * MINUTE)
    wait.look(T0 + 2 * MINUTE)
    on_hold(wait, False, T0)
    wait.look(T0 + 3 * MINUTE)
    stopped(wait, False, T0 + 4 * MINUTE)
    assert wait.look(T0 + 4 * MINUTE).ledger == Ledger(UID, T0 + 3 * MINUTE)


def test_a_move_to_another_queue_does_not_restart_the_clock() -> None:
    wait = Wait()
    wait.look(T0)
    wait.workload.queue("other")
    wait.queue = local_queue("other").running(T0 + 5 * MINUTE)
    assert wait.look(T0 + 10 * MINUTE).ledger == Ledger(UID, T0)


def test_what_was_announced_moves_with_a_pause_so_that_the_notice_is_not_lost_in_it() -> None:
    wait = Wait(timeout=None)
    assert wait.look(T0 + 3 * DAY).ledger is None
    wait.timeout = TIMEOUT
    assert wait.look(T0 + 3 * DAY).deadline == T0 + 3 * DAY + NOTICE
    stopped(wait, True, T0 + 3 * DAY + MINUTE)
    wait.look(T0 + 3 * DAY + MINUTE)
    stopped(wait, False, T0 + 4 * DAY)
    reading = wait.look(T0 + 4 * DAY)
    assert not reading.due
    assert reading.deadline == T0 + 4 * DAY + NOTICE - MINUTE


def test_while_it_stands_still_a_deadline_is_kept() -> None:
    wait = Wait()
    wait.look(T0)
    stopped(wait, True, T0 + MINUTE)
    wait.timeout = MINUTE
    assert wait.look(T0 + 2 * MINUTE).deadline == T0 + TIMEOUT
    wait.recreate(T0 + 3 * MINUTE)
    assert wait.look(T0 + 3 * MINUTE).deadline == T0 + TIMEOUT


def test_a_submit_time_stamp_is_no_announcement_even_if_the_first_look_falls_into_a_pause() -> None:
    wait = Wait()
    show(wait.job, T0 + TIMEOUT)  # stamped by the webhook; the controller was away for days
    stopped(wait, True, T0 + 3 * DAY)
    wait.look(T0 + 3 * DAY + MINUTE)
    stopped(wait, False, T0 + 4 * DAY)
    reading = wait.look(T0 + 4 * DAY)
    assert not reading.due
    assert reading.deadline == T0 + 4 * DAY + NOTICE


# --- attempts -------------------------------------------------------------------------------------------------------


def test_reactivation_over_a_decision_starts_a_new_attempt() -> None:
    wait = Wait()
    wait.look(T0)
    marker = clock.format_marker(Marker(T0 + TIMEOUT, 1, "uid-of-job-train-1a2b3"))
    wait.workload.active(False, api.CONTROLLER_MANAGER).annotate(api.COMMITTED, marker)
    assert wait.look(T0 + HOUR).standing is Standing.COMMITTED
    wait.workload.active(True)
    reading = wait.look(T0 + 2 * HOUR)
    assert reading.ledger == Ledger(UID, T0 + 2 * HOUR, attempt=2)
    assert reading.deadline == T0 + 2 * HOUR + TIMEOUT
    # The marker may still be there at the next look: that is no further attempt.
    assert wait.look(T0 + 2 * HOUR + SECOND).ledger == reading.ledger


def test_reactivation_of_what_a_person_deactivated_starts_a_new_attempt() -> None:
    wait = Wait()
    wait.look(T0)
    wait.workload.active(False)
    reading = wait.look(T0 + MINUTE)
    assert reading.standing is Standing.DEACTIVATED
    assert reading.ledger == Ledger(UID, T0, paused=T0 + MINUTE)
    assert wait.look(T0 + DAY).ledger == reading.ledger
    wait.workload.active(True)
    reading = wait.look(T0 + DAY)
    assert reading.ledger == Ledger(UID, T0 + DAY, attempt=2)
    assert reading.deadline == T0 + DAY + TIMEOUT


def test_reactivation_into_a_stopped_queue_starts_a_new_attempt_that_stands_still() -> None:
    wait = Wait()
    wait.look(T0)
    wait.workload.active(False)
    wait.look(T0 + MINUTE)
    stopped(wait, True, T0 + 2 * MINUTE)
    wait.timeout = HOUR
    wait.workload.active(True)
    reading = wait.look(T0 + HOUR)
    assert reading.ledger == Ledger(UID, T0 + HOUR, attempt=2, paused=T0 + HOUR, queue="gpu")
    assert reading.deadline == T0 + 2 * HOUR
    stopped(wait, False, T0 + 2 * HOUR)
    reading = wait.look(T0 + 2 * HOUR)
    assert reading.ledger == Ledger(UID, T0 + 2 * HOUR, attempt=2)
    assert reading.deadline == T0 + 3 * HOUR


def test_a_deactivation_in_a_pause_ends_with_a_new_attempt() -> None:
    wait = Wait()
    wait.look(T0)
    stopped(wait, True, T0 + MINUTE)
    wait.look(T0 + MINUTE)
    wait.workload.active(False)
    assert wait.look(T0 + 2 * MINUTE).ledger == Ledger(UID, T0 + MINUTE, paused=T0 + 2 * MINUTE)


def test_requeue_and_backoff_do_not_restart_the_clock() -> None:
    wait = Wait()
    wait.look(T0)
    wait.workload.condition(api.QUOTA_RESERVED, True).condition(api.EVICTED, True, "AdmissionCheck")
    wait.workload.condition(api.QUOTA_RESERVED, False, "Pending").evicted("AdmissionCheck")
    assert wait.look(T0 + 20 * MINUTE).ledger == Ledger(UID, T0)


def test_a_recreated_workload_takes_over_what_its_owner_shows() -> None:
    wait = Wait(timeout=HOUR)
    wait.look(T0)
    wait.timeout = MINUTE
    assert wait.look(T0 + MINUTE).deadline == T0 + MINUTE + 30 * SECOND
    wait.recreate(T0 + MINUTE + 10 * SECOND)
    reading = wait.look(T0 + MINUTE + 10 * SECOND)
    assert reading.ledger == Ledger(UID, T0)
    assert reading.deadline == T0 + MINUTE + 30 * SECOND
    assert wait.look(T0 + MINUTE + 30 * SECOND).due


def test_a_ledger_of_another_uid_is_absent() -> None:
    wait = Wait()
    show(wait.job, T0 - DAY, Ledger("uid-of-the-original", T0 - 3 * DAY, attempt=7))
    reading = wait.look(T0)
    assert reading.ledger == Ledger(UID, T0)
    assert reading.deadline == T0 + TIMEOUT
