"""Verdicts on one podset in random small clusters: exact where nothing is hidden, and what must hold of any two.

A cluster of real nodes is drawn first; the profile then tells some of the truth about it and hides the rest, and some
nodes are live. That no such world gets a false verdict is for ``tests/soundness`` to show.
"""

from dataclasses import dataclass, field

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from classifier.fit import Outcome, Verdict, World, judge
from tests.builders import (
    GPU,
    JobBuilder,
    ProfileBuilder,
    cluster_queue,
    flavor,
    job,
    local_queue,
    node,
    profile,
    world,
)

RESOURCES = ("cpu", GPU, "pods")
TAINT = {"key": "sku", "value": "gpu", "effect": "NoSchedule"}


@dataclass
class RealPool:
    """``offers``, ``labels`` and ``tainted`` are true of each of its ``nodes`` nodes; the rest is what is told."""

    name: str
    nodes: int
    offers: dict[str, int]
    labels: dict[str, str]
    tainted: bool
    live: int
    told: set[str]
    tells_all_resources: bool
    tells_all_labels: bool
    understates: int


@dataclass
class Gang:
    pods: int
    asks: dict[str, int]
    selector: dict[str, str] = field(default_factory=dict)
    tolerates: bool = False
    alone: bool = False


@st.composite
def real_pools(draw: st.DrawFn, name: str) -> RealPool:
    nodes = draw(st.integers(0, 3))
    live = draw(st.integers(0, nodes))
    return RealPool(
        name=name,
        nodes=nodes,
        offers={"cpu": draw(st.integers(1, 6)), GPU: draw(st.integers(0, 4)), "pods": draw(st.integers(1, 3))},
        labels={"model": draw(st.sampled_from(["a", "b"]))} if draw(st.booleans()) else {},
        tainted=draw(st.booleans()),
        live=live,
        told=draw(st.sets(st.sampled_from(["model", *RESOURCES]))),
        tells_all_resources=draw(st.booleans()),
        tells_all_labels=draw(st.booleans()),
        # A declaration may lag behind reality where a live node shows the truth.
        understates=draw(st.integers(0, 2)) if live else 0,
    )


pool_lists = st.integers(1, 3).flatmap(lambda n: st.tuples(*(real_pools(f"pool-{i}") for i in range(n))))
gangs = st.builds(
    Gang,
    pods=st.integers(1, 6),
    asks=st.fixed_dictionaries({"cpu": st.integers(1, 4), GPU: st.integers(0, 4)}),
    selector=st.sampled_from([{}, {}, {"model": "a"}, {"model": "c"}]),
    tolerates=st.booleans(),
    alone=st.booleans(),
)


def exists_placement(gang: Gang, pools: tuple[RealPool, ...]) -> bool:
    """Exhaustive: every total that some way of giving each node a number of pods reaches. No pool is tainted."""
    totals = {0}
    for pool in pools:
        open_to = all(pool.labels.get(key) == value for key, value in gang.selector.items())
        for _ in range(pool.nodes):
            room = [n for n in range(gang.pods + 1) if n == 0 or (open_to and holds(pool, gang, n))]
            totals = {total + n for total in totals for n in room}
    return any(total >= gang.pods for total in totals)


def holds(pool: RealPool, gang: Gang, pods: int) -> bool:
    if gang.alone and pods > 1:
        return False
    return pods <= pool.offers["pods"] and all(need * pods <= pool.offers[r] for r, need in gang.asks.items())


def declared(pools: tuple[RealPool, ...], closed: bool = True) -> ProfileBuilder:
    told = profile().closed(closed).mode("Enforce")
    for pool in pools:
        offers = {
            resource: max(0, offer - pool.understates)
            for resource, offer in pool.offers.items()
            if pool.tells_all_resources or resource in pool.told
        }
        labels = pool.labels if pool.tells_all_labels or "model" in pool.told else {}
        told.pool(
            pool.name,
            pool.nodes - (1 if pool.understates and pool.live == pool.nodes else 0),
            offers,
            labels={"pool": pool.name},
            allocatableComplete=pool.tells_all_resources,
            labelsComplete=pool.tells_all_labels,
            taints=[TAINT] if pool.tainted else [],
        )
        told.spec["pools"][-1]["node"]["labels"] = labels
    return told


def submitted(gang: Gang) -> JobBuilder:
    built = job().queue("gpu").pods(gang.pods).requests({k: str(v) for k, v in gang.asks.items()})
    if gang.selector:
        built.pod_spec(nodeSelector=gang.selector)
    if gang.tolerates:
        built.pod_spec(tolerations=[{"operator": "Exists"}])
    if gang.alone:
        built.ports(4711, host=True)
    return built


def cluster(pools: tuple[RealPool, ...], told: ProfileBuilder) -> World:
    live = [
        node(f"{pool.name}-{i}", pool=pool.name, **pool.labels).allocatable(pool.offers)
        for pool in pools
        for i in range(pool.live)
    ]
    return world(local_queue(), cluster_queue().group(["cpu", GPU], "a100-scale"), flavor(), told, *live)


def verdict(gang: Gang, pools: tuple[RealPool, ...], told: ProfileBuilder | None = None) -> Verdict:
    return judge(submitted(gang).done(), cluster(pools, told or declared(pools)), now=0)


@settings(max_examples=100, deadline=None)
@given(pool_lists, gangs)
def test_with_nothing_hidden_both_answers_are_exact(pools: tuple[RealPool, ...], gang: Gang) -> None:
    for pool in pools:
        pool.tells_all_resources = pool.tells_all_labels = True
        pool.tainted, pool.understates = False, 0
    found = verdict(gang, pools).outcome
    if exists_placement(gang, pools):
        assert found in (Outcome.FITS, Outcome.FITS_AFTER_SCALE_UP)
    else:
        assert found is Outcome.NEVER_FITS


@settings(max_examples=100, deadline=None)
@given(pool_lists, gangs, st.sampled_from(["nodes", "cpu", GPU, "pods", "fewer pods"]), st.integers(0, 2))
def test_more_room_or_fewer_pods_never_turns_a_gang_impossible(
    pools: tuple[RealPool, ...], gang: Gang, what: str, which: int
) -> None:
    assume(verdict(gang, pools).outcome is not Outcome.NEVER_FITS)
    pool = pools[which % len(pools)]
    if what == "nodes":
        pool.nodes += 1
    elif what == "fewer pods":
        gang.pods = max(1, gang.pods - 1)
    else:
        pool.offers[what] += 1
    assert verdict(gang, pools).outcome is not Outcome.NEVER_FITS


@settings(max_examples=100, deadline=None)
@given(pool_lists, gangs)
def test_the_order_of_pools_and_nodes_does_not_matter(pools: tuple[RealPool, ...], gang: Gang) -> None:
    other = tuple(reversed(pools))
    one, two = verdict(gang, pools), verdict(gang, other)
    assert (one.outcome, one.denied) == (two.outcome, two.denied)


@settings(max_examples=100, deadline=None)
@given(pool_lists, gangs)
def test_an_unknown_pool_in_an_open_world_never_makes_it_impossible(pools: tuple[RealPool, ...], gang: Gang) -> None:
    told = declared(pools, closed=False)
    told.spec["pools"].append({"name": "new", "nodeLabels": {"pool": "new"}})
    assert verdict(gang, pools, told).outcome is not Outcome.NEVER_FITS
