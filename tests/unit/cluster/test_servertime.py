"""The server's time from the ``Date`` of its answers: never ahead, close behind, steps noticed."""

from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from classifier.cluster.servertime import DRIFT, STEP, ServerTime
from classifier.instant import MINUTE, SECOND

T0 = 1_796_000_000.0


class World:
    """A server's clock and ours; ``pace`` is how fast ours runs, ``server`` moves on its own."""

    def __init__(self, pace: float = 1.0, uptime: float = 12345.678) -> None:
        self.server = T0
        self.ours = uptime
        self._pace = pace
        self.time = ServerTime(lambda: self.ours, wall=lambda: T0 + 3600)

    def pass_(self, seconds: float) -> None:
        self.server += seconds
        self.ours += seconds * self._pace

    def ask(self, out: float = 0.0, back: float = 0.0) -> None:
        """One answer; ``out`` and ``back`` are the seconds the request and the answer were on their way."""
        began = self.ours
        self.pass_(out)
        date = formatdate(self.server, usegmt=True)
        self.pass_(back)
        self.time.observe(date, self.ours - began)

    @property
    def behind(self) -> float:
        """Milliseconds we are behind the server; negative: ahead."""
        return self.server * SECOND - self.time.now()


seconds = st.floats(0, 700, allow_subnormal=False)
latency = st.floats(0, 20, allow_subnormal=False)
pace = st.floats(1 - 2e-4, 1 + 2e-4)
#: What floats cannot tell apart.
EPSILON = 0.01


@given(pace, st.floats(0, 1e7), st.lists(st.tuples(seconds, latency, latency, seconds), min_size=1, max_size=30))
def test_it_is_never_ahead_however_late_the_answers_and_fast_our_clock(
    pace: float, uptime: float, asked: list[tuple[float, float, float, float]]
) -> None:
    world = World(pace, uptime)
    for wait, out, back, rest in asked:
        world.pass_(wait)
        world.ask(out, back)
        assert world.behind >= -EPSILON
        world.pass_(rest)
        assert world.behind >= -EPSILON
    assert world.time.steps == 0


@given(st.lists(st.floats(0.05, 2), min_size=400, max_size=400), st.floats(0, 0.05))
def test_after_many_answers_it_is_less_than_a_second_behind(gaps: list[float], back: float) -> None:
    world = World()
    for gap in gaps:
        world.pass_(gap)
        world.ask(back=back)
    assert -EPSILON <= world.behind < SECOND + 1000 * back + sum(gaps) * DRIFT * SECOND


def test_with_answers_at_every_tenth_of_a_second_it_is_close() -> None:
    world = World()
    for _ in range(100):
        world.pass_(0.103)
        world.ask(back=0.01)
    assert 0 <= world.behind < 30


def test_until_the_first_answer_our_own_clock_has_to_do() -> None:
    world = World()
    assert abs(world.time.now() - (T0 + 3600) * SECOND) <= 2
    world.ask()
    assert abs(world.behind) < SECOND
    assert world.time.steps == 0  # only the server's clock can step


@pytest.mark.parametrize("step", [-3600, -60, -7, 7, 60, 3600])
def test_a_step_is_counted_once_and_followed_at_once(step: float) -> None:
    world = World()
    for _ in range(20):
        world.pass_(0.7)
        world.ask(back=0.05)
    world.server += step
    for _ in range(20):
        world.ask(back=0.05)
        assert -EPSILON <= world.behind < SECOND + 60
        world.pass_(0.7)
    assert world.time.steps == 1


@pytest.mark.parametrize("step", [-3, -1.5, 1.5, 3])
def test_a_small_correction_is_no_step_and_never_puts_us_ahead_for_long(step: float) -> None:
    world = World()
    for _ in range(20):
        world.pass_(0.7)
        world.ask()
    world.server += step
    for _ in range(20):
        world.pass_(0.7)
        world.ask()
    assert world.time.steps == 0
    assert -EPSILON <= world.behind < SECOND


def test_an_answer_that_took_long_is_late_not_a_step_back() -> None:
    world = World()
    for _ in range(10):
        world.pass_(0.7)
        world.ask()
    near = world.behind
    world.ask(back=9)
    world.ask(out=9)
    assert world.behind < near + 18 * DRIFT * SECOND + 1
    assert world.time.steps == 0


def test_a_first_answer_that_took_long_makes_the_second_no_step() -> None:
    world = World()
    world.ask(back=9)
    world.ask()
    assert world.time.steps == 0
    assert 0 <= world.behind < SECOND


def test_the_best_sample_counts_for_ten_minutes_only() -> None:
    world = World()
    world.pass_(1 - world.server % 1)  # on the second: the best there is
    world.ask()
    assert world.behind < 2
    world.pass_(0.9)
    world.ask()
    world.pass_(9 * MINUTE / SECOND + 0.05)
    world.ask()
    assert world.behind < 2 + 10 * MINUTE * DRIFT
    world.pass_(MINUTE / SECOND)
    world.ask()
    assert world.behind > 900


@pytest.mark.parametrize(
    "date",
    [None, "", "yesterday", "Mon, 99 Nov 2026 99:99:99 GMT", "0", "Mon, 30 Nov 99999999999 10:00:00 GMT", "\x00", ","],
)
def test_what_is_no_date_is_no_sample(date: str | None) -> None:
    world = World()
    world.ask()
    before = world.time.now()
    world.time.observe(date)
    assert world.time.now() == before


@given(st.text())
def test_no_date_header_raises(date: str) -> None:
    World().time.observe(date)


def test_a_step_is_what_is_larger_than_five_seconds() -> None:
    assert STEP == 5 * SECOND


def test_not_even_by_the_part_of_a_millisecond() -> None:
    world = World(uptime=1000.0009)
    world.ask()  # on the second: there is nothing to spare
    for _ in range(50):
        world.pass_(0.0001)
        assert world.behind >= -EPSILON
        world.time.observe(formatdate(T0, usegmt=True), world.server - T0)
