"""RayCluster: ``head`` and one podset a worker group (Kueue: pkg/controller/jobs/raycluster/common.go BuildPodSets).

What KubeRay adds to the head when it makes the pod is added here as Kueue does.
"""

import re
from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec.structs import replace

from classifier import api
from classifier.fit.gang import GangError, Podset, Runtimes
from classifier.fit.kinds.common import MAX_INT32, count_of, gang, podset, product
from classifier.objects import (
    AutoscalerOptions,
    Container,
    PodSpec,
    PodTemplate,
    Quantity,
    RayCluster,
    RayClusterSpec,
    ResourceRequirements,
    WorkerGroup,
)
from classifier.quantity import QuantityError, parse

HEAD: Final = "head"
_FAULT_TOLERANT: Final = "ray.io/ft-enabled"
_AUTOSCALER: Final[dict[str, Quantity]] = {"cpu": "500m", "memory": "512Mi"}
#: The Job that removes a fault tolerant cluster's data from Redis runs in the head's place, and quota must hold it.
_REDIS_CLEANUP: Final[dict[str, Quantity]] = {"cpu": "200m", "memory": "256Mi"}


def ray_cluster_podsets(cluster: RayCluster, runtimes: Runtimes) -> list[Podset]:
    spec = cluster.spec or RayClusterSpec()
    notes = cluster.metadata.annotations or {}
    return gang(cluster_podsets(spec, notes, cluster.namespace, "/spec"), "spec")


def cluster_podsets(spec: RayClusterSpec, notes: Mapping[str, str], namespace: str, at: str) -> list[Podset]:
    """``notes``: the annotations of the object that Kueue queues. ``at``: JSON Pointer of ``spec``."""
    elastic = notes.get(api.ELASTIC_JOB) == "true" or spec.enable_in_tree_autoscaling is True
    workers = [
        _workers(group, f"{at}/workerGroupSpecs/{index}", namespace, elastic)
        for index, group in enumerate(spec.worker_group_specs or ())
    ]
    return [_head(spec, notes, namespace, at), *workers]


def with_container(template: PodTemplate, name: str, resources: ResourceRequirements) -> PodTemplate:
    """The same template with one container more, at the end."""
    spec = template.spec or PodSpec()
    added = [*(spec.containers or ()), Container(name=name, resources=resources)]
    return msgspec.structs.replace(template, spec=msgspec.structs.replace(spec, containers=added))


def _head(spec: RayClusterSpec, notes: Mapping[str, str], namespace: str, at: str) -> Podset:
    declared = spec.head_group_spec.template if spec.head_group_spec else None
    template = declared or PodTemplate()
    counted = None
    if notes.get(_FAULT_TOLERANT, "").lower() == "true" or spec.gcs_fault_tolerance_options is not None:
        counted = _with_room_for_cleanup(template)
    if spec.enable_in_tree_autoscaling:
        resources = (spec.autoscaler_options or AutoscalerOptions()).resources
        if resources is None:
            resources = ResourceRequirements(requests=_AUTOSCALER, limits=_AUTOSCALER)
        template = with_container(template, "autoscaler", resources)
        counted = with_container(counted, "autoscaler", resources) if counted is not None else None
    path = f"{at}/headGroupSpec/template" if declared is not None else None
    found = podset(HEAD, 1, template, namespace, path, counted=counted)
    # Kueue before 0.19 does not count the autoscaler, and before 0.17.6 and 0.18.2 no cleanup either.
    added = counted is not None or spec.enable_in_tree_autoscaling
    return replace(found, counted_before=declared) if added else found


def _with_room_for_cleanup(head: PodTemplate) -> PodTemplate:
    spec = head.spec or PodSpec()
    if not spec.containers:
        raise GangError("the head of a fault tolerant Ray cluster has no container")
    first, *others = spec.containers
    resources = first.resources or ResourceRequirements()
    requests = dict(resources.requests or {})
    for name, minimum in _REDIS_CLEANUP.items():
        if name not in requests or _less(requests[name], minimum):
            requests[name] = minimum
    first = msgspec.structs.replace(first, resources=msgspec.structs.replace(resources, requests=requests))
    return msgspec.structs.replace(head, spec=msgspec.structs.replace(spec, containers=[first, *others]))


def _less(quantity: Quantity, minimum: Quantity) -> bool:
    try:
        return parse(quantity) < parse(minimum)
    except QuantityError:
        return False  # what cannot be read is told of where requests are added up


def _workers(group: WorkerGroup, at: str, namespace: str, elastic: bool) -> Podset:
    """Kueue counts ``replicas``, and each as ``numOfHosts`` pods; KubeRay keeps them between minimum and maximum.

    An absent ``replicas`` is 0, the CRD's default. Those of an autoscaler, or of an elastic job, may be fewer.
    """
    field = re.sub(r"/([0-9]+)", r"[\1]", at).lstrip("/").replace("/", ".")
    replicas = count_of(group.replicas, f"{field}.replicas", 0)
    hosts = count_of(group.num_of_hosts, f"{field}.numOfHosts")
    low = count_of(group.min_replicas, f"{field}.minReplicas", 0)
    high = count_of(group.max_replicas, f"{field}.maxReplicas", MAX_INT32)
    count = product(replicas, max(1, hosts), field)
    runs = 0 if group.suspend else (low if elastic else min(max(replicas, low), high)) * hosts
    least = runs if runs < count else None
    return podset(group.group_name, count, group.template, namespace, f"{at}/template", least=least)
