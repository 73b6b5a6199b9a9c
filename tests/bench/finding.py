"""A Find in a namespace of 10,000 pods of other jobs, on the real API server: what it asks for and what it reads."""

import asyncio
import time
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from classifier import api
from classifier.cluster.backend import Backend
from classifier.cluster.client import Client
from classifier.state import Settings
from e2e.controlplane.cluster import Cluster
from tests.bench import Figure, Say
from tests.bench.pods import pod

OTHERS: Final = 10_000
OWN: Final = 16
CONCURRENCY: Final = 32
NAMESPACE: Final = "team"
#: Suspended: Trainer makes a JobSet of it and no pod.
_TRAIN_JOB: Final = {
    "apiVersion": api.TRAIN_JOBS.api_version,
    "kind": api.TRAIN_JOBS.kind,
    "metadata": {"name": "train-3"},
    "spec": {"suspend": True, "runtimeRef": {"name": "torch-distributed"}},
}


class Recorded:
    """Every request of a client, and how much came back."""

    def __init__(self, client: Client) -> None:
        self.asked: list[tuple[str, str]] = []
        self.read = 0
        self._request = client.request
        client.request = self  # type: ignore[method-assign]

    async def __call__(self, method: str, path: str, *, params: Mapping[str, str] | None = None, **more: Any) -> bytes:
        query = "&".join(f"{key}={value}" for key, value in (params or {}).items())
        body = await self._request(method, path, params=params, **more)
        self.asked.append((f"{method} {path}{'?' if query else ''}{query}", f"{len(body):,} bytes"))
        self.read += len(body)
        return body


def run(say: Say) -> Iterator[Figure]:
    yield from asyncio.run(_measure(say))


async def _measure(say: Say) -> list[Figure]:
    async with Cluster(trainer=True) as cluster:
        await cluster.admin.request(
            "POST", api.NAMESPACES.path(), body={"metadata": {"name": NAMESPACE}, "kind": "Namespace"}
        )
        await cluster.admin.request("POST", api.TRAIN_JOBS.path(NAMESPACE), body=_TRAIN_JOB)
        say(f"  making {OTHERS:,} pods of other jobs and {OWN} of this one")
        await _fill(cluster.admin, say)
        async with await Client.connect(kubeconfig=str(cluster.kubeconfig)) as client:
            recorded = Recorded(client)
            began = time.perf_counter()
            found = await Backend(client, NAMESPACE, Settings()).find("train")
            took = time.perf_counter() - began
            asked, read = list(recorded.asked), recorded.read
            began = time.perf_counter()
            await _everything(client)
            whole = time.perf_counter() - began
            everything = recorded.read - read
    for request, size in asked:
        say(f"    {request}: {size}")
    return [
        Figure(f"objects of the job found among {OTHERS + OWN:,} pods", len(found), ""),
        Figure("bytes read by the find", read / everything, "", "a list of all pods", most=0.05),
        Figure("time of the find", took / whole, "", "a list of all pods"),
    ]


async def _fill(client: Client, say: Say) -> None:
    made = 0
    gate = asyncio.Semaphore(CONCURRENCY)

    async def make(index: int) -> None:
        nonlocal made
        async with gate:
            await client.request("POST", api.PODS.path(NAMESPACE), body=_made(index))
        made += 1
        if made % 2000 == 0:
            say(f"    {made:,} pods")

    await asyncio.gather(*(make(index) for index in range(OTHERS + OWN)))


def _made(index: int) -> dict[str, Any]:
    """A pod that no controller looks at and no scheduler places; the first :data:`OWN` are the job's."""
    body = pod(index)
    labels = {"dispatch.phpboyscout.uk/job-id": "other", "jobset.sigs.k8s.io/jobset-name": f"other-{index % 100}"}
    metadata = {"name": body["metadata"]["name"], "labels": body["metadata"]["labels"] | labels}
    if index < OWN:
        metadata["labels"] = body["metadata"]["labels"]
    spec = body["spec"] | {"schedulerName": "nobody"}
    del spec["nodeName"]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


class _Page(msgspec.Struct):
    metadata: dict[str, Any]


async def _everything(client: Client) -> None:
    params = {"limit": "500"}
    while True:
        body = await client.request("GET", api.PODS.path(NAMESPACE), params=params)
        token = msgspec.json.decode(body, type=_Page).metadata.get("continue")
        if not token:
            return
        params["continue"] = token
