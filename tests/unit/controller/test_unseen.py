"""Pauses in a time without a leader: told of once, and only to what waited in the queue that had paused."""

import pytest

from classifier import api
from classifier.clock import Gap, Ledger
from classifier.instant import MINUTE
from classifier.ledger import format_ledger
from classifier.objects import LocalQueue
from controller.unseen import Unseen, later_origin, missed
from tests.builders import T0, job, local_queue

KEY = "team/job-train-1a2b3"
#: The last renewal before the term, and its beginning.
TERM = (T0, T0 + 10 * MINUTE)
LEDGER = Ledger("uid-of-train", T0 - MINUTE)


def queue(minutes: int, name: str = "gpu") -> LocalQueue:
    """It became Active so many minutes after the last renewal."""
    return local_queue(name).running(T0 + minutes * MINUTE).done()


def test_a_queue_that_became_active_unseen_had_paused_since_the_last_renewal() -> None:
    assert Unseen(lambda: TERM).of(KEY, LEDGER, queue(7)) == Gap(T0, T0 + 7 * MINUTE)


def test_before_and_after_somebody_watched() -> None:
    unseen = Unseen(lambda: TERM)
    assert unseen.of("team/one", LEDGER, queue(-1)) is None
    assert unseen.of("team/two", LEDGER, queue(11)) is None
    assert unseen.of("team/three", LEDGER, local_queue().stopped(T0 + MINUTE).done()) is None
    assert unseen.of("team/four", LEDGER, None) is None
    assert Unseen(lambda: None).of(KEY, LEDGER, queue(7)) is None


def test_it_is_told_until_the_ledger_says_something_else_and_never_again() -> None:
    unseen = Unseen(lambda: TERM)
    assert [unseen.of(KEY, LEDGER, queue(7)) for _ in range(2)] == [Gap(T0, T0 + 7 * MINUTE)] * 2
    moved = Ledger("uid-of-train", T0 + 6 * MINUTE)
    assert unseen.of(KEY, moved, queue(7)) is None


def test_a_move_to_such_a_queue_tells_of_no_wait_there() -> None:
    unseen = Unseen(lambda: TERM)
    assert unseen.of(KEY, LEDGER, queue(-1, "other")) is None
    assert unseen.of(KEY, LEDGER, queue(7)) is None


def test_the_next_term_has_a_gap_of_its_own() -> None:
    term = TERM
    unseen = Unseen(lambda: term)
    moved = Ledger("uid-of-train", T0 + 6 * MINUTE)
    assert unseen.of(KEY, LEDGER, queue(7)) is not None
    term = (T0 + 20 * MINUTE, T0 + 30 * MINUTE)
    assert unseen.of(KEY, moved, queue(7)) is None
    assert unseen.of("team/other", moved, queue(25)) == Gap(T0 + 20 * MINUTE, T0 + 25 * MINUTE)


# --- within a term --------------------------------------------------------------------------------------------------

#: The watch of LocalQueues was heard last.
FOLLOWED = T0 + 5 * MINUTE


def stopped(minutes: int) -> LocalQueue:
    return local_queue().stopped(T0 + minutes * MINUTE).done()


@pytest.mark.parametrize(
    ("old", "new", "gap"),
    [
        (stopped(6), queue(8), Gap(T0 + 6 * MINUTE, T0 + 8 * MINUTE)),
        (queue(1), queue(8), Gap(FOLLOWED, T0 + 8 * MINUTE)),
        (queue(1), queue(1), None),
        (queue(1), queue(3), None),  # it was followed until after that
        (queue(1), stopped(6), None),  # a look sees it
        (queue(1), None, None),
        (None, queue(8), None),  # nobody waited in it
        (local_queue().done(), queue(8), Gap(FOLLOWED, T0 + 8 * MINUTE)),
    ],
)
def test_what_was_missed_between_two_copies(old: LocalQueue | None, new: LocalQueue | None, gap: Gap | None) -> None:
    assert missed(old, new, FOLLOWED) == gap


GAP = Gap(FOLLOWED, T0 + 8 * MINUTE)


def test_a_pause_that_was_missed_is_told_until_the_ledger_says_something_else_and_never_again() -> None:
    unseen = Unseen(lambda: None)
    unseen.missed([KEY], "team/gpu", GAP)
    assert [unseen.of(KEY, LEDGER, queue(8)) for _ in range(2)] == [GAP] * 2
    assert unseen.of("team/another", LEDGER, queue(8)) is None
    moved = Ledger("uid-of-train", T0 + 2 * MINUTE)
    assert unseen.of(KEY, moved, queue(8)) is None
    assert unseen.of(KEY, LEDGER, queue(8)) is None


def test_what_left_the_queue_before_it_was_looked_at_has_not_waited_there() -> None:
    unseen = Unseen(lambda: None)
    unseen.missed([KEY], "team/gpu", GAP)
    assert unseen.of(KEY, LEDGER, queue(8, "other")) is None
    assert unseen.of(KEY, LEDGER, queue(8)) is None


