"""Every state in the life of a job: what each phase says, what the whole comes to."""

import pytest

from classifier.report import Report, report
from tests.unit.report import life_capacity, life_ended, life_queued
from tests.unit.report.builders import ACCEPTED, SECOND, T0, verdict
from tests.unit.report.states import C, Case, waiting_for_capacity

CASES = [*life_queued.CASES, *life_capacity.CASES, *life_ended.CASES]


def _phases(made: Report) -> dict[int, tuple[str, str]]:
    return {i: (str(phase.state), phase.text) for i, phase in enumerate(made.phases)}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_each_phase_says(case: Case) -> None:
    made = report(case.picture, verdict(), T0 + int(case.seconds * SECOND))
    said = _phases(made)
    assert {i: said[i] for i in case.phases} == case.phases
    assert made.result == case.result


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_at_most_one_phase_waits_for_something_and_later_ones_are_not_ahead(case: Case) -> None:
    made = report(case.picture, verdict(), T0 + int(case.seconds * SECOND))
    states = [str(phase.state) for phase in made.phases]
    assert states[0] == "done"
    assert states.count("failed") <= 1
    if "failed" in states[:3]:
        assert set(states[states.index("failed") + 1 :]) <= {"waiting"}


def test_a_report_is_a_function_of_its_input() -> None:
    picture = waiting_for_capacity(ACCEPTED)
    assert report(picture, verdict(), T0 + 45_000) == report(picture, verdict(), T0 + 45_000)


@pytest.mark.parametrize("seconds", [0, 1, 59.5, 1799, 1800, 100_000])
def test_the_deadline_counts_down_to_the_second(seconds: float) -> None:
    made = report(waiting_for_capacity(ACCEPTED), verdict(), T0 + int(seconds * SECOND))
    assert made.deadline.at == T0 + 1_800_000
    assert ("deadline passed" in made.phases[C].text) == (seconds >= 1800)
