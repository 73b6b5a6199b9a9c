"""Objects by kind: what was read from a cluster or from files, before anybody asks what it means."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, TypeVar, cast

from classifier import api
from classifier.api import Resource
from classifier.fence import PolicyObject
from classifier.objects import (
    AdmissionCheck,
    CapacityProfile,
    ClusterQueue,
    ClusterTrainingRuntime,
    Cohort,
    ConfigMap,
    DeviceClass,
    LimitRange,
    LocalQueue,
    MachineGroup,
    Meta,
    Namespace,
    Node,
    NodePool,
    ProvisioningRequest,
    ProvisioningRequestConfig,
    ResourceFlavor,
    RuntimeClass,
    Topology,
    TrainingRuntime,
    Workload,
)
from classifier.state.kinds import KINDS

T = TypeVar("T", bound=Meta)

#: The kinds read here, and the struct each is read into: those that can be explained, and what explains them.
TYPES: Final[Mapping[Resource, type[Meta]]] = {
    **{view.resource: view.type_ for view in KINDS.values()},
    api.TRAINING_RUNTIMES: TrainingRuntime,
    api.CLUSTER_TRAINING_RUNTIMES: ClusterTrainingRuntime,
    api.NODES: Node,
    api.NAMESPACES: Namespace,
    api.WORKLOADS: Workload,
    api.LOCAL_QUEUES: LocalQueue,
    api.CLUSTER_QUEUES: ClusterQueue,
    api.RESOURCE_FLAVORS: ResourceFlavor,
    api.COHORTS: Cohort,
    api.TOPOLOGIES: Topology,
    api.ADMISSION_CHECKS: AdmissionCheck,
    api.PROVISIONING_REQUEST_CONFIGS: ProvisioningRequestConfig,
    api.PROVISIONING_REQUESTS: ProvisioningRequest,
    api.CAPACITY_PROFILES: CapacityProfile,
    api.LIMIT_RANGES: LimitRange,
    api.RUNTIME_CLASSES: RuntimeClass,
    api.DEVICE_CLASSES: DeviceClass,
    api.CONFIG_MAPS: ConfigMap,
    api.NODE_POOLS: NodePool,
    api.MACHINE_DEPLOYMENTS: MachineGroup,
    api.MACHINE_SETS: MachineGroup,
    api.MACHINE_POOLS: MachineGroup,
    api.ADMISSION_POLICIES: PolicyObject,
    api.ADMISSION_POLICY_BINDINGS: PolicyObject,
}


class Snapshot:
    """Objects by kind and key (``namespace/name`` or name). A kind in ``unreadable`` may hold objects we cannot see."""

    def __init__(self) -> None:
        self._objects: dict[Resource, dict[str, Meta]] = {}
        self.unreadable: set[Resource] = set()
        #: Kinds the cluster does not serve at all, in the version we read.
        self.unserved: set[Resource] = set()
        #: What could not be read and what was odd, in words, in order.
        self.notes: list[str] = []

    def add(self, resource: Resource, obj: Meta) -> bool:
        """Keep an object, instead of an earlier one of that name. Whether there was an earlier one."""
        kind = self._objects.setdefault(resource, {})
        known = obj.key in kind
        kind[obj.key] = obj
        return known

    def put(self, resource: Resource, objects: Iterable[Meta]) -> None:
        """Replace all objects of a kind."""
        self._objects[resource] = {obj.key: obj for obj in objects}

    def share(self, resource: Resource, objects: dict[str, T]) -> None:
        """Let a kind be a dictionary that somebody else keeps current (a reflector)."""
        self._objects[resource] = cast("dict[str, Meta]", objects)

    def refuse(self, resource: Resource, note: str = "") -> None:
        """The kind, or part of it, may not be read."""
        self.unreadable.add(resource)
        if note and note not in self.notes:
            self.notes.append(note)

    def of(self, resource: Resource, type_: type[T]) -> dict[str, T]:
        """All of a kind that could be read."""
        if TYPES[resource] is not type_:
            raise TypeError(f"{resource.plural} are not kept as {type_.__name__}")
        return cast("dict[str, T]", self._objects.get(resource, {}))

    def get(self, resource: Resource, type_: type[T], name: str, namespace: str | None = None) -> T | None:
        return self.of(resource, type_).get(f"{namespace}/{name}" if namespace else name)

    def readable(self, resource: Resource, type_: type[T]) -> dict[str, T] | None:
        """All of a kind; None if part of it may not be read."""
        return None if resource in self.unreadable else self.of(resource, type_)

    def __iter__(self) -> Iterator[tuple[Resource, Meta]]:
        for resource, objects in self._objects.items():
            for obj in objects.values():
                yield resource, obj
