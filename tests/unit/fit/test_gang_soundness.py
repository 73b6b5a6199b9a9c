"""What must hold of any two verdicts on gangs of several podsets in random small worlds. That each is true is for
``tests/soundness`` to show."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from classifier.fit import Outcome, Verdict, World, judge
from tests.builders import GPU, cluster_queue, flavor, local_queue, profile, world
from tests.unit.fit.gangs import gang, part

NEVER = Outcome.NEVER_FITS


@dataclass(frozen=True)
class Nodes:
    """``count`` nodes of one kind, as declared; all is told."""

    count: int
    cpu: int
    gpus: int


@dataclass(frozen=True)
class Offered:
    name: str
    pools: tuple[Nodes, ...]
    quota: dict[str, int] = field(hash=False)


@dataclass(frozen=True)
class Pods:
    count: int
    cpu: int
    gpus: int
    port: int | None
    pinned: str | None


nodes = st.builds(Nodes, count=st.integers(0, 2), cpu=st.integers(1, 6), gpus=st.integers(0, 3))
podsets = st.builds(
    Pods,
    count=st.integers(1, 3),
    cpu=st.integers(1, 4),
    gpus=st.integers(0, 2),
    port=st.sampled_from([None, None, None, 80, 81]),
    pinned=st.sampled_from([None, None, None, "f0", "f1"]),
)


@st.composite
def offers(draw: st.DrawFn) -> tuple[Offered, ...]:
    quotas = st.fixed_dictionaries({"cpu": st.sampled_from([3, 6, 99]), GPU: st.sampled_from([1, 3, 99])})
    return tuple(
        Offered(f"f{at}", tuple(draw(st.lists(nodes, min_size=1, max_size=2))), draw(quotas))
        for at in range(draw(st.integers(1, 2)))
    )


gangs = st.lists(podsets, min_size=1, max_size=3).map(tuple)


def cluster(offered: Sequence[Offered], closed: bool = True, unknown_pool: bool = False) -> World:
    queue = cluster_queue()
    queue.spec["resourceGroups"] = [
        {
            "coveredResources": ["cpu", GPU],
            "flavors": [
                {
                    "name": one.name,
                    "resources": [{"name": name, "nominalQuota": quota} for name, quota in one.quota.items()],
                }
                for one in offered
            ],
        }
    ]
    told = []
    for one in offered:
        own = profile(one.name, one.name).closed(closed).mode("Enforce")
        for at, pool in enumerate(one.pools):
            shape = {"cpu": pool.cpu, GPU: pool.gpus, "pods": 99}
            own.pool(f"{one.name}-{at}", pool.count, shape, allocatableComplete=True)
            own.spec["pools"][-1]["nodeLabels"] = {"flavor": one.name, "pool": f"{one.name}-{at}"}
        if unknown_pool:
            own.spec["pools"].append({"name": "new", "nodeLabels": {"flavor": one.name, "pool": "new"}})
        told.append(own)
    flavors = [flavor(one.name).node_labels(flavor=one.name) for one in offered]
    return world(local_queue(), queue, *flavors, *told)


def verdict(pods: Sequence[Pods], told: World) -> Verdict:
    parts = []
    for at, one in enumerate(pods):
        requests = {"cpu": one.cpu} | ({GPU: one.gpus} if one.gpus else {})
        built = part(f"p{at}", one.count, requests)
        spec = built["template"]["spec"]["template"]["spec"]
        if one.port is not None:
            spec["containers"][0]["ports"] = [{"containerPort": 1, "hostPort": one.port}]
        if one.pinned is not None:
            spec["nodeSelector"] = {"flavor": one.pinned}
        parts.append(built)
    return judge(gang(*parts), told, now=0)


@settings(max_examples=100, deadline=None)
@given(gangs, offers(), st.randoms(use_true_random=False))
def test_the_order_of_podsets_pools_and_flavors_does_not_matter(
    pods: tuple[Pods, ...], offered: tuple[Offered, ...], random: Random
) -> None:
    before = verdict(pods, cluster(offered))
    shuffled = list(pods)
    random.shuffle(shuffled)
    turned = [replace(one, pools=one.pools[::-1]) for one in offered[::-1]]
    after = verdict(shuffled, cluster(turned))
    assert (before.outcome, before.denied) == (after.outcome, after.denied)


@settings(max_examples=100, deadline=None)
@given(gangs, offers(), st.sampled_from(["count", "cpu", "gpus", "quota", "fewer pods"]), st.integers(0, 5))
def test_more_room_or_fewer_pods_never_turns_a_gang_impossible(
    pods: tuple[Pods, ...], offered: tuple[Offered, ...], what: str, which: int
) -> None:
    fewer = list(pods)
    roomier = list(offered)
    at = which % len(offered)
    one = offered[at]
    if what == "fewer pods":
        which %= len(pods)
        fewer[which] = replace(pods[which], count=max(1, pods[which].count - 1))
    elif what == "quota":
        roomier[at] = replace(one, quota={name: quota + 1 for name, quota in one.quota.items()})
    else:
        grown = replace(one.pools[0], **{what: getattr(one.pools[0], what) + 1})
        roomier[at] = replace(one, pools=(grown, *one.pools[1:]))
    if verdict(fewer, cluster(roomier)).outcome is NEVER:
        assert verdict(pods, cluster(offered)).outcome is NEVER


@settings(max_examples=100, deadline=None)
@given(gangs, offers())
def test_an_unknown_pool_in_an_open_world_leaves_only_quota_and_flavors_to_deny_by(
    pods: tuple[Pods, ...], offered: tuple[Offered, ...]
) -> None:
    found = verdict(pods, cluster(offered, closed=False, unknown_pool=True))
    assert found.outcome is not NEVER or found.binding in ("quota", "selector")
