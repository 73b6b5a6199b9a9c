"""What the chaos proxy does to watches."""

import asyncio

import aiohttp
import pytest

from classifier.api import WORKLOADS
from classifier.cluster.client import Client
from classifier.cluster.reflector import Reflector
from classifier.objects import Workload
from e2e.chaos import ChaosProxy, contains
from tests.unit.doubles.conftest import BOOKMARK, Upstream, event
from tests.until import PATIENCE

WATCH = "/workloads?watch=1"


async def test_lines_arrive_as_they_are_said(http: aiohttp.ClientSession, upstream: Upstream) -> None:
    async with http.get(WATCH) as watch:
        assert watch.status == 200  # the headers come before the first event
        for number in range(3):
            await upstream.say(event(number))
            assert await watch.content.readline() == event(number).encode()
        await upstream.say(None)
        assert await watch.content.read() == b""


async def test_a_watch_ends_at_the_server_when_its_client_leaves(
    http: aiohttp.ClientSession, upstream: Upstream
) -> None:
    async with http.get(WATCH):
        await upstream.say()
    async with asyncio.timeout(PATIENCE):
        await upstream.closed.wait()


async def test_cuts_a_line_in_the_middle(proxy: ChaosProxy, http: aiohttp.ClientSession, upstream: Upstream) -> None:
    proxy.when("GET", "/workloads", watch=True).cut(contains('"resourceVersion":"2"'))
    async with http.get(WATCH) as watch:
        await upstream.say(event(1), event(2), event(3))
        assert await watch.content.readline() == event(1).encode()
        half = event(2).encode()[: len(event(2)) // 2]
        assert await watch.content.readexactly(len(half)) == half
        with pytest.raises(aiohttp.ClientPayloadError):
            await watch.content.read()


@pytest.mark.parametrize("lines", [0, 1])
async def test_closes_in_good_order(
    proxy: ChaosProxy, http: aiohttp.ClientSession, upstream: Upstream, lines: int
) -> None:
    rule = proxy.when("GET", "/workloads", watch=True)
    rule.close(contains('"resourceVersion":"2"') if lines else None)
    async with http.get(WATCH) as watch:
        await upstream.say(event(1), event(2))
        assert await watch.content.read() == event(1).encode() * lines


@pytest.mark.parametrize("lines", [0, 1])
async def test_says_that_the_version_is_gone(
    proxy: ChaosProxy, http: aiohttp.ClientSession, upstream: Upstream, lines: int
) -> None:
    rule = proxy.when("GET", "/workloads", watch=True)
    rule.gone(contains('"resourceVersion":"2"') if lines else None)
    async with http.get(WATCH) as watch:
        await upstream.say(event(1), event(2))
        *before, gone = (await watch.content.read()).splitlines(keepends=True)
        assert before == [event(1).encode()] * lines
        assert b'"type":"ERROR"' in gone
        assert b'"code": 410' in gone


async def test_withholds_bookmarks_and_says_things_twice(
    proxy: ChaosProxy, http: aiohttp.ClientSession, upstream: Upstream
) -> None:
    proxy.when("GET", "/workloads", watch=True).without_bookmarks().duplicate(contains('"resourceVersion":"2"'))
    async with http.get(WATCH) as watch:
        await upstream.say(event(1), BOOKMARK, event(2), BOOKMARK, event(3), None)
        assert (await watch.content.read()).decode() == event(1) + event(2) * 2 + event(3)


async def test_stalls_from_a_line_on(proxy: ChaosProxy, http: aiohttp.ClientSession, upstream: Upstream) -> None:
    rule = proxy.when("GET", "/workloads", watch=True).stall(contains('"resourceVersion":"2"'))
    async with http.get(WATCH) as watch:
        await upstream.say(event(1), event(2), event(3), None)
        assert await watch.content.readline() == event(1).encode()
        rest = asyncio.create_task(watch.content.read())
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.shield(rest), 0.1)
        rule.release()
        assert (await rest).decode() == event(2) + event(3)


async def test_an_error_in_place_of_a_watch_and_a_held_one(
    proxy: ChaosProxy, http: aiohttp.ClientSession, upstream: Upstream
) -> None:
    proxy.when("GET", "/workloads", watch=True).answer(410)
    rule = proxy.when("GET", "/workloads", watch=True).hold()
    async with http.get(WATCH) as watch:
        assert watch.status == 410
    opening = asyncio.create_task(http.get(WATCH).__aenter__())
    await rule.caught()
    assert upstream.watches == []
    rule.release()
    watch = await opening
    await upstream.say(event(1), None)
    assert (await watch.read()).decode() == event(1)


async def test_breaks_open_watches_at_once(proxy: ChaosProxy, http: aiohttp.ClientSession, upstream: Upstream) -> None:
    async with http.get(WATCH) as watch:
        await upstream.say(event(1))
        assert await watch.content.readline() == event(1).encode()
        assert proxy.break_streams("/jobs") == 0
        assert proxy.break_streams("/workloads") == 1
        with pytest.raises(aiohttp.ClientPayloadError):
            await watch.content.readline()


async def test_a_reflector_survives_a_torn_line(proxy: ChaosProxy, upstream: Upstream) -> None:
    """The two doubles of this folder and the real reflector: what the races of the scenarios rest on."""
    path = WORKLOADS.path()
    empty = {"metadata": {"resourceVersion": "1"}, "items": []}
    proxy.when("GET", path, watch=False, times=None).answer(200, body=empty)
    cut = proxy.when("GET", path, watch=True).cut(contains('"resourceVersion":"2"'))
    again = proxy.when("GET", path, watch=True)
    async with await Client.connect(kubeconfig=str(proxy.kubeconfig("t"))) as client:
        reflector = Reflector(client, WORKLOADS, Workload)
        running = asyncio.create_task(reflector.run())
        try:
            await cut.caught()
            await upstream.say(event(1), event(2))
            assert (await again.caught()).query["resourceVersion"] == "1"
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
