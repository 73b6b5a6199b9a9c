"""The pods of a group are one owner: the oldest stands for all, and each carries what is true of all."""

import msgspec
import pytest

from classifier import api, scope
from classifier.clock import Ledger
from classifier.instant import HOUR, MINUTE
from classifier.ledger import parse_ledger
from classifier.objects import Pod, PodGroup
from controller.groups import addressed, group_of, without
from tests.unit.controller.gangs import ledger, pod


def test_the_oldest_pod_stands_for_the_group_and_what_one_says_all_say() -> None:
    late = pod("a", created=2 * MINUTE).annotate(api.ADMISSION_TIMEOUT, "1h").done()
    early = pod("b", created=MINUTE).annotate(api.ADMISSION_CLOCK, ledger("b", MINUTE)).done()
    owned = group_of([late, early])
    assert owned is not None
    assert (owned.owner.name, owned.owner.uid) == ("b", "uid-of-b")
    assert owned.owner.annotation(api.ADMISSION_TIMEOUT) == "1h"
    assert parse_ledger(owned.owner) == Ledger("uid-of-b", MINUTE)
    assert [one.name for one in owned.carriers] == ["b", "a"]


def test_a_ledger_of_another_pod_is_none() -> None:
    """A pod made from another's manifest bears its ledger."""
    owned = group_of([pod("a").annotate(api.ADMISSION_CLOCK, ledger("b", MINUTE)).done()])
    assert owned is not None
    assert owned.owner.annotation(api.ADMISSION_CLOCK) is None


def test_pods_on_their_way_out_stand_for_nobody_but_may_still_run() -> None:
    leaving = pod("a", created=1).metadata(deletionTimestamp="2026-11-29T10:00:00Z")
    leaving.spec["schedulingGates"] = []
    owned = group_of([leaving.done(), pod("b", created=2).done()])
    assert owned is not None
    assert isinstance(owned.owner, PodGroup)
    assert [one.name for one in owned.carriers] == ["b"]
    assert not owned.view.suspended(owned.owner)


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_has_ended_runs_no_more(phase: str) -> None:
    ended = pod("a")
    ended.spec["schedulingGates"] = []
    raw = ended.raw() | {"status": {"phase": phase}}
    owned = group_of([msgspec.convert(raw, Pod), pod("b").done()])
    assert owned is not None
    assert owned.view.suspended(owned.owner)


def test_a_group_is_not_ours_if_any_of_its_pods_is_not() -> None:
    of_a_set = pod("b", created=1).annotate("kueue.x-k8s.io/pod-suspending-parent", "statefulset").done()
    owned = group_of([pod("a").done(), of_a_set])
    assert owned is not None
    assert scope.why_not_ours(owned.owner) == "is part of a statefulset"


def test_there_is_no_group_without_a_pod() -> None:
    assert group_of([]) is None


def test_each_pod_gets_the_ledger_under_its_own_uid_and_only_what_it_lacks() -> None:
    wanted = {api.ADMISSION_CLOCK: ledger("a", MINUTE), api.ADMISSION_DEADLINE: "2026-11-29T10:00:00Z"}
    fresh = addressed(wanted, pod("b").done())
    assert fresh[api.ADMISSION_CLOCK] == ledger("b", MINUTE)
    told = pod("b")
    for key, value in fresh.items():
        told.annotate(key, value)
    assert addressed(wanted, told.done()) == {}
    assert addressed({api.ADMISSION_DEADLINE: None}, told.done()) == {api.ADMISSION_DEADLINE: None}
    assert addressed({api.ADMISSION_MESSAGE: None}, told.done()) == {}


def test_the_ledger_of_a_pod_that_is_left_out_counts_no_more() -> None:
    """It says still what was true before a pause, and would take the gang back to it."""
    early, late = HOUR, 2 * HOUR
    members = [
        pod("a", created=1).annotate(api.ADMISSION_CLOCK, ledger("a", early)).done(),
        pod("b", created=2).annotate(api.ADMISSION_CLOCK, ledger("b", late)).done(),
    ]
    owned = group_of(members)
    assert owned is not None
    assert parse_ledger(owned.owner) == Ledger("uid-of-a", early)
    less = without(owned, {"uid-of-a"})
    assert parse_ledger(less.owner) == Ledger("uid-of-b", late)
    assert [one.name for one in less.carriers] == ["b"]
    assert isinstance(less.owner, PodGroup)
    assert [one.name for one in less.owner.pods] == ["a", "b"], "it may still run"
    assert without(owned, {"uid-of-a", "uid-of-b"}) is owned
