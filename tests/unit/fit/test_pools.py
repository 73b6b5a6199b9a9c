"""Which figures count: declared, observed, reserved, hidden (reference/capacity.md §3.1)."""

import pytest

from classifier.fit import Outcome, Verdict, World, judge
from tests.builders import (
    GPU,
    GPU_NODE,
    NodeBuilder,
    flavor,
    gpu_profile,
    gpu_world,
    job,
    node,
    profile,
)

NEVER, UNKNOWN, FITS, GROWS = Outcome.NEVER_FITS, Outcome.UNKNOWN, Outcome.FITS, Outcome.FITS_AFTER_SCALE_UP
SIXTEEN = {**GPU_NODE, GPU: "16"}


def gpus(pods: int, each: int, world: World) -> Verdict:
    return judge(job().queue("gpu").pods(pods).gpus(each).done(), world, now=0)


def member(name: str = "a") -> NodeBuilder:
    return node(name, agentpool="gpupool")


def test_a_larger_live_node_refutes_the_declaration() -> None:
    assert gpus(1, 16, gpu_world()).outcome is NEVER
    assert gpus(1, 16, gpu_world(member().allocatable(SIXTEEN))).outcome is UNKNOWN


def test_a_smaller_live_node_does_not_lower_the_bound() -> None:
    broken = member().allocatable({**GPU_NODE, GPU: "7"})
    assert gpus(2, 8, gpu_world(broken)).outcome is GROWS


def test_capacity_stands_in_for_allocatable() -> None:
    bare = member()
    bare._raw["status"] = {"capacity": SIXTEEN}
    assert gpus(1, 16, gpu_world(bare)).outcome is UNKNOWN


def test_more_nodes_than_the_maximum_count() -> None:
    three = gpu_world(member("a"), member("b"), member("c"))
    found = gpus(3, 8, three)
    assert found.outcome is FITS
    assert found.pod_sets[0].limit == 3
    assert gpus(4, 8, three).pod_sets[0].source == "Node/c"


def test_a_node_of_the_flavor_outside_every_pool_counts() -> None:
    labelled = flavor().node_labels(sku="gpu")
    shown = profile().closed().pool()
    stray = node("stray", sku="gpu")
    assert gpus(3, 8, gpu_world(labelled, profile=shown)).outcome is NEVER
    assert gpus(3, 8, gpu_world(labelled, stray, profile=shown)).outcome is GROWS


def test_a_node_without_the_device_is_no_room_for_it() -> None:
    plain = node("control-plane").allocatable({"cpu": "8", "memory": "16Gi", "pods": "110"})
    assert gpus(3, 8, gpu_world(flavor(), plain)).outcome is NEVER


def test_a_live_label_refutes_a_declared_one() -> None:
    told = profile().closed().pool(labelsComplete=True)
    wanted = job().queue("gpu").gpus(8).pod_spec(nodeSelector={"model": "h100"}).done()
    assert judge(wanted, gpu_world(profile=told), now=0).outcome is NEVER
    shown = gpu_world(member().label("model", "h100"), profile=told)
    assert judge(wanted, shown, now=0).outcome is UNKNOWN


def test_a_live_label_refutes_a_declared_one_even_where_others_are_not_known() -> None:
    """The zone is the cloud's to set, perhaps in a moment: this node does not rule itself out."""
    told = profile().closed().pool()
    told.spec["pools"][0]["nodeLabels"] = {"agentpool": "gpupool"}
    told.spec["pools"][0]["node"]["labels"] = {"model": "a100"}
    asks = {"model": "h100", "topology.kubernetes.io/zone": "a"}
    wanted = job().queue("gpu").gpus(8).pod_spec(nodeSelector=asks).done()
    assert judge(wanted, gpu_world(profile=told), now=0).outcome is NEVER
    assert judge(wanted, gpu_world(member().label("model", "h100"), profile=told), now=0).outcome is UNKNOWN


def test_what_daemons_surely_take_is_gone() -> None:
    reserved = profile().closed().pool(daemonSetReserve={"cpu": "4", "pods": 100})
    asks = job().queue("gpu").requests({"cpu": "91"})
    found = judge(asks.done(), gpu_world(profile=reserved), now=0)
    assert found.pod_sets[0].limit == "90"
    assert (
        judge(job().queue("gpu").pods(21).requests({"cpu": 1}).done(), gpu_world(profile=reserved), 0).outcome is NEVER
    )


@pytest.mark.parametrize(("complete", "outcome"), [(False, UNKNOWN), (True, NEVER)])
def test_a_resource_not_listed_is_absent_only_where_the_list_is_complete(complete: bool, outcome: Outcome) -> None:
    told = profile().closed().pool(allocatable={"cpu": "94", "pods": "110"}, allocatableComplete=complete)
    assert gpus(1, 8, gpu_world(profile=told)).outcome is outcome


NO_PODS = {"cpu": "94", GPU: "8"}


@pytest.mark.parametrize("live", [{}, {"pods": "30"}, {"pods": "250"}])
def test_how_many_pods_a_node_takes_is_never_left_out_on_purpose(live: dict[str, str]) -> None:
    """No list of what a node has says 0 ``pods`` by not naming them, nor is the one node that stands the largest."""
    told = profile().closed().mode("Enforce").pool(allocatable=NO_PODS, allocatableComplete=True)
    nodes = [member().allocatable({**NO_PODS, **live})] if live else []
    assert gpus(2, 8, gpu_world(*nodes, profile=told)).outcome is GROWS
    many = job().queue("gpu").pods(300).requests({"cpu": "1m"}).done()
    assert judge(many, gpu_world(*nodes, profile=told), now=0).outcome is UNKNOWN


