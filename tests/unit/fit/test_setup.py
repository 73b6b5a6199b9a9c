"""What is wrong with the setup is told to the administrator, whatever jobs there are."""

import pytest

from classifier import api
from classifier.fit import World
from classifier.fit.setup import MOST, setup_faults
from tests.builders import (
    GPU,
    GPU_NODE,
    T0,
    Builder,
    ProfileBuilder,
    check,
    cluster_queue,
    cohort,
    flavor,
    gpu_profile,
    gpu_queues,
    gpu_world,
    node,
    profile,
    topology,
    world,
)
from tests.unit.fit.facts.statuses import AKS, document, group, status_map


def told(found: World) -> list[str]:
    """The faults of the one profile; no other has any."""
    faults = setup_faults(found, T0)
    assert faults.keys() <= {"gpu-a100-8"}
    return faults.get("gpu-a100-8", [])


def quota(amount: int, profile: ProfileBuilder | None = None, *more: Builder) -> World:  # type: ignore[type-arg]
    """The demonstration's world, its queue with so much of every resource."""
    queue = cluster_queue().group(["cpu", "memory", GPU], "a100-scale", quota=amount)
    return world(queue, flavor().node_labels(agentpool="gpupool"), profile or gpu_profile(), *more)


def test_a_sound_setup_has_no_fault() -> None:
    assert setup_faults(gpu_world(), T0) == {}


def test_no_quota_for_a_pool_that_may_have_nodes() -> None:
    assert f"ClusterQueue gpu-a100 has no quota of {GPU} in flavor a100-scale, whose pool may have nodes" in told(
        quota(0)
    )
    assert told(quota(1)) == []


def test_no_quota_for_a_pool_that_may_have_none_is_no_fault() -> None:
    assert told(quota(0, profile().pool(max_nodes=0))) == []
    # The autoscaler would make some: the larger figure counts.
    grown = profile().pool(max_nodes=0)
    assert told(quota(0, grown, status_map(document(group(AKS, most=3))))) != []


def test_no_quota_of_what_its_nodes_do_not_have_is_no_fault() -> None:
    assert told(quota(0, profile().pool(allocatable={"example.com/other": "1"}))) == []
    assert told(quota(0, profile().pool(allocatable={**dict.fromkeys(GPU_NODE, "0")}))) == []


def test_what_the_cohort_may_lend_is_quota() -> None:
    poor = cluster_queue().group([GPU], "a100-scale", quota=0)
    poor.spec["cohortName"] = "all"
    rich = cluster_queue("rich").group([GPU], "a100-scale", quota=8)
    assert told(world(poor, rich, flavor(), profile().queues("gpu-a100").pool(), cohort("all"))) != []
    rich.spec["cohortName"] = "all"
    assert told(world(poor, rich, flavor(), profile().queues("gpu-a100").pool(), cohort("all"))) == []


def test_a_queue_the_profile_does_not_speak_for_is_its_own_affair() -> None:
    other = cluster_queue("other").group([GPU], "a100-scale", quota=0)
    assert told(gpu_world(other, profile=gpu_profile().queues("gpu-a100"))) == []
    assert told(gpu_world(other)) != []


@pytest.mark.parametrize(
    ("shown", "says"),
    [
        (profile(flavor="b200"), "ResourceFlavor b200 does not exist; create it or correct spec.flavor"),
        (gpu_profile().queues("gone"), "ClusterQueue gone does not exist; create it or correct spec.clusterQueues"),
        (profile().closed(), "spec.pools is empty"),
        (gpu_profile().mode("Maybe"), "spec.preflight is 'Maybe', not Enforce, Warn or Off"),
        (profile().pool(labels={"agentpool": "b"}), "spec.pools[0] has agentpool=b"),
    ],
)
def test_what_does_not_fit_together_is_named(shown: ProfileBuilder, says: str) -> None:
    assert any(text.startswith(says) for text in told(gpu_world(profile=shown)))


def test_a_named_queue_must_offer_the_flavor() -> None:
    plain = cluster_queue("plain").group([GPU], "other")
    assert told(gpu_world(plain, profile=gpu_profile().queues("gpu-a100", "plain"))) == [
        "ClusterQueue plain does not offer flavor a100-scale; add it or correct spec.clusterQueues"
    ]


def test_a_profile_that_is_only_a_policy_needs_no_pools() -> None:
    assert told(gpu_world(profile=profile().admission(timeout="30m"))) == []


def test_only_one_profile_may_say_that_a_flavor_is_closed() -> None:
    faults = setup_faults(gpu_world(profile("second").closed().pool("other", labels={"pool": "b"})), T0)
    both = "CapacityProfiles gpu-a100-8, second each say that flavor a100-scale is closed"
    assert {name: both in texts for name, texts in faults.items()} == {"gpu-a100-8": True, "second": True}
    assert setup_faults(gpu_world(profile("second").pool("other", labels={"pool": "b"})), T0) == {}


def test_a_flavor_needs_the_topology_it_names() -> None:
    named = flavor().node_labels(agentpool="gpupool")
    named.spec["topologyName"] = "racks"
    assert told(world(*gpu_queues(), named, gpu_profile())) == [
        "ResourceFlavor a100-scale has topologyName racks; no such Topology exists"
    ]
    assert told(world(*gpu_queues(), named, gpu_profile(), topology("racks", "rack"))) == []
    hidden = world(*gpu_queues(), named, gpu_profile())
    hidden.unread = frozenset({api.TOPOLOGIES})
    assert told(hidden) == []


def test_a_flavor_placed_by_topology_needs_nodes_or_somebody_who_brings_them() -> None:
    named = flavor().node_labels(agentpool="gpupool")
    named.spec["topologyName"] = "racks"
    racks = topology("racks", "rack")
    plain = cluster_queue().group([GPU], "a100-scale")
    fault = (
        "ResourceFlavor a100-scale is topology-aware and has no node; "
        "give ClusterQueue gpu-a100 an AdmissionCheck that asks for nodes"
    )
    assert told(world(plain, named, racks, gpu_profile())) == [fault]
    assert told(world(plain, named, racks, gpu_profile(), node("a", agentpool="other"))) == [fault]
    assert told(world(plain, named, racks, gpu_profile(), node("a", agentpool="gpupool"))) == []
    assert told(world(plain, named, racks, gpu_profile(), nodes=False)) == []
    asking = cluster_queue().group([GPU], "a100-scale").checks("capacity")
    assert told(world(asking, named, racks, gpu_profile(), check())) == []
    assert told(world(asking, named, racks, gpu_profile(), check(controller="example.com/other"))) == [fault]


def test_a_profile_without_any_sense_is_told_so_in_bounds() -> None:
    shown = gpu_profile()
    for index in range(30):
        shown.pool(f"p{index}", max_nodes=-1)
    assert len(told(gpu_world(profile=shown))) == MOST
