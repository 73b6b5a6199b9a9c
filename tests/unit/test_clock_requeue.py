"""``requeue: Restart``: a gang that had started is bounded again once it is back in the queue (design §3, "Clock")."""

from collections.abc import Callable

import pytest

from classifier import api
from classifier.clock import Ledger, Marker, Standing, format_marker
from classifier.instant import HOUR, MINUTE, SECOND
from classifier.policy import Policies, restarts
from tests.builders import T0, WorkloadBuilder, profile, workload
from tests.waits import DAY, NOTICE, TIMEOUT, UID, Wait, show, stopped

START = T0 + MINUTE
LEFT = T0 + HOUR
READY_TIMEOUT = (api.PODS_READY_TIMEOUT, api.WAIT_FOR_START)


def admitted(builder: WorkloadBuilder, at: int) -> WorkloadBuilder:
    return builder.condition(api.QUOTA_RESERVED, True, at=at).condition(api.ADMITTED, True, at=at)


def evicted(builder: WorkloadBuilder, at: int, reason: str = "Preempted", cause: str = "") -> WorkloadBuilder:
    """Evicted, and its admission cleared at the same instant."""
    builder.condition(api.EVICTED, True, reason, at).evicted(reason, cause)
    builder.condition(api.REQUEUED, reason == "Preempted", reason, at)
    return builder.condition(api.QUOTA_RESERVED, False, "Pending", at).condition(api.ADMITTED, False, at=at)


def started(restart: bool = True) -> Wait:
    wait = Wait()
    wait.restart = restart
    wait.look(T0)
    admitted(wait.workload, START)
    assert wait.look(START + SECOND).ledger == Ledger(UID, T0, started=START)
    return wait


def test_back_in_the_queue_its_wait_begins_anew_with_the_eviction() -> None:
    wait = started()
    evicted(wait.workload, LEFT)
    reading = wait.look(LEFT + 5 * SECOND)
    assert reading.standing is Standing.WAITING
    assert reading.ledger == Ledger(UID, LEFT, attempt=2, started=START)
    assert reading.deadline == LEFT + TIMEOUT
    assert not wait.look(LEFT + TIMEOUT - 1).due
    assert wait.look(LEFT + TIMEOUT).due


def test_seen_late_its_deadline_is_announced_with_notice() -> None:
    wait = started()
    evicted(wait.workload, LEFT)
    reading = wait.look(T0 + DAY)
    assert reading.ledger == Ledger(UID, LEFT, attempt=2, started=START)
    assert reading.deadline == T0 + DAY + NOTICE


def test_with_none_it_is_never_bounded_again_and_what_was_shown_goes() -> None:
    wait = started(restart=False)
    evicted(wait.workload, LEFT)
    reading = wait.look(T0 + DAY)
    assert (reading.standing, reading.due, reading.lapsed) == (Standing.STARTED, False, True)
    assert reading.ledger == Ledger(UID, T0, started=START)


def test_while_it_runs_what_was_shown_stays() -> None:
    assert not started(restart=False).read(T0 + DAY).lapsed


def test_the_policy_reaches_a_gang_that_waits_again_and_leaves_it_again() -> None:
    wait = started(restart=False)
    evicted(wait.workload, LEFT)
    wait.look(LEFT)
    wait.restart = True
    reading = wait.look(T0 + DAY)
    assert (reading.standing, reading.deadline) == (Standing.WAITING, T0 + DAY + NOTICE)
    wait.restart = False
    reading = wait.look(T0 + DAY + MINUTE)
    assert (reading.standing, reading.due, reading.lapsed) == (Standing.STARTED, False, True)
    for builder in (wait.job, wait.workload):
        builder.annotate(api.ADMISSION_DEADLINE, None)
    wait.restart = True
    assert wait.look(T0 + 2 * DAY).deadline == T0 + 2 * DAY + NOTICE


