"""Gangs of several podsets: JobSets, one podset a replicated job."""

from typing import Any

import msgspec

from classifier import api
from classifier.objects import JobSet
from tests.builders import NAMESPACE

Json = dict[str, Any]


def part(name: str, pods: int, requests: Json, annotations: Json | None = None, **spec: Any) -> Json:
    """A replicated job of one Job; ``spec`` are further fields of its pods, by JSON name."""
    container = {"name": "main", "image": "train", "resources": {"requests": requests}}
    template = {"metadata": {"annotations": annotations or {}}, "spec": {"containers": [container], **spec}}
    return {
        "name": name,
        "replicas": 1,
        "template": {"spec": {"parallelism": pods, "completions": pods, "template": template}},
    }


def after(job: Json, other: str) -> Json:
    """Starts when ``other`` has completed."""
    return job | {"dependsOn": [{"name": other, "status": "Complete"}]}


def gang(*parts: Json, queue: str = "gpu", annotations: Json | None = None) -> JobSet:
    raw = {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {
            "name": "train",
            "namespace": NAMESPACE,
            "labels": {api.QUEUE_NAME: queue},
            "annotations": annotations or {},
        },
        "spec": {"suspend": True, "replicatedJobs": list(parts)},
    }
    return msgspec.convert(raw, JobSet)
