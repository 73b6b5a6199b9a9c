"""Who comes next: due keys first, what can wait last, namespaces in turn, nothing lost and nothing twice."""

import gc
import weakref

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.lanes import SELDOM, STRAIGHT, Lane, Lanes


def namespace(key: str) -> str:
    return key.partition("/")[0]


def order(lanes: Lanes[str]) -> list[str]:
    return [lanes.pop()[0] for _ in range(len(lanes))]


def filled(*keys: str, due: tuple[str, ...] = (), later: tuple[str, ...] = ()) -> Lanes[str]:
    lanes = Lanes(namespace)
    for lane, those in ((Lane.CHANGED, keys), (Lane.DUE, due), (Lane.LATER, later)):
        for key in those:
            lanes.push(key, lane)
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
    assert [lanes.pop(), lanes.pop()] == [("a/2", Lane.DUE), ("a/1", Lane.CHANGED)]


def test_what_can_wait_comes_after_all_others() -> None:
    assert order(filled("a/changed", due=("b/due",), later=("c/later",))) == ["b/due", "a/changed", "c/later"]


def test_what_can_wait_has_its_turn_however_much_else_there_is() -> None:
    others = tuple(f"b/{n}" for n in range(3 * SELDOM))
    for many in (filled(due=others), filled(*others)):
        for key in ("c/1", "c/2"):
            many.push(key, Lane.LATER)
        found = order(many)
        assert (found.index("c/1"), found.index("c/2")) == (SELDOM - 1, 2 * SELDOM - 1)


def test_what_can_wait_is_looked_at_at_once_when_it_changes() -> None:
    lanes = filled("a/1", later=("a/2", "a/3"))
    lanes.push("a/3")
    assert [lanes.pop() for _ in range(3)] == [("a/1", Lane.CHANGED), ("a/3", Lane.CHANGED), ("a/2", Lane.LATER)]


def test_how_many_wait_where() -> None:
    lanes = filled("a/1", "a/2", due=("a/2",), later=("a/3", "a/2"))
    assert [lanes.waits(lane) for lane in Lane] == [1, 1, 1]
    lanes.pop()
    assert [lanes.waits(lane) for lane in Lane] == [0, 1, 1]


def test_a_key_that_became_more_urgent_is_kept_nowhere_afterwards() -> None:
    """Else a lane whose turn does not come holds every key that ever waited there."""

    class Key(str):
        """Can be referred to weakly."""

    key = Key("a/1")
    gone = weakref.ref(key)
    lanes = filled(later=(key,))
    lanes.push(key)
    lanes.pop()
    del key
    gc.collect()
    assert gone() is None


def test_nothing_waits_after_the_last() -> None:
    lanes = filled("a/1", due=("a/1",), later=("a/1",))
    lanes.pop()
    assert not len(lanes)
    with pytest.raises(IndexError):
        lanes.pop()


_KEYS = st.sampled_from([f"{n}/{k}" for n in "abc" for k in "123"])


@given(st.lists(st.tuples(st.sampled_from([*Lane, None]), _KEYS), max_size=120))
def test_every_key_comes_once_for_each_time_it_waited_from_its_most_urgent_lane(
    steps: list[tuple[Lane | None, str]],
) -> None:
    lanes, waiting = Lanes(namespace), dict[str, Lane]()
    for lane, key in steps:
        if lane is not None:
            lanes.push(key, lane)
            waiting[key] = min(lane, waiting.get(key, lane))
        elif waiting:
            popped, of = lanes.pop()
            assert waiting.pop(popped) is of
        assert len(lanes) == len(waiting)
        assert [lanes.waits(one) for one in Lane] == [list(waiting.values()).count(one) for one in Lane]
    assert sorted(order(lanes)) == sorted(waiting)


@given(st.lists(_KEYS, unique=True))
def test_while_it_waits_a_namespace_sees_no_other_come_twice(changed: list[str]) -> None:
    since: dict[str, list[str]] = {namespace(key): [] for key in changed}
    for here in map(namespace, order(filled(*changed))):
        assert len(set(since[here])) == len(since[here])
        since[here] = []
        for other in since.keys() - {here}:
            since[other].append(here)
