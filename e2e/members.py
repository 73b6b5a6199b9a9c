"""Whom the API server knows by a token: members of a team, and accounts whose token somebody else got hold of."""

import json
import ssl
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import aiohttp

from classifier import api
from classifier.cluster.client import APPLY_PATCH, JSON, MERGE_PATCH
from e2e.builders import Document
from e2e.controlplane.cluster import Cluster
from e2e.submit import Answer

RBAC: Final = "rbac.authorization.k8s.io/v1"
STRATEGIC: Final = "application/strategic-merge-patch+json"
JSON_PATCH: Final = "application/json-patch+json"


class Member:
    """Somebody with a ServiceAccount's token."""

    def __init__(self, session: aiohttp.ClientSession, server: str) -> None:
        self._session = session
        self._server = server

    async def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        content_type: str = JSON,
        params: Mapping[str, str] | None = None,
    ) -> Answer:
        async with self._session.request(
            method,
            self._server + path,
            data=None if body is None else json.dumps(body),
            headers={"Content-Type": content_type},
            params=dict(params or {}),
        ) as answer:
            said = [json.loads(w.split(" ", 2)[2]) for w in answer.headers.getall("Warning", [])]
            return Answer(answer.status, said, await answer.json())

    async def patch(self, path: str, body: Any, content_type: str = MERGE_PATCH, **params: str) -> Answer:
        if content_type == APPLY_PATCH:
            params = {"fieldManager": "kubectl", "force": "true", **params}
        return await self.send("PATCH", path, body, content_type, params)

    async def annotate(self, path: str, annotations: Mapping[str, str | None], **params: str) -> Answer:
        """``kubectl annotate --overwrite``."""
        return await self.patch(path, {"metadata": {"annotations": dict(annotations)}}, **params)

    async def replace(self, path: str, obj: Document, **params: str) -> Answer:
        return await self.send("PUT", path, obj, params=params)


def _role_binding(namespace: str, account: str, number: int, role: str, home: str) -> Document:
    return {
        "apiVersion": RBAC,
        "kind": "RoleBinding",
        "metadata": {"name": f"{account}-{number}", "namespace": namespace},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": home}],
    }


@asynccontextmanager
async def member(
    cluster: Cluster, namespace: str, account: str, roles: Sequence[str], home: str | None = None
) -> AsyncIterator[Member]:
    """A ServiceAccount (of ``home``, or the namespace itself) with ClusterRoles bound in one namespace."""
    home = home or namespace
    made: list[Document] = [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": account, "namespace": home}},
        *(_role_binding(namespace, account, number, role, home) for number, role in enumerate(roles)),
    ]
    await cluster.applier.apply(made)
    token = await cluster.service_account_token(home, account)
    context = ssl.create_default_context(cadata=cluster.context.authority.certificate.decode())
    headers = {"Authorization": f"Bearer {token}"}
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context), headers=headers) as session:
        yield Member(session, cluster.context.server)


@asynccontextmanager
async def certified(cluster: Cluster, name: str, groups: Sequence[str], folder: Path) -> AsyncIterator[Member]:
    """Somebody with a client certificate of these groups. ``folder`` keeps it."""
    authority = cluster.context.authority
    file = folder / f"{name}.pem"
    file.write_bytes(b"".join(authority.client(name, groups)))
    context = ssl.create_default_context(cadata=authority.certificate.decode())
    context.load_cert_chain(file)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context)) as session:
        yield Member(session, cluster.context.server)


def path_of(resource: api.Resource, obj: Document, subresource: str | None = None) -> str:
    metadata = obj["metadata"]
    return resource.path(metadata["namespace"], metadata["name"], subresource)
