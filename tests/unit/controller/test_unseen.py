"""Pauses in a time without a leader: told of once, and only to what waited in the queue that had paused."""

from classifier.clock import Gap, Ledger
from classifier.instant import MINUTE
from classifier.objects import LocalQueue
from controller.unseen import Unseen
from tests.builders import T0, local_queue

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
