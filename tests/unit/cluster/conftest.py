"""An API server, a client of it, and a reflector whose pauses take no time."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from classifier import api
from classifier.cluster.client import Client
from classifier.cluster.reflector import Reflector
from classifier.objects import Job
from tests.apiserver import ApiServer, serving
from tests.until import until


def write_kubeconfig(path: Path, server: str, **cluster: Any) -> str:
    """A kubeconfig for ``server`` with a token; ``cluster`` adds to its cluster entry (``_`` for ``-``)."""
    entry = {"server": server, **{k.replace("_", "-"): v for k, v in cluster.items()}}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "clusters": [{"name": "here", "cluster": entry}],
        "users": [{"name": "me", "user": {"token": "secret"}}],
        "contexts": [{"name": "here", "context": {"cluster": "here", "user": "me"}}],
    }
    path.write_text(yaml.safe_dump(config))
    return str(path)


@pytest.fixture
async def server() -> AsyncIterator[ApiServer]:
    async with serving(ApiServer()) as server:
        yield server


@pytest.fixture
async def client(server: ApiServer, tmp_path: Path) -> AsyncIterator[Client]:
    kubeconfig = write_kubeconfig(tmp_path / "kubeconfig", server.url)
    async with await Client.connect(kubeconfig=kubeconfig) as client:
        yield client


@dataclass
class Pauses:
    """A clock that moves only when somebody pauses; at ``until`` (seconds) it stands still until told to go on."""

    now: float = 1000.0
    until: float = float("inf")
    taken: list[float] = field(default_factory=list)
    over: asyncio.Event = field(default_factory=asyncio.Event)
    _resumed: asyncio.Event = field(default_factory=asyncio.Event)

    def monotonic(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.taken.append(seconds)
        if self.now >= self.until:
            self.over.set()
            await self._resumed.wait()
        await asyncio.sleep(0)

    def stop_after(self, seconds: float) -> None:
        self.until = self.now + seconds

    def go_on(self) -> None:
        self.until = float("inf")
        self._resumed.set()


@dataclass
class Followed:
    """A reflector of Jobs, and every change it told: (key, old version, new version)."""

    reflector: Reflector[Job]
    pauses: Pauses
    changes: list[tuple[str, str | None, str | None]]

    @property
    def seen(self) -> dict[str, str]:
        return {key: job.metadata.resource_version for key, job in self.reflector.objects.items()}

    async def until(self, condition: Any) -> None:
        """Wait for what the reflector will have seen."""
        await until(condition)


def follow(client: Client, pauses: Pauses, **options: Any) -> Followed:
    changes: list[tuple[str, str | None, str | None]] = []

    def told(key: str, old: Job | None, new: Job | None) -> None:
        changes.append(
            (key, old.metadata.resource_version if old else None, new.metadata.resource_version if new else None)
        )

    reflector = Reflector(
        client, api.JOBS, Job, on_change=told, sleep=pauses.sleep, monotonic=pauses.monotonic, **options
    )
    return Followed(reflector, pauses, changes)


@contextlib.asynccontextmanager
async def running(followed: Followed) -> AsyncIterator[None]:
    """Run the reflector while the block lasts."""
    task = asyncio.create_task(followed.reflector.run())
    try:
        yield
        assert not task.done(), "the reflector has ended"
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest.fixture
async def pauses() -> Pauses:
    return Pauses()


@pytest.fixture
async def followed(client: Client, pauses: Pauses) -> AsyncIterator[Followed]:
    """A running reflector."""
    followed = follow(client, pauses)
    async with running(followed):
        yield followed
