"""What is known of the domains of a level: the most nodes one may have, and those that surely are in it."""

import pytest

from classifier.fit.supplied.pools import Pool
from classifier.fit.topology import HOSTNAME, Domain, certain, possible
from tests.unit.fit.topology.pools import BLOCK, RACK, pool, surveyed


def most(*pools: Pool, level: str = RACK) -> dict[str | None, tuple[int | None, ...]]:
    return {one.name: one.nodes for one in possible(surveyed(*pools, level=level))}


@pytest.mark.parametrize(
    ("declared", "nodes"),
    [
        pytest.param(pool(3, {"a": 2, "b": 1}), {"a": (2,)}, id="as declared, the largest"),
        pytest.param(pool(3), {None: (3,)}, id="undeclared: all in one"),
        pytest.param(pool(None, {"a": 2}), {None: (None,)}, id="no maximum: no limit"),
        pytest.param(pool(4, {"a": 2, "b": 1}), {None: (4,)}, id="domains that do not add up to the pool"),
        pytest.param(pool(3, {"a": 9, "b": 1}), {"a": (3,)}, id="no domain is larger than the pool"),
        pytest.param(pool(2, {"a": 1, "b": None}), {"b": (2,)}, id="a domain of any size"),
        pytest.param(pool(2, {"a": 1, "b": 1}, live=["a", "a"]), {"a": (2,)}, id="live nodes raise a domain"),
        pytest.param(pool(2, {"a": 1, "b": 1}, live=["c"]), {None: (2,)}, id="a live node in a domain nobody declared"),
        pytest.param(pool(2, {"a": 1, "b": 1}, live=[None]), {"a": (1,)}, id="a node without the label is in none yet"),
        pytest.param(
            pool(2, {"a": 1, "b": 1}, level="other"), {None: (2,)}, id="domains of a level not in the topology"
        ),
        pytest.param(pool(2, {"a": 1, "b": 1}, level=BLOCK), {"a": (1,)}, id="who shares a rack shares the block"),
        pytest.param(pool(3, live=["a", "a", "b"], stray=True, level=None), {"a": (2,)}, id="nodes of no profile"),
        pytest.param(pool(2, live=["a", None], stray=True, level=None), {None: (2,)}, id="of which one has no label"),
    ],
)
def test_no_domain_has_more_nodes_than(declared: Pool, nodes: dict[str | None, tuple[int | None, ...]]) -> None:
    assert most(declared) == nodes


def test_racks_bound_no_block() -> None:
    assert most(pool(2, {"a": 1, "b": 1}), level=BLOCK) == {None: (2,)}


def test_domains_of_one_name_in_two_pools_are_one() -> None:
    assert most(pool(2, {"a": 1, "b": 1}), pool(3, {"a": 1, "c": 2})) == {"a": (1, 1), "c": (0, 2)}


def test_a_pool_of_unknown_domains_may_be_wherever_the_others_are() -> None:
    assert most(pool(2, {"a": 2}), pool(3)) == {"a": (2, 3)}


def test_every_node_is_a_domain_of_the_hostname_level() -> None:
    pools = [pool(2, name="x"), pool(0, name="y"), pool(None, name="z")]
    assert most(*pools, level=HOSTNAME) == {"a node of x": (1, 0, 0), "a node of z": (0, 0, 1)}
    assert most(pool(0), level=HOSTNAME) == {None: (0,)}


@pytest.mark.parametrize(
    ("declared", "level", "domains"),
    [
        pytest.param(pool(3, {"a": 2, "b": 1}), RACK, [Domain("a", (2,))], id="as declared"),
        pytest.param(pool(3), RACK, [], id="undeclared: none"),
        pytest.param(pool(3, live=["a", "a", "b"]), RACK, [Domain("a", (2,))], id="where nodes stand"),
        pytest.param(pool(3, {"a": 3}, sure=1), RACK, [Domain("a", (1,))], id="no more than the pool promises"),
        pytest.param(pool(3, {"a": None}), RACK, [], id="a domain of any size promises nothing"),
        pytest.param(pool(3, {"a": 2, "b": 1}), BLOCK, [Domain("a", (2,))], id="a rack lies within a block"),
        pytest.param(pool(3, {"a": 3}, level=BLOCK), RACK, [], id="a block may be many racks"),
        pytest.param(pool(3, name="x"), HOSTNAME, [Domain("a node of x", (1,))], id="a node"),
    ],
)
def test_surely_there_is_a_domain_with(declared: Pool, level: str, domains: list[Domain]) -> None:
    assert certain(surveyed(declared, level=level)) == domains


def test_nodes_that_were_not_seen_lately_promise_nothing() -> None:
    assert certain(surveyed(pool(3, live=["a", "a"]), recent=False)) == []


def test_a_thousand_racks_of_a_few_sizes_are_a_few_domains() -> None:
    racks: dict[str, int | None] = {f"rack-{at:04}": 1 + at % 3 for at in range(1000)}
    other: dict[str, int | None] = {f"rack-{at:04}": 3 - at % 3 for at in range(1000)}
    assert most(pool(1999, racks), pool(1999, other)) == {
        "rack-0000": (1, 3),
        "rack-0001": (2, 2),
        "rack-0002": (3, 1),
    }
