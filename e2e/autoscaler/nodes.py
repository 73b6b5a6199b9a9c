"""Nodes as the double's cloud makes them; KWOK plays their kubelets."""

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from classifier.objects import Node
from e2e.autoscaler.model import NodeGroup

#: KWOK takes care of nodes that carry it.
KWOK: Final = "kwok.x-k8s.io/node"
#: Which group a node belongs to, so that an autoscaler started later knows its nodes again.
NODE_GROUP: Final = "autoscaler.double/node-group"


def manifest(group: NodeGroup, name: str) -> dict[str, Any]:
    """The Node object with which a new machine registers."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", **group.labels},
            "annotations": {KWOK: "fake", NODE_GROUP: group.name},
        },
        "spec": {
            "providerID": f"double:///{group.name}/{name}",
            "taints": [msgspec.to_builtins(taint) for taint in group.taints],
        },
        "status": {"allocatable": dict(group.allocatable), "capacity": dict(group.allocatable)},
    }


def ready(node: Node) -> bool:
    return node.status is not None and node.status.is_true("Ready")


def names(group: NodeGroup, taken: Iterable[str], count: int) -> list[str]:
    """``count`` new names ``<group>-<n>``, the lowest that are free."""
    used = set(taken)
    fresh: list[str] = []
    number = 0
    while len(fresh) < count:
        if (name := f"{group.name}-{number}") not in used:
            fresh.append(name)
        number += 1
    return fresh
