"""What a profile's status says of its pools, from which object, and where that differs from what is declared."""

from typing import Any

import pytest

from classifier.fit import World
from classifier.fit.facts import Sources
from classifier.fit.facts.nodes import NodePools
from classifier.instant import HOUR, MINUTE, format_instant
from classifier.objects import PoolStatus
from classifier.report.pool_status import drift, pool_statuses
from classifier.report.profiles import ProfileCondition
from tests.builders import GPU, GPU_NODE, T0, Builder, NodeBuilder, ProfileBuilder, gpu_profile, node, profile, world
from tests.unit.fit.facts.statuses import SINCE, SOURCE, backing_off, document, group, status_map

PROFILE = "CapacityProfile/gpu-a100-8"
AT = format_instant(T0)


def statuses(found: World, now: int = T0) -> list[PoolStatus]:
    return pool_statuses(found.profiles[0], Sources(found), NodePools(found.nodes), now)


def status(*objects: Builder[Any], shown: ProfileBuilder | None = None, now: int = T0) -> PoolStatus:
    (one,) = statuses(world(shown or gpu_profile(), *objects), now)
    return one


def told(*objects: Builder[Any], shown: ProfileBuilder | None = None, now: int = T0) -> ProfileCondition:
    found = world(shown or gpu_profile(), *objects)
    return drift(found.profiles[0], Sources(found), NodePools(found.nodes), now)


def member(name: str = "a", **allocatable: str) -> NodeBuilder:
    return node(name, agentpool="gpupool").allocatable({**GPU_NODE, **allocatable})


def test_a_pool_nobody_else_knows_is_what_the_profile_says() -> None:
    assert status() == PoolStatus(
        name="gpupool", nodes=0, ready_nodes=0, max_nodes=2, source=f"{PROFILE}, Nodes", observed_at=AT
    )


def test_live_nodes_are_counted_and_the_ready_ones() -> None:
    found = status(member("a"), member("b").ready(False))
    assert (found.nodes, found.ready_nodes, found.max_nodes) == (2, 1, 2)


def test_where_nodes_may_not_be_read_none_are_counted() -> None:
    (found,) = statuses(world(gpu_profile(), nodes=False))
    assert (found.nodes, found.ready_nodes, found.source) == (None, None, PROFILE)


def test_the_autoscaler_adds_target_time_and_a_larger_maximum() -> None:
    found = status(member(), status_map(document(group(most=5, target=3), at=T0 - 7_000)))
    assert (found.nodes, found.target_nodes, found.max_nodes) == (1, 3, 5)
    assert (found.source, found.observed_at) == (f"{SOURCE}, Node/a", format_instant(T0 - 7_000))


def test_a_backoff_shows_since_when_and_until_when_at_most() -> None:
    found = status(status_map(document(backing_off())))
    assert (found.backoff_since, found.backoff_until) == (format_instant(SINCE), format_instant(SINCE + 30 * MINUTE))
    later = status(status_map(document(backing_off(), at=T0 + HOUR)), now=T0 + HOUR)
    assert (later.backoff_since, later.backoff_until) == (format_instant(SINCE), None)


def test_what_the_autoscaler_said_long_ago_only_raises_the_maximum() -> None:
    found = status(status_map(document(backing_off(most=5, target=3), at=T0 - HOUR)))
    assert (found.target_nodes, found.backoff_since, found.max_nodes) == (None, None, 5)
    assert found.observed_at == AT


def test_a_fresh_maximum_stands_in_for_an_undeclared_one() -> None:
    silent = profile().pool(max_nodes=None)
    assert status(status_map(document(group(most=5))), shown=silent).max_nodes == 5
    stale = status(status_map(document(group(most=5), at=T0 - HOUR)), shown=silent)
    assert (stale.max_nodes, stale.source) == (None, "Nodes")


def test_every_pool_has_one_entry_in_the_profiles_order() -> None:
    shown = profile().pool("b").pool("a").pool("b")
    assert [one.name for one in statuses(world(shown))] == ["b", "a"]


# --- drift --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "objects",
    [
        (),
        (member(),),
        (member(cpu="95"), member("b", cpu="80")),
        # A device that is down is not drift while the node still has it, nor one that is not set up yet.
        (member(**{GPU: "0"}),),
        (status_map(document(group(most=2))),),
        (status_map(document(group(most=9), at=T0 - HOUR)),),
        (status_map("free text"),),
    ],
    ids=["nothing known", "as declared", "kept back", "not set up", "same maximum", "stale", "garbage"],
)
def test_what_agrees_or_is_not_known_is_no_drift(objects: tuple[Builder[Any], ...]) -> None:
    assert (told(*objects).status, told(*objects).reason) == ("False", "NothingDiffers")


@pytest.mark.parametrize(
    ("objects", "says"),
    [
        ((status_map(document(group(most=3))),), f"pool gpupool: maxNodes is 2, {SOURCE} says 3"),
        ((status_map(document(group(most=1))),), f"pool gpupool: maxNodes is 2, {SOURCE} says 1"),
        ((member("a"), member("b"), member("c")), "pool gpupool: maxNodes is 2, 3 nodes exist"),
        ((member(**{GPU: "4"}),), f"pool gpupool: node.allocatable[{GPU}] is 8, Node/a shows 4"),
        ((member(), member("b", **{GPU: "16"})), f"pool gpupool: node.allocatable[{GPU}] is 8, Node/b shows 16"),
        ((member(cpu="128"),), "pool gpupool: node.allocatable[cpu] is 94, Node/a shows 128"),
    ],
)
def test_what_differs_is_named_with_who_says_so(objects: tuple[Builder[Any], ...], says: str) -> None:
    found = told(*objects)
    assert (found.status, found.reason, found.message) == ("True", "PoolsDiffer", says)


def test_a_device_that_is_down_is_counted_by_the_nodes_capacity() -> None:
    hurt = member(**{GPU: "7"})
    hurt._raw["status"]["capacity"] = {GPU: "8"}
    assert told(hurt).status == "False"
