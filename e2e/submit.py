"""Submitting jobs as a person does, who sees status codes, Statuses and warnings; and a policy to submit under."""

import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import aiohttp

from classifier import api
from e2e import builders, view
from e2e.builders import GPU, Document, Queues
from e2e.controlplane.cluster import Cluster
from e2e.controlplane.context import ADMINISTRATORS
from e2e.wait import eventually

#: What the webhook writes on a job that a profile with a timeout covers.
STAMPS: Final = {api.SUBMITTED_AT, api.ADMISSION_DEADLINE, api.CAPACITY_PROFILE, api.PREFLIGHT}


@dataclass
class Answer:
    """What the API server told a person: the object, or the Status of a refusal."""

    status: int
    warnings: list[str]
    body: Document

    @property
    def annotations(self) -> dict[str, str]:
        return view.annotations(self.body)


class Person:
    """Somebody with kubectl."""

    def __init__(self, session: aiohttp.ClientSession, server: str) -> None:
        self._session = session
        self._server = server

    async def submit(self, job: Document, **params: str) -> Answer:
        return await self.create(api.JOBS, job, **params)

    async def create(self, resource: api.Resource, obj: Document, **params: str) -> Answer:
        return await self._send("POST", resource.path(obj["metadata"]["namespace"]), obj, params)

    async def replace(self, resource: api.Resource, obj: Document, **params: str) -> Answer:
        metadata = obj["metadata"]
        return await self._send("PUT", resource.path(metadata["namespace"], metadata["name"]), obj, params)

    async def _send(self, method: str, path: str, obj: Document, params: dict[str, str]) -> Answer:
        async with self._session.request(method, self._server + path, json=obj, params=params) as answer:
            # 299 - "text", with quotes and backslashes escaped (RFC 7234 §5.5).
            said = [json.loads(w.split(" ", 2)[2]) for w in answer.headers.getall("Warning", [])]
            return Answer(answer.status, said, await answer.json())


@asynccontextmanager
async def person(cluster: Cluster, name: str, folder: Path) -> AsyncIterator[Person]:
    """A person with a client certificate and all rights. ``folder`` keeps the certificate."""
    authority = cluster.context.authority
    file = folder / f"{name}.pem"
    file.write_bytes(b"".join(authority.client(name, [ADMINISTRATORS])))
    context = ssl.create_default_context(cadata=authority.certificate.decode())
    context.load_cert_chain(file)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context)) as session:
        yield Person(session, cluster.context.server)


def gang(name: str, queues: Queues, nodes: int = 2, annotations: dict[str, str] | None = None) -> Document:
    """One pod of 8 GPUs a node."""
    return builders.job(name, queues, pods=nodes, requests={GPU: 8}, annotations=annotations)


@asynccontextmanager
async def enforced(cluster: Cluster, queues: Queues, who: Person) -> AsyncIterator[Document]:
    """A profile that enforces 2 nodes x 8 GPU and 30 minutes; every replica of the webhook knows it."""
    profile = builders.profile(
        queues.cluster_queue,
        queues.flavor,
        [builders.pool("gpupool", queues, max_nodes=2, allocatable={GPU: 8})],
        closed=True,
        preflight="Enforce",
        admission={"timeout": "30m"},
    )
    await cluster.applier.apply([profile])
    in_a_row = 0

    async def known() -> bool:
        nonlocal in_a_row
        probe = await who.submit(gang("probe", queues), dryRun="All")
        in_a_row = in_a_row + 1 if api.CAPACITY_PROFILE in probe.annotations else 0
        return in_a_row >= 4

    await eventually(known, what="the profile is known to the webhook")
    yield profile
    await cluster.applier.delete([profile])
