"""Whoever comes after others of the same shapes hears what they would hear alone: the short way says no more and no
less."""

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from classifier.fit import Outcome, judge
from classifier.fit.budget import STEPS
from classifier.fit.judging import course
from classifier.objects import Node
from tests.builders import GPU, GPU_NODE, cluster_queue, gpu_world, node, profile
from tests.soundness.draw import draw
from tests.soundness.submit import submitted
from tests.soundness.told import told
from tests.soundness.truth import Case, Podset
from tests.unit.fit.gangs import gang, part

FITS, GROWS = Outcome.FITS, Outcome.FITS_AFTER_SCALE_UP


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """All that went the short way."""
    went: list[Any] = []
    run = course.Course.run

    def noted(self: course.Course, *args: Any) -> Any:
        found = run(self, *args)
        went.extend([] if found is None else [found])
        return found

    monkeypatch.setattr(course.Course, "run", noted)
    return went


def of_count(podset: Podset, count: int) -> Podset:
    fewest = count if podset.fewest == podset.count else min(podset.fewest, count)
    least = count if podset.least == podset.count else min(podset.least, count)
    return replace(podset, count=count, fewest=fewest, least=least)


def others(case: Case, random: Random) -> Iterator[tuple[Case, int]]:
    """Gangs of the same shapes and other counts, some of them judged with few steps."""
    for steps in (STEPS, STEPS, STEPS, 40, 80, 160):
        podsets = [
            of_count(one, max(1, one.count + random.randint(-1, 3))) if one.count else one for one in case.podsets
        ]
        yield replace(case, podsets=tuple(podsets)), steps


def test_in_any_world_the_verdict_is_that_of_who_comes_first(short: list[Any]) -> None:
    for seed in range(150):
        case = draw(seed)
        roomy = [replace(pool, nodes=10 * pool.nodes) for pool in case.pools]
        case = case if seed % 3 else replace(case, pools=tuple(roomy))
        warm = told(case)
        judge(submitted(case), warm, 0)
        for other, steps in others(case, Random(seed)):
            obj = submitted(other)
            assert judge(obj, warm, 0, steps) == judge(obj, told(case), 0, steps), (seed, steps)
    assert len(short) > 30


def pair(few: int, many: int, **more: Any) -> Any:
    return gang(part("a", few, {"cpu": "1", GPU: "4"}, **more), part("b", many, {"cpu": "2", GPU: "3"}))


def test_the_third_gang_of_its_shapes_goes_the_short_way(short: list[Any]) -> None:
    """Of the second is learned where it leads: most worlds are others before anybody comes again."""
    warm = gpu_world()
    assert judge(pair(1, 1), warm, 0).outcome is GROWS
    assert judge(pair(1, 2), warm, 0).outcome is GROWS
    assert not short
    assert judge(pair(2, 1), warm, 0).outcome is GROWS
    assert len(short) == 1


def test_a_gang_too_large_is_proven_impossible_after_smaller_ones_fitted() -> None:
    warm = gpu_world()
    for many in (1, 2):
        assert judge(pair(1, many), warm, 0).outcome is GROWS
    found = judge(pair(5, 1), warm, 0)
    assert found == judge(pair(5, 1), gpu_world(), 0)
    assert found.denied


def test_quota_is_asked_for_every_count(short: list[Any]) -> None:
    tight = cluster_queue().group(["cpu", GPU], "a100-scale", quota="13")
    warm = gpu_world(tight)
    for many in (1, 2):
        assert judge(pair(1, many), warm, 0).outcome is GROWS
    found = judge(pair(2, 2), warm, 0)
    assert found == judge(pair(2, 2), gpu_world(tight), 0)
    assert found.outcome is Outcome.NEVER_FITS
    assert not short


def test_what_stands_is_told_from_what_must_grow(short: list[Any]) -> None:
    def stands() -> Node:
        return node("n1", agentpool="gpupool").allocatable(GPU_NODE).ready().done()

    warm = gpu_world()
    warm.nodes = [stands()]
    outcomes = []
    for few, many in ((1, 1), (2, 1), (1, 1), (2, 2), (1, 2), (2, 1)):
        cold = gpu_world()
        cold.nodes = [stands()]
        found = judge(pair(few, many), warm, 0)
        assert found == judge(pair(few, many), cold, 0)
        outcomes.append(found.outcome)
    assert outcomes == [FITS, GROWS, FITS, GROWS, GROWS, GROWS]
    assert short


def test_a_changed_world_has_courses_of_its_own(short: list[Any]) -> None:
    world = gpu_world()
    judge(pair(1, 1), world, 0)
    judge(pair(1, 2), world, 0)
    world.profiles = [profile().closed().mode("Enforce").pool(max_nodes=1).done()]
    found = judge(pair(2, 1), world, 0)
    assert found.denied
    assert not short


def test_courses_of_many_counts_have_a_bound(monkeypatch: pytest.MonkeyPatch, short: list[Any]) -> None:
    monkeypatch.setattr("classifier.fit.supplied.supply._KEPT", 100)
    monkeypatch.setattr("classifier.fit.supplied.supply._COUNTED", 1)
    world = gpu_world(profile=profile().closed().pool(max_nodes=5000))
    most = 0
    for turn in range(1, 300):
        judge(pair(turn, 300 - turn), world, 0)
        most = max(most, sum(map(len, world.at(0)._sorts.values())))
    assert short
    assert most < 200
