"""Which flavors a podset may have where topology-aware scheduling has a word in it."""

import pytest

from classifier.fit.gang import TopologyRequest
from classifier.fit.topology import refusal, scattered, starved, tas_only
from classifier.objects import ResourceFlavor
from tests.builders import cluster_queue, flavor, topology
from tests.unit.fit.topology.pools import BLOCK, RACK, pool, surveyed

TREE = topology("tree", BLOCK, RACK, "kubernetes.io/hostname").done()
ASKED = TopologyRequest(asked=True)


def tas_flavor(name: str = "tas", tree: str = "tree") -> ResourceFlavor:
    built = flavor(name)
    built.spec["topologyName"] = tree
    return built.done()


@pytest.mark.parametrize(
    ("request_", "tas", "only", "why"),
    [
        pytest.param(None, False, False, None, id="neither asks nor has one"),
        pytest.param(None, True, True, None, id="every flavor of the queue has one"),
        pytest.param(None, True, None, None, id="a flavor of the queue is not known"),
        pytest.param(None, True, False, "has topologyName tree", id="not asked for"),
        pytest.param(ASKED, True, False, None, id="asked for"),
        pytest.param(ASKED, False, False, "has no topologyName", id="the flavor has none"),
        pytest.param(TopologyRequest(required=RACK, asked=True), True, False, None, id="the level is there"),
        pytest.param(
            TopologyRequest(required="zone", asked=True), True, True, "tree of flavor tas has no level zone", id="level"
        ),
        pytest.param(
            TopologyRequest(slice_level="zone", slice_size=2, asked=True), True, True, "no level zone", id="slice level"
        ),
        pytest.param(
            TopologyRequest(required=RACK, slice_level=BLOCK, slice_size=2, asked=True),
            True,
            True,
            "are wider than",
            id="slices wider than the whole",
        ),
        pytest.param(
            TopologyRequest(required=BLOCK, slice_level=RACK, slice_size=2, asked=True),
            True,
            True,
            None,
            id="slices narrower than the whole",
        ),
    ],
)
def test_kueue_gives_a_podset_a_flavor_only_with_the_topology_it_asks_for(
    request_: TopologyRequest | None, tas: bool, only: bool | None, why: str | None
) -> None:
    found = refusal(request_, tas_flavor() if tas else flavor("plain").done(), {"tree": TREE}, only=only)
    assert (found is None) if why is None else (found is not None and why in found)


def test_a_group_that_counts_nothing_the_pods_request_needs_no_topology() -> None:
    assert refusal(ASKED, flavor("credits").done(), {}, only=False, overlaps=False) is None


def test_a_topology_that_does_not_exist_refuses_whoever_asks_for_one() -> None:
    assert refusal(ASKED, tas_flavor(), {}, only=False) == "Topology tree of flavor tas is not found"


def test_a_queue_is_all_topology_only_if_every_flavor_is_known_to_have_one() -> None:
    queue = cluster_queue().group(["cpu"], "tas", "other").done()
    assert tas_only(queue, {"tas": tas_flavor(), "other": tas_flavor("other")}) is True
    assert tas_only(queue, {"tas": tas_flavor(), "other": flavor("other").done()}) is False
    assert tas_only(queue, {"tas": tas_flavor()}) is None
    assert tas_only(queue, {"other": flavor("other").done()}) is False


def test_a_topology_flavor_without_nodes_or_provisioning_admits_nothing() -> None:
    labels = {BLOCK: "b", RACK: "r"}
    assert "admits nothing" in (starved(tas_flavor(), TREE, [], provisioned=False) or "")
    assert "admits nothing" in (starved(tas_flavor(), TREE, [{RACK: "r"}], provisioned=False) or "")
    assert starved(tas_flavor(), TREE, [labels], provisioned=False) is None
    assert starved(tas_flavor(), TREE, [], provisioned=True) is None
    assert starved(tas_flavor(), TREE, None, provisioned=False) is None
    assert starved(flavor("plain").done(), TREE, [], provisioned=False) is None


def test_the_autoscaler_is_warned_of_where_a_pool_may_grow_in_several_domains() -> None:
    assert "several domains" in (scattered(RACK, surveyed(pool(2, {"a": 1, "b": 1})), 2) or "")
    assert "several domains" in (scattered(RACK, surveyed(pool(2)), 2) or "")
    assert scattered(RACK, surveyed(pool(2, {"a": 2})), 2) is None
    assert scattered(RACK, surveyed(pool(2)), 1) is None
    assert scattered("kubernetes.io/hostname", surveyed(pool(2)), 2) is None
