"""Who comes next: due keys first, namespaces in turn, nothing lost and nothing twice."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.lanes import STRAIGHT, Lanes


def namespace(key: str) -> str:
    return key.partition("/")[0]


def order(lanes: Lanes[str]) -> list[str]:
    return [lanes.pop()[0] for _ in range(len(lanes))]


def filled(*keys: str, due: tuple[str, ...] = ()) -> Lanes[str]:
    lanes = Lanes(namespace)
    for key in keys:
        lanes.push(key)
    for key in due:
        lanes.push(key, due=True)
    return lanes


def test_one_hot_namespace_starves_no_other() -> None:
    lanes = filled(*(f"hot/{n}" for n in range(1000)), "calm/a", "calm/b")
    assert order(lanes)[:4] == ["hot/0", "calm/a", "hot/1", "calm/b"]


def test_what_is_due_comes_before_what_has_changed() -> None:
    assert order(filled("a/1", "a/2", due=("b/1", "b/2"))) == ["b/1", "b/2", "a/1", "a/2"]


def test_the_earliest_deadline_of_a_namespace_comes_first() -> None:
    assert order(filled(due=("a/early", "a/later", "a/last"))) == ["a/early", "a/later", "a/last"]


def test_a_storm_of_deadlines_lets_changes_through() -> None:
    lanes = filled("a/changed", due=tuple(f"b/{n}" for n in range(10)))
    assert order(lanes).index("a/changed") == STRAIGHT


def test_a_key_that_falls_due_while_it_waits_goes_ahead_and_comes_once() -> None:
    assert order(filled("a/1", "a/2", "a/3", due=("a/3",))) == ["a/3", "a/1", "a/2"]


def test_a_due_key_that_changes_stays_due() -> None:
    lanes = filled("a/1", due=("a/2",))
    lanes.push("a/2")
    assert [lanes.pop(), lanes.pop()] == [("a/2", True), ("a/1", False)]


def test_nothing_waits_after_the_last() -> None:
    lanes = filled("a/1", due=("a/1",))
    lanes.pop()
    assert not len(lanes)
    with pytest.raises(IndexError):
        lanes.pop()


_KEYS = st.sampled_from([f"{n}/{k}" for n in "abc" for k in "123"])


@given(st.lists(st.tuples(st.sampled_from(["push", "due", "pop"]), _KEYS), max_size=80))
def test_every_key_comes_once_for_each_time_it_waited(steps: list[tuple[str, str]]) -> None:
    lanes, waiting, due = Lanes(namespace), Counter[str](), set[str]()
    for what, key in steps:
        if what == "pop":
            if not waiting:
                continue
            popped, was_due = lanes.pop()
            assert waiting.pop(popped) == 1
            assert was_due == (popped in due)
            due.discard(popped)
        else:
            lanes.push(key, due=what == "due")
            waiting[key] = 1
            if what == "due":
                due.add(key)
        assert len(lanes) == len(waiting)
    assert sorted(order(lanes)) == sorted(waiting)


@given(st.lists(_KEYS, unique=True))
def test_while_it_waits_a_namespace_sees_no_other_come_twice(changed: list[str]) -> None:
    since: dict[str, list[str]] = {namespace(key): [] for key in changed}
    for here in map(namespace, order(filled(*changed))):
        assert len(set(since[here])) == len(since[here])
        since[here] = []
        for other in since.keys() - {here}:
            since[other].append(here)
