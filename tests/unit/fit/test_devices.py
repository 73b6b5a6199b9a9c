"""Extended resources that a driver's ResourceSlices have and no node lists: a DeviceClass stands for them."""

from typing import Any

import pytest

from classifier import api
from classifier.fit import Outcome, World
from classifier.objects import DeviceClass
from tests.builders import GPU, Builder, cluster_queue, gpu_world, job, node, profile
from tests.unit.fit.cases import NEVER, UNKNOWN, verdict

BARE = {"cpu": "94", "pods": "110"}
FPGA = "example.com/fpga"


def device_class(name: str = "any", resource: str | None = None) -> Builder[DeviceClass]:
    built = Builder(DeviceClass, api.DEVICE_CLASSES, name)
    if resource is not None:
        built.spec["extendedResourceName"] = resource
    return built


def complete(*more: Builder[Any], **listed: str) -> World:
    """Two nodes at most, said to have nothing but what is listed."""
    told = profile().closed().mode("Enforce").pool(allocatable={**BARE, **listed}, allocatableComplete=True)
    queue = cluster_queue().group(["cpu", "memory", GPU, FPGA, "deviceclass.resource.kubernetes.io/fpga"], "a100-scale")
    return gpu_world(queue, *more, profile=told)


def outcome(world: World, resource: str = FPGA, each: int = 1, pods: int = 1) -> Outcome:
    return verdict(job().queue("gpu").pods(pods).requests({"cpu": "1", resource: each}), world).outcome


@pytest.mark.parametrize(
    ("classes", "found"),
    [
        ([], NEVER),
        ([device_class("fpga")], NEVER),
        ([device_class("fpga", GPU)], NEVER),
        ([device_class("fpga", FPGA)], UNKNOWN),
    ],
)
def test_a_resource_that_a_class_stands_for_is_not_0_where_no_node_lists_it(
    classes: list[Builder[DeviceClass]], found: Outcome
) -> None:
    assert outcome(complete(*classes)) is found
    assert outcome(complete(*classes, **{FPGA: "0"})) is found
    stray = node("stray", agentpool="gpupool").allocatable(BARE)
    assert outcome(complete(*classes, stray)) is found


def test_every_class_may_be_asked_for_by_its_own_name() -> None:
    name = "deviceclass.resource.kubernetes.io/fpga"
    assert outcome(complete(), name) is NEVER
    assert outcome(complete(device_class("fpga")), name) is UNKNOWN


def test_what_is_declared_of_it_binds_all_the_same() -> None:
    world = complete(device_class("fpga", FPGA), **{FPGA: "4"})
    assert outcome(world, each=5) is NEVER
    assert outcome(world, each=4, pods=3) is NEVER


def test_where_classes_may_not_be_read_any_device_may_have_one() -> None:
    hidden = complete()
    hidden.unread = frozenset({api.DEVICE_CLASSES})
    assert outcome(hidden) is UNKNOWN
    assert outcome(hidden, "memory") is NEVER


def test_a_class_that_comes_is_seen_at_once() -> None:
    world = complete()
    assert outcome(world) is NEVER
    world.device_classes = {"fpga": device_class("fpga", FPGA).done()}
    assert outcome(world) is UNKNOWN


def test_a_stray_node_may_have_devices_that_it_does_not_list() -> None:
    """Beside a pool that lists them: two nodes of eight, and who knows how many on the third."""
    stray = node("stray", sku="gpu").allocatable(BARE)
    world = gpu_world(stray, device_class("gpu", GPU))
    flavor = world.flavors["a100-scale"]
    assert flavor.spec is not None
    flavor.spec.node_labels = {"sku": "gpu"}
    assert outcome(world, GPU, each=8, pods=3) is UNKNOWN
