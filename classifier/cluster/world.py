"""From a snapshot to what the judgement and the report take: the same steps for clusters and files."""

from classifier import api
from classifier.cluster.snapshot import Snapshot
from classifier.fit import World
from classifier.objects import (
    AdmissionCheck,
    CapacityProfile,
    ClusterQueue,
    LocalQueue,
    Namespace,
    Node,
    Pod,
    ProvisioningRequest,
    ProvisioningRequestConfig,
    ResourceFlavor,
    Workload,
)
from classifier.policy import profiles_for
from classifier.report.fence import FENCE_NAME, Fence, FenceBinding, FencePolicy, fence_of
from classifier.report.observation import Observation, pods_of, requests_of, workload_of
from classifier.report.owner import Owner

_FENCE = (api.ADMISSION_POLICIES, api.ADMISSION_POLICY_BINDINGS)


def world_of(snapshot: Snapshot) -> World:
    """The world a gang is judged in. Its dictionaries are the snapshot's own: read them, do not write."""
    nodes = snapshot.readable(api.NODES, Node)
    return World(
        profiles=sorted(snapshot.of(api.CAPACITY_PROFILES, CapacityProfile).values(), key=lambda p: p.name),
        cluster_queues=snapshot.of(api.CLUSTER_QUEUES, ClusterQueue),
        local_queues=snapshot.of(api.LOCAL_QUEUES, LocalQueue),
        flavors=snapshot.of(api.RESOURCE_FLAVORS, ResourceFlavor),
        admission_checks=snapshot.of(api.ADMISSION_CHECKS, AdmissionCheck),
        namespaces=snapshot.of(api.NAMESPACES, Namespace),
        nodes=None if nodes is None else list(nodes.values()),
    )


def fence_in(snapshot: Snapshot, now: int, name: str = FENCE_NAME) -> Fence:
    """Is the fence in force, as far as this snapshot tells?"""
    if any(resource in snapshot.unreadable for resource in _FENCE):
        return Fence(name=name, why="may not be read")
    return fence_of(
        snapshot.get(api.ADMISSION_POLICIES, FencePolicy, name),
        snapshot.get(api.ADMISSION_POLICY_BINDINGS, FenceBinding, name),
        now,
        name,
    )


def observe(snapshot: Snapshot, owner: Owner, now: int, *, fence: str = FENCE_NAME) -> Observation:
    """Everything the snapshot holds about one job."""
    workload = workload_of(owner, snapshot.of(api.WORKLOADS, Workload).values())
    queue = (workload.queue_name if workload else "") or owner.queue
    local = snapshot.get(api.LOCAL_QUEUES, LocalQueue, queue, owner.namespace) if queue else None
    cluster = snapshot.get(api.CLUSTER_QUEUES, ClusterQueue, local.cluster_queue) if local else None
    nodes = snapshot.readable(api.NODES, Node)
    return Observation(
        owner=owner,
        workload=workload,
        local_queue=local,
        cluster_queue=cluster,
        namespace=snapshot.get(api.NAMESPACES, Namespace, owner.namespace),
        profiles=profiles_for(cluster, snapshot.of(api.CAPACITY_PROFILES, CapacityProfile).values()),
        checks=snapshot.readable(api.ADMISSION_CHECKS, AdmissionCheck),
        configs=snapshot.readable(api.PROVISIONING_REQUEST_CONFIGS, ProvisioningRequestConfig),
        requests=requests_of(workload, snapshot.of(api.PROVISIONING_REQUESTS, ProvisioningRequest).values()),
        pods=pods_of(owner, snapshot.of(api.PODS, Pod).values()),
        nodes=None if nodes is None else tuple(nodes.values()),
        fence=fence_in(snapshot, now, fence),
        notes=tuple(snapshot.notes),
    )
