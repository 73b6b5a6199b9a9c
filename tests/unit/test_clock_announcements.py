"""A deadline is shown before it is enforced (design §3, "Announce before acting")."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from classifier import api, clock
from classifier.clock import Ledger
from classifier.instant import HOUR, MINUTE
from classifier.policy import Timeout
from tests.builders import T0
from tests.waits import DAY, NOTICE, TIMEOUT, UID, Wait, show


def test_a_policy_on_jobs_that_waited_for_days_gives_each_its_notice() -> None:
    ends = []
    for number in range(50):
        wait = Wait()
        show(wait.job, None, Ledger(UID, T0 - 3 * DAY))
        began = T0 + number
        reading = wait.look(began)
        assert not reading.due
        assert reading.deadline == began + NOTICE
        assert not wait.look(began + NOTICE - 1).due
        assert wait.look(began + NOTICE).due
        ends.append(reading.deadline)
    assert min(ends) >= T0 + NOTICE


def test_a_policy_moved_later_moves_the_deadline() -> None:
    wait = Wait()
    wait.look(T0)
    wait.timeout = HOUR
    assert wait.look(T0 + 20 * MINUTE).deadline == T0 + HOUR
    assert not wait.look(T0 + TIMEOUT).due
    assert wait.look(T0 + HOUR).due


def test_a_policy_moved_later_just_past_the_deadline_still_moves_it() -> None:
    wait = Wait()
    wait.look(T0)
    wait.timeout = HOUR
    reading = wait.read(T0 + TIMEOUT + MINUTE)
    assert (reading.deadline, reading.due) == (T0 + HOUR, False)


def test_a_policy_moved_earlier_never_goes_below_the_notice() -> None:
    wait = Wait(timeout=4 * HOUR)
    wait.look(T0)
    wait.timeout = TIMEOUT
    first = wait.look(T0 + HOUR)
    assert first.deadline == T0 + HOUR + NOTICE
    # Looking again does not put it off: otherwise it would never come.
    assert wait.look(T0 + HOUR + MINUTE).deadline == first.deadline
    assert wait.look(T0 + HOUR + NOTICE).due


def test_a_deadline_that_notice_holds_up_is_the_same_at_the_next_look_though_the_workload_does_not_show_it_yet() -> (
    None
):
    wait = Wait(timeout=4 * HOUR)
    wait.look(T0)
    wait.timeout = TIMEOUT
    reading = wait.read(T0 + HOUR)
    show(wait.job, reading.deadline)  # the first of the two writes
    assert wait.read(T0 + HOUR + 20).deadline == reading.deadline


def test_a_policy_moved_earlier_with_time_to_spare_counts_as_it_is() -> None:
    wait = Wait(timeout=4 * HOUR)
    wait.look(T0)
    wait.timeout = 2 * HOUR
    assert wait.look(T0 + HOUR).deadline == T0 + 2 * HOUR


def test_notice_never_puts_off_what_was_already_shown() -> None:
    wait = Wait(timeout=HOUR)
    wait.look(T0)
    wait.timeout = TIMEOUT
    assert wait.look(T0 + 55 * MINUTE).deadline == T0 + HOUR


def test_a_policy_that_is_taken_away_takes_the_deadline_with_it_and_the_next_one_is_announced_anew() -> None:
    wait = Wait()
    wait.look(T0)
    wait.timeout = None
    reading = wait.read(T0 + HOUR)
    assert (reading.deadline, reading.due, reading.ledger) == (None, False, Ledger(UID, T0))
    for builder in (wait.job, wait.workload):
        builder.annotate(api.ADMISSION_DEADLINE, None)
    wait.timeout = TIMEOUT
    assert wait.look(T0 + DAY).deadline == T0 + DAY + NOTICE


@pytest.mark.parametrize(
    ("timeout", "given", "notice"),
    [
        (2 * MINUTE, None, MINUTE),
        (20 * MINUTE, None, 10 * MINUTE),
        (DAY, None, 10 * MINUTE),
        (DAY, 0, 0),
        (MINUTE, HOUR, HOUR),
    ],
)
def test_notice_is_half_the_timeout_at_most_ten_minutes_or_the_value(
    timeout: int, given: int | None, notice: int
) -> None:
    assert clock.notice_of(Timeout(timeout, "default"), given) == notice


INSTANT = st.integers(T0, T0 + DAY)


@given(shown=st.none() | INSTANT, policy=INSTANT, now=INSTANT, notice=st.integers(0, HOUR))
def test_an_announcement_is_never_before_the_policy_and_never_without_notice(
    shown: int | None, policy: int, now: int, notice: int
) -> None:
    deadline = clock.announce(shown, policy, now, notice)
    assert deadline >= policy
    assert deadline >= now + notice or (shown is not None and deadline >= shown)
    assert deadline <= max(policy, now + notice, shown or 0)
    assert clock.announce(deadline, policy, now + 1, notice) == deadline
