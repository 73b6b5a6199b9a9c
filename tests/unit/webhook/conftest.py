"""The API double, connections to it, and settings on free ports."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import aiohttp
import pytest
import yaml
from aiohttp import web

from classifier import api
from classifier.cluster.client import Client
from e2e.controlplane.loopback import Subnet
from tests.unit.webhook.apiserver import ApiServer
from tests.unit.webhook.builders import paths
from tests.unit.webhook.running import Webhook, judgement
from webhook import tls
from webhook.authority import Authority
from webhook.decide import Judge, Reviewer
from webhook.groups import Groups
from webhook.metrics import Metrics
from webhook.server import Server
from webhook.settings import Settings, read
from webhook.snapshot import Snapshot

Connect = Callable[[], Awaitable[Client]]
Eventually = Callable[[Callable[[], bool | Awaitable[bool]]], Awaitable[None]]


@pytest.fixture
async def apiserver(tmp_path: Path) -> AsyncIterator[ApiServer]:
    """Holds the builders' world and the two webhook configurations, as the chart renders them: without caBundle."""
    double = ApiServer()
    for path, obj in {**paths(), **configurations()}.items():
        double.put(path, obj)
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", double.handle)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.05)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    kubeconfig = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "it",
        "clusters": [{"name": "it", "cluster": {"server": f"http://127.0.0.1:{runner.addresses[0][1]}"}}],
        "users": [{"name": "it", "user": {}}],
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
    }
    (tmp_path / "kubeconfig").write_text(yaml.safe_dump(kubeconfig))
    yield double
    await runner.cleanup()


@pytest.fixture
async def connect(apiserver: ApiServer, tmp_path: Path) -> AsyncIterator[Connect]:
    """Makes connections to the double; closed at the end."""
    async with AsyncExitStack() as stack:

        async def client() -> Client:
            return await stack.enter_async_context(await Client.connect(kubeconfig=str(tmp_path / "kubeconfig")))

        yield client


@pytest.fixture(scope="session")
def loopback() -> Iterator[Subnet]:
    """An address of this process alone: on 127.0.0.1 any connection may take the port that was free a moment ago."""
    subnet = Subnet.claim()
    yield subnet
    subnet.release()


@pytest.fixture
def settings(loopback: Subnet) -> Settings:
    arguments = [f"--bind-address={loopback.address}", "--namespace=muster-system", "--drain=300ms"]
    return replace(read(arguments, {}), port=loopback.free_port(), metrics_port=loopback.free_port())


@pytest.fixture
def eventually() -> Eventually:
    """Waits for a condition, sync or async; fails after 20 s."""

    async def wait(condition: Callable[[], bool | Awaitable[bool]]) -> None:
        async with asyncio.timeout(20):
            while True:
                met = condition()
                if met if isinstance(met, bool) else await met:
                    return
                await asyncio.sleep(0.01)

    return wait


@pytest.fixture
def judge() -> Judge:
    return judgement


@pytest.fixture
async def webhook(
    apiserver: ApiServer, connect: Connect, settings: Settings, judge: Judge, eventually: Eventually
) -> AsyncIterator[Webhook]:
    client, metrics, context = await connect(), Metrics(), tls.server_context()
    snapshot = Snapshot(client, settings)
    authority = Authority(client, settings, context, settle=0.2, rest=0.01)
    reviewer = Reviewer(snapshot, Groups(client), client.time, metrics, judge)
    server = Server(settings, context, reviewer=reviewer, snapshot=snapshot, authority=authority, metrics=metrics)
    await server.start()
    tasks = [asyncio.create_task(snapshot.run()), asyncio.create_task(authority.run())]
    async with aiohttp.ClientSession() as session:
        yield Webhook(settings, server, authority, metrics, snapshot, client, session, context)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await server.stop()


@pytest.fixture
async def ready(webhook: Webhook, eventually: Eventually) -> Webhook:
    await eventually(webhook.is_ready)
    return webhook


MUTATING = api.MUTATING_WEBHOOKS.path(name="muster-webhook")
VALIDATING = api.VALIDATING_WEBHOOKS.path(name="muster-webhook")
SECRET = api.SECRETS.path("muster-system", "muster-webhook-ca")


def configurations() -> dict[str, dict[str, object]]:
    def entry(name: str, path: str) -> dict[str, object]:
        service = {"name": "muster-webhook", "namespace": "muster-system", "path": path, "port": 443}
        return {"name": name, "clientConfig": {"service": service}}

    foreign = {"name": "else.example.com", "clientConfig": {"url": "https://else.example.com"}}
    return {
        MUTATING: {"webhooks": [foreign, entry("mjob.muster.dev", "/mutate")]},
        VALIDATING: {"webhooks": [entry("vjob.muster.dev", "/validate")]},
    }
