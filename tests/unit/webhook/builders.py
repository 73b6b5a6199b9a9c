"""Short builders: objects as the API server shows them, reviews as it sends them, and a small world."""

import json
from typing import Any

import msgspec

from classifier import api
from classifier.fit import World
from classifier.instant import parse_instant
from classifier.objects import CapacityProfile, ClusterQueue, ConfigMap, LocalQueue, Meta, Namespace, ResourceFlavor

Object = dict[str, Any]

NOW = parse_instant("2026-11-29T10:00:00Z")


def job(
    name: str = "train",
    *,
    queue: str | None = "gpu",
    pods: int = 2,
    gpus: int = 8,
    annotations: dict[str, str] | None = None,
    **metadata: Any,
) -> Object:
    """A batch/v1 Job after Kueue's own defaulting."""
    labels = {api.QUEUE_NAME: queue} if queue else {}
    container = {"name": "main", "image": "train:1", "resources": {"limits": {"nvidia.com/gpu": str(gpus)}}}
    meta: Object = {"name": name, "namespace": "team", "labels": labels, **metadata}
    if annotations is not None:
        meta["annotations"] = annotations
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": meta,
        "spec": {
            "suspend": True,
            "parallelism": pods,
            "completions": pods,
            "completionMode": "Indexed",
            "template": {"metadata": {}, "spec": {"containers": [container], "restartPolicy": "Never"}},
        },
    }


def review(obj: Any, *, operation: str = "CREATE", group: str = "batch", kind: str = "Job", **request: Any) -> Object:
    """An AdmissionReview about ``obj``."""
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
            "kind": {"group": group, "version": "v1", "kind": kind},
            "resource": {"group": group, "version": "v1", "resource": kind.lower() + "s"},
            "namespace": "team",
            "operation": operation,
            "userInfo": {"username": "alice", "groups": ["system:authenticated"]},
            "object": obj,
            "oldObject": None,
            "dryRun": False,
            "options": {"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions"},
            **request,
        },
    }


def profile(*, mode: str = "Enforce", maximum: int = 2, **admission: str) -> Object:
    """gpu-a100-8: two nodes of eight GPUs at most, all there will ever be."""
    return {
        "apiVersion": "muster.dev/v1alpha1",
        "kind": "CapacityProfile",
        "metadata": {"name": "gpu-a100-8"},
        "spec": {
            "flavor": "a100-scale",
            "closed": True,
            "preflight": mode,
            "admission": admission,
            "pools": [
                {
                    "name": "gpupool",
                    "nodeLabels": {"agentpool": "gpupool"},
                    "maxNodes": maximum,
                    "node": {
                        "allocatable": {"cpu": "94", "memory": "860Gi", "nvidia.com/gpu": "8", "pods": "110"},
                        "allocatableComplete": True,
                    },
                }
            ],
        },
    }


def local_queue(annotations: dict[str, str] | None = None) -> Object:
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "LocalQueue",
        "metadata": {"name": "gpu", "namespace": "team", "annotations": annotations},
        "spec": {"clusterQueue": "gpu-a100"},
    }


def cluster_queue() -> Object:
    quota = [
        {"name": "cpu", "nominalQuota": "1000"},
        {"name": "memory", "nominalQuota": "10Ti"},
        {"name": "nvidia.com/gpu", "nominalQuota": "64"},
    ]
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ClusterQueue",
        "metadata": {"name": "gpu-a100"},
        "spec": {
            "namespaceSelector": {},
            "resourceGroups": [
                {
                    "coveredResources": ["cpu", "memory", "nvidia.com/gpu"],
                    "flavors": [{"name": "a100-scale", "resources": quota}],
                }
            ],
        },
    }


def flavor() -> Object:
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ResourceFlavor",
        "metadata": {"name": "a100-scale"},
        "spec": {"nodeLabels": {"agentpool": "gpupool"}},
    }


def namespace(annotations: dict[str, str] | None = None) -> Object:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team", "annotations": annotations}}


def kueue_config() -> Object:
    """Kueue as its manifests install it: nothing that counts differently from its defaults."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "kueue-manager-config", "namespace": "kueue-system"},
        "data": {"controller_manager_config.yaml": "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"},
    }


def world(*, profiles: list[Object] | None = None, queue: Object | None = None, ns: Object | None = None) -> World:
    """The world of these builders; ``profiles`` defaults to the one above."""
    return World(
        profiles=[msgspec.convert(p, CapacityProfile) for p in ([profile()] if profiles is None else profiles)],
        cluster_queues={"gpu-a100": msgspec.convert(cluster_queue(), ClusterQueue)},
        local_queues={"team/gpu": msgspec.convert(queue or local_queue(), LocalQueue)},
        flavors={"a100-scale": msgspec.convert(flavor(), ResourceFlavor)},
        namespaces={"team": msgspec.convert(ns or namespace(), Namespace)},
        kueue_config=msgspec.convert(kueue_config(), ConfigMap),
    )


def paths() -> dict[str, Object]:
    """The same world as an API server holds it."""
    return {
        api.CAPACITY_PROFILES.path(name="gpu-a100-8"): profile(),
        api.LOCAL_QUEUES.path("team", "gpu"): local_queue(),
        api.CLUSTER_QUEUES.path(name="gpu-a100"): cluster_queue(),
        api.RESOURCE_FLAVORS.path(name="a100-scale"): flavor(),
        api.NAMESPACES.path(name="team"): namespace(),
        api.CONFIG_MAPS.path("kueue-system", "kueue-manager-config"): kueue_config(),
    }


def decoded(obj: Object, type_: type[Meta]) -> Meta:
    return msgspec.json.decode(json.dumps(obj).encode(), type=type_)
