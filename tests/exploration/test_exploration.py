"""Every interleaving within a bound keeps every law, and without what the protocol stands on one is broken."""

from collections.abc import Iterable

import pytest

from tests.exploration import walks
from tests.exploration.decisions import Settings
from tests.exploration.explore import explore
from tests.exploration.faults import FAULTS
from tests.exploration.settings import SHORT
from tests.exploration.world import Left, Setting

#: A bound that leaves nothing to happen would show nothing.
FEWEST = 10_000
#: Random histories.
HISTORIES = 1_000


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", SHORT)
def test_no_history_within_the_bound_breaks_a_law(name: str) -> None:
    found = explore(SHORT[name])
    print(f"{name}: {found.states} states, {found.transitions} transitions, histories of {found.depth} steps")
    assert found.broken is None, "\n".join(found.history)
    assert found.states > FEWEST
    assert {"decides Commit", "is served with Commit", "tells the event", "is served with WriteMirror"} <= found.steps


@pytest.mark.timeout(600)
@pytest.mark.parametrize("taken", FAULTS)
def test_what_the_protocol_stands_on_cannot_be_taken_away(taken: str) -> None:
    fault = FAULTS[taken]
    found = explore(fault.setting)
    print(*found.history, sep="\n")
    assert found.broken == fault.broken
    assert found.history[-1].endswith(fault.broken)
    assert _in_order(fault.steps, found.history), "\n".join(found.history)


def _in_order(steps: Iterable[str], lines: tuple[str, ...]) -> bool:
    """Whether the steps are told one after the other, two of them perhaps in one line."""
    at = 0
    for step in steps:
        while at < len(lines) and step not in lines[at]:
            at += 1
    return at < len(lines)


def test_without_a_fence_that_is_in_force_nothing_is_ended() -> None:
    found = explore(Setting(Left(lags=1), Settings(enforce=False), horizon=2))
    assert found.broken is None, "\n".join(found.history)
    assert found.states > 1000
    assert not any("Commit" in step for step in found.steps)


def test_the_fence_refuses_the_scheduler_and_admits_it_again_after_a_reactivation() -> None:
    found = explore(Setting(Left(reactivations=1), horizon=1))
    assert {"Kueue's scheduler is refused by the fence (422)", "Kueue's scheduler reserves quota"} <= found.steps


@pytest.mark.timeout(600)
def test_random_histories_with_re_creations_and_changes_of_policy_break_no_law() -> None:
    walked = walks.run(0, HISTORIES)
    print(f"{walked.histories} histories, {walked.steps} steps, {walked.commits} decisions")
    assert walked.broken is None, "\n".join((walked.broken, *walked.history))
    assert walked.commits > HISTORIES / 4
