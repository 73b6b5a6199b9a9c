"""From a snapshot to what the judgement and the report take: the same steps for clusters and files."""

from classifier import api
from classifier.cluster.snapshot import Snapshot
from classifier.fence import PolicyObject
from classifier.fit import Verdict, World, judge
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
from classifier.report.fence import FENCE_NAME, Fence, controllers_word, fence_of
from classifier.report.observation import Observation, pods_of, requests_of, workload_of
from classifier.report.owner import Owner, stamped_verdict

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
    word = controllers_word(snapshot.of(api.CAPACITY_PROFILES, CapacityProfile).values(), name)
    if any(resource in snapshot.unreadable for resource in _FENCE):
        return word or Fence(name=name, why="may not be read")
    policy = snapshot.get(api.ADMISSION_POLICIES, PolicyObject, name)
    binding = snapshot.get(api.ADMISSION_POLICY_BINDINGS, PolicyObject, name)
    return fence_of(policy, binding, now, name, word)


def observe(
    snapshot: Snapshot,
    owner: Owner,
    now: int,
    *,
    fence: Fence | None = None,
    workload: Workload | None = None,
    alone: bool = True,
) -> Observation:
    """Everything the snapshot holds about one job.

    For thousands of jobs at once: name the Workload, judge the fence once, and leave out (``alone=False``) what has to
    be searched for, that is requests, pods and nodes.
    """
    if workload is None:
        workload = workload_of(owner, snapshot.of(api.WORKLOADS, Workload).values())
    queue = (workload.queue_name if workload else "") or owner.queue
    local = snapshot.get(api.LOCAL_QUEUES, LocalQueue, queue, owner.namespace) if queue else None
    cluster = snapshot.get(api.CLUSTER_QUEUES, ClusterQueue, local.cluster_queue) if local else None
    profiles = snapshot.of(api.CAPACITY_PROFILES, CapacityProfile)
    if cluster is None and api.CLUSTER_QUEUES in snapshot.unreadable:
        # Who may not read ClusterQueues still has what was stamped at submit.
        names = (owner.annotations.get(api.CAPACITY_PROFILE) or "").split(",")
        speaking = tuple(profiles[name] for name in sorted(n.strip() for n in names) if name in profiles)
    else:
        speaking = profiles_for(cluster, profiles.values())
    nodes = snapshot.readable(api.NODES, Node) if alone else None
    return Observation(
        owner=owner,
        workload=workload,
        local_queue=local,
        cluster_queue=cluster,
        namespace=snapshot.get(api.NAMESPACES, Namespace, owner.namespace),
        profiles=speaking,
        checks=snapshot.readable(api.ADMISSION_CHECKS, AdmissionCheck),
        configs=snapshot.readable(api.PROVISIONING_REQUEST_CONFIGS, ProvisioningRequestConfig),
        requests=_requests(snapshot, workload) if alone else (),
        pods=pods_of(owner, snapshot.of(api.PODS, Pod).values()) if alone else (),
        nodes=None if nodes is None else tuple(nodes.values()),
        fence=fence if fence is not None else fence_in(snapshot, now),
        notes=tuple(snapshot.notes),
    )


def _requests(snapshot: Snapshot, workload: Workload | None) -> tuple[ProvisioningRequest, ...] | None:
    requests = snapshot.readable(api.PROVISIONING_REQUESTS, ProvisioningRequest)
    return None if requests is None else requests_of(workload, requests.values())


def verdict_on(snapshot: Snapshot, world: World, owner: Owner, now: int) -> Verdict | None:
    """The verdict on a job; the one stamped at submit where the objects it rests on may not be read."""
    if not snapshot.unreadable.isdisjoint((api.CAPACITY_PROFILES, api.CLUSTER_QUEUES, api.RESOURCE_FLAVORS)):
        return stamped_verdict(owner)
    return judge(owner.meta, world, now)
