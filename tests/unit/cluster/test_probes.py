"""Probes and metrics over plain HTTP."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from prometheus_client import CollectorRegistry, Counter

from classifier.cluster import probes

MISSING: list[str] = []


@pytest.fixture
async def url() -> AsyncIterator[str]:
    MISSING.clear()
    registry = CollectorRegistry()
    Counter("muster_things", "Things.", registry=registry).inc(3)
    runner = await probes.serve("127.0.0.1", 0, registry, lambda: MISSING)
    yield f"http://127.0.0.1:{port_of(runner)}"
    await runner.cleanup()


def port_of(runner: web.AppRunner) -> int:
    address: Any = runner.addresses[0]
    return int(address[1])


async def get(url: str) -> tuple[int, str, str]:
    async with aiohttp.ClientSession() as session, session.get(url) as response:
        return response.status, response.content_type, await response.text()


async def test_alive_and_ready(url: str) -> None:
    assert await get(f"{url}/healthz") == (200, "text/plain", "ok\n")
    assert await get(f"{url}/readyz") == (200, "text/plain", "ok\n")


async def test_alive_but_not_ready_says_what_is_missing(url: str) -> None:
    MISSING.extend(["jobs not listed yet", "workloads not listed yet"])
    assert (await get(f"{url}/healthz"))[0] == 200
    status, _, text = await get(f"{url}/readyz")
    assert (status, text) == (503, "not ready: jobs not listed yet; workloads not listed yet\n")


async def test_metrics_are_served(url: str) -> None:
    status, content_type, text = await get(f"{url}/metrics")
    assert (status, content_type) == (200, "text/plain")
    assert "muster_things_total 3.0" in text


async def test_an_address_in_use_is_said_and_leaves_nothing_open(url: str) -> None:
    port = int(url.rpartition(":")[2])
    with pytest.raises(OSError, match="address already in use"):
        await probes.serve("127.0.0.1", port, CollectorRegistry(), list)


async def test_whoever_fills_the_port_makes_room_for_who_probes(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In silence, with half a head, or asking for what it does not read."""
    monkeypatch.setattr(probes, "CONNECTIONS", 10)
    made = []
    for sent in (b"", b"GET /metrics HTTP/1.1\r\nX: ", b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * 200):
        for _ in range(20):
            streams = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
            streams[1].write(sent)
            made.append(streams)
            assert (await get(f"{url}/healthz"))[0] == 200
    async with asyncio.timeout(20):
        for reader, _ in made[:-10]:
            with suppress(ConnectionError):
                await reader.read()
    for _, writer in made:
        writer.transport.abort()