def test_its_second_start_ends_the_wait_and_a_second_eviction_begins_a_third() -> None:
    wait = started()
    evicted(wait.workload, LEFT)
    wait.look(LEFT)
    admitted(wait.workload, LEFT + MINUTE)
    reading = wait.look(LEFT + MINUTE)
    assert (reading.standing, reading.ledger) == (
        Standing.STARTED,
        Ledger(UID, LEFT, attempt=2, started=LEFT + MINUTE),
    )
    evicted(wait.workload, LEFT + HOUR)
    assert wait.look(LEFT + HOUR).ledger == Ledger(UID, LEFT + HOUR, attempt=3, started=LEFT + MINUTE)


def test_a_second_run_that_nobody_saw_begins_the_wait_at_its_own_eviction() -> None:
    wait = started()
    evicted(wait.workload, LEFT)
    wait.look(LEFT)
    evicted(admitted(wait.workload, LEFT + MINUTE), LEFT + HOUR)
    reading = wait.look(LEFT + 2 * HOUR)
    assert reading.ledger == Ledger(UID, LEFT + HOUR, attempt=3, started=LEFT + HOUR - 1)


NOT_BACK: dict[str, Callable[[WorkloadBuilder], object]] = {
    "its pods still stop": lambda w: evicted(w, LEFT).condition(api.QUOTA_RESERVED, True),
    "Kueue has not reset PodsReady": lambda w: evicted(w, LEFT).condition(api.PODS_READY, True, "Started", START),
    "its pods were lost": lambda w: evicted(w, LEFT).condition(api.PODS_READY, False, api.WAIT_FOR_RECOVERY, START),
    "inactive": lambda w: evicted(w, LEFT, "Deactivated").active(False),
    "inactive since its eviction": lambda w: evicted(w, LEFT).active(False),
    "reactivated, not requeued": lambda w: evicted(w, LEFT, "Deactivated").active(True),
    "queue restarted, not requeued": lambda w: evicted(w, LEFT, "LocalQueueStopped"),
    "ClusterQueue stopped": lambda w: evicted(w, LEFT, "ClusterQueueStopped"),
    "a copy from before its start": lambda w: w.condition(api.ADMITTED, False, at=START - SECOND),
}


@pytest.mark.parametrize("change", NOT_BACK.values(), ids=NOT_BACK)
def test_as_long_as_it_is_not_back_in_the_queue_nothing_counts(change: Callable[[WorkloadBuilder], object]) -> None:
    wait = started()
    change(wait.workload)
    reading = wait.look(T0 + DAY)
    assert reading.standing in (Standing.STARTED, Standing.DEACTIVATED)
    assert reading.ledger == Ledger(UID, T0, started=START)


BACK_AT = {
    "reactivated": ("Deactivated", "Reactivated"),
    "ClusterQueue restarted": ("ClusterQueueStopped", "ClusterQueueRestarted"),
    "LocalQueue restarted": ("LocalQueueStopped", "LocalQueueRestarted"),
}


@pytest.mark.parametrize(("stop", "word"), BACK_AT.values(), ids=BACK_AT)
def test_after_a_stop_the_wait_begins_when_kueue_puts_it_back(stop: str, word: str) -> None:
    wait = started()
    evicted(wait.workload, LEFT, stop)
    wait.workload.condition(api.REQUEUED, True, word, LEFT + HOUR)
    reading = wait.look(LEFT + HOUR + MINUTE)
    assert reading.ledger == Ledger(UID, LEFT + HOUR, attempt=2, started=START)


def test_a_way_back_that_cannot_be_dated_begins_now() -> None:
    wait = started()
    evicted(wait.workload, LEFT, "DeactivatedDueToMaximumExecutionTimeExceeded")
    assert wait.look(T0 + DAY).ledger == Ledger(UID, T0 + DAY, attempt=2, started=START)


@pytest.mark.parametrize("reason", [api.PODS_READY_TIMEOUT, "AdmissionCheck"])
def test_a_backoff_counts(reason: str) -> None:
    wait = started()
    evicted(wait.workload, LEFT, reason, api.WAIT_FOR_RECOVERY)
    assert wait.look(LEFT + MINUTE).ledger == Ledger(UID, LEFT, attempt=2, started=START)


