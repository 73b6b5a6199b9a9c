"""The line of each pool: how many nodes of how many, and what an autoscaler adds to that."""

from typing import Any

from classifier.fit.facts import Sources
from classifier.report.pools import count_pools
from tests.builders import T0, Builder, gpu_profile, node, profile, world
from tests.unit.fit.facts.statuses import SINCE, SOURCE, backing_off, document, group, old_text, status_map


def line(*objects: Builder[Any], declared: int | None = 2, nodes: bool = True, now: int = T0) -> str:
    found = world(profile().pool(max_nodes=declared), *objects, nodes=nodes)
    (count,) = count_pools(None, found.profiles, found.nodes, Sources(found), now)
    return count.line


def test_without_an_autoscaler_the_profile_and_the_nodes_speak() -> None:
    up, down = node("a", agentpool="gpupool"), node("b", agentpool="gpupool").ready(False)
    assert line() == "Node pool gpupool: 0/2 nodes"
    assert line(up, down) == "Node pool gpupool: 1/2 nodes (1 not ready)"
    assert line(nodes=False) == "Node pool gpupool: ?/2 nodes (may not be read)"
    assert line(declared=None) == "Node pool gpupool: 0/? nodes"
    found = world(gpu_profile())
    assert [one.line for one in count_pools(None, found.profiles, found.nodes)] == ["Node pool gpupool: 0/2 nodes"]


def test_a_backoff_is_told_with_its_begin_and_cause() -> None:
    begin = "Node pool gpupool: 0/2 nodes; node group in backoff since 2026-11-29T09:58:30Z"
    assert SINCE == T0 - 90_000
    assert line(status_map(document(backing_off()))) == f"{begin} (QuotaExceeded)"
    assert line(status_map(old_text(scale_up="Backoff"))) == begin
    assert line(status_map(document(backing_off())), now=T0 + 300_000) == "Node pool gpupool: 0/2 nodes"


def test_a_maximum_that_is_not_the_profiles_names_who_says_it() -> None:
    larger, smaller = status_map(document(group(most=5))), status_map(document(group(most=1)))
    assert line(larger) == f"Node pool gpupool: 0/5 nodes (maximum by {SOURCE})"
    assert line(smaller) == "Node pool gpupool: 0/2 nodes"
    assert line(larger, declared=None) == f"Node pool gpupool: 0/5 nodes (maximum by {SOURCE})"


def test_a_backoff_in_one_zone_is_told_though_the_others_may_grow() -> None:
    zones = profile().pool()
    zones.spec["pools"][0]["nodeGroups"] = ["a", "b"]
    found = world(zones, status_map(document(backing_off("a"), group("b"))))
    (count,) = count_pools(None, found.profiles, found.nodes, Sources(found), T0)
    assert count.line.endswith(f"; 1 of 2 node groups in backoff ({SOURCE})")
