"""A webhook whose copies of the cluster are old, or not read yet, denies nobody."""

from collections.abc import AsyncIterator
from typing import Final

import aiohttp
import pytest
import pytest_asyncio

from e2e import view
from e2e.builders import Queues
from e2e.chaos import ChaosProxy
from e2e.controlplane.chart import WEBHOOK
from e2e.controlplane.node import Override
from e2e.letting_in import Stage, let_in_unseen
from e2e.submit import Answer, gang
from e2e.wait import eventually

pytestmark = [pytest.mark.timeout(600), pytest.mark.usefixtures("nothing_forbidden")]

QUEUES: Final = Queues("stale-copies", "queue", "stale-copies", "stale-copies")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def proxy(stage: Stage) -> AsyncIterator[ChaosProxy]:
    """Between the webhook and the API server; what is silent for seconds is stale."""
    context = stage.cluster.context
    async with ChaosProxy(context.server, context.folder / "pki" / "ca.crt") as proxy:
        through = Override({"--stale-after": "6s"}, kubeconfig=lambda token: proxy.kubeconfig(token))
        await stage.muster.node.override(WEBHOOK, through)
        await stage.muster.node.wait_ready(WEBHOOK)
        yield proxy
        await stage.muster.node.override(WEBHOOK, None)
        await stage.muster.node.wait_ready(WEBHOOK)


async def test_a_stale_copy_denies_nobody_and_is_told_and_counted(stage: Stage, proxy: ChaosProxy) -> None:
    await stage.refuses()
    cut = proxy.when("GET", r"/localqueues$", times=None).answer(503)
    proxy.break_streams("/localqueues")

    async def let_in() -> Answer:
        answer = await stage.submit("stale")
        assert answer.status == 201
        return answer

    answer = await eventually(let_in)
    (warning,) = answer.warnings
    assert warning.startswith("muster: preflight skipped: its view of the cluster is ")
    assert warning.endswith("s old")
    # A dry run leaves no trace in the counters.
    before = await skipped(stage)
    stays = gang("stays", QUEUES, 3)
    assert (await stage.alice.submit(stays)).status == 201
    assert await skipped(stage) == before + 1
    await stage.cluster.applier.delete([stays])

    cut.stop()
    again = proxy.when("GET", r"/localqueues$", watch=True)
    await again.caught()
    # Whoever has had nothing to say for as long is heard of again.
    proxy.break_streams()
    await stage.refuses()


async def skipped(stage: Stage) -> float:
    (pod,) = stage.muster.webhooks
    return (await view.metrics(pod))['muster_preflight_skipped_total{cause="stale"}']


@pytest.mark.parametrize("plural", ["localqueues", "nodes"])
async def test_before_it_has_read_the_cluster_it_is_not_asked(stage: Stage, proxy: ChaosProxy, plural: str) -> None:
    """Not ready, for nodes that are not read yet could refute any proof; and jobs are let in."""
    (pod,) = stage.muster.webhooks
    unread = proxy.when("GET", rf"/{plural}$", times=None).answer(500)
    await pod.kill()

    async def says_why() -> bool:
        try:
            async with aiohttp.ClientSession() as http, http.get(pod.url("metrics", "/readyz")) as answer:
                text = await answer.text()
        except aiohttp.ClientError as error:
            raise AssertionError("it does not listen yet") from error
        assert answer.status == 503
        assert f"snapshot: not listed yet: {plural}" in text
        return True

    await eventually(says_why)
    let_in_unseen(await stage.submit("unread"))
    unread.stop()
    await stage.muster.node.wait_ready(WEBHOOK)
    proxy.break_streams()
    await stage.refuses()