def test_what_kueue_resets_a_moment_later_is_still_of_the_last_run() -> None:
    wait = started()
    evicted(wait.workload, LEFT).condition(api.PODS_READY, False, api.WAIT_FOR_START, LEFT + 2 * SECOND)
    wait.look(LEFT + 3 * SECOND)
    reading = wait.look(LEFT + 4 * SECOND)
    assert reading.standing is Standing.WAITING
    assert reading.ledger == Ledger(UID, LEFT + 2 * SECOND, attempt=2, started=START)


def test_pods_that_never_became_ready_again_do_not_begin_another_wait() -> None:
    wait = started()
    evicted(wait.workload, LEFT, api.PODS_READY_TIMEOUT, api.WAIT_FOR_RECOVERY)
    wait.workload.condition(api.PODS_READY, False, api.WAIT_FOR_START, LEFT)
    first = wait.look(LEFT).ledger
    admitted(wait.workload, LEFT + MINUTE)
    assert wait.look(LEFT + MINUTE).standing is Standing.ADMITTED
    evicted(wait.workload, LEFT + 2 * MINUTE, *READY_TIMEOUT)
    reading = wait.look(LEFT + 2 * MINUTE)
    assert (reading.standing, reading.ledger) == (Standing.WAITING, first)
    assert wait.look(LEFT + TIMEOUT).due


@pytest.mark.parametrize("ready", ["became ready and were lost", "became ready and left", "are ready"])
def test_pods_that_became_ready_again_did_start(ready: str) -> None:
    wait = started()
    evicted(wait.workload, LEFT, api.PODS_READY_TIMEOUT, api.WAIT_FOR_RECOVERY)
    wait.workload.condition(api.PODS_READY, False, api.WAIT_FOR_START, LEFT)
    wait.look(LEFT)
    wait.restart = False  # so that it stays over
    admitted(wait.workload, LEFT + MINUTE)
    match ready:
        case "became ready and were lost":
            wait.workload.condition(api.PODS_READY, False, api.WAIT_FOR_RECOVERY, LEFT + 3 * MINUTE)
        case "became ready and left":
            evicted(wait.workload, LEFT + 3 * MINUTE, api.PODS_READY_TIMEOUT, api.WAIT_FOR_RECOVERY)
            wait.workload.condition(api.PODS_READY, False, api.WAIT_FOR_START, LEFT + 3 * MINUTE)
        case _:
            wait.workload.condition(api.PODS_READY, True, "Started", LEFT + 3 * MINUTE)
    ledger = wait.look(T0 + DAY).ledger
    assert ledger is not None
    assert ledger.over


def test_a_workload_made_anew_waits_since_its_creation() -> None:
    wait = started()
    wait.recreate(LEFT)
    reading = wait.look(LEFT + MINUTE)
    assert reading.ledger == Ledger(UID, LEFT, attempt=2, started=START)


def test_a_workload_made_anew_is_judged_by_all_that_it_shows() -> None:
    """Its PodsReady condition came after the wait began, and yet tells of no start."""
    wait = started()
    wait.recreate(LEFT)
    wait.look(LEFT)
    wait.workload.condition(api.PODS_READY, False, api.WAIT_FOR_START, LEFT + SECOND)
    evicted(admitted(wait.workload, LEFT + MINUTE), LEFT + 2 * MINUTE, *READY_TIMEOUT)
    reading = wait.look(LEFT + 3 * MINUTE)
    assert (reading.standing, reading.ledger) == (Standing.WAITING, Ledger(UID, LEFT, attempt=2, started=START))


def test_a_pause_in_the_second_wait_moves_it_as_in_the_first() -> None:
    wait = started()
    evicted(wait.workload, LEFT)
    stopped(wait, True, LEFT + MINUTE)
    wait.look(LEFT + 2 * MINUTE)
    stopped(wait, False, LEFT + HOUR)
    reading = wait.look(LEFT + HOUR)
    assert reading.ledger == Ledger(UID, LEFT + 59 * MINUTE, attempt=2, started=START)


