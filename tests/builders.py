"""Fluent builders for the objects tests speak of, each with the fields a test names and nothing else.

    job("train").queue("gpu").pods(2).requests({"nvidia.com/gpu": "8"}).done()

``done()`` gives the struct as it decodes from the API server's JSON, ``raw()`` that JSON as a dict. Every step returns
the builder. ``gpu_world()`` is the demonstration's world: one queue, one flavor, one empty pool of at most 2 x 8 GPU.
"""

import copy
from collections.abc import Mapping
from typing import Any, Generic, Self, TypeVar

import msgspec

from classifier import api
from classifier.fit.gang import Runtimes
from classifier.fit.world import World
from classifier.instant import format_instant, parse_instant
from classifier.objects import (
    AdmissionCheck,
    CapacityProfile,
    ClusterQueue,
    ClusterTrainingRuntime,
    Cohort,
    ConfigMap,
    DeviceClass,
    Job,
    LimitRange,
    LocalQueue,
    MachineGroup,
    Meta,
    Namespace,
    Node,
    NodePool,
    ResourceFlavor,
    RuntimeClass,
    Topology,
    TrainingRuntime,
    Workload,
)

T = TypeVar("T", bound=Meta)
Json = dict[str, Any]

NAMESPACE = "team"
GPU = "nvidia.com/gpu"
#: When tests begin, milliseconds.
T0 = parse_instant("2026-11-29T10:00:00Z")
GPU_NODE = {"cpu": "94", "memory": "860Gi", GPU: "8", "pods": "110"}


class Builder(Generic[T]):
    """Metadata steps that all kinds share; ``_raw`` is the object under construction."""

    def __init__(self, struct: type[T], resource: api.Resource, name: str, namespace: str | None = None) -> None:
        self._struct = struct
        self._raw: Json = {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": {"name": name, "uid": f"uid-of-{name}"} | ({"namespace": namespace} if namespace else {}),
            "spec": {},
        }

    @property
    def spec(self) -> Json:
        spec: Json = self._raw["spec"]
        return spec

    def label(self, key: str, value: str) -> Self:
        self._raw["metadata"].setdefault("labels", {})[key] = value
        return self

    def annotate(self, key: str, value: str | None) -> Self:
        """Set an annotation; None removes it."""
        annotations = self._raw["metadata"].setdefault("annotations", {})
        if value is None:
            annotations.pop(key, None)
        else:
            annotations[key] = value
        return self

    def metadata(self, **fields: Any) -> Self:
        """Further metadata, by JSON name: ``metadata(deletionTimestamp=...)``."""
        self._raw["metadata"].update(fields)
        return self

    def created(self, at: int) -> Self:
        """``at`` in milliseconds; the API server writes whole seconds."""
        return self.metadata(creationTimestamp=format_instant(at))

    def condition(self, type_: str, status: bool, reason: str = "", at: int = T0) -> Self:
        """Set a status condition, replacing one of the same type."""
        conditions = self._raw.setdefault("status", {}).setdefault("conditions", [])
        conditions[:] = [c for c in conditions if c["type"] != type_]
        conditions.append(
            {
                "type": type_,
                "status": "True" if status else "False",
                "reason": reason or type_,
                "lastTransitionTime": format_instant(at),
            }
        )
        return self

    def raw(self) -> Json:
        return copy.deepcopy(self._raw)

    def done(self) -> T:
        return msgspec.convert(self._raw, self._struct)


