"""Which flavors Kueue may give a gang by quota alone (reference/kueue.md §6.6)."""

from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from classifier.fit.budget import STEPS, Budget, OverBudget
from classifier.fit.quota import UNLIMITED, Assignment, Demand, Shortage, assignments, impossible
from tests.builders import GPU

CPU_GROUP, GPU_GROUP = frozenset({"cpu", "memory"}), frozenset({GPU})


def demand(
    name: str = "main", count: int = 1, *flavors: str, gpu: int = 1, group: str | None = None, alike: object = None
) -> Demand:
    return Demand(name, count, group, {GPU: gpu}, (flavors,), (GPU_GROUP,), alike)


def quota(**limits: int) -> Callable[[str, str], int]:
    """So much of every resource, by flavor."""
    return lambda flavor, resource: limits.get(flavor, 0)


def found(*demands: Demand, steps: int = STEPS, **limits: int) -> list[Assignment]:
    return list(assignments(demands, quota(**limits), Budget(steps)))


class TestAssignments:
    def test_the_first_flavors_come_first(self) -> None:
        assert found(demand("x", 1, "a", "b"), a=1, b=1) == [(("a",),), (("b",),)]

    def test_what_one_podset_takes_another_lacks(self) -> None:
        both = [demand("x", 2, "a", "b"), demand("y", 2, "a", "b")]
        assert found(*both, a=3, b=2) == [(("a",), ("b",)), (("b",), ("a",))]

    def test_kueue_would_not_find_it_but_it_exists(self) -> None:
        # Kueue gives x the flavor a, and never goes back for y.
        assert found(demand("x", 2, "a", "b"), demand("y", 2, "a"), a=2, b=2) == [(("b",), ("a",))]

    def test_flavors_are_never_summed_for_one_podset(self) -> None:
        assert found(demand("x", 32, "a", "b", "c"), a=0, b=16, c=16) == []

    def test_quota_without_bound_holds_any_number(self) -> None:
        huge = demand("x", 2**31, "a", gpu=2**62)
        assert found(huge, huge, a=UNLIMITED) == [(("a",), ("a",))]

    def test_each_resource_group_gives_a_flavor_of_its_own(self) -> None:
        both = Demand("x", 1, None, {"cpu": 1, GPU: 1}, (("a", "b"), ("g",)), (CPU_GROUP, GPU_GROUP))
        assert found(both, a=1, b=1, g=1) == [(("a", "g"),), (("b", "g"),)]
        assert found(both, a=1, b=1, g=0) == []

    def test_podsets_of_a_group_get_the_same_flavors(self) -> None:
        leader, worker = demand("leader", 1, "a", "b", "c", group="g"), demand("worker", 3, "b", "c", group="g")
        assert found(leader, worker, a=9, b=3, c=4) == [(("c",), ("c",))]
        assert found(demand("leader", 1, "a", group="g"), demand("worker", 1, "b", group="g"), a=9, b=9) == []

    def test_zero_needs_a_flavor_but_no_quota(self) -> None:
        assert found(demand("x", 1, "a", gpu=0), demand("y", 0, "a"), a=0) == [(("a",), ("a",))]
        assert found(demand("x", 1, gpu=0), a=9) == []

    def test_a_podset_that_touches_no_group_gets_nothing(self) -> None:
        assert found(Demand("x", 1, None, {}, (), ()), demand("y", 1, "a"), a=1) == [((), ("a",))]

    def test_no_podsets_have_one_assignment(self) -> None:
        assert found() == [()]

    def test_podsets_that_are_alike_are_not_told_apart(self) -> None:
        pair = [demand("x", 1, "a", "b", alike=1), demand("y", 1, "a", "b", alike=1)]
        assert found(*pair, a=2, b=2) == [(("a",), ("a",)), (("a",), ("b",)), (("b",), ("b",))]

    def test_their_order_is_no_dead_end_for_others(self) -> None:
        other, *pair = demand("x", 1, *"abc"), demand("y", 1, *"abc", alike=1), demand("z", 1, *"abc", alike=1)
        ways = [(("a",), ("b",), ("c",)), (("b",), ("a",), ("c",)), (("c",), ("a",), ("b",))]
        assert found(other, *pair, a=1, b=1, c=1) == ways

    def test_nor_in_two_groups(self) -> None:
        one = Demand("x", 1, None, {"cpu": 1, GPU: 1}, (("a", "b"), ("g", "h")), (CPU_GROUP, GPU_GROUP), alike=1)
        unordered = {tuple(sorted(each)) for each in found(one, one, a=2, b=2, g=2, h=2)}
        assert len(found(one, one, a=2, b=2, g=2, h=2)) == len(unordered) == 10

    def test_a_long_search_ends_over_budget(self) -> None:
        # Sums of different sizes that leave no room: nothing but trying tells.
        sizes = [demand(f"p{size}", size, *"abcdefg") for size in range(101, 119)]
        with pytest.raises(OverBudget):
            found(*sizes, **dict.fromkeys("abcdefg", 282))


