"""The demo says so when it does not go as announced."""

import time

import pytest

from classifier import api
from e2e import demo, view
from e2e.controlplane.chart import Muster
from e2e.controlplane.cluster import Cluster


async def test_an_act_that_goes_wrong_is_noticed(
    cluster: Cluster, muster: Muster, capsys: pytest.CaptureFixture[str]
) -> None:
    """The second act is broken on purpose: a gang that fits is announced as one that is refused."""
    async with demo.stage_on(cluster, muster, "2", time.monotonic()) as stage:
        assert await demo.play(stage, ("2", "3")) == 1
    output = capsys.readouterr().out
    assert "act 2: the API server accepted a gang that can never run" in output
    assert "the demo differs from what it announced" in output
    assert "Act 3" not in output
    await cluster.applier.delete(demo.objects())
    for node in await view.every(cluster.admin, api.NODES):
        if node["metadata"]["labels"].get("agentpool") == demo.POOL:
            await cluster.admin.request("DELETE", api.NODES.path(name=node["metadata"]["name"]))
