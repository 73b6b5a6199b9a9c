"""Writing as an operator does, and ending containers as a kubelet does."""

import asyncio
import copy
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from classifier import api
from classifier.cluster.client import MERGE_PATCH, Client
from classifier.instant import format_instant
from e2e import deaths, view
from e2e.builders import Document
from e2e.controlplane.stages import ENDS
from e2e.wait import eventually

#: How old a list of pods may be, seconds; every question is asked until it is answered.
FRESH: Final = 0.3
#: A pod of a Job runs until something ends it.
RUNS_ON: Final = {ENDS: "Never"}


class Hands:
    """Writes into one namespace, as an operator does."""

    def __init__(self, client: Client, namespace: str) -> None:
        self.client = client
        self.namespace = namespace
        self._reading = asyncio.Lock()
        self._pods: list[Document] = []
        self._read_at = 0.0

    def now(self) -> str:
        return format_instant(self.client.time.now())

    async def make(
        self,
        resource: api.Resource,
        name: str,
        owner: Document,
        *,
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
        spec: Mapping[str, Any],
    ) -> Document:
        """Create a child that ``owner`` controls; the child as stored."""
        meta = owner["metadata"]
        reference = {
            "apiVersion": owner["apiVersion"],
            "kind": owner["kind"],
            "name": meta["name"],
            "uid": meta["uid"],
            "controller": True,
            "blockOwnerDeletion": True,
        }
        metadata = {
            "name": name,
            "labels": dict(labels or {}),
            "annotations": dict(annotations or {}),
            "ownerReferences": [reference],
        }
        body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, "spec": dict(spec)}

        async def taken() -> bytes:
            """Kueue's webhook for pods asks its own copy for their owner, which may not have heard of it yet: 404."""
            return await self.client.request("POST", resource.path(self.namespace), body=body)

        made: Document = msgspec.json.decode(await eventually(taken, what=f"{resource.kind} {name} is taken"))
        return made

    async def pod(
        self,
        name: str,
        owner: Document,
        template: Document,
        labels: Mapping[str, str],
        annotations: Mapping[str, str] | None = None,
    ) -> Document:
        """A pod of a template, with what its operator adds."""
        meta = template.get("metadata") or {}
        return await self.make(
            api.PODS,
            name,
            owner,
            labels={**(meta.get("labels") or {}), **labels},
            annotations={**(meta.get("annotations") or {}), **(annotations or {})},
            spec=template["spec"],
        )

    async def status(self, resource: api.Resource, name: str, status: Mapping[str, Any]) -> None:
        path = resource.path(self.namespace, name, "status")
        await self.client.request("PATCH", path, body={"status": status}, content_type=MERGE_PATCH)

    async def delete(self, resource: api.Resource, name: str) -> None:
        body = {"propagationPolicy": "Background"}
        await self.client.request("DELETE", resource.path(self.namespace, name), body=body)

    # --- pods -------------------------------------------------------------------------------------------------

    async def pods(self, job: str) -> list[Document]:
        """All pods of an object, told by their names alone: each kind's begin with it."""
        async with self._reading:
            # Many ask, and there are many pods.
            if time.monotonic() - self._read_at > FRESH:
                self._pods = await view.every(self.client, api.PODS, self.namespace)
                self._read_at = time.monotonic()
        mine = (pod for pod in self._pods if f"{pod['metadata']['name']}-".startswith(f"{job}-"))
        return copy.deepcopy(list(mine))

    async def running(self, job: str, count: int) -> list[Document]:
        """They, once so many run."""

        async def run() -> list[Document]:
            pods = await self.pods(job)
            phases = [pod["status"].get("phase") for pod in pods]
            assert phases == ["Running"] * count, phases
            return pods

        return await eventually(run, poll=FRESH, what=f"{count} pods of {job} run")

    async def ends(self, pods: Sequence[Document], code: int) -> None:
        """The containers of these pods exit."""
        await asyncio.gather(*(deaths.play(self.client, pod, deaths.exits(code)) for pod in pods))

    async def job_ended(self, name: str) -> Document:
        """A batch Job, once its controller says that it ended."""

        async def ended() -> Document:
            job = await view.read(self.client, api.JOBS, self.namespace, name)
            assert view.is_true(job, "Complete") or view.is_true(job, "Failed"), job.get("status")
            return job

        return await eventually(ended, poll=FRESH, what=f"Job {name} ended")

    def condition(self, type_: str, status: bool, reason: str, message: str) -> Document:
        at = self.now()
        return {
            "type": type_,
            "status": str(status),
            "reason": reason,
            "message": message,
            "lastTransitionTime": at,
            "lastUpdateTime": at,
        }


def of(job: Document) -> tuple[str, str]:
    """Name and kind."""
    return job["metadata"]["name"], job["kind"]


async def fails_or_succeeds(hands: Hands, job: Document, code: int) -> None:
    """Its controllers are real: all its pods succeed, or the first one fails."""
    pods = await hands.pods(of(job)[0])
    await hands.ends(pods if code == 0 else pods[:1], code)


async def crashes(hands: Hands, job: Document, code: int) -> None:
    """A kind without an end: a container of its first pod ends, and is to be started again."""
    await deaths.play(hands.client, (await hands.pods(of(job)[0]))[0], deaths.crashes(code))


async def nothing(hands: Hands, job: Document) -> None:
    """Its controllers are real, or it has none."""