def test_a_second_wait_that_a_person_stopped_begins_anew_when_they_let_it_go() -> None:
    wait = started()
    evicted(wait.workload, LEFT)
    wait.look(LEFT)
    wait.workload.active(False)
    wait.look(LEFT + MINUTE)
    wait.workload.active(True)
    assert wait.look(LEFT + HOUR).ledger == Ledger(UID, LEFT + HOUR, attempt=3, started=START)


def test_without_the_policy_a_reactivated_second_wait_is_not_bounded() -> None:
    wait = started()
    evicted(wait.workload, LEFT)
    wait.look(LEFT)
    wait.workload.annotate(api.COMMITTED, format_marker(Marker(LEFT, 2, "uid-of-job-train-1a2b3"))).active(True)
    wait.restart = False
    reading = wait.look(LEFT + HOUR)
    assert reading.standing is Standing.STARTED
    assert reading.ledger == Ledger(UID, LEFT + HOUR, attempt=3, started=START)


# --- a start that was there before the ledger -----------------------------------------------------------------------


@pytest.mark.parametrize("restart", [True, False])
def test_a_gang_first_seen_started_is_remembered_where_a_policy_applies(restart: bool) -> None:
    """Or nobody would know that it had started, once its Workload is made anew."""
    wait = Wait()
    wait.restart = restart
    admitted(wait.workload, START)
    reading = wait.look(T0 + DAY)
    assert (reading.standing, reading.ledger) == (Standing.STARTED, Ledger(UID, T0, started=START))
    wait.recreate(T0 + 2 * DAY)
    reading = wait.look(T0 + 2 * DAY)
    assert reading.standing is (Standing.WAITING if restart else Standing.STARTED)


def test_a_gang_first_seen_started_is_not_written_without_a_policy() -> None:
    wait = Wait(timeout=None)
    wait.restart = True
    admitted(wait.workload, START)
    assert wait.read(T0 + DAY).ledger is None
    evicted(wait.workload, LEFT)
    assert wait.read(T0 + DAY).ledger is None


@pytest.mark.parametrize("restart", [True, False])
def test_a_gang_first_seen_back_in_the_queue_is_bounded_only_by_restart(restart: bool) -> None:
    wait = Wait()
    wait.restart = restart
    evicted(wait.workload, LEFT)
    reading = wait.look(T0 + DAY)
    if restart:
        assert reading.ledger == Ledger(UID, LEFT, attempt=2, started=LEFT - 1)
        assert reading.deadline == T0 + DAY + NOTICE
    else:
        assert reading.ledger == Ledger(UID, T0, started=LEFT - 1)
        assert reading.standing is Standing.STARTED


def test_an_admission_that_a_later_one_followed_is_told_by_its_eviction() -> None:
    wait = Wait()
    wait.look(T0)
    admitted(wait.workload.evicted("Preempted"), T0 + HOUR).condition(api.PODS_READY, False, api.WAIT_FOR_START)
    ledger = wait.look(T0 + HOUR).ledger
    assert ledger is not None
    assert ledger.over


def test_a_reactivation_judges_by_what_came_after_it() -> None:
    """Kueue counts our own eviction, too: it says nothing of a start."""
    wait = Wait()
    wait.look(T0)
    wait.workload.condition(api.PODS_READY, False, api.WAIT_FOR_START, T0)
    evicted(wait.workload, T0 + 5 * MINUTE, *READY_TIMEOUT)
    wait.look(T0 + 6 * MINUTE)
    marker = format_marker(Marker(T0 + TIMEOUT, 1, "uid-of-job-train-1a2b3"))
    wait.workload.evicted("Deactivated").active(False).annotate(api.COMMITTED, marker)
    assert wait.look(T0 + TIMEOUT + MINUTE).ledger == Ledger(UID, T0)
    wait.workload.active(True)
    reading = wait.look(T0 + HOUR)
    assert (reading.standing, reading.ledger) == (Standing.WAITING, Ledger(UID, T0 + HOUR, attempt=2))
    evicted(admitted(wait.workload, T0 + HOUR + MINUTE), T0 + HOUR + 2 * MINUTE, *READY_TIMEOUT)
    wait.workload.annotate(api.COMMITTED, None)
    assert wait.look(T0 + HOUR + 3 * MINUTE).standing is Standing.WAITING


