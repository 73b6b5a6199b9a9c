"""Looking at the cluster as a scenario needs it: jobs with their Workloads, pods, events, metrics. Plain documents."""

from typing import Any

import aiohttp
import msgspec

from classifier import api
from classifier.cluster.client import Client
from e2e.controlplane.node import Pod

Document = dict[str, Any]


async def read(client: Client, resource: api.Resource, namespace: str | None, name: str) -> Document:
    document: Document = msgspec.json.decode(await client.request("GET", resource.path(namespace, name)))
    return document


async def every(
    client: Client, resource: api.Resource, namespace: str | None = None, selector: str | None = None
) -> list[Document]:
    params = {"labelSelector": selector} if selector else None
    items: list[Document] = msgspec.json.decode(await client.request("GET", resource.path(namespace), params=params))[
        "items"
    ]
    return items


def annotations(document: Document) -> dict[str, str]:
    return document["metadata"].get("annotations") or {}


def condition(document: Document, type_: str) -> Document | None:
    conditions: list[Document] = document.get("status", {}).get("conditions") or []
    return next((c for c in conditions if c["type"] == type_), None)


def is_true(document: Document, type_: str) -> bool:
    found = condition(document, type_)
    return found is not None and found["status"] == "True"


async def workload_of(client: Client, job: Document) -> Document | None:
    """The Workload that Kueue made for a job, if it has."""
    uid = job["metadata"]["uid"]
    for workload in await every(client, api.WORKLOADS, job["metadata"]["namespace"]):
        if any(o["uid"] == uid and o.get("controller") for o in workload["metadata"].get("ownerReferences") or ()):
            return workload
    return None


async def pods_of(client: Client, namespace: str, job: str) -> list[Document]:
    return await every(client, api.PODS, namespace, f"batch.kubernetes.io/job-name={job}")


async def timeout_events(client: Client, namespace: str, job: str) -> list[Document]:
    """The events with which Muster tells that the wait of a job was ended."""
    events = await every(client, api.EVENTS, namespace)
    return [e for e in events if e["reason"] == api.EVENT_TIMED_OUT and e["regarding"]["name"] == job]


async def metrics(pod: Pod) -> dict[str, float]:
    """Every sample of a pod's metrics, by its name with labels as exposed."""
    async with aiohttp.ClientSession() as http, http.get(pod.url("metrics", "/metrics")) as answer:
        lines = (await answer.text()).splitlines()
    samples = (line.rsplit(" ", 1) for line in lines if line and not line.startswith("#"))
    return {name: float(value) for name, value in samples}
