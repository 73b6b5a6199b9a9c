"""Podsets that must share a domain, and slices: rules, and both answers held against brute force."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hypothesis import event, given, settings
from hypothesis import strategies as st

from classifier.fit.budget import STEPS, Budget
from classifier.fit.gang import Podset, TopologyRequest
from classifier.fit.pack import Bin, Fate, Part
from classifier.fit.supplied.pools import Pool
from classifier.fit.topology import (
    HOSTNAME,
    beside,
    certain,
    companies,
    possible,
    slices_at_most,
    slices_surely,
    slices_wanted,
    together,
)
from classifier.objects import PodTemplate
from tests.unit.fit.pack.brute import exists
from tests.unit.fit.topology.pools import RACK, pool, surveyed

RACKS = ("a", "b", "c")


@dataclass
class Truth:
    """``racks``: for each pool its nodes by rack. ``offers``: cpu of a node of each pool."""

    racks: list[dict[str, int]]
    offers: list[int]
    pools: list[Pool]
    parts: list[Part]

    @property
    def bins(self) -> list[Bin]:
        """The pools, as they are packed."""
        return [
            Bin(f"pool-{at}", {"cpu": offer}, sum(racks.values()))
            for at, (racks, offer) in enumerate(zip(self.racks, self.offers, strict=True))
        ]

    def inside(self, rack: str) -> list[Bin]:
        return [replace(one, nodes=racks.get(rack, 0)) for one, racks in zip(self.bins, self.racks, strict=True)]

    def outside(self, rack: str) -> list[Bin]:
        return [
            Bin(f"{one.key}-outside", one.offers, sum(racks.values()) - racks.get(rack, 0))
            for one, racks in zip(self.bins, self.racks, strict=True)
        ]


@st.composite
def truths(draw: st.DrawFn, exact: bool = False) -> Truth:
    """Racks as they are, and pools that tell of them truly: all (``exact``), or only figures that are no less."""
    size = draw(st.integers(1, 3))
    racks = [draw(st.dictionaries(st.sampled_from(RACKS), st.integers(1, 3), min_size=1)) for _ in range(size)]
    pools = []
    for at, one in enumerate(racks):
        told: dict[str, int | None] = {name: n if exact else n + draw(st.integers(0, 1)) for name, n in one.items()}
        live = [name for name, n in one.items() for _ in range(draw(st.integers(0, n)))]
        tells = exact or draw(st.booleans())
        pools.append(pool(sum(one.values()), told if tells else {}, live, name=f"pool-{at}"))
    parts = [
        Part(
            f"part-{i}",
            draw(st.integers(1, 4)),
            {"cpu": draw(st.integers(1, 4))},
            frozenset(draw(st.sets(st.integers(0, size - 1), min_size=1))),
        )
        for i in range(draw(st.integers(1, 2)))
    ]
    return Truth(racks, [draw(st.integers(2, 8)) for _ in range(size)], pools, parts)


@settings(max_examples=80, deadline=None)
@given(truths())
def test_where_no_domain_is_said_to_hold_them_none_does(truth: Truth) -> None:
    found = together(truth.parts, truth.bins, possible(surveyed(*truth.pools)), Budget(STEPS))
    event(found.packing.fate.value)
    if found.packing.fate is Fate.NEVER:
        assert not any(exists(truth.parts, truth.inside(rack)) for rack in RACKS)


@settings(max_examples=60, deadline=None)
@given(truths(exact=True))
def test_with_nothing_hidden_a_domain_is_found_where_there_is_one(truth: Truth) -> None:
    surveys = surveyed(*truth.pools)
    fate = together(truth.parts, truth.bins, possible(surveys), Budget(STEPS)).packing.fate
    holds = any(exists(truth.parts, truth.inside(rack)) for rack in RACKS)
    assert fate is (Fate.FITS if holds else Fate.NEVER)
    everyone = frozenset(part.name for part in truth.parts)
    sure = beside(truth.parts, everyone, truth.bins, certain(surveys), Budget(STEPS))
    assert (sure.packing.fate is Fate.FITS) is holds


@settings(max_examples=60, deadline=None)
@given(truths(exact=True))
def test_a_promise_beside_others_has_a_rack_for_the_one_and_room_for_the_rest(truth: Truth) -> None:
    first = frozenset({truth.parts[0].name})
    found = beside(truth.parts, first, truth.bins, certain(surveyed(*truth.pools)), Budget(STEPS)).packing
    size = len(truth.pools)
    moved = [
        part if part.name in first else replace(part, bins=part.bins | {size + at for at in part.bins})
        for part in truth.parts
    ]
    there = any(exists(moved, truth.inside(rack) + truth.outside(rack)) for rack in RACKS)
    assert (found.fate is Fate.FITS) is there
    assert all(n <= (truth.bins[at].nodes or 0) for at, n in found.nodes.items())


@settings(max_examples=80, deadline=None)
@given(truths(), st.lists(st.integers(0, 4), min_size=3, max_size=3), st.integers(1, 6))
def test_there_are_never_more_slices_than_the_bound(truth: Truth, per_node: list[int], size: int) -> None:
    bound = slices_at_most(surveyed(*truth.pools), per_node[: len(truth.pools)], size)
    assert bound is not None
    assert slices(truth, per_node, size) <= bound


@settings(max_examples=80, deadline=None)
@given(truths(exact=True), st.lists(st.integers(0, 4), min_size=3, max_size=3), st.integers(1, 6))
def test_with_nothing_hidden_the_slices_are_counted(truth: Truth, per_node: list[int], size: int) -> None:
    surveys, pods = surveyed(*truth.pools), per_node[: len(truth.pools)]
    assert slices_at_most(surveys, pods, size) == slices_surely(surveys, pods, size) == slices(truth, per_node, size)


def slices(truth: Truth, per_node: Sequence[int], size: int) -> int:
    return sum(
        sum(racks.get(rack, 0) * pods for racks, pods in zip(truth.racks, per_node, strict=False)) // size
        for rack in RACKS
    )


def test_pods_that_share_a_rack_need_its_nodes_whatever_the_pool_has() -> None:
    bins, part = [Bin("pool", {"gpu": 8}, 4)], Part("w", 3, {"gpu": 8}, frozenset({0}))
    surveys = surveyed(pool(4, {"a": 2, "b": 2}))
    found = together([part], bins, possible(surveys), Budget(STEPS))
    assert (found.packing.fate, found.packing.needs, found.packing.limit) == (Fate.NEVER, 3, 2)
    assert found.domain is not None
    assert found.domain.name == "a"
    undeclared = together([part], bins, possible(surveyed(pool(4))), Budget(STEPS))
    assert undeclared.packing.fate is Fate.FITS


def test_a_group_shares_its_rack() -> None:
    bins = [Bin("pool", {"gpu": 8}, 4)]
    parts = [Part("leader", 1, {"gpu": 5}, frozenset({0})), Part("workers", 2, {"gpu": 8}, frozenset({0}))]
    racks = possible(surveyed(pool(4, {"a": 2, "b": 2})))
    assert all(together([part], bins, racks, Budget(STEPS)).packing.fate is Fate.FITS for part in parts)
    assert together(parts, bins, racks, Budget(STEPS)).packing.fate is Fate.NEVER


def test_pods_that_share_a_node_must_fit_on_one() -> None:
    bins = [Bin("pool", {"gpu": 8}, 4)]
    hosts = possible(surveyed(pool(4), level=HOSTNAME))
    fates = [
        together([Part("w", count, {"gpu": 1}, frozenset({0}))], bins, hosts, Budget(STEPS)).packing.fate
        for count in (8, 9)
    ]
    assert fates == [Fate.FITS, Fate.NEVER]


def test_slices_of_a_node_are_counted_node_by_node() -> None:
    surveys = surveyed(pool(3), level=HOSTNAME)
    assert slices_at_most(surveys, [5], 2) == 6
    assert slices_surely(surveys, [5], 2) == 6
    assert slices_at_most(surveyed(pool(None), level=HOSTNAME), [5], 2) is None
    assert slices_at_most(surveyed(pool(None), level=HOSTNAME), [0], 2) == 0


def test_a_pod_of_a_pool_without_known_domains_completes_one_slice_and_not_each() -> None:
    surveys = surveyed(pool(3, {"a": 1, "b": 1, "c": 1}), pool(1))
    assert slices_at_most(surveys, [2, 1], 3) == 1


def test_a_domain_that_could_not_be_searched_in_time_leaves_it_unknown() -> None:
    bins = [Bin("large", {"cpu": 12}, 2), Bin("small", {"cpu": 1}, 1)]
    parts = [Part(str(size), 2, {"cpu": size}, frozenset({0, 1})) for size in (5, 4, 3)]
    racks = possible(surveyed(pool(2, {"a": 2}), pool(1, {"b": 1})))
    assert [one.name for one in racks] == ["a", "b"]
    assert together(parts, bins, racks, Budget(STEPS)).packing.fate is Fate.FITS
    assert together(parts, bins, racks, Budget(90)).packing.fate is Fate.UNKNOWN


def test_kueue_asks_a_domain_for_whole_slices_only() -> None:
    assert slices_wanted(5, 2) == 2
    assert slices_wanted(5, 2, surely=True) == 3


def test_podsets_of_a_group_keep_company_and_others_have_their_own() -> None:
    def podset(name: str, required: str | None, group: str | None = None) -> Podset:
        request = TopologyRequest(required=required, group=group, asked=True)
        return Podset(name, 1, 1, PodTemplate(), "team", topology=request)

    podsets = [
        podset("a", RACK, "g"),
        podset("b", RACK),
        podset("c", RACK, "g"),
        podset("d", None),
        podset("e", RACK),
    ]
    found = [(level, [one.name for one in some]) for level, some in companies(podsets)]
    assert found == [(RACK, ["a", "c"]), (RACK, ["b"]), (RACK, ["e"])]
