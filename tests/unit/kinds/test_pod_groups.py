"""When a group of pods has ended (Kueue: pkg/controller/jobs/pod/pod_controller.go, Finished)."""

from itertools import permutations
from typing import Any

import pytest

from classifier.objects import Pod, PodGroup
from classifier.state.kinds import view_for
from classifier.state.observation import CauseKind
from tests.unit.kinds.builders import condition, conditions, group, read


def pod(phase: str, name: str = "p", at: str | None = None, stop: str = "", final: bool = False) -> Pod:
    found = [condition("Ready", "PodCompleted", status="False") | {"lastTransitionTime": at}]
    found += [condition("TerminationTarget", stop) | {"lastTransitionTime": at}] if stop else []
    notes = {"kueue.x-k8s.io/retriable-in-group": "false"} if final else {}
    return read(Pod, {}, {"phase": phase} | conditions(*found), name=name, annotations=notes)


def ending(job: PodGroup) -> Any:
    view = view_for(job)
    assert view is not None
    return view.ending(job)


GOOD, BAD, LIVE = pod("Succeeded"), pod("Failed"), pod("Running")
FINAL = pod("Failed", final=True)


@pytest.mark.parametrize(
    ("pods", "total", "kinds"),
    [
        ((GOOD, GOOD), "2", (CauseKind.COMPLETED,)),
        ((GOOD, BAD, GOOD), "2", (CauseKind.COMPLETED,)),  # one was replaced
        ((GOOD,), "2", ()),
        ((GOOD, LIVE), "2", ()),
        ((GOOD, BAD), "2", ()),  # a replacement is awaited
        ((GOOD, FINAL), "2", (None,)),
        ((BAD, FINAL), "2", (None,)),
        ((FINAL, LIVE), "2", ()),
        ((), "2", ()),
        ((), "0", ()),
        ((GOOD,), "x", ()),
        ((GOOD,), "", ()),
        ((GOOD,), "-1", ()),
        ((GOOD,), "1" * 5000, ()),
        ((GOOD,), "²", ()),
    ],
)
def test_a_group_ends(pods: tuple[Pod, ...], total: str, kinds: tuple[CauseKind | None, ...]) -> None:
    found = ending(group(*pods, total=total))
    assert (found is not None) is bool(kinds)
    assert found is None or (found.kind,) == kinds


def test_it_says_how_many_and_when_the_last_was_done() -> None:
    pods = (pod("Succeeded", "a", "2026-01-01T10:00:00Z"), pod("Failed", "b", "2026-01-01T10:00:09Z", final=True))
    words = ending(group(*pods)).words
    assert (words.reason, words.message) == ("Failed", "Pods succeeded: 1/2.")
    assert words.last_transition_time == "2026-01-01T10:00:09Z"
    assert ending(group(pods[0], total="1")).words.reason == "Succeeded"
    assert ending(group(GOOD, total="1")).words.last_transition_time is None


def test_a_group_that_serves_never_ends() -> None:
    assert ending(group(GOOD, GOOD, pod_group_serving="true")) is None
    assert ending(group(GOOD, GOOD, pod_group_serving="false")) is not None


def test_the_first_stop_of_kueue_explains_the_group_in_any_order() -> None:
    pods = [
        pod("Failed", "a", "2026-01-01T10:00:05Z", stop="NotAdmitted", final=True),
        pod("Failed", "b", "2026-01-01T10:00:01Z", stop="WorkloadEvictedDueToPreempted"),
        pod("Failed", "c", "2026-01-01T10:00:01Z", stop="WorkloadEvictedDueToTwin"),
        pod("Failed", "d", "2026-01-01T10:00:00Z"),
    ]
    ends = [ending(group(*order, total="4")) for order in permutations(pods)]
    assert ends[0].kind is CauseKind.PREEMPTED
    assert all(end == ends[0] for end in ends)


def test_a_group_is_found_by_its_type_whatever_kind_it_bears() -> None:
    job = group(GOOD)
    view = view_for(job)
    assert view is not None
    assert view.type_ is PodGroup
    assert view.provenance == "podgroup"
    job.kind, job.api_version = "Pod", "v1"
    assert view_for(job) is view
    assert not view.controls_workload
