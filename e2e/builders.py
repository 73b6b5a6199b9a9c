"""Objects for the scenarios: short to write, valid as they are, one function a kind.

They build plain documents, without Muster's own structs: a mistake in those must not hide here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from e2e.controlplane.kwok import NODE_ANNOTATION
from e2e.controlplane.stages import ENDS, RUN_FOR

Document = dict[str, Any]

GPU: Final = "nvidia.com/gpu"
QUEUE_LABEL: Final = "kueue.x-k8s.io/queue-name"
#: Which nodes are a flavor's.
POOL_LABEL: Final = "e2e.muster.dev/pool"
KUEUE: Final = "kueue.x-k8s.io/v1beta2"


@dataclass(frozen=True)
class Queues:
    """What one test queues into; every name is its own."""

    namespace: str
    local_queue: str
    cluster_queue: str
    flavor: str

    @property
    def node_labels(self) -> dict[str, str]:
        """What makes a node one of the flavor's."""
        return {POOL_LABEL: self.flavor}


def _object(api_version: str, kind: str, name: str, namespace: str | None = None, **rest: Any) -> Document:
    metadata: Document = {"name": name, **({"namespace": namespace} if namespace else {})}
    for key in ("annotations", "labels"):
        if value := rest.pop(key, None):
            metadata[key] = dict(value)
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **rest}


def job(
    name: str,
    queues: Queues,
    *,
    pods: int = 2,
    requests: Mapping[str, str | int] | None = None,
    annotations: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    pod_annotations: Mapping[str, str] | None = None,
    run_for: str | None = None,
    ends: str | None = None,
    pod_spec: Mapping[str, Any] | None = None,
) -> Document:
    """A gang of ``pods`` that start together, each asking for ``requests`` (default: one GPU), in the test's queue.

    ``run_for`` (Go duration) and ``ends`` (``Succeeded``, ``Failed``, ``Never``) say how KWOK plays its pods.
    """
    resources = {key: str(value) for key, value in (requests or {GPU: 1}).items()}
    play = {**({RUN_FOR: run_for} if run_for else {}), **({ENDS: ends} if ends else {})}
    template: Document = {
        "metadata": {"annotations": {**play, **(pod_annotations or {})}},
        "spec": {
            "restartPolicy": "Never",
            # Extended resources want request and limit alike; for all others it does no harm.
            "containers": [
                {
                    "name": "main",
                    "image": "example.com/train:1",
                    "resources": {"requests": resources, "limits": resources},
                }
            ],
            **(pod_spec or {}),
        },
    }
    return _object(
        "batch/v1",
        "Job",
        name,
        queues.namespace,
        annotations=annotations,
        labels={QUEUE_LABEL: queues.local_queue, **(labels or {})},
        spec={
            "parallelism": pods,
            "completions": pods,
            "completionMode": "Indexed",
            "backoffLimit": 0,
            "suspend": True,
            "template": template,
        },
    )


def namespace(name: str, annotations: Mapping[str, str] | None = None) -> Document:
    return _object("v1", "Namespace", name, annotations=annotations)


def flavor(name: str, labels: Mapping[str, str], **spec: Any) -> Document:
    """A ResourceFlavor of the nodes with these labels."""
    return _object(KUEUE, "ResourceFlavor", name, spec={"nodeLabels": dict(labels), **spec})


def cluster_queue(
    name: str,
    quotas: Mapping[str, Mapping[str, str | int]],
    *,
    checks: Sequence[str] = (),
    annotations: Mapping[str, str] | None = None,
    **spec: Any,
) -> Document:
    """A ClusterQueue for every namespace. ``quotas``: flavor to resource to nominal quota, all the same resources."""
    covered = list(next(iter(quotas.values())))
    flavors = [
        {"name": name_, "resources": [{"name": resource, "nominalQuota": str(of[resource])} for resource in covered]}
        for name_, of in quotas.items()
    ]
    strategy = {"admissionChecksStrategy": {"admissionChecks": [{"name": check} for check in checks]}}
    return _object(
        KUEUE,
        "ClusterQueue",
        name,
        annotations=annotations,
        spec={
            "namespaceSelector": {},
            "resourceGroups": [{"coveredResources": covered, "flavors": flavors}],
            **(strategy if checks else {}),
            **spec,
        },
    )


def local_queue(queues: Queues, annotations: Mapping[str, str] | None = None, **spec: Any) -> Document:
    return _object(
        KUEUE,
        "LocalQueue",
        queues.local_queue,
        queues.namespace,
        annotations=annotations,
        spec={"clusterQueue": queues.cluster_queue, **spec},
    )


def provisioning(name: str, *, class_name: str, resources: Sequence[str] = (GPU,), **spec: Any) -> list[Document]:
    """An AdmissionCheck that asks the autoscaler for capacity, and its ProvisioningRequestConfig, both of this name."""
    config = _object(
        KUEUE,
        "ProvisioningRequestConfig",
        name,
        spec={"provisioningClassName": class_name, "managedResources": list(resources), **spec},
    )
    parameters = {"apiGroup": "kueue.x-k8s.io", "kind": "ProvisioningRequestConfig", "name": name}
    check = _object(
        KUEUE,
        "AdmissionCheck",
        name,
        spec={"controllerName": "kueue.x-k8s.io/provisioning-request", "parameters": parameters},
    )
    return [config, check]


def node(name: str, labels: Mapping[str, str], allocatable: Mapping[str, str | int], **spec: Any) -> Document:
    """A node that KWOK plays: Ready within a second."""
    room = {"cpu": "96", "memory": "1Ti", "pods": "110", **{key: str(value) for key, value in allocatable.items()}}
    return _object(
        "v1",
        "Node",
        name,
        labels=labels,
        annotations=dict([NODE_ANNOTATION]),
        spec=spec,
        status={"allocatable": room, "capacity": room},
    )


def profile(name: str, flavor_name: str, pools: Sequence[Mapping[str, Any]], **spec: Any) -> Document:
    """A CapacityProfile."""
    return _object(
        "muster.dev/v1alpha1",
        "CapacityProfile",
        name,
        spec={"flavor": flavor_name, "pools": [dict(pool) for pool in pools], **spec},
    )


def pool(name: str, queues: Queues, *, max_nodes: int, allocatable: Mapping[str, str | int]) -> Document:
    """One pool of a profile: up to ``max_nodes`` nodes of the test's flavor."""
    room = {"cpu": "96", "memory": "1Ti", "pods": "110", **{key: str(value) for key, value in allocatable.items()}}
    return {"name": name, "nodeLabels": queues.node_labels, "maxNodes": max_nodes, "node": {"allocatable": room}}