@pytest.mark.parametrize("restart", [True, False])
@pytest.mark.parametrize("ready", [True, False], ids=["waitForPodsReady", "without it"])
@pytest.mark.parametrize("ended", [True, False], ids=["ended by us", "paused by a person"])
def test_a_run_after_a_reactivation_that_nobody_saw_is_a_start(ended: bool, ready: bool, restart: bool) -> None:
    """No replica was there when it was let go again, ran, and was put back."""
    wait = Wait()
    wait.restart = restart
    if ready:
        wait.workload.condition(api.PODS_READY, False, api.WAIT_FOR_START, T0)
    wait.look(T0)
    wait.workload.active(False)
    if ended:
        marker = Marker(T0 + TIMEOUT, 1, "uid-of-job-train-1a2b3")
        wait.workload.annotate(api.COMMITTED, format_marker(marker))
    wait.look(T0 + TIMEOUT)
    admitted(wait.workload.active(True), T0 + HOUR)
    evicted(wait.workload, T0 + 2 * HOUR)
    if ready:
        wait.workload.condition(api.PODS_READY, False, api.WAIT_FOR_START, T0 + 2 * HOUR)
    reading = wait.look(T0 + 3 * HOUR)
    wait.workload.annotate(api.COMMITTED, None)
    started = T0 + 2 * HOUR - 1
    if restart:
        assert reading.ledger == Ledger(UID, T0 + 2 * HOUR, attempt=3, started=started)
    else:
        assert reading.standing is Standing.STARTED
        assert reading.ledger == Ledger(UID, started, attempt=2, started=started)
        assert not wait.look(T0 + DAY).due


# --- the policy -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "restart"),
    [
        ([], False),
        ([None], False),
        ([{}], False),
        ([{"requeue": "None"}], False),
        ([{"requeue": "Restart"}], True),
        ([{"requeue": "Restart"}, None], True),
        ([{"requeue": "Restart"}, {"requeue": "Restart"}], True),
        ([{"requeue": "Restart"}, {"timeout": "1h"}], False),
        ([{"requeue": "restart"}], False),
    ],
)
def test_all_profiles_of_the_queue_with_a_policy_have_to_say_restart(
    said: list[dict[str, str] | None], restart: bool
) -> None:
    profiles = [profile() if fields is None else profile().admission(**fields) for fields in said]
    assert restarts(Policies(profiles=tuple(p.done() for p in profiles))) is restart


def test_a_forged_ledger_that_claims_a_start_to_come_is_over_and_ends_nothing() -> None:
    wait = Wait()
    wait.restart = True
    show(wait.job, None, Ledger(UID, T0, started=T0 + 10 * DAY))
    wait.workload = workload()
    assert not wait.look(T0 + DAY).due


def test_a_start_that_shows_only_after_the_deactivation_counts() -> None:
    wait = Wait()
    wait.look(T0)
    wait.workload.active(False)
    assert wait.look(T0 + MINUTE).ledger == Ledger(UID, T0, paused=T0 + MINUTE)
    evicted(wait.workload, T0 + 2 * MINUTE, "Deactivated")
    over = Ledger(UID, T0, started=T0 + 2 * MINUTE - 1)
    assert wait.look(T0 + 2 * MINUTE).ledger == over
    wait.workload.active(True)
    reading = wait.look(T0 + DAY)
    assert (reading.standing, reading.ledger) == (Standing.STARTED, over)
