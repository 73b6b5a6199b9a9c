"""Who bounds a wait, as a person reads it: the source of the timeout, and the maximum that holds it down."""

import pytest

from classifier import api
from classifier.instant import MINUTE
from classifier.policy import Policies
from classifier.report.deadline import capped, clause, deadline_of, source_of
from classifier.report.encode import deadline_json
from classifier.report.fence import Fence
from tests.builders import T0, job, local_queue, namespace, workload
from tests.waits import show


@pytest.mark.parametrize(
    ("cap", "source", "left"),
    [
        (None, "job", "deadline in 1h"),
        ("2h", "job", "deadline in 1h"),
        ("20m", "job, capped by LocalQueue/gpu", "deadline in 20m (20m by job, capped by LocalQueue/gpu)"),
    ],
)
def test_a_maximum_that_holds_a_request_down_is_named(cap: str | None, source: str, left: str) -> None:
    policies = Policies(local_queue().running().annotate(api.MAX_ADMISSION_TIMEOUT, cap).done())
    owner = job().annotate(api.ADMISSION_TIMEOUT, "1h").done()
    ends = T0 + (20 if cap == "20m" else 60) * MINUTE
    deadline = deadline_of(owner, show(workload(), ends).done(), policies, T0)
    assert deadline.timeout is not None
    assert source_of(deadline.timeout) == deadline_json(deadline)["source"] == source
    assert clause(deadline, Fence(), T0) == left
    announced = deadline_of(owner, workload().done(), policies, T0)
    bound = left.removeprefix("deadline in ").partition(" ")[0]
    assert clause(announced, Fence(), T0) == f"no deadline announced yet ({bound} by {source})"


def test_what_no_maximum_holds_down_needs_no_word() -> None:
    policies = Policies(local_queue().running().done(), namespace=namespace().done(), default=MINUTE)
    assert capped(deadline_of(job().done(), workload().done(), policies, T0).timeout) == ""
    assert capped(None) == ""


def test_a_gang_that_waits_again_without_a_bound_says_why() -> None:
    policies = Policies(local_queue().running().annotate(api.ADMISSION_TIMEOUT, "1h").done())
    left = workload().condition(api.ADMITTED, False, at=T0 + MINUTE).evicted("Preempted")
    why = "no deadline: it has started before, and no profile of its queue says requeue: Restart"
    for shown in (None, T0 + 60 * MINUTE):  # also before the controller has taken the old one off
        deadline = deadline_of(job().done(), show(left, shown).done(), policies, T0 + 2 * MINUTE)
        assert clause(deadline, Fence(), T0 + 2 * MINUTE) == why


def test_a_gang_that_runs_has_no_word_about_deadlines() -> None:
    policies = Policies(local_queue().running().annotate(api.ADMISSION_TIMEOUT, "1h").done())
    runs = workload().condition(api.ADMITTED, True)
    assert clause(deadline_of(job().done(), runs.done(), policies, T0 + MINUTE), Fence(), T0 + MINUTE) is None
