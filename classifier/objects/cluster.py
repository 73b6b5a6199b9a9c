"""What every cluster has beside jobs: Nodes, Namespaces, and what changes the requests of pods."""

from classifier.objects.meta import Conditioned, Meta, Obj, Quantity
from classifier.objects.pods import Taint, Toleration


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


class LimitRangeItem(Obj):
    type: str = ""
    default: dict[str, Quantity] | None = None
    default_request: dict[str, Quantity] | None = None
    max: dict[str, Quantity] | None = None
    min: dict[str, Quantity] | None = None


class LimitRangeSpec(Obj):
    limits: list[LimitRangeItem] | None = None


class LimitRange(Meta):
    spec: LimitRangeSpec | None = None


class Overhead(Obj):
    pod_fixed: dict[str, Quantity] | None = None


class RuntimeClassScheduling(Obj):
    node_selector: dict[str, str] | None = None
    tolerations: list[Toleration] | None = None


class RuntimeClass(Meta):
    handler: str = ""
    overhead: Overhead | None = None
    scheduling: RuntimeClassScheduling | None = None


class DeviceClassSpec(Obj):
    extended_resource_name: str | None = None


class DeviceClass(Meta):
    spec: DeviceClassSpec | None = None


class ConfigMap(Meta):
    data: dict[str, str] | None = None
