"""What ``pack`` proves is true and what it promises exists, held against brute force."""

from dataclasses import replace

from hypothesis import event, given, settings
from hypothesis import strategies as st

from classifier.fit.budget import STEPS, Budget
from classifier.fit.pack import Bin, Fate, Packing, Part, pack
from tests.unit.fit.pack.brute import exists, shuffled, worlds

World = tuple[list[Part], list[Bin]]


def packed(world: World, steps: int = STEPS) -> Packing:
    return pack(*world, Budget(steps))


@settings(max_examples=200, deadline=None)
@given(worlds())
def test_never_means_that_no_packing_exists_and_fits_that_one_does(world: World) -> None:
    found = packed(world)
    event(f"{found.fate.value}{' tight' if found.tight else ''} alone={found.part is not None}")
    if found.fate is not Fate.UNKNOWN:
        assert exists(*world) is (found.fate is Fate.FITS)


@settings(max_examples=100, deadline=None)
@given(worlds(most_parts=2))
def test_of_two_shapes_in_a_small_world_nothing_stays_unknown(world: World) -> None:
    assert packed(world).fate is not Fate.UNKNOWN


@settings(max_examples=60, deadline=None)
@given(worlds(endless=True))
def test_the_nodes_it_says_it_uses_are_there_and_are_enough(world: World) -> None:
    parts, bins = world
    found = packed(world)
    if found.fate is Fate.FITS:
        assert all(n > 0 and (bins[i].nodes is None or n <= (bins[i].nodes or 0)) for i, n in found.nodes.items())
        assert exists(parts, [replace(one, nodes=found.nodes.get(i, 0)) for i, one in enumerate(bins)])


@settings(max_examples=60, deadline=None)
@given(worlds())
def test_a_proof_needs_no_parts_and_bins_but_those_it_names(world: World) -> None:
    parts, bins = world
    found = packed(world)
    if found.fate is Fate.NEVER:
        named = [part for part in parts if part.name in found.parts]
        assert named
        assert not exists(named, bins)
        assert all(part.bins & found.bins for part in named)
        if found.binding == "nodes":
            assert found.needs is not None
            assert found.limit is not None
            assert found.needs > found.limit


@settings(max_examples=60, deadline=None)
@given(worlds(), st.integers(0, 12))
def test_a_starved_search_may_not_know_but_never_errs(world: World, steps: int) -> None:
    plenty = sum(len(part.bins) for part in world[0]) + 100
    found = packed(world, plenty + steps)
    if found.fate is not Fate.UNKNOWN:
        assert exists(*world) is (found.fate is Fate.FITS)


@settings(max_examples=60, deadline=None)
@given(worlds(), st.permutations(range(4)))
def test_the_order_of_parts_and_bins_does_not_matter(world: World, order: list[int]) -> None:
    parts, bins = world
    order = [index for index in order if index < len(bins)]
    one, two = packed(world), packed(shuffled(parts, bins, order))
    assert (one.fate, one.binding, one.part, one.resource, one.needs, one.limit, one.parts, one.tight) == (
        two.fate,
        two.binding,
        two.part,
        two.resource,
        two.needs,
        two.limit,
        two.parts,
        two.tight,
    )
    assert {bins[i].key: n for i, n in one.nodes.items()} == {bins[order[i]].key: n for i, n in two.nodes.items()}


@settings(max_examples=60, deadline=None)
@given(worlds(), st.sampled_from(["node", "offer", "pod", "bin", "part"]), st.integers(0, 3))
def test_more_room_or_fewer_pods_never_turns_a_fit_into_a_proof(world: World, what: str, at: int) -> None:
    parts, bins = world
    if packed(world).fate is not Fate.FITS:
        return
    part, one = parts[at % len(parts)], bins[at % len(bins)]
    if what == "node":
        bins[bins.index(one)] = replace(one, nodes=(one.nodes or 0) + 1)
    elif what == "offer":
        bins[bins.index(one)] = replace(one, offers={name: offer + 1 for name, offer in one.offers.items()})
    elif what == "pod":
        parts[parts.index(part)] = replace(part, count=part.count - 1)
    elif what == "bin":
        parts[parts.index(part)] = replace(part, bins=frozenset(range(len(bins))))
    else:
        parts.remove(part)
    assert packed(world).fate is Fate.FITS


@settings(max_examples=60, deadline=None)
@given(worlds())
def test_a_bin_without_end_takes_whatever_part_may_stand_in_it(world: World) -> None:
    parts, bins = world
    bins.append(Bin("cloud", {}, None))
    parts = [replace(part, bins=part.bins | {len(bins) - 1}) for part in parts]
    assert pack(parts, bins, Budget(STEPS)).fate is Fate.FITS
