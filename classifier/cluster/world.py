"""From a snapshot to what the judgement and the report take: the same steps for clusters and files."""

import re
from collections.abc import Iterator
from typing import Final

import msgspec

from classifier import api
from classifier.api import Resource
from classifier.cluster.configmaps import USUAL, ConfigMapName, ConfigMaps, kueue_defaults
from classifier.cluster.machines import MACHINE_GROUPS, machine_groups
from classifier.cluster.snapshot import Snapshot
from classifier.fence import PolicyObject
from classifier.fit import Outcome, Verdict, World, judge, judge_waiting
from classifier.fit.facts import Sources
from classifier.fit.gang import Runtimes
from classifier.fit.quota import QuotaTree
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
    Pod,
    ProvisioningRequest,
    ProvisioningRequestConfig,
    ResourceFlavor,
    RuntimeClass,
    Topology,
    TrainingRuntime,
    Workload,
)
from classifier.policy import profiles_for
from classifier.report.fence import FENCE_NAME, Fence, controllers_word, fence_of
from classifier.report.owner import Owner, stamped_verdict
from classifier.report.picture import Picture, pods_of, requests_of, workload_of
from classifier.scope import queue_of

_FENCE: Final = (api.ADMISSION_POLICIES, api.ADMISSION_POLICY_BINDINGS)
#: What a verdict rests on, in the order it is looked up.
_CHAIN: Final = (api.LOCAL_QUEUES, api.CLUSTER_QUEUES, api.CAPACITY_PROFILES, api.RESOURCE_FLAVORS)
_MISSING_CHECK: Final = re.compile(r"(AdmissionCheck \S+ of ClusterQueue \S+) is not found")


def world_of(snapshot: Snapshot, where: ConfigMaps = USUAL) -> World:
    """The world a gang is judged in. Its dictionaries are the snapshot's own: read them, do not write.

    Where Kueue's configuration is not at hand its defaults are assumed: see :func:`assumed`.
    """
    nodes = snapshot.readable(api.NODES, Node)
    return World(
        profiles=sorted(snapshot.of(api.CAPACITY_PROFILES, CapacityProfile).values(), key=lambda p: p.name),
        cluster_queues=snapshot.of(api.CLUSTER_QUEUES, ClusterQueue),
        local_queues=snapshot.of(api.LOCAL_QUEUES, LocalQueue),
        flavors=snapshot.of(api.RESOURCE_FLAVORS, ResourceFlavor),
        admission_checks=snapshot.of(api.ADMISSION_CHECKS, AdmissionCheck),
        namespaces=snapshot.of(api.NAMESPACES, Namespace),
        provisioning_configs=snapshot.of(api.PROVISIONING_REQUEST_CONFIGS, ProvisioningRequestConfig),
        cohorts=snapshot.of(api.COHORTS, Cohort),
        topologies=snapshot.of(api.TOPOLOGIES, Topology),
        limit_ranges=snapshot.of(api.LIMIT_RANGES, LimitRange),
        runtime_classes=snapshot.of(api.RUNTIME_CLASSES, RuntimeClass),
        device_classes=snapshot.of(api.DEVICE_CLASSES, DeviceClass),
        runtimes=Runtimes(
            snapshot.of(api.TRAINING_RUNTIMES, TrainingRuntime),
            snapshot.of(api.CLUSTER_TRAINING_RUNTIMES, ClusterTrainingRuntime),
        ),
        kueue_config=_config_map(snapshot, where.kueue_config) or kueue_defaults(),
        autoscaler_status=_config_map(snapshot, where.autoscaler_status),
        node_pools=snapshot.of(api.NODE_POOLS, NodePool),
        machine_groups=machine_groups(*(snapshot.of(resource, MachineGroup) for resource in MACHINE_GROUPS)),
        unread=frozenset(snapshot.unreadable - {api.NODES}),
        nodes=None if nodes is None else list(nodes.values()),
    )


def assumed(snapshot: Snapshot, where: ConfigMaps, *, files: bool) -> list[str]:
    """What verdicts in :func:`world_of` rest on without being known, in words."""
    notes = list(_cohorts_left_out(snapshot)) if files else []
    if where.kueue_config is not None and _config_map(snapshot, where.kueue_config) is not None:
        return notes
    why = "is not in these files" if files else "cannot be read here"
    name = f" ({where.kueue_config})" if where.kueue_config is not None else ""
    return [f"Kueue's configuration{name} {why}; its defaults are assumed", *notes]