class TestCost:
    """In steps of the budget, which stands for time (see ``budget.py``)."""

    FLAVORS = tuple(f"f{number}" for number in range(100))

    def test_ample_quota_costs_one_step_a_podset(self) -> None:
        each = [demand(f"p{number}", number, *self.FLAVORS) for number in range(1, 19)]
        assert next(assignments(each, quota(f0=10_000), Budget(18))) == (("f0",),) * 18

    def test_podsets_of_one_size_are_no_harder_than_one(self) -> None:
        # 17 flavors hold one podset each, the sum of what they leave would hold many more.
        each = [demand(f"p{number}", 2, *self.FLAVORS[:17]) for number in range(18)]
        assert found(*each, steps=500, **dict.fromkeys(self.FLAVORS[:17], 3)) == []

    def test_equal_flavors_are_not_tried_one_after_the_other(self) -> None:
        # 66 of 70 in five equal flavors, and no way to divide them: which flavor has which of them tells nothing.
        sizes = enumerate((4, 5, 4, 5, 4, 12, 12, 3, 13, 4))
        each = [demand(f"p{number}", size, *"abcde") for number, size in sizes]
        assert found(*each, steps=400, **dict.fromkeys("abcde", 14)) == []

    def test_a_group_without_any_choice_is_seen_before_those_of_the_others_are_tried(self) -> None:
        each = [
            Demand(f"p{number}", 1, None, {"cpu": 1, GPU: 1}, (self.FLAVORS, ("g",)), (CPU_GROUP, GPU_GROUP))
            for number in range(18)
        ]
        assert found(*each, steps=500, g=17, **dict.fromkeys(self.FLAVORS, 99)) == []


class TestImpossible:
    """The cheap proofs, and the one number that each names."""

    def test_nothing_is_wrong(self) -> None:
        assert impossible([demand("x", 2, "a", "b")], quota(b=2)) is None

    def test_no_flavor_at_all(self) -> None:
        assert impossible([demand("x", 1)], quota()) == Shortage("x", None, None, 0, 0)

    def test_too_large_for_each_the_nearest_is_named(self) -> None:
        assert impossible([demand("x", 8, "a", "b", "c", gpu=4)], quota(a=16, b=31, c=0)) == Shortage(
            "x", "b", GPU, 32, 31
        )

    def test_of_a_flavor_the_scarcest_resource_is_named(self) -> None:
        one = Demand("x", 1, None, {"cpu": 10, "memory": 10}, (("a",),), (CPU_GROUP,))
        assert impossible([one], lambda _, name: 9 if name == "cpu" else 2) == Shortage("x", "a", "memory", 10, 2)

    def test_together_too_large_for_the_one_flavor(self) -> None:
        both = [demand("x", 3, "a"), demand("y", 3, "a")]
        assert impossible(both, quota(a=5)) == Shortage(None, "a", GPU, 6, 5)

    def test_together_too_large_for_all_flavors(self) -> None:
        both = [demand("x", 3, "a", "b"), demand("y", 3, "b")]
        assert impossible(both, quota(a=2, b=3)) == Shortage(None, None, GPU, 6, 5)

    def test_a_group_is_named_by_its_podsets(self) -> None:
        both = [demand("x", 3, "a", group="g"), demand("y", 3, "a", group="g")]
        assert impossible(both, quota(a=5)) == Shortage("x, y", "a", GPU, 6, 5)

    def test_quota_without_bound_is_never_short(self) -> None:
        assert impossible([demand("x", 2**31, "a", gpu=2**62)], quota(a=UNLIMITED)) is None


FLAVORS = ["a", "b", "c"]
RESOURCES = {CPU_GROUP: ["cpu", "memory"], GPU_GROUP: [GPU]}
options = st.lists(st.sampled_from(FLAVORS), unique=True, min_size=1).map(tuple)


