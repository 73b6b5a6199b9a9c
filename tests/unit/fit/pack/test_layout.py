"""A layout that is kept says of other counts what a new one does."""

from dataclasses import replace

from hypothesis import event, given, settings
from hypothesis import strategies as st

from classifier.fit.budget import STEPS, Budget
from classifier.fit.pack import Bin, Fate, Layout, Part, pack
from tests.unit.fit.pack.brute import worlds

World = tuple[list[Part], list[Bin]]
GI = 1 << 30
NODE = {"cpu": 96_000, "memory": 800 * GI, "gpu": 8}


@settings(max_examples=150, deadline=None)
@given(worlds(endless=True), st.lists(st.lists(st.integers(0, 9), min_size=4, max_size=4), min_size=1, max_size=4))
def test_packed_again_with_other_counts(world: World, turns: list[list[int]]) -> None:
    parts, bins = world
    parts = sorted(parts, key=lambda part: part.name)
    layout = Layout(parts, bins, {})
    for counts in turns:
        gang = [replace(part, count=count) for part, count in zip(parts, counts, strict=False)]
        fresh, kept = Budget(STEPS), Budget(STEPS)
        found = pack(gang, bins, kept, layout)
        event(found.fate.value)
        assert found == pack(gang, bins, fresh)
        assert kept.left == fresh.left


def part(name: str, count: int, gpus: int, memory: int, *, bins: int = 3) -> Part:
    return Part(name, count, {"gpu": gpus, "memory": memory * GI, "cpu": 1000}, frozenset(range(bins)))


def test_nodes_that_differ_in_what_never_runs_out_fill_up_alike() -> None:
    """Three sizes of memory, of which the smallest is enough for whatever uses all devices."""
    bins = [Bin(f"{at}", {**NODE, "memory": (800 + 100 * at) * GI}, 3) for at in range(3)]
    parts = [part("a", 7, 5, 400), part("b", 7, 3, 100), part("c", 3, 2, 200)]
    known: dict[object, object] = {}
    layout = Layout(parts, bins, known)
    assert pack(parts, bins, Budget(STEPS), layout).nodes == {0: 3, 1: 3, 2: 2}
    assert layout.empty(0) is layout.empty(1) is layout.empty(2)


def test_nodes_that_one_part_tells_apart_do_not() -> None:
    bins = [Bin("0", {**NODE, "memory": 400 * GI}, 3), Bin("1", NODE, 3)]
    parts = [
        replace(part("a", 1, 4, 400), bins=frozenset((0, 1))),
        replace(part("b", 1, 4, 10), bins=frozenset((0, 1))),
    ]
    layout = Layout(parts, bins, {})
    assert pack(parts, bins, Budget(STEPS), layout).fate is Fate.FITS
    assert layout.takes(layout.empty(0), 0) == 1
    assert layout.takes(layout.empty(1), 0) == 2


def test_all_that_is_kept_is_counted() -> None:
    """By whoever bounds it: counts below what a node holds, and nodes begun."""
    known: dict[object, object] = {}
    bins = [Bin("0", NODE, 100)]
    parts = [Part("a", 1, {"cpu": 1000}, frozenset((0,))), Part("b", 1, {"cpu": 1001}, frozenset((0,)))]
    layout = Layout(parts, bins, known)
    for count in range(1, 50):
        pack([replace(one, count=count) for one in parts], bins, Budget(STEPS), layout)
    kept = sum(len(some) for some in layout._fewer) + len({id(one) for one in layout._empty.values()})
    assert len(known) > kept > 90