def _cohorts_left_out(snapshot: Snapshot) -> Iterator[str]:
    """A cohort may well be no more than a name; but then these files have to hold everybody who lends in it."""
    tree = QuotaTree(snapshot.of(api.CLUSTER_QUEUES, ClusterQueue), snapshot.of(api.COHORTS, Cohort))
    missing = {name for queue in snapshot.of(api.CLUSTER_QUEUES, ClusterQueue) for name in tree.missing_cohorts(queue)}
    for name in sorted(missing):
        yield f"Cohort {name} is not in these files; it is taken to have no quota but that of the ClusterQueues given"


def _config_map(snapshot: Snapshot, name: ConfigMapName | None) -> ConfigMap | None:
    return None if name is None else snapshot.get(api.CONFIG_MAPS, ConfigMap, name.name, name.namespace)


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
    sources: Sources | None = None,
    alone: bool = True,
) -> Picture:
    """Everything the snapshot holds about one job.

    For thousands of jobs at once: name the Workload, judge the fence once, and leave out (``alone=False``) what has to
    be searched for, that is requests, pods and nodes. ``sources``: what autoscalers say of pools, to be told too.
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
    return Picture(
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
        sources=sources,
        fence=fence if fence is not None else fence_in(snapshot, now),
        notes=tuple(snapshot.notes),
        hidden=frozenset(resource.plural for resource in snapshot.unreadable),
    )


def _requests(snapshot: Snapshot, workload: Workload | None) -> tuple[ProvisioningRequest, ...] | None:
    requests = snapshot.readable(api.PROVISIONING_REQUESTS, ProvisioningRequest)
    return None if requests is None else requests_of(workload, requests.values())


def verdict_on(snapshot: Snapshot, world: World, obj: Meta, now: int) -> Verdict:
    """The verdict on a job. What may not be read never passes for what does not exist.

    Where a judgement would rest on objects that may not be read, the verdict stamped at submit has to do; without
    one it is ``unknown`` and names them.
    """
    hidden = _hidden(snapshot, obj)
    if not hidden:
        return _without_checks(snapshot, obj, judge(obj, world, now))
    alone = judge(obj, World(namespaces=world.namespaces), now)
    if alone.outcome is Outcome.SKIPPED:
        return alone  # for a reason in the job itself
    return stamped_verdict(obj) or _unknown(f"{', '.join(r.plural for r in hidden)} may not be read")


def verdict_on_waiting(snapshot: Snapshot, world: World, workload: Workload, now: int) -> Verdict:
    """The same of a Workload whose job is of a kind that is not at hand."""
    hidden = _hidden(snapshot, workload)
    if hidden:
        return _unknown(f"{', '.join(r.plural for r in hidden)} may not be read")
    return _without_checks(snapshot, workload, judge_waiting(workload, world, now))


def _hidden(snapshot: Snapshot, obj: Meta) -> list[Resource]:
    """The kinds this verdict would need and that may not be read; none as soon as one that may be says enough."""
    local = snapshot.get(api.LOCAL_QUEUES, LocalQueue, queue_of(obj), obj.namespace)
    cluster = snapshot.get(api.CLUSTER_QUEUES, ClusterQueue, local.cluster_queue) if local else None
    first = 2 if cluster else 1 if local else 0
    if first < 2 and _CHAIN[first] not in snapshot.unreadable:
        return []  # it does not exist, whatever else may not be read
    return [resource for resource in _CHAIN[first:] if resource in snapshot.unreadable]


def _without_checks(snapshot: Snapshot, obj: Meta, verdict: Verdict) -> Verdict:
    """A doubt that only arose because AdmissionChecks may not be read."""
    if api.ADMISSION_CHECKS not in snapshot.unreadable or not _MISSING_CHECK.search(verdict.reason):
        return verdict
    reworded = {name: _MISSING_CHECK.sub(r"\1 may not be read", getattr(verdict, name)) for name in ("line", "reason")}
    return stamped_verdict(obj) or msgspec.structs.replace(verdict, **reworded)


def _unknown(reason: str) -> Verdict:
    return Verdict(
        outcome=Outcome.UNKNOWN,
        line=f"preflight: could not decide: {reason}",
        reason=reason,
        advice="ask for the right to read them, or use --as",
    )