@st.composite
def gangs(draw: st.DrawFn) -> list[Demand]:
    made = []
    for index in range(draw(st.integers(1, 4))):
        groups = draw(st.lists(st.sampled_from([CPU_GROUP, GPU_GROUP]), unique=True, min_size=1))
        made.append(
            Demand(
                f"p{index}",
                draw(st.integers(0, 3)),
                draw(st.sampled_from([None, "g"])),
                {name: draw(st.integers(0, 3)) for group in groups for name in RESOURCES[group]},
                tuple(draw(options) for _ in groups),
                tuple(groups),
            )
        )
    return made


limits = st.fixed_dictionaries(
    {(flavor, name): st.integers(0, 12) | st.just(UNLIMITED) for flavor in FLAVORS for name in ("cpu", "memory", GPU)}
)


def sums(demands: list[Demand], chosen: Assignment) -> Mapping[tuple[str, str], int]:
    total: dict[tuple[str, str], int] = {}
    for one, flavors in zip(demands, chosen, strict=True):
        for flavor, group in zip(flavors, one.resources, strict=True):
            for name in group & one.amounts.keys():
                total[flavor, name] = total.get((flavor, name), 0) + one.count * one.amounts[name]
    return total


def together(demands: list[Demand], chosen: Assignment) -> bool:
    """Whether each group of podsets has one flavor of each resource group, which all of them may get."""
    given: dict[tuple[Any, frozenset[str]], set[str]] = {}
    allowed: dict[tuple[Any, frozenset[str]], set[str]] = {}
    for one, flavors in zip(demands, chosen, strict=True):
        for flavor, group, names in zip(flavors, one.resources, one.options, strict=True):
            if one.group is not None:
                given.setdefault((one.group, group), set()).add(flavor)
                allowed[one.group, group] = allowed.get((one.group, group), set(names)) & set(names)
    return all(len(one) == 1 and one <= allowed[key] for key, one in given.items())


def brute_force(demands: list[Demand], quotas: Mapping[tuple[str, str], int]) -> set[Assignment]:
    def holds(chosen: Assignment) -> bool:
        return all(needs <= quotas.get(key, 0) for key, needs in sums(demands, chosen).items())

    every = product(*(product(*one.options) for one in demands))
    return {chosen for chosen in every if together(demands, chosen) and holds(chosen)}


def told(demands: list[Demand], quotas: Mapping[tuple[str, str], int]) -> list[Assignment]:
    return list(assignments(demands, potential(quotas), Budget(10**9)))


def potential(quotas: Mapping[tuple[str, str], int]) -> Callable[[str, str], int]:
    return lambda flavor, resource: quotas.get((flavor, resource), 0)


@settings(max_examples=300)
@given(gangs(), limits)
def test_finds_just_what_trying_all_finds(demands: list[Demand], quotas: dict[tuple[str, str], int]) -> None:
    every = told(demands, quotas)
    assert len(every) == len(set(every))
    assert set(every) == brute_force(demands, quotas)
    if impossible(demands, potential(quotas)) is not None:
        assert every == []


@given(gangs(), limits, st.permutations(range(4)))
def test_the_order_of_podsets_changes_nothing(
    demands: list[Demand], quotas: dict[tuple[str, str], int], order: list[int]
) -> None:
    def by_name(each: list[Demand]) -> set[frozenset[tuple[str, tuple[str, ...]]]]:
        names = [one.name for one in each]
        return {frozenset(zip(names, chosen, strict=True)) for chosen in told(each, quotas)}

    mixed = [demands[which] for which in order if which < len(demands)]
    assert by_name(mixed) == by_name(demands)
    if all(one.group is None for one in demands):
        assert impossible(mixed, potential(quotas)) == impossible(demands, potential(quotas))


@given(gangs(), limits)
def test_of_alike_podsets_every_assignment_is_told_that_looks_different(
    demands: list[Demand], quotas: dict[tuple[str, str], int]
) -> None:
    kinds = demands[:2]
    twins = [
        Demand(f"{one.name}.{copy}", one.count, None, one.amounts, one.options, one.resources, alike=one.name)
        for copy in (1, 2)
        for one in kinds
    ]

    def look(chosen: Assignment) -> tuple[Assignment, ...]:
        return tuple(tuple(sorted(chosen[at :: len(kinds)])) for at in range(len(kinds)))

    looks = [look(chosen) for chosen in told(twins, quotas)]
    assert len(looks) == len(set(looks))
    assert set(looks) == {look(chosen) for chosen in brute_force(twins, quotas)}
