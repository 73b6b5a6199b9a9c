"""What the pods of a group remember together, when they do not remember the same (design §7)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from classifier.instant import HOUR, MINUTE
from classifier.ledger import Ledger, merge
from tests.builders import T0

LATER = T0 + HOUR


def of(number: int, origin: int, attempt: int = 1, **fields: int | str | None) -> Ledger:
    return Ledger(f"uid-{number}", origin, attempt, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("one", "other", "together"),
    [
        (of(1, LATER), of(2, T0), of(2, T0)),
        (of(1, T0), of(2, LATER, 2), of(2, LATER, 2)),
        (of(1, T0, paused=LATER, queue="gpu"), of(2, T0), of(1, T0, paused=LATER, queue="gpu")),
        # One was told that the queue runs again, the other not yet: the pause goes on, and the origin is not moved.
        (of(1, T0, paused=LATER, queue="gpu"), of(2, LATER), of(1, T0, paused=LATER, queue="gpu")),
        (
            of(1, T0, paused=LATER, queue="gpu"),
            of(2, LATER, paused=LATER + HOUR, queue=""),
            of(1, T0, paused=LATER, queue="gpu"),
        ),
        (of(1, T0, paused=T0, queue="gpu"), of(2, LATER, paused=LATER), of(1, T0, paused=LATER)),
        (of(1, T0, started=LATER), of(2, T0, paused=LATER, queue=""), of(1, T0, started=LATER)),
        (of(1, LATER, started=LATER + 1), of(2, T0, paused=T0 + MINUTE, queue=""), of(2, T0, started=LATER + 1)),
        (of(1, LATER, 2, started=T0), of(2, T0, started=T0), of(1, LATER, 2, started=T0)),
        (of(1, LATER, 2, started=T0), of(2, LATER, 2, started=LATER), of(1, LATER, 2, started=LATER)),
    ],
    ids=[
        "the earliest origin",
        "of the highest attempt only",
        "a pause one of them knows of",
        "a pause whose end one of them knows of",
        "the earliest begin of a pause",
        "a deactivation outweighs a pause",
        "a start ends a pause",
        "a start is no earlier than the origin",
        "a wait begun anew is another attempt",
        "a second start ends the second wait",
    ],
)
def test_of_two_that_differ(one: Ledger, other: Ledger, together: Ledger) -> None:
    assert merge([one, other]) == together
    assert merge([other, one]) == together


def test_of_nobody_there_is_nothing() -> None:
    assert merge([]) is None


INSTANT = st.integers(T0, T0 + 10)
LEDGERS = st.builds(
    Ledger,
    st.sampled_from(["uid-1", "uid-2", "uid-3"]),
    INSTANT,
    st.integers(1, 2),
    st.none() | INSTANT,
    st.none() | INSTANT,
    st.none() | st.sampled_from(["", "gpu"]),
)


@given(st.lists(LEDGERS, min_size=1, max_size=4))
def test_together_they_never_say_that_the_wait_was_longer(ledgers: list[Ledger]) -> None:
    """Nor that it goes on where one of them knows of its start, nor forget the last attempt."""
    together = merge(ledgers)
    assert together is not None
    last = [one for one in ledgers if one.attempt == max(each.attempt for each in ledgers)]
    assert together.attempt == last[0].attempt
    assert together.over is any(one.over for one in last)
    if not together.over:
        assert together.origin >= min(one.origin for one in last)
        assert together.anew is any(one.anew for one in last)
        assert together.deactivated is any(one.deactivated for one in last)
        assert (together.paused is not None) is any(one.paused is not None for one in last)
    assert merge([together, *ledgers]) == together
    assert merge(reversed(ledgers)) == together
