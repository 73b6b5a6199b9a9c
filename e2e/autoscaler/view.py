"""What the cluster holds, as the simulation wants it."""

from collections.abc import Iterable
from typing import Final

from classifier.objects import Node, Pod, ProvisioningRequest, Taint
from e2e.autoscaler import nodes
from e2e.autoscaler.shapes import Amounts, amounts, minus, requests, total
from e2e.autoscaler.simulate import Place

CONSUMES: Final = "autoscaling.x-k8s.io/consume-provisioning-request"

#: Taints that come and go with a node's health: the autoscaler plans as if they were gone (reference/capacity.md §1.7).
_PASSING: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable", "ToBeDeletedByClusterAutoscaler")


def running(pods: Iterable[Pod]) -> dict[str, list[Pod]]:
    """Pods that occupy a node, by the node's name."""
    found: dict[str, list[Pod]] = {}
    for pod in pods:
        over = pod.status is not None and pod.status.phase in ("Succeeded", "Failed")
        if pod.spec is not None and pod.spec.node_name and not over:
            found.setdefault(pod.spec.node_name, []).append(pod)
    return found


def places(all_nodes: Iterable[Node], pods: Iterable[Pod]) -> list[Place]:
    """Ready nodes and what their pods leave, by name."""
    occupied = running(pods)
    found: list[Place] = []
    for node in sorted(all_nodes, key=lambda node: node.name):
        if not nodes.ready(node) or node.status is None or (node.spec is not None and node.spec.unschedulable):
            continue
        taken: Amounts = total(*(requests(pod.spec) for pod in occupied.get(node.name, ()) if pod.spec))
        taints: list[Taint] = [t for t in (node.spec.taints if node.spec else None) or () if t.key not in _PASSING]
        free = minus(amounts(node.status.allocatable), taken)
        found.append(Place(node.name, node.metadata.labels or {}, taints, free))
    return found


def consumed(request: ProvisioningRequest, pods: Iterable[Pod]) -> bool:
    """Whether all pods of the request are scheduled."""
    wanted = sum(pod_set.count or 0 for pod_set in (request.spec.pod_sets if request.spec else None) or ())
    scheduled = sum(
        pod.namespace == request.namespace
        and pod.annotation(CONSUMES) == request.name
        and pod.spec is not None
        and bool(pod.spec.node_name)
        for pod in pods
    )
    return 0 < wanted <= scheduled
