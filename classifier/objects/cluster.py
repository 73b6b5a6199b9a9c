"""Nodes and Namespaces."""

from classifier.objects.meta import Conditioned, Meta, Obj, Quantity
from classifier.objects.pods import Taint


class NodeSpec(Obj):
    taints: list[Taint] | None = None
    unschedulable: bool | None = None


class NodeStatus(Conditioned):
    allocatable: dict[str, Quantity] | None = None
    capacity: dict[str, Quantity] | None = None


class Node(Meta):
    spec: NodeSpec | None = None
    status: NodeStatus | None = None


class Namespace(Meta):
    pass