class JobBuilder(Builder[Job]):
    @property
    def pod(self) -> Json:
        """The pod template's spec."""
        spec: Json = self.spec["template"]["spec"]
        return spec

    @property
    def container(self) -> Json:
        container: Json = self.pod["containers"][0]
        return container

    def queue(self, name: str) -> Self:
        return self.label(api.QUEUE_NAME, name)

    def pods(self, count: int, completions: int | None = None) -> Self:
        self.spec["parallelism"] = count
        self.spec["completions"] = count if completions is None else completions
        return self

    def requests(self, requests: Mapping[str, Any], limits: Mapping[str, Any] | None = None) -> Self:
        self.container["resources"] = {"requests": dict(requests)} | ({"limits": dict(limits)} if limits else {})
        return self

    def gpus(self, per_pod: int | str) -> Self:
        return self.requests({GPU: per_pod}, {GPU: per_pod})

    def pod_spec(self, **fields: Any) -> Self:
        """Further pod spec fields, by JSON name: ``pod_spec(nodeSelector={...})``."""
        self.pod.update(fields)
        return self

    def ports(self, *numbers: int, host: bool = False) -> Self:
        self.container["ports"] = [{"hostPort" if host else "containerPort": number} for number in numbers]
        return self

    def template_metadata(self, **fields: Any) -> Self:
        self.spec["template"].setdefault("metadata", {}).update(fields)
        return self

    def managed_by(self, controller: str) -> Self:
        self.spec["managedBy"] = controller
        return self


def job(name: str = "train", namespace: str = NAMESPACE) -> JobBuilder:
    """A suspended Job of one pod with one container that requests nothing."""
    builder = JobBuilder(Job, api.JOBS, name, namespace)
    builder.spec.update(suspend=True, parallelism=1, completions=1)
    builder.spec["template"] = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "train"}]}}
    return builder


#: Of whatever resource.
_LARGE = "1000Ti"


class ClusterQueueBuilder(Builder[ClusterQueue]):
    def group(self, resources: list[str], *flavors: str, quota: int | str = _LARGE) -> Self:
        """A resource group: what it covers, its flavors in order, the same nominal quota everywhere, or a large one."""
        self.spec.setdefault("resourceGroups", []).append(
            {
                "coveredResources": resources,
                "flavors": [
                    {"name": flavor, "resources": [{"name": r, "nominalQuota": quota} for r in resources]}
                    for flavor in flavors
                ],
            }
        )
        return self

    def checks(self, *names: str) -> Self:
        self.spec["admissionChecksStrategy"] = {"admissionChecks": [{"name": name} for name in names]}
        return self


def cluster_queue(name: str = "gpu-a100") -> ClusterQueueBuilder:
    builder = ClusterQueueBuilder(ClusterQueue, api.CLUSTER_QUEUES, name)
    builder.spec["namespaceSelector"] = {}
    return builder


class LocalQueueBuilder(Builder[LocalQueue]):
    def running(self, at: int = T0) -> Self:
        return self.condition(api.ACTIVE, True, "Ready", at)

    def stopped(self, at: int = T0) -> Self:
        return self.condition(api.ACTIVE, False, "LocalQueueStopped", at)


def local_queue(name: str = "gpu", queue: str = "gpu-a100", namespace: str = NAMESPACE) -> LocalQueueBuilder:
    builder = LocalQueueBuilder(LocalQueue, api.LOCAL_QUEUES, name, namespace)
    builder.spec["clusterQueue"] = queue
    return builder


class WorkloadBuilder(Builder[Workload]):
    def owner(self, job: Builder[Any]) -> Self:
        """Owned and controlled by ``job``."""
        raw = job.raw()
        reference = {key: raw[key] for key in ("apiVersion", "kind")} | {
            key: raw["metadata"][key] for key in ("name", "uid")
        }
        return self.metadata(ownerReferences=[reference | {"controller": True}])

    def queue(self, name: str) -> Self:
        self.spec["queueName"] = name
        return self

    def active(self, active: bool, by: str = "kubectl-patch") -> Self:
        """``spec.active``, written by the field manager ``by``."""
        self.spec["active"] = active
        fields = {"manager": by, "operation": "Update", "fieldsV1": {"f:spec": {"f:active": {}}}}
        return self.metadata(managedFields=[fields])

    def evicted(self, reason: str, cause: str = "") -> Self:
        """Count an eviction in the scheduling stats."""
        stats = self._raw.setdefault("status", {}).setdefault("schedulingStats", {"evictions": []})
        stats["evictions"].append({"reason": reason, "underlyingCause": cause, "count": 1})
        return self

    def podset(self, name: str, count: int, gpus: int = 8) -> Self:
        """``count`` pods of so many GPUs each."""
        container = {
            "name": "main",
            "resources": {"requests": {GPU: str(gpus), "cpu": "1"}, "limits": {GPU: str(gpus)}},
        }
        template = {"spec": {"containers": [container]}}
        self.spec.setdefault("podSets", []).append({"name": name, "count": count, "template": template})
        return self

    def made_of(self, kind: str, api_version: str, name: str = "train") -> Self:
        """Owned and controlled by an object of another kind than Job."""
        reference = {"apiVersion": api_version, "kind": kind, "name": name, "uid": f"uid-of-{name}", "controller": True}
        return self.metadata(ownerReferences=[reference])

    def done(self) -> Workload:
        # managedFields stay raw, as they come from the wire.
        return msgspec.json.decode(msgspec.json.encode(self._raw), type=Workload)


