"""The life of the server: ready, rotated, drained."""

import asyncio
import ssl
from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest

from tests.reviews.world import Decisions
from tests.unit.webhook.builders import job, review
from tests.unit.webhook.running import Webhook
from tests.unit.webhook.test_connection import Wire, request
from webhook import certs, health, listener, pipeline, server, tls
from webhook.server import Server
from webhook.settings import Settings

# --- its life ------------------------------------------------------------------------------------------------------


async def test_ready_means_the_api_server_would_be_answered(ready: Webhook) -> None:
    status, text = await ready.probe("/readyz")
    assert (status, text) == (200, "serving: ok\nsnapshot: ok\ntrust: ok\ntls: ok\n")
    assert await ready.probe("/healthz") == (200, "ok\n")
    foreign = certs.sign_leaf(certs.make_ca("x", ready.client.time.now()), ["x"], ready.client.time.now())
    tls.serve(ready.context, foreign)
    status, text = await ready.probe("/readyz")
    assert status == 503
    assert "tls: own TLS port" in text


async def test_a_new_certificate_is_served_while_old_connections_go_on(ready: Webhook) -> None:
    """Reviews keep coming on kept and on new connections while the leaf changes many times: none fails."""
    leaves = set()
    now = ready.client.time.now()
    signer = ready.authority._signer
    assert signer is not None
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True)) as fresh:
        for _ in range(10):
            leaf = certs.sign_leaf(signer, ready.settings.dns_names, now)
            tls.serve(ready.context, leaf)
            ready.authority.leaf = leaf
            leaves.add(certs.fingerprint(leaf.certificate))
            kept = ready.session
            for session in (kept, fresh):
                ready.session = session
                assert (await ready.ask("/validate", job()))["allowed"] is True
            ready.session = kept
            assert (await ready.probe("/readyz"))[0] == 200
    assert len(leaves) == 10


async def test_draining_answers_and_closes(ready: Webhook) -> None:
    draining = asyncio.create_task(ready.server.drain(0.3))
    await asyncio.sleep(0)
    async with await ready.post("/validate", review(job(pods=3))) as answer:
        assert (await answer.json())["response"]["allowed"] is False
        assert answer.headers["Connection"] == "close"
    status, text = await ready.probe("/readyz")
    assert status == 503
    assert "serving: stopping" in text
    await draining
    await ready.server.stop()
    with pytest.raises(aiohttp.ClientConnectionError):
        await ready.post("/validate", review(job()))


@pytest.mark.looptime
async def test_whatever_is_held_back_the_end_takes_no_longer_than_it_says(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kubelet kills what goes on for longer: half a review of each form, the second after the drain, and a probe
    without an answer."""

    async def never(*_: object) -> str | None:
        await asyncio.Event().wait()
        return None

    monkeypatch.setattr(health, "served_as_intended", never)
    decisions, authority = Decisions(), SimpleNamespace(trouble=None, seconds_left=lambda _: 1.0)
    ending: Any = {"snapshot": SimpleNamespace(trouble=None), "authority": authority, "metrics": decisions.metrics}
    made = Server(settings, tls.server_context(), reviewer=decisions.reviewer, **ending)
    await made.start()
    assert made._probed is not None

    def comes(one: asyncio.Protocol | None, sent: bytes) -> None:
        assert one is not None
        one.connection_made(Wire())
        one.data_received(sent)

    loop = asyncio.get_running_loop()
    probed = made._probed.server
    assert probed is not None
    comes(probed(), b"GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n")
    comes(made._reviews(), request("half")[:-10])
    head = b"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    chunked = head + b"Transfer-Encoding: chunked\r\n\r\n1000\r\n{"
    for _ in range(2 * pipeline.AT_ONCE):
        loop.call_later(server.LAST_ANSWERS - 0.1, lambda: comes(made._reviews(), chunked))
    began = loop.time()
    await made.stop()
    assert server.LAST_ANSWERS < loop.time() - began <= server.ENDING


async def test_the_metrics_name_what_the_alerts_need(ready: Webhook) -> None:
    _, text = await ready.probe("/metrics")
    for cause in ("internal", "malformed", "object", "too-large", "slow", "deadline"):
        assert f'muster_review_errors_total{{cause="{cause}"}} 0.0' in text
    assert 'muster_certificate_expiry_seconds{kind="ca"}' in text


async def test_a_suite_without_authenticated_encryption_is_refused(ready: Webhook) -> None:
    context = tls.verify_context(ready.authority.bundle)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers("ECDHE-ECDSA-AES128-SHA256")
    with pytest.raises((ssl.SSLError, ConnectionResetError)):
        await asyncio.open_connection(
            ready.settings.bind_address, ready.settings.port, ssl=context, server_hostname=ready.settings.server_name
        )


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "HANDSHAKE", 0.1)


async def test_who_never_begins_the_handshake_is_let_go(hasty: None, webhook: Webhook) -> None:
    reader, writer = await asyncio.open_connection(webhook.settings.bind_address, webhook.settings.port)
    async with asyncio.timeout(10):
        assert await reader.read() == b""
    writer.close()
    await writer.wait_closed()
