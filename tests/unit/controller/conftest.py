"""The engine's fixtures: a cluster in memory, and controllers to start on it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from classifier import api
from classifier.cluster.client import Client
from controller.engine import Engine
from controller.metrics import Metrics
from controller.settings import parse
from tests.apiserver import serving
from tests.builders import cluster_queue, local_queue, namespace
from tests.unit.cluster.conftest import write_kubeconfig
from tests.unit.controller.inmemory import Cluster, Controller, fence


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    """The fence, a queue that runs, a policy of 30 min on it."""
    async with serving(Cluster()) as server:
        assert isinstance(server, Cluster)
        fence(server)
        server.put(api.NAMESPACES.path(name="team"), namespace().raw())
        server.put(api.CLUSTER_QUEUES.path(name="gpu-a100"), cluster_queue().raw())
        queue = local_queue().running().annotate(api.ADMISSION_TIMEOUT, "30m")
        server.put(api.LOCAL_QUEUES.path("team", "gpu"), queue.raw())
        yield server


@pytest.fixture
def start(cluster: Cluster, tmp_path: Path) -> Any:
    """Starts a controller on the cluster; leaving the block kills it."""

    @contextlib.asynccontextmanager
    async def started(*arguments: str) -> AsyncIterator[Controller]:
        kubeconfig = write_kubeconfig(tmp_path / "kubeconfig", cluster.url)
        settings = parse(["--fence-settle=0s", "--recovery-grace=1ms", "--rate=0", *arguments])
        metrics = Metrics()
        async with await Client.connect(kubeconfig=kubeconfig) as client:
            engine = Engine(client, settings, metrics)
            task = asyncio.create_task(engine.run())
            try:
                yield Controller(engine, metrics)
                assert not task.done(), task
            finally:
                engine.close()
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    return started
