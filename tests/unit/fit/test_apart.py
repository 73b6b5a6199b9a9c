"""Pools that may be promised beside each other: as the definition has it, of any two that come."""

from collections.abc import Mapping, Sequence

from hypothesis import given
from hypothesis import strategies as st

from classifier.fit.budget import STEPS, Budget
from classifier.fit.judging.apart import apart
from classifier.fit.judging.choice import Ground
from classifier.fit.matching.match import Labels
from classifier.fit.supplied.live import Live
from classifier.fit.supplied.pools import Pool

Drawn = tuple[str, Mapping[str, str], Sequence[str]]


def ground(flavor: str, labels: Mapping[str, str], nodes: Sequence[str] = ()) -> Ground:
    """A pool that a profile declares; with ``nodes``, these live ones, which none does."""
    lives = [Live(name, dict(labels), [], {}, True, "") for name in nodes]
    pool = Pool(
        name="pool",
        source="CapacityProfile/p",
        labels=Labels(labels),
        taints=[],
        upper={},
        lower={},
        complete=False,
        max_nodes=1,
        declared_nodes=1,
        sure_nodes=1,
        max_source="CapacityProfile/p",
        ready=0,
        lives=lives,
        stray=bool(nodes),
    )
    return Ground(pool, {}, flavor)


def told_apart(one: Ground, other: Ground) -> bool:
    mine, theirs = one.pool.labels.known, other.pool.labels.known
    return any(mine[key] != theirs[key] for key in mine.keys() & theirs.keys())


def by_definition(places: Sequence[Ground]) -> list[int]:
    kept: list[int] = []
    for at in (*_where(places, stray=False), *_where(places, stray=True)):
        place = places[at]
        others = [places[one] for one in kept]
        declared = [one for one in others if not one.pool.stray and one.flavor != place.flavor]
        names = {live.name for one in others if one.pool.stray for live in one.pool.lives}
        own = {live.name for live in place.pool.lives if place.pool.stray}
        if all(told_apart(one, place) for one in declared) and not names & own:
            kept.append(at)
    return sorted(kept)


def _where(places: Sequence[Ground], *, stray: bool) -> list[int]:
    return [at for at, place in enumerate(places) if place.pool.stray is stray]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(("f0", "f1", "f2")),
            st.dictionaries(st.sampled_from(("pool", "zone", "sku")), st.sampled_from(("a", "b")), max_size=3),
            st.one_of(st.just(()), st.lists(st.sampled_from(("n0", "n1", "n2")), min_size=1, unique=True)),
        ),
        max_size=12,
    )
)
def test_each_is_surely_other_nodes_than_those_before_it(drawn: list[Drawn]) -> None:
    places = [ground(*one) for one in drawn]
    assert apart(places, Budget(STEPS)) == by_definition(places)


def test_a_label_that_one_of_two_does_not_tell_tells_nothing() -> None:
    assert apart([ground("a", {"pool": "x"}), ground("b", {"zone": "y"})], Budget(STEPS)) == [0]
    assert apart([ground("a", {"pool": "x"}), ground("b", {"pool": "y"})], Budget(STEPS)) == [0, 1]
    assert apart([ground("a", {"pool": "x"}), ground("a", {"pool": "x"})], Budget(STEPS)) == [0, 1]


def test_one_of_its_own_flavor_does_not_speak_for_one_of_another() -> None:
    """Both are in zone z, and told apart by their pools, of which the third says nothing."""
    both = [ground("a", {"pool": "x", "zone": "z"}), ground("b", {"pool": "y", "zone": "z"})]
    assert apart([*both, ground("a", {"zone": "z"})], Budget(STEPS)) == [0, 1]
    assert apart([*both, ground("a", {"zone": "other"})], Budget(STEPS)) == [0, 1, 2]


def test_a_live_node_may_be_one_of_those_declared_for_another_flavor_wherever_they_stand() -> None:
    live, declared = ground("a", {"pool": "x"}, ["n0"]), ground("b", {"pool": "x"})
    assert apart([live, declared], Budget(STEPS)) == [1]
    assert apart([declared, live], Budget(STEPS)) == [0]
