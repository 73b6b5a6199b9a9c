"""A follower on an API server, whose long pauses end when a test says so."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from classifier import api
from classifier.cluster.client import Client
from classifier.cluster.following import Following
from tests.apiserver import ApiServer
from tests.builders import Builder, gpu_profile, gpu_queues, kueue_config
from tests.until import until


@dataclass
class Patience:
    """Short pauses take no time. A long one lasts until :meth:`end`."""

    pausing: int = 0
    _ends: list[asyncio.Event] = field(default_factory=list)

    async def sleep(self, seconds: float) -> None:
        if seconds < 100:
            await asyncio.sleep(0.001)
            return
        end = asyncio.Event()
        self._ends.append(end)
        self.pausing += 1
        try:
            await end.wait()
        finally:
            self.pausing -= 1

    def end(self) -> None:
        for end in self._ends:
            end.set()
        self._ends.clear()


_RESOURCES = {resource.kind: resource for resource in vars(api).values() if isinstance(resource, api.Resource)}


def path_of(builder: Builder[Any]) -> str:
    raw = builder.raw()
    resource = _RESOURCES[raw["kind"]]._replace(version=raw["apiVersion"].rpartition("/")[2])
    return resource.path(raw["metadata"].get("namespace"), raw["metadata"]["name"])


def put(server: ApiServer, *builders: Builder[Any]) -> None:
    for builder in builders:
        server.put(path_of(builder), builder.raw())


def furnish(server: ApiServer) -> ApiServer:
    """The demonstration's queues and profile, and Kueue's configuration."""
    put(server, *gpu_queues(), gpu_profile(), kueue_config())
    return server


@contextlib.asynccontextmanager
async def following(client: Client, patience: Patience, **options: Any) -> AsyncIterator[Following]:
    """Running, and without trouble."""
    follower = Following(client, sleep=patience.sleep, **options)
    async with running(follower):
        await until(lambda: follower.trouble is None)
        yield follower


@contextlib.asynccontextmanager
async def running(follower: Following) -> AsyncIterator[None]:
    task = asyncio.create_task(follower.run())
    try:
        yield
        assert not task.done(), "the follower has ended"
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
