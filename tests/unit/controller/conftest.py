"""The engine's fixtures: a cluster in memory, and controllers to start on it."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path

import pytest

from classifier import api
from tests.apiserver import serving
from tests.builders import cluster_queue, local_queue, namespace
from tests.unit.controller.inmemory import Cluster, Controller, fence, life


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
def start(cluster: Cluster, tmp_path: Path) -> Callable[..., AbstractAsyncContextManager[Controller]]:
    """Starts a controller on the cluster, in no need to wait; leaving the block kills it."""
    return partial(life, cluster, tmp_path, "--recovery-grace=1ms", "--rate=0")