def workload(name: str = "job-train-1a2b3", namespace: str = NAMESPACE) -> WorkloadBuilder:
    """The pending Workload that Kueue made at T0 for ``job()``, in the queue of ``local_queue()``."""
    builder = WorkloadBuilder(Workload, api.WORKLOADS, name, namespace)
    return builder.owner(job(namespace=namespace)).queue("gpu").created(T0)


class FlavorBuilder(Builder[ResourceFlavor]):
    def node_labels(self, **labels: str) -> Self:
        self.spec["nodeLabels"] = labels
        return self

    def taint(self, key: str, value: str = "", effect: str = "NoSchedule") -> Self:
        self.spec.setdefault("nodeTaints", []).append({"key": key, "value": value, "effect": effect})
        return self

    def tolerate(self, **toleration: str) -> Self:
        self.spec.setdefault("tolerations", []).append(toleration)
        return self


def flavor(name: str = "a100-scale") -> FlavorBuilder:
    return FlavorBuilder(ResourceFlavor, api.RESOURCE_FLAVORS, name)


class ProfileBuilder(Builder[CapacityProfile]):
    def closed(self, closed: bool = True) -> Self:
        self.spec["closed"] = closed
        return self

    def mode(self, mode: str) -> Self:
        self.spec["preflight"] = mode
        return self

    def queues(self, *names: str) -> Self:
        self.spec["clusterQueues"] = list(names)
        return self

    def admission(self, **fields: Any) -> Self:
        """The admission policy, by JSON name: ``admission(timeout="30m")``."""
        self.spec["admission"] = fields
        return self

    def pool(
        self,
        name: str = "gpupool",
        max_nodes: int | None = 2,
        allocatable: Mapping[str, Any] | None = None,
        labels: Mapping[str, str] | None = None,
        **node: Any,
    ) -> Self:
        """One pool; ``labels`` are its nodeLabels (``agentpool: <name>``), ``node`` further fields of the shape."""
        pool: Json = {"name": name, "nodeLabels": {"agentpool": name} if labels is None else dict(labels)}
        if max_nodes is not None:
            pool["maxNodes"] = max_nodes
        pool["node"] = {"allocatable": dict(GPU_NODE if allocatable is None else allocatable)} | node
        self.spec.setdefault("pools", []).append(pool)
        return self


def profile(name: str = "gpu-a100-8", flavor: str = "a100-scale") -> ProfileBuilder:
    """An open profile without pools, in the default mode (Warn)."""
    builder = ProfileBuilder(CapacityProfile, api.CAPACITY_PROFILES, name)
    builder.spec["flavor"] = flavor
    return builder


class NodeBuilder(Builder[Node]):
    def ready(self, ready: bool = True) -> Self:
        self._raw["status"]["conditions"] = [{"type": "Ready", "status": "True" if ready else "False"}]
        return self

    def allocatable(self, resources: Mapping[str, Any]) -> Self:
        self._raw["status"]["allocatable"] = dict(resources)
        return self