def test_kubelets_default_is_what_may_be_promised_of_pods() -> None:
    told = profile().closed().pool(allocatable=NO_PODS, allocatableComplete=True)
    small = job().queue("gpu").requests({"cpu": "1m"})
    assert judge(small.pods(220).done(), gpu_world(profile=told), now=0).outcome is GROWS
    assert judge(small.pods(221).done(), gpu_world(profile=told), now=0).outcome is UNKNOWN


def test_declared_pods_bind() -> None:
    told = profile().closed().pool(allocatable={**NO_PODS, "pods": 5}, allocatableComplete=True)
    assert (
        judge(job().queue("gpu").pods(11).requests({"cpu": "1m"}).done(), gpu_world(profile=told), 0).outcome is NEVER
    )


def test_live_nodes_tell_what_a_profile_leaves_out() -> None:
    told = profile().closed().pool(allocatable={GPU: "8"})
    asks = job().queue("gpu").pods(2).requests({GPU: 8, "cpu": 64}).done()
    assert judge(asks, gpu_world(profile=told), now=0).outcome is UNKNOWN
    assert judge(asks, gpu_world(member(), profile=told), now=0).outcome is GROWS


def test_where_nodes_may_not_be_read_the_declaration_stands_alone() -> None:
    blind = gpu_world()
    blind.nodes = None
    assert gpus(2, 8, blind).outcome is GROWS
    assert gpus(3, 8, blind).denied


def test_a_cordoned_node_is_not_ready_but_still_a_node() -> None:
    cordoned = member("a")
    cordoned.spec["unschedulable"] = True
    assert gpus(2, 8, gpu_world(cordoned, member("b"))).outcome is GROWS


def test_several_profiles_of_one_flavor_add_up() -> None:
    second = profile("more").pool("second", 1, labels={"agentpool": "second"})
    assert gpus(3, 8, gpu_world(flavor(), second)).outcome is GROWS
    assert gpus(4, 8, gpu_world(flavor(), second)).outcome is UNKNOWN  # not both are closed


@pytest.mark.parametrize("queues", [[], ["gpu-a100"], ["another"]])
def test_a_profile_speaks_for_the_queues_it_names(queues: list[str]) -> None:
    told = gpu_profile().queues(*queues)
    expected = Outcome.SKIPPED if queues == ["another"] else NEVER
    assert gpus(3, 8, gpu_world(profile=told)).outcome is expected


# Nodes that were not seen lately, or not at all yet.


def not_lately(world: World) -> World:
    world.nodes_recent = False
    return world


@pytest.mark.parametrize("large", [{}, {GPU: "16"}])
def test_nodes_not_seen_lately_raise_every_bound_they_raised(large: dict[str, str]) -> None:
    shapes = [member(name).allocatable({**GPU_NODE, **large}).label("model", "h100") for name in "abc"]
    told = profile().closed().mode("Enforce").pool(labelsComplete=True)
    for pods, each in ((3, 8), (2, 16), (1, 16)):
        fresh = gpus(pods, each, gpu_world(*shapes, profile=told)).outcome
        assert (gpus(pods, each, not_lately(gpu_world(*shapes, profile=told))).outcome is NEVER) is (fresh is NEVER)
    wanted = job().queue("gpu").gpus(8).pod_spec(nodeSelector={"model": "h100"}).done()
    assert judge(wanted, not_lately(gpu_world(*shapes, profile=told)), now=0).outcome is UNKNOWN


def test_nodes_not_seen_lately_are_not_ready() -> None:
    two = [member("a"), member("b")]
    assert gpus(2, 8, gpu_world(*two)).outcome is FITS
    assert gpus(2, 8, not_lately(gpu_world(*two))).outcome is GROWS


def test_nodes_beyond_what_is_declared_are_promised_only_while_they_are_seen() -> None:
    three = [member("a"), member("b"), member("c")]
    found = gpus(3, 8, not_lately(gpu_world(*three)))
    assert found.outcome is UNKNOWN
    assert found.reason == "gang fits only with nodes that were not seen lately"
    strays = [node(name, sku="gpu") for name in "ab"]
    labelled = flavor().node_labels(sku="gpu")
    told = profile().closed().pool("elsewhere", 0)
    assert gpus(2, 8, gpu_world(labelled, *strays, profile=told)).outcome is FITS
    assert gpus(2, 8, not_lately(gpu_world(labelled, *strays, profile=told))).outcome is UNKNOWN


def test_nodes_not_listed_yet_keep_proofs_from_counting() -> None:
    awaited = gpu_world()
    awaited.nodes, awaited.nodes_awaited = None, True
    found = gpus(3, 8, awaited)
    assert (found.outcome, found.denied) == (UNKNOWN, False)
    assert found.reason == "gang needs 3 node(s) of gpupool (max 2), but the nodes are not listed yet"
    assert gpus(2, 8, awaited).outcome is GROWS


def test_of_pods_that_name_their_node_kubelet_takes_those_whose_devices_it_does_not_know() -> None:
    told = gpu_profile()
    told.spec["pools"][0]["node"]["allocatableComplete"] = True
    named = job().queue("gpu").pods(2).gpus(16).pod_spec(nodeName="gpu-1").done()
    assert judge(named, gpu_world(profile=told), now=0).outcome is UNKNOWN
    large = job().queue("gpu").requests({"cpu": "95"}).pod_spec(nodeName="gpu-1").done()
    assert judge(large, gpu_world(profile=told), now=0).outcome is NEVER
