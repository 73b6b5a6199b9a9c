"""Vectors W1 and W3 of reference/classification.md §D on the evidence ring alone."""

import msgspec

from classifier.state import classify
from classifier.state.ring import Ring
from tests.builders import T0
from tests.unit.state.builders import JS, TJ, ended, plain, pod, said


def test_W1_of_300_deletes_the_latest_256_are_kept() -> None:
    ring = Ring()
    for number in range(300):
        ring.deleted("tj-1", pod(f"p{number}").failed().done())
    kept = [kept.name for kept in ring.of("tj-1")]
    assert (len(kept), kept[0], kept[-1]) == (256, "p44", "p299")


def test_W3_another_trainjob_has_none() -> None:
    ring = Ring()
    ring.deleted("tj-1", pod("p0").failed().done())
    assert ring.of("tj-2") == ()


def test_T06_what_the_ring_keeps_of_a_pod_is_evidence_enough() -> None:
    ring = Ring()
    ring.deleted("tj-1", pod("p0").failed().exit(1).done())
    given = plain(TJ("Failed=True/FailedJobs"), JS())
    case = msgspec.structs.replace(given.case, captured=ring.of("tj-1"))
    assert said(classify(case, given.settings, T0)) == ended("non-zero-exit", "container", "pod p0: exit code 1", R=1)
