"""The autoscaler's status ConfigMap: both forms, whose groups are whose, and what garbage says."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from classifier.fit.facts import Sources, backoff_of, refined_max
from classifier.fit.facts.autoscaler import MAX_LENGTH, parse
from classifier.fit.facts.reading import count, parse_time
from classifier.fit.world import World
from classifier.instant import MINUTE, parse_instant
from tests.builders import T0, config_map
from tests.unit.fit.facts.statuses import (
    AKS,
    SINCE,
    SOURCE,
    backing_off,
    document,
    go_time,
    group,
    old_text,
    pool,
    status_map,
    told,
)

EKS = "eks-gpupool-0ac1b2d3-1111-2222-3333-444455556666"
GKE = "https://www.googleapis.com/compute/v1/projects/p/zones/z-{}/instanceGroups/gke-big-one-gpupool-0a1b2c3{}-grp"
CAPI = "MachineDeployment/infra/gpupool"


@pytest.mark.parametrize("text", [document(group()), old_text()], ids=["yaml", "text"])
def test_both_forms_give_maximum_target_counts_source_and_time(text: str) -> None:
    found = told(text)
    assert found is not None
    assert (found.max_nodes, found.target, found.nodes, found.ready) == (2, 1, 1, 1)
    assert (found.source, found.observed_at, found.backoff) == (SOURCE, T0, None)
    assert found.fresh(T0 + 2 * MINUTE)
    assert found.binds


def test_a_backoff_tells_since_when_and_why() -> None:
    found = told(document(backing_off()))
    assert found is not None
    assert found.backoff is not None
    assert (found.backoff.group, found.backoff.since, found.backoff.code) == (AKS, SINCE, "QuotaExceeded")
    assert found.backoff.message == "the region has no more of these"
    assert found.backoff.until == SINCE + 30 * MINUTE


def test_the_old_text_tells_of_a_backoff_too_and_not_of_the_clusters() -> None:
    quiet, backed = told(old_text()), told(old_text(scale_up="Backoff"))
    assert quiet is not None
    assert quiet.backoff is None
    assert backed is not None
    assert backed.backoff is not None
    assert (backed.backoff.group, backed.backoff.since) == (AKS, SINCE)


def test_one_zone_in_backoff_leaves_the_others_to_grow() -> None:
    zones = pool(node_groups=["a", "b"])
    one = told(document(backing_off("a"), group("b")), zones)
    both = told(document(backing_off("a"), backing_off("b")), zones)
    assert one is not None
    assert (one.backoff, one.hint) == (None, "1 of 2 node groups in backoff")
    assert both is not None
    assert both.backoff is not None
    assert both.hint is None


@pytest.mark.parametrize(
    ("names", "labels", "most", "binds"),
    [
        ([AKS], {"agentpool": "gpupool"}, 2, True),
        ([AKS], {"kubernetes.azure.com/agentpool": "gpupool"}, 2, True),
        ([EKS], {"eks.amazonaws.com/nodegroup": "gpupool"}, 2, True),
        # One group a zone; a cluster's name may end as a pool's does, so that only raises.
        ([GKE.format("a", 1), GKE.format("b", 2)], {"cloud.google.com/gke-nodepool": "gpupool"}, 4, False),
        ([CAPI], {"any": "label"}, 2, False),
        # What the test autoscalers call a group: the label's value.
        (["gpupool"], {"any": "gpupool"}, 2, False),
        # By the pool's own name, where no label tells the platform: a likeness, no more.
        ([AKS], {"any": "label"}, 2, False),
        ([AKS], {"agentpool": "other"}, 2, False),
    ],
)
def test_platforms_name_their_groups_after_pools(
    names: list[str], labels: dict[str, str], most: int, binds: bool
) -> None:
    found = told(document(*(group(name) for name in names)), pool(labels=labels))
    assert found is not None
    assert (found.max_nodes, found.binds) == (most, binds)


def test_a_pool_that_no_group_is_known_of_has_no_fact_and_not_zero() -> None:
    assert told(document(group("aks-cpupool-00000001-vmss"))) is None
    assert told(document()) is None
    assert told(document(group("x")), pool(node_groups=["y"])) is None


def test_the_ids_of_the_profile_count_and_no_likeness() -> None:
    named = pool(node_groups=["one", "two"])
    found = told(document(group("one", most=3), group("two", most=4), group(AKS, most=50)), named)
    assert found is not None
    assert (found.max_nodes, found.target, found.binds) == (7, 2, True)


def test_the_end_of_a_url_names_a_group_too() -> None:
    url = GKE.format("a", 1)
    found = told(document(group(url)), pool(node_groups=[url.rpartition("/")[2]]))
    assert found is not None
    assert (found.max_nodes, found.binds) == (2, True)


def test_a_sum_that_lacks_a_group_only_raises() -> None:
    named = pool(node_groups=["one", "gone"])
    found = told(document(group("one", most=3)), named)
    assert found is not None
    assert (found.max_nodes, found.target, found.binds) == (3, None, False)
    assert refined_max(None, "p", [found], T0).nodes is None
    assert refined_max(2, "p", [found], T0) == (3, SOURCE)
    assert refined_max(9, "p", [found], T0) == (9, "p")


def test_a_group_without_a_maximum_bounds_nothing() -> None:
    found = told(document(group(most=None)))
    assert found is not None
    assert (found.max_nodes, found.binds) == (None, False)


def test_of_a_group_listed_twice_the_larger_maximum_stands() -> None:
    for pair in ([group(most=5), group(most=2)], [group(most=2), group(most=5)]):
        found = told(document(*pair))
        assert found is not None
        assert found.max_nodes == 5


@pytest.mark.parametrize(
    "text",
    [
        document(backing_off(most=3), at=T0 - 2 * MINUTE - 1),
        document(backing_off(most=3), at=T0 + 3 * MINUTE),
        document(backing_off(most=3), autoscalerStatus="Initializing"),
        document(backing_off(most=3), time=None),
        document(backing_off(most=3), time="yesterday"),
    ],
    ids=["stale", "ahead of us", "starting", "no time", "nonsense time"],
)
def test_what_does_not_speak_of_now_raises_and_does_nothing_else(text: str) -> None:
    found = told(text)
    assert found is not None
    assert not found.fresh(T0)
    assert backoff_of([found], T0) is None
    assert refined_max(None, "p", [found], T0).nodes is None
    assert refined_max(2, "p", [found], T0).nodes == 3


def test_a_longer_scan_interval_allows_older_figures() -> None:
    found = told(document(group(), at=T0 - 4 * MINUTE))
    assert found is not None
    assert not found.fresh(T0)
    assert found.fresh(T0, scan_interval=MINUTE)


def test_the_annotation_stands_in_for_a_missing_time() -> None:
    marked = config_map("cluster-autoscaler-status", "kube-system", status=document(group(), time=None))
    marked.metadata(annotations={"cluster-autoscaler.kubernetes.io/last-updated": go_time(T0)})
    assert parse(marked.done()).observed_at == T0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Initializing",
        "- a\n- b",
        "a: [b",
        "a: &x {b: c}\nd: *x",
        "a: &a [" + "x," * 9 + "]\nb: &b [" + "*a," * 9 + "]",
        "? [a]\n: b",
        "[" * 100_000,
        "{" * 5_000,
        "- " * 50_000,
        "a: !!python/object/apply:os.system [ls]",
        "nodeGroups: 7",
        "nodeGroups: [7, null, {}, {name: []}, {name: ''}]",
        "autoscalerStatus: Running\nnodeGroups:\n- name: x\n  health: [1]\n  scaleUp: yes",
        "\x00",
        "a: \ud800",
        "Cluster-autoscaler status at ",
        "Cluster-autoscaler status at never:\nNodeGroups:\n  Name:        x\n  Health:      (((((",
        "x" * (MAX_LENGTH + 1),
    ],
)
def test_garbage_says_nothing(text: str) -> None:
    assert told(text) is None


def test_a_status_that_cannot_be_read_says_why() -> None:
    assert "aliases" in (parse(status_map("a: &x 1\nb: *x").done()).fault or "")
    assert "levels deep" in (parse(status_map("a: " + "[" * 40 + "]" * 40).done()).fault or "")
    assert "no mapping" in (parse(status_map("free text").done()).fault or "")
    assert "no key status" in (parse(config_map("a", "b").done()).fault or "")
    assert parse(status_map(document(group())).done()).fault is None


@pytest.mark.parametrize("figure", ["-1", "1.5", "0x10", "1e3", "99999999999", str(2**31), "٣", [], None, 3, "", " 1"])
def test_a_figure_that_is_no_count_is_not_known(figure: Any) -> None:
    assert count(figure) is None


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("2026-11-29 10:00:00 +0000 UTC", "2026-11-29T10:00:00Z"),
        ("2026-11-29 10:00:00.123456789 +0000 UTC", "2026-11-29T10:00:00.123Z"),
        ("2026-11-29 11:30:00.5 +0130 +0130", "2026-11-29T10:00:00.5Z"),
        ("2026-11-29 10:00:00 +0000 UTC m=+12.979835247", "2026-11-29T10:00:00Z"),
        ("2026-11-29T10:00:00Z", "2026-11-29T10:00:00Z"),
        ("0001-01-01 00:00:00 +0000 UTC", None),
        ("2026-13-29 10:00:00 +0000 UTC", None),
        (None, None),
        (7, None),
    ],
)
def test_times_come_in_gos_own_form_or_in_rfc3339(text: Any, at: str | None) -> None:
    assert parse_time(text) == (parse_instant(at) if at else None)


_ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.datetimes(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.sampled_from(["name", "health", "scaleUp", "nodeGroups", "time"]), _ODD, max_size=5), _ODD)
def test_no_shape_of_a_status_raises(entry: dict[str, Any], odd: Any) -> None:
    told(document(entry, group() | {"health": odd}, group() | {"scaleUp": odd}, nodeGroups=[entry, odd], time=odd))
    told(document(entry, group() | {"health": odd}, group() | {"scaleUp": odd}))


@settings(max_examples=100, deadline=None)
@given(st.text(), st.text(max_size=40), st.integers(0, 900))
def test_no_text_raises(text: str, more: str, at: int) -> None:
    for base in (document(backing_off()), old_text(scale_up="Backoff")):
        told(text)
        told(base[:at] + more + base[at:])
        told(base[:at])


def test_thousands_of_groups_are_read_once() -> None:
    groups = [group(f"aks-pool{i}-00000001-vmss") for i in range(1500)]
    world = World(autoscaler_status=status_map(document(*groups)).done())
    sources = Sources(world)
    assert [sources.of(pool(f"pool{i}"))[0].max_nodes for i in range(1500)] == [2] * 1500
    asked = pool("pool7")
    assert sources.of(asked) is sources.of(asked)
    assert sources.current(world)
    assert not sources.current(replace(world, autoscaler_status=status_map("").done()))
    assert not sources.current(replace(world, node_pools={}))
