"""Outages: after failing for long enough commits are only tried; once one passes, a grace begins."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from classifier.instant import MINUTE, SECOND
from controller import outage
from controller.outage import Outage

AFTER = 10.0
GRACE = 5 * MINUTE


class World:
    """An outage detector, our clock (seconds) and the server's (ms), which run together."""

    def __init__(self) -> None:
        self.seconds = 500.0
        self.outage = Outage(AFTER, GRACE, self.now, lambda: self.seconds)

    def now(self) -> int:
        return 1_000_000 + int(self.seconds * SECOND)

    def trial(self) -> bool:
        return self.outage.trial

    def since(self) -> int | None:
        return self.outage.since

    def failing(self, seconds: float, channel: str = "api") -> None:
        """A request fails at the beginning and at the end of ``seconds``."""
        self.outage.failed(channel)
        self.seconds += seconds
        self.outage.failed(channel)


def test_at_first_nothing_is_wrong() -> None:
    world = World()
    assert not world.trial()
    assert world.outage.not_before == 0


@pytest.mark.parametrize(("seconds", "trial"), [(0, False), (9.9, False), (10, True), (3600, True)])
def test_failing_for_as_long_as_the_limit_is_an_outage(seconds: float, trial: bool) -> None:
    world = World()
    world.failing(seconds)
    assert world.trial() is trial


def test_an_outage_lasts_until_a_commit_could_be_made() -> None:
    world = World()
    world.failing(20)
    world.outage.answered("api")  # reads work again; Kueue's webhook may still be away
    world.seconds += 60
    assert world.trial()
    world.outage.recovered()
    assert not world.trial()
    assert world.outage.not_before == world.now() + GRACE


def test_an_answer_in_between_ends_the_failing() -> None:
    world = World()
    for _ in range(10):
        world.failing(6)
        world.outage.answered("api")
    assert not world.trial()
    assert world.outage.not_before == 0


def test_channels_fail_each_for_itself() -> None:
    world = World()
    world.outage.failed("workloads")
    for _ in range(20):
        world.seconds += 1
        world.outage.answered("api")
    assert not world.trial()
    world.outage.failed("workloads")
    assert world.trial()


def test_nothing_but_silence_between_a_failure_and_the_next_answer_counts_as_failing() -> None:
    world = World()
    world.outage.failed("api")
    world.seconds += 12
    world.outage.answered("api")
    assert world.trial()


def test_a_request_that_hung_until_it_failed_had_failed_all_the_time() -> None:
    world = World()
    world.outage.failed("api", took=10)
    assert world.trial()
    short = World()
    short.outage.failed("api", took=4)
    short.seconds += 5
    short.outage.answered("api")
    assert not short.trial()


def test_after_recovery_the_count_starts_anew() -> None:
    world = World()
    world.failing(20)
    world.outage.recovered()
    world.outage.failed("api")
    world.seconds += 9
    world.outage.failed("api")
    assert not world.trial()


def test_a_later_grace_never_ends_before_an_earlier_one() -> None:
    world = World()
    world.outage.begin_grace()
    ends = world.outage.not_before
    world.seconds -= 60  # the server's clock was set back
    world.outage.begin_grace()
    assert world.outage.not_before == ends


event = st.tuples(
    st.sampled_from(["failed", "answered", "answered", "recovered"]), st.sampled_from("ab"), st.floats(0, 15)
)


@given(st.lists(event, max_size=60))
def test_in_any_history_commits_are_tried_just_after_long_failures(events: list[tuple[str, str, float]]) -> None:
    world = World()
    since: dict[str, float] = {}
    expected = False
    for number, (what, channel, gap) in enumerate(events):
        world.seconds += gap
        failing = world.seconds - since.get(channel, world.seconds)
        match what:
            case "failed":
                # Each time another object: what goes on failing after a trial is tested below.
                world.outage.failed(channel, str(number))
                since.setdefault(channel, world.seconds)
                expected |= failing >= AFTER
            case "answered":
                world.outage.answered(channel)
                since.pop(channel, None)
                expected |= failing >= AFTER
            case _ if world.trial():
                world.outage.recovered()
                since.clear()
                expected = False
                assert world.outage.not_before == world.now() + GRACE
        assert world.trial() is expected


def test_a_slow_failure_beside_answers_is_no_outage() -> None:
    """It hung for longer than the limit, but others were served all the while."""
    world = World()
    for _ in range(12):
        world.outage.answered("api", "good")
        world.seconds += 1
    world.outage.failed("api", "bad", took=12)
    assert not world.trial()


def test_what_goes_on_failing_after_a_trial_passed_is_its_own_trouble() -> None:
    world = World()
    world.outage.failed("api", "bad")
    world.seconds += 20
    world.outage.failed("api", "bad")
    assert world.trial()
    world.outage.recovered()
    world.seconds += 600
    world.outage.failed("api", "bad")
    assert not world.trial()
    world.outage.failed("api", "other", took=10)
    assert world.trial(), "a failure of another kind is one"


def test_own_trouble_is_over_once_it_is_served() -> None:
    world = World()
    world.outage.failed("api", "bad", took=10)
    world.outage.recovered()
    world.outage.answered("api", "bad")
    world.seconds += 600
    world.outage.failed("api", "bad", took=10)
    assert world.trial()


# --- from one leader to the next ------------------------------------------------------------------------------------


def test_it_is_told_from_the_first_failure_to_the_end_of_the_grace() -> None:
    world = World()
    assert world.since() is None
    world.outage.failed("workloads")
    began = world.now()
    assert world.since() == began
    world.seconds += 20
    world.outage.failed("workloads")
    world.outage.answered("workloads")
    assert world.since() == began
    world.outage.recovered()
    world.seconds += GRACE / SECOND - 1
    assert world.since() == began
    world.seconds += 1
    assert world.since() is None


def test_what_failed_for_a_moment_is_told_no_more() -> None:
    world = World()
    world.failing(2)
    assert world.since() is not None
    world.outage.answered("api")
    assert world.since() is None


def test_one_that_another_leader_was_in_lasts_until_a_commit_could_be_made() -> None:
    world = World()
    began = world.now() - 60 * SECOND
    world.outage.inherit(began)
    assert world.trial()
    assert world.since() == began
    world.outage.recovered()
    assert not world.trial()
    assert world.outage.not_before == world.now() + GRACE


def test_a_follower_leaves_one_of_its_own_that_is_over_and_that_no_leader_knows_of() -> None:
    world = World()
    world.failing(20, "workloads")
    world.outage.denied()
    assert world.trial(), "it failed a moment ago"
    world.seconds += 9
    world.outage.denied()
    assert world.trial()
    world.seconds += 1
    world.outage.denied()
    assert not world.trial()
    assert world.since() is None
    world.seconds += 60
    world.outage.failed("workloads")
    assert not world.trial(), "the count starts anew"


def test_what_fails_by_itself_is_remembered_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outage, "MOST", 3)
    world = World()
    for number in range(5):
        world.outage.failed("api", f"bad-{number}", took=10)
    for number in range(5):
        world.outage.recovered()
        world.outage.failed("api", f"bad-{number}", took=10)
    assert len(world.outage._failing) <= 3
    assert len(world.outage._excused) <= 3
