"""Pods of admitted Workloads whose operators do not run here, as those would make them.

An operator makes its pods of the templates that Kueue has filled in when it let the job go; the Workload's own
templates and its assignment say the same for every kind (Kueue: pkg/podset/podset.go FromAssignment).
"""

import asyncio
from typing import Any, Final

from classifier import api
from classifier.cluster.client import ApiError, Client
from e2e.builders import Document
from e2e.oracle.case import CASE
from e2e.oracle.sight import Sight

PARALLEL: Final = 16
IMAGE: Final = "example.com/any:1"
_KUEUE: Final = "kueue.x-k8s.io/"


async def play(client: Client, sight: Sight, workload: Document, flavors: dict[str, Document]) -> None:
    """Create the pods of one Workload; what the API server refuses is noted."""
    limit = asyncio.Semaphore(PARALLEL)

    async def one(pod: Document) -> None:
        async with limit:
            try:
                await client.request("POST", api.PODS.path(sight.case.namespace), body=pod, timeout=60)
            except ApiError as error:
                if error.status not in (400, 403, 422):
                    raise
                sight.refused_pods.append(error.message)

    await asyncio.gather(*(one(pod) for pod in pods(sight, workload, flavors)))


def pods(sight: Sight, workload: Document, flavors: dict[str, Document]) -> list[Document]:
    """All of a Workload's that start with it."""
    case, templates = sight.case, _templates(sight, workload)
    found = []
    for assignment in workload["status"]["admission"]["podSetAssignments"]:
        if assignment["name"] in case.late:
            continue
        template = templates[assignment["name"]]
        meta = template.get("metadata") or {}
        for index in range(assignment.get("count", 0)):
            name = f"{workload['metadata']['name']}-{assignment['name']}-{index}"[-60:].lstrip("-.")
            found.append(
                {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "metadata": {
                        "name": name,
                        "labels": _foreign(meta.get("labels")) | {CASE: case.name},
                        "annotations": _foreign(meta.get("annotations")),
                    },
                    "spec": _spec(template["spec"], assignment, flavors),
                }
            )
    return found


def _templates(sight: Sight, workload: Document) -> dict[str, Document]:
    """By podset. An AppWrapper's operator deploys what is wrapped, of which Kueue's copy has a part."""
    podsets = workload["spec"]["podSets"]
    if sight.case.kind == "AppWrapper":
        wrapped = [component["template"] for component in sight.stored[0]["spec"]["components"]]
        templates = [each if each["kind"] == "Pod" else each["spec"]["template"] for each in wrapped]
        return {podset["name"]: template for podset, template in zip(podsets, templates, strict=True)}
    return {podset["name"]: podset["template"] for podset in podsets}


def _spec(spec: Document, assignment: Document, flavors: dict[str, Document]) -> Document:
    chosen = [flavors[name]["spec"] for name in dict.fromkeys((assignment.get("flavors") or {}).values())]
    selector: dict[str, Any] = dict(spec.get("nodeSelector") or {})
    tolerations = list(spec.get("tolerations") or ())
    for flavor in chosen:
        selector |= flavor.get("nodeLabels") or {}
        tolerations += flavor.get("tolerations") or ()
    made = {key: value for key, value in spec.items() if key != "schedulingGates"}
    # Of the submitter beside a Ray head Kueue knows what it asks for, and KubeRay the image.
    containers = [{"image": IMAGE, **container} for container in spec["containers"]]
    return {**made, "containers": containers, "nodeSelector": selector, "tolerations": tolerations}


def _foreign(keys: dict[str, str] | None) -> dict[str, str]:
    """Without what would make Kueue queue the pod."""
    return {key: value for key, value in (keys or {}).items() if not key.startswith(_KUEUE)}