def test_two_that_were_missed_in_a_row_are_one() -> None:
    unseen = Unseen(lambda: None)
    unseen.missed([KEY], "team/gpu", GAP)
    unseen.missed([KEY], "team/gpu", Gap(T0 + 9 * MINUTE, T0 + 10 * MINUTE))
    assert unseen.of(KEY, LEDGER, queue(10)) == Gap(FOLLOWED, T0 + 10 * MINUTE)
    # The ledger could not be written meanwhile.
    unseen.missed([KEY], "team/gpu", Gap(T0 + 11 * MINUTE, T0 + 12 * MINUTE))
    assert unseen.of(KEY, LEDGER, queue(12)) == Gap(FOLLOWED, T0 + 12 * MINUTE)
    moved = Ledger("uid-of-train", T0 + 2 * MINUTE)
    assert unseen.of(KEY, moved, queue(12)) is None
    unseen.missed([KEY], "team/gpu", Gap(T0 + 13 * MINUTE, T0 + 14 * MINUTE))
    assert unseen.of(KEY, moved, queue(14)) == Gap(T0 + 13 * MINUTE, T0 + 14 * MINUTE)


def test_of_what_has_no_ledger_the_last_one_alone_is_known() -> None:
    unseen = Unseen(lambda: None)
    unseen.missed([KEY], "team/gpu", GAP)
    assert unseen.of(KEY, None, queue(8)) == GAP
    later = Gap(T0 + 60 * MINUTE, T0 + 61 * MINUTE)
    unseen.missed([KEY], "team/gpu", later)
    assert unseen.of(KEY, None, queue(61)) == later


def test_one_before_the_term_and_one_since_are_told_together() -> None:
    unseen = Unseen(lambda: TERM)
    assert unseen.of(KEY, LEDGER, queue(7)) == Gap(T0, T0 + 7 * MINUTE)
    unseen.missed([KEY], "team/gpu", Gap(T0 + 11 * MINUTE, T0 + 12 * MINUTE))
    # Its condition tells of the last one alone.
    assert unseen.of(KEY, LEDGER, queue(12)) == Gap(T0 + 11 * MINUTE, T0 + 12 * MINUTE)


def test_a_pause_that_is_in_the_ledger_already_is_no_part_of_the_next() -> None:
    """The second was told of before anybody had looked again: what ran between the two was a wait."""
    unseen = Unseen(lambda: None)
    unseen.missed([KEY], "team/gpu", GAP)
    assert unseen.of(KEY, LEDGER, queue(8)) == GAP
    later = [Gap(T0 + 60 * MINUTE, T0 + 61 * MINUTE), Gap(T0 + 62 * MINUTE, T0 + 63 * MINUTE)]
    for gap in later:
        unseen.missed([KEY], "team/gpu", gap)
    moved = Ledger("uid-of-train", T0 + 2 * MINUTE)
    assert unseen.of(KEY, moved, queue(63)) == Gap(later[0].since, later[1].until)


def test_the_next_term_knows_what_the_one_before_it_may_not_have_written() -> None:
    term = TERM
    unseen = Unseen(lambda: term)
    gap = Gap(T0 + 11 * MINUTE, T0 + 12 * MINUTE)
    unseen.missed([KEY, "team/gone", "team/written"], "team/gpu", gap)
    unseen.forget("team/gone")
    unseen.written("team/written")
    term = (T0 + 20 * MINUTE, T0 + 30 * MINUTE)
    assert unseen.of(KEY, LEDGER, queue(12)) == gap
    assert unseen.of("team/gone", LEDGER, queue(12)) is None
    assert unseen.of("team/written", LEDGER, queue(12)) is None
    assert unseen.of(KEY, Ledger("uid-of-train", T0), queue(12)) is None


def test_what_was_missed_long_before_a_term_has_been_written_since() -> None:
    term = TERM
    unseen = Unseen(lambda: term)
    unseen.missed([KEY], "team/gpu", GAP)
    term = (T0 + 19 * MINUTE, T0 + 30 * MINUTE)
    assert unseen.of(KEY, LEDGER, queue(8)) is None


@pytest.mark.parametrize(
    ("old", "new", "later"),
    [
        (LEDGER, Ledger("uid-of-train", T0), True),
        (None, LEDGER, True),
        (LEDGER, LEDGER, False),
        (LEDGER, None, False),
        (LEDGER, Ledger("uid-of-train", T0 - MINUTE, paused=T0), False),
        (LEDGER, Ledger("uid-of-another", T0), False),
    ],
)
def test_when_an_owner_says_that_its_wait_begins_later(old: Ledger | None, new: Ledger | None, later: bool) -> None:
    was, now = (
        job().annotate(api.ADMISSION_CLOCK, format_ledger(ledger)).done() if ledger else job().done()
        for ledger in (old, new)
    )
    assert later_origin(was, now) is later