def node(name: str = "gpu-1", **labels: str) -> NodeBuilder:
    """A Ready node of the demonstration's shape; ``labels`` as given (``agentpool="gpupool"``)."""
    builder = NodeBuilder(Node, api.NODES, name)
    builder._raw["status"] = {"allocatable": dict(GPU_NODE)}
    for key, value in labels.items():
        builder.label(key, value)
    return builder.ready()


def namespace(name: str = NAMESPACE) -> Builder[Namespace]:
    return Builder(Namespace, api.NAMESPACES, name)


def check(name: str = "capacity", controller: str = api.PROVISIONING_CONTROLLER) -> Builder[AdmissionCheck]:
    builder = Builder(AdmissionCheck, api.ADMISSION_CHECKS, name)
    builder.spec["controllerName"] = controller
    return builder


def cohort(name: str, parent: str = "") -> Builder[Cohort]:
    builder = Builder(Cohort, api.COHORTS, name)
    if parent:
        builder.spec["parentName"] = parent
    return builder


def topology(name: str, *levels: str) -> Builder[Topology]:
    builder = Builder(Topology, api.TOPOLOGIES, name)
    builder.spec["levels"] = [{"nodeLabel": level} for level in levels]
    return builder


def config_map(name: str, namespace: str, **data: str) -> Builder[ConfigMap]:
    builder = Builder(ConfigMap, api.CONFIG_MAPS, name, namespace)
    del builder._raw["spec"]
    builder._raw["data"] = data
    return builder


def kueue_config(text: str = "") -> Builder[ConfigMap]:
    """Kueue's own configuration, as its manifests install it."""
    return config_map("kueue-manager-config", "kueue-system", **{"controller_manager_config.yaml": text})


#: Where a world keeps each type, by key.
_PLACES: dict[type[Meta], str] = {
    ClusterQueue: "cluster_queues",
    LocalQueue: "local_queues",
    ResourceFlavor: "flavors",
    AdmissionCheck: "admission_checks",
    Namespace: "namespaces",
    Cohort: "cohorts",
    Topology: "topologies",
    LimitRange: "limit_ranges",
    RuntimeClass: "runtime_classes",
    DeviceClass: "device_classes",
    NodePool: "node_pools",
    MachineGroup: "machine_groups",
}


def world(*objects: Builder[Any], nodes: bool = True) -> World:
    """The world of these objects; without ``nodes`` Nodes may not be read. Kueue runs with its defaults."""
    found = World(nodes=[] if nodes else None, kueue_config=kueue_config().done())
    namespaced: dict[str, TrainingRuntime] = {}
    cluster: dict[str, ClusterTrainingRuntime] = {}
    for builder in objects:
        obj = builder.done()
        if isinstance(obj, CapacityProfile):
            found.profiles.append(obj)
        elif isinstance(obj, Node) and found.nodes is not None:
            found.nodes.append(obj)
        elif isinstance(obj, ClusterTrainingRuntime):
            cluster[obj.name] = obj
        elif isinstance(obj, TrainingRuntime):
            namespaced[obj.key] = obj
        elif isinstance(obj, ConfigMap) and obj.name == "kueue-manager-config":
            found.kueue_config = obj
        elif isinstance(obj, ConfigMap):
            found.autoscaler_status = obj
        elif type(obj) in _PLACES:
            getattr(found, _PLACES[type(obj)])[obj.key] = obj
        else:
            raise TypeError(f"a world holds no {obj.kind}")
    found.runtimes = Runtimes(namespaced, cluster)
    return found


def gpu_queues() -> list[Builder[Any]]:
    """LocalQueue, ClusterQueue, its provisioning check, flavor and Namespace of the demonstration."""
    return [
        local_queue(),
        cluster_queue().group(["cpu", "memory", GPU], "a100-scale").checks("capacity"),
        check(),
        flavor().node_labels(agentpool="gpupool"),
        namespace(),
    ]


def gpu_profile() -> ProfileBuilder:
    return profile().closed().mode("Enforce").pool()


def gpu_world(*more: Builder[Any], profile: ProfileBuilder | None = None) -> World:
    """The demonstration's world, with ``more`` objects, and another profile if given."""
    return world(*gpu_queues(), profile or gpu_profile(), *more)
