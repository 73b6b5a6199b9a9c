"""Applies any objects as they are, server-side, in an order that works; waits until CRDs are served."""

import asyncio
import json
import time
from collections.abc import Iterable
from typing import Final

from classifier.cluster.client import APPLY_PATCH, ApiError, Client
from e2e.controlplane.manifests import Document
from e2e.controlplane.processes import together

#: Helm's order of installation for the kinds that others need first; the rest follows, webhooks and policies last.
FIRST: Final = (
    "Namespace",
    "CustomResourceDefinition",
    "ServiceAccount",
    "Secret",
    "ConfigMap",
    "ClusterRole",
    "ClusterRoleBinding",
    "Role",
    "RoleBinding",
    "Service",
)
LAST: Final = (
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
)
MANAGER: Final = "e2e"
PARALLEL: Final = 8


def rank(document: Document) -> int:
    kind = document["kind"]
    if kind in FIRST:
        return FIRST.index(kind)
    return len(FIRST) + (1 + LAST.index(kind) if kind in LAST else 0)


class Applier:
    """Knows by discovery under which path a kind is served."""

    def __init__(self, client: Client, manager: str = MANAGER) -> None:
        self._client = client
        self._manager = manager
        self._kinds: dict[str, dict[str, tuple[str, bool]]] = {}

    async def path(self, document: Document, default_namespace: str = "default") -> str:
        """The object's URL path. Raises :class:`ApiError` (404) for a kind that is not served."""
        version, kind = document["apiVersion"], document["kind"]
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        if kind not in self._kinds.get(version, {}):
            listing = json.loads(await self._client.request("GET", root))
            self._kinds[version] = {
                entry["kind"]: (entry["name"], entry["namespaced"])
                for entry in listing["resources"]
                if "/" not in entry["name"]
            }
        if kind not in self._kinds[version]:
            raise ApiError(404, "NotFound", f"{version} has no {kind}")
        plural, namespaced = self._kinds[version][kind]
        metadata = document["metadata"]
        folder = f"namespaces/{metadata.get('namespace', default_namespace)}/" if namespaced else ""
        return f"{root}/{folder}{plural}/{metadata['name']}"

    async def apply(self, documents: Iterable[Document], default_namespace: str = "default") -> None:
        """Apply them by rank, each rank at once; return when the CRDs among them are served."""
        ranks: dict[int, list[Document]] = {}
        for document in documents:
            ranks.setdefault(rank(document), []).append(document)
        for _, group in sorted(ranks.items()):
            limit = asyncio.Semaphore(PARALLEL)
            await together(*(self._one(document, default_namespace, limit) for document in group))
            if group[0]["kind"] == "CustomResourceDefinition":
                await self.served(group)

    async def _one(self, document: Document, default_namespace: str, limit: asyncio.Semaphore) -> None:
        async with limit:
            path = await self.path(document, default_namespace)
            await self._client.request(
                "PATCH",
                path,
                params={"fieldManager": self._manager, "force": "true"},
                body=document,
                content_type=APPLY_PATCH,
                timeout=30,
            )

    async def delete(self, documents: Iterable[Document], default_namespace: str = "default") -> None:
        """Delete them in reverse order; what is gone already is fine."""
        for document in sorted(documents, key=rank, reverse=True):
            try:
                await self._client.request("DELETE", await self.path(document, default_namespace))
            except ApiError as error:
                if not error.missing:
                    raise

    async def served(self, crds: Iterable[Document], timeout: float = 120) -> None:
        """Wait until all versions of these CRDs are served.

        Discovery says so; each CRD's own condition would too, but such an object has up to half a megabyte.
        """
        missing: dict[str, set[str]] = {}
        for spec in (crd["spec"] for crd in crds):
            for version in (each["name"] for each in spec["versions"] if each["served"]):
                missing.setdefault(f"{spec['group']}/{version}", set()).add(spec["names"]["plural"])
        deadline = time.monotonic() + timeout
        while True:
            for version, plurals in list(missing.items()):
                plurals -= await self._listed(version)
                if not plurals:
                    del missing[version]
            if not missing:
                return
            if time.monotonic() >= deadline:
                raise TimeoutError(f"after {timeout:.0f} s these are not served: {missing}")
            await asyncio.sleep(0.1)

    async def _listed(self, version: str) -> set[str]:
        try:
            listing = json.loads(await self._client.request("GET", f"/apis/{version}"))
        except ApiError as error:
            if not error.missing:
                raise
            return set()
        return {entry["name"] for entry in listing["resources"]}
