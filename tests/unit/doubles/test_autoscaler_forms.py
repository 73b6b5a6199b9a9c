"""What the autoscaler double reads and writes: conditions, nodes, the status ConfigMap."""

from typing import Any

import pytest
import yaml

from classifier.instant import parse_instant
from classifier.objects import (
    Condition,
    Conditioned,
    Metadata,
    Node,
    NodeSpec,
    NodeStatus,
    Pod,
    PodSpec,
    PodStatus,
    ProvisioningPodSet,
    ProvisioningRequest,
    ProvisioningRequestSpec,
    Taint,
)
from e2e.autoscaler import conditions, nodes, view
from e2e.autoscaler.model import NodeGroup
from e2e.autoscaler.status import GroupState, render

NOW = parse_instant("2026-08-20T10:00:00.250Z")
POOL = NodeGroup("gpupool", {"agentpool": "gpupool"}, {"cpu": "94", "nvidia.com/gpu": "8"}, max_nodes=2)


def request(*present: Condition) -> ProvisioningRequest:
    return ProvisioningRequest(
        metadata=Metadata(name="r", namespace="a", uid="u"),
        spec=ProvisioningRequestSpec(pod_sets=[ProvisioningPodSet(count=2)]),
        status=Conditioned(conditions=list(present)),
    )


def pod(name: str, node: str | None = "n", *, phase: str = "Running", consumes: str = "r", namespace: str = "a") -> Pod:
    return Pod(
        metadata=Metadata(name=name, namespace=namespace, annotations={view.CONSUMES: consumes}),
        spec=PodSpec(node_name=node),
        status=PodStatus(phase=phase),
    )


def node(name: str, *, ready: str = "True", unschedulable: bool = False, taint: str = "sku") -> Node:
    return Node(
        metadata=Metadata(name=name),
        spec=NodeSpec(unschedulable=unschedulable, taints=[Taint(key=taint, effect="NoSchedule")]),
        status=NodeStatus(allocatable={"pods": "10"}, conditions=[Condition(type="Ready", status=ready)]),
    )


def test_a_condition_is_set_beside_the_others_with_a_new_time() -> None:
    before = Condition(
        type="Provisioned", status="False", reason="Old", message="", last_transition_time="2026-08-20T09:00:00Z"
    )
    accepted = Condition(
        type="Accepted", status="True", reason="Accepted", message="m", last_transition_time="2026-08-20T09:00:00Z"
    )
    body = conditions.apply_body(request(accepted, before), conditions.NOT_FOUND, NOW)
    assert body["metadata"] == {"name": "r", "namespace": "a", "uid": "u"}
    kept, written = body["status"]["conditions"]
    assert (kept["type"], kept["lastTransitionTime"]) == ("Accepted", "2026-08-20T09:00:00Z")
    assert written == {
        "type": "Provisioned",
        "status": "False",
        "reason": "CapacityIsNotFound",
        "message": "Capacity is not found, CA will try to find it later.",
        "lastTransitionTime": "2026-08-20T10:00:00Z",
    }


@pytest.mark.parametrize(
    ("present", "booked", "finished"),
    [
        ([], False, False),
        ([conditions.ACCEPTED, conditions.NOT_FOUND], False, False),
        ([conditions.FOUND], True, False),
        ([conditions.PROVISIONED, conditions.BOOKING_EXPIRED], False, True),
        ([conditions.PROVISIONED, conditions.failed("OutOfResources", "")], False, True),
    ],
)
def test_booked_and_finished(present: list[Condition], booked: bool, finished: bool) -> None:
    assert (conditions.booked(request(*present)), conditions.finished(request(*present))) == (booked, finished)


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        ([pod("1"), pod("2")], True),
        ([pod("1"), pod("2", phase="Succeeded")], True),
        ([pod("1"), pod("2", None)], False),
        ([pod("1"), pod("2", consumes="other")], False),
        ([pod("1"), pod("2", namespace="b")], False),
    ],
)
def test_consumed_once_all_pods_are_scheduled(pods: list[Pod], expected: bool) -> None:
    assert view.consumed(request(), pods) is expected


def test_places_are_ready_nodes_less_their_pods() -> None:
    seen = [
        node("b"),
        node("a", taint="node.kubernetes.io/not-ready"),
        node("c", ready="False"),
        node("d", unschedulable=True),
    ]
    first, second = view.places(seen, [pod("1", "a"), pod("2", "a"), pod("3", "b", phase="Succeeded"), pod("4", None)])
    assert (first.name, first.free, first.taints) == ("a", {"pods": 8}, [])
    assert (second.name, second.free, [t.key for t in second.taints]) == ("b", {"pods": 10}, ["sku"])


def test_new_nodes_carry_their_group_and_take_the_lowest_free_names() -> None:
    assert nodes.names(POOL, ["gpupool-0", "gpupool-2"], 2) == ["gpupool-1", "gpupool-3"]
    made = nodes.manifest(POOL, "gpupool-1")
    assert made["metadata"]["annotations"] == {nodes.KWOK: "fake", nodes.NODE_GROUP: "gpupool"}
    assert made["metadata"]["labels"]["agentpool"] == "gpupool"
    assert made["spec"]["providerID"] == "double:///gpupool/gpupool-1"


def test_the_status_configmap_reads_like_cluster_autoscalers() -> None:
    document: dict[str, Any] = yaml.safe_load(render([GroupState(POOL, target=2, registered=1, ready=1)], NOW))
    assert document["autoscalerStatus"] == "Running"
    assert document["time"] == "2026-08-20 10:00:00.25 +0000 UTC"
    (group,) = document["nodeGroups"]
    assert (group["name"], group["scaleUp"]["status"]) == ("gpupool", "InProgress")
    health = group["health"]
    assert (health["cloudProviderTarget"], health["minSize"], health["maxSize"]) == (2, 0, 2)
    assert (health["nodeCounts"]["registered"]["total"], health["nodeCounts"]["unregistered"]) == (1, 1)
    assert document["clusterWide"]["scaleUp"]["status"] == "InProgress"
    assert list(document) == sorted(document)
