"""Every kind of body a server can be sent."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from tests.unit.webhook.apiserver import ApiServer
from tests.unit.webhook.builders import Object, job, review
from tests.unit.webhook.running import Webhook
from webhook import pipeline, tls
from webhook.metrics import Metrics
from webhook.review import Answer


async def refused(webhook: Webhook, body: Any, **options: Any) -> Object:
    async with await webhook.post("/validate", body, **options) as answer:
        decoded: Object = await answer.json()
    assert decoded["kind"] == "AdmissionReview"
    assert decoded["response"]["allowed"] is False
    assert decoded["response"]["status"]["code"] == answer.status
    return dict(decoded["response"]["status"])


@pytest.mark.parametrize("body", [b"", b"{", b"null", b"[" * 100_000, b'{"kind":"Pod"}', b"\x00\xff"])
async def test_a_malformed_body_is_the_callers_fault(ready: Webhook, body: bytes) -> None:
    assert (await refused(ready, body))["code"] == 400
    assert ready.count("muster_review_errors_total", cause="malformed") == 1


async def test_another_content_type_is_refused(ready: Webhook) -> None:
    status = await refused(ready, review(job()), headers={"Content-Type": "application/yaml"})
    assert (status["code"], status["message"]) == (
        415,
        "the content type must be application/json, not application/yaml",
    )


async def test_a_body_above_seven_mebibytes_is_413(ready: Webhook) -> None:
    status = await refused(ready, b" " * (pipeline.BODY_LIMIT + 1))
    assert (status["code"], status["message"]) == (413, "the body is longer than 7340032 bytes")


async def test_an_endless_body_is_413(ready: Webhook) -> None:
    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield b" " * 65_536

    try:
        status = await refused(ready, None, data=endless())
    except aiohttp.ClientConnectionError:
        status = {"code": 413}  # the server may close while we still write
    assert status["code"] == 413
    assert ready.count("muster_review_errors_total", cause="too-large") == 1


async def test_a_review_of_six_mebibytes_is_read(ready: Webhook) -> None:
    obj = job(annotations={"large": "x" * 3_000_000})
    assert (await ready.ask("/validate", obj, oldObject=obj))["allowed"] is True


async def test_a_broken_off_body_harms_nobody(ready: Webhook) -> None:
    context = tls.verify_context(ready.authority.bundle)
    for rest in (
        b"Content-Length: 100\r\n\r\n{",
        b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd",
    ):
        reader, writer = await asyncio.open_connection(
            ready.settings.bind_address, ready.settings.port, ssl=context, server_hostname=ready.settings.server_name
        )
        writer.write(b"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n" + rest)
        await writer.drain()
        if b"gzip" not in rest and b"chunked" not in rest:
            writer.transport.abort()
            continue
        answer = await reader.readline()
        assert answer.split()[1] == b"400", answer
        writer.transport.abort()
    assert (await ready.ask("/validate", job()))["allowed"] is True


async def test_the_callers_time_is_respected(ready: Webhook, apiserver: ApiServer) -> None:
    held = asyncio.Event()

    async def hold(request: web.Request) -> None:
        if request.path.endswith("/localqueues/slow"):
            await held.wait()

    assert (await ready.ask("/validate", job()))["allowed"] is True
    apiserver.before = hold
    async with await ready.post("/validate", review(job(queue="slow")), timeout="300ms") as answer:
        response = (await answer.json())["response"]
    held.set()
    assert response["allowed"] is True
    assert response["warnings"] == ["muster: preflight skipped: it took too long"]
    assert ready.count("muster_review_errors_total", cause="deadline") == 1


@pytest.mark.parametrize(
    ("query", "seconds"),
    [(None, 0.9), ("", 0.9), ("soon", 0.9), ("2s", 1.0), ("10s", 1.0), ("500ms", 0.4), ("50ms", 0.0)],
)
def test_our_time_is_a_little_less_than_the_callers(query: str | None, seconds: float) -> None:
    assert pipeline.budget(query) == pytest.approx(seconds)


async def test_a_body_that_does_not_arrive_is_408() -> None:
    async def never(_: Any) -> Answer:
        raise AssertionError("not reached")

    metrics = Metrics()
    endpoint = pipeline.Endpoint("validate", never, metrics, bool)
    app = pipeline.application({"/validate": endpoint}, bool, body_seconds=0.05)
    runner = web.AppRunner(app, access_log=None, lingering_time=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    reader, writer = await asyncio.open_connection(*runner.addresses[0])
    writer.write(
        b"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
    )
    await writer.drain()
    answer = await reader.read()
    writer.close()
    await runner.cleanup()
    assert answer.startswith(b"HTTP/1.1 408")
    assert b"the body did not arrive within 0.05s" in answer
    assert metrics.registry.get_sample_value("muster_review_errors_total", {"cause": "slow"}) == 1
