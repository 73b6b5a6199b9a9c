"""What the chaos proxy does to single requests."""

import asyncio
import os
from pathlib import Path

import aiohttp
import pytest

from classifier.cluster.client import ApiError, Client, Unreachable
from e2e.chaos import ChaosProxy, contains
from tests.unit.doubles.conftest import Upstream, session_for
from tests.until import PATIENCE, until

WORKLOAD = "/apis/kueue.x-k8s.io/v1beta2/namespaces/a/workloads/w"


async def test_passes_requests_and_answers_through(
    proxy: ChaosProxy, http: aiohttp.ClientSession, upstream: Upstream
) -> None:
    async with http.patch(
        f"{WORKLOAD}?fieldManager=x", data=b"{}", headers={"Authorization": "Bearer t", "User-Agent": "me"}
    ) as answer:
        assert answer.status == 200
        assert answer.headers["X-Upstream"] == "yes"
        assert await answer.json() == {"path": WORKLOAD, "body": "{}"}
    async with http.get("/missing") as answer:
        assert answer.status == 404
    assert upstream.seen == [f"PATCH {WORKLOAD} {{}}", "GET /missing"]
    assert upstream.authorization[0] == "Bearer t"
    first, second = proxy.requests
    assert (first.method, first.path, first.query["fieldManager"], first.user_agent) == ("PATCH", WORKLOAD, "x", "me")
    assert (first.status, first.forwarded, second.status) == (200, True, 404)


async def test_escaped_paths_arrive_as_they_were_sent(http: aiohttp.ClientSession, upstream: Upstream) -> None:
    async with http.get("/api/v1/namespaces/a%20b/pods?labelSelector=a%3Db") as answer:
        assert (await answer.json())["path"] == "/api/v1/namespaces/a b/pods"
    assert upstream.seen == ["GET /api/v1/namespaces/a b/pods"]


async def test_a_request_held_before_has_not_reached_the_server(
    proxy: ChaosProxy, http: aiohttp.ClientSession, upstream: Upstream
) -> None:
    rule = proxy.when("PATCH", r"/workloads/[^/]+$", body=contains('"active":false')).hold()
    sending = asyncio.create_task(_send(http, "PATCH", WORKLOAD, b'{"spec":{"active": false}}'))
    caught = await rule.caught()
    assert caught.json() == {"spec": {"active": False}}
    assert await _send(http, "GET", "/other", b"") == 200  # others are not held up
    assert upstream.seen == ["GET /other"]
    rule.release()
    assert await sending == 200
    assert upstream.seen[1].startswith("PATCH")


async def test_an_answer_held_after_has_been_given_by_the_server(
    proxy: ChaosProxy, http: aiohttp.ClientSession, upstream: Upstream
) -> None:
    rule = proxy.when("POST", "/jobs").hold(after=True)
    sending = asyncio.create_task(_send(http, "POST", "/jobs", b"x"))
    await rule.caught()
    await until(lambda: upstream.seen == ["POST /jobs x"])
    assert not sending.done()
    rule.release()
    assert await sending == 200


async def test_answers_in_the_servers_place(proxy: ChaosProxy, http: aiohttp.ClientSession, upstream: Upstream) -> None:
    proxy.when("GET", "/pods", times=2).answer(429, retry_after=1)
    for _ in range(2):
        async with http.get("/pods") as answer:
            assert (answer.status, answer.headers["Retry-After"]) == (429, "1")
            assert (await answer.json())["reason"] == "TooManyRequests"
    assert upstream.seen == []
    assert await _send(http, "GET", "/pods", b"") == 200


async def test_throws_the_servers_answer_away(
    proxy: ChaosProxy, http: aiohttp.ClientSession, upstream: Upstream
) -> None:
    proxy.when("PUT", "/x").answer(502, body="<html>bad gateway</html>", content_type="text/html", after=True)
    async with http.put("/x", data=b"1") as answer:
        assert (answer.status, await answer.text()) == (502, "<html>bad gateway</html>")
    assert upstream.seen == ["PUT /x 1"]
    assert (proxy.requests[-1].status, proxy.requests[-1].forwarded) == (502, True)


@pytest.mark.parametrize("clean", [False, True])
@pytest.mark.parametrize(("after", "seen"), [(False, []), (True, ["PATCH /x 1"])])
async def test_breaks_the_connection(
    proxy: ChaosProxy, http: aiohttp.ClientSession, upstream: Upstream, after: bool, seen: list[str], clean: bool
) -> None:
    proxy.when("PATCH", "/x").reset(after=after, clean=clean)
    with pytest.raises(aiohttp.ServerDisconnectedError if clean else aiohttp.ClientOSError):
        await _send(http, "PATCH", "/x", b"1")
    assert upstream.seen == seen
    assert proxy.requests[-1].status is None
    assert await _send(http, "PATCH", "/x", b"2") == 200


async def test_a_server_that_is_gone_looks_gone(
    proxy: ChaosProxy, http: aiohttp.ClientSession, unused_upstream: str, tmp_path: Path
) -> None:
    async with ChaosProxy(unused_upstream, proxy.ca_file) as broken, session_for(broken) as client:
        with pytest.raises(aiohttp.ClientOSError):
            await _send(client, "GET", "/x", b"")


@pytest.fixture
def unused_upstream(unused_tcp_port: int) -> str:
    return f"https://127.0.0.1:{unused_tcp_port}"


async def test_delays(proxy: ChaosProxy, http: aiohttp.ClientSession, upstream: Upstream) -> None:
    rule = proxy.when("GET", "/x").delay(0.2).delay(0.1, after=True)
    sending = asyncio.create_task(_send(http, "GET", "/x", b""))
    await rule.caught()
    assert upstream.seen == []
    assert await sending == 200


async def test_faults_of_one_rule_happen_in_order(
    proxy: ChaosProxy, http: aiohttp.ClientSession, upstream: Upstream
) -> None:
    """A write that is under way while the client has long been told nothing: the result is unknown."""
    rule = proxy.when("PATCH", "/x").hold().reset(after=True)
    sending = asyncio.create_task(_send(http, "PATCH", "/x", b"1"))
    await rule.caught()
    assert upstream.seen == []
    rule.release()
    with pytest.raises(aiohttp.ClientOSError):
        await sending
    assert upstream.seen == ["PATCH /x 1"]


async def test_a_held_request_goes_on_though_its_client_gave_up(
    proxy: ChaosProxy, http: aiohttp.ClientSession, upstream: Upstream
) -> None:
    rule = proxy.when("PATCH", "/x").hold()
    sending = asyncio.create_task(_send(http, "PATCH", "/x", b"late"))
    await rule.caught()
    sending.cancel()
    await asyncio.gather(sending, return_exceptions=True)
    rule.release()
    await until(lambda: upstream.seen == ["PATCH /x late"])


async def test_takes_the_nth_request_and_as_many_as_told(proxy: ChaosProxy, http: aiohttp.ClientSession) -> None:
    proxy.when("GET", "/x", nth=2, times=2).answer(503)
    proxy.when(None, "/y", query={"dryRun": "All"}, agent="^muster", times=None).answer(500)
    assert [await _send(http, "GET", "/x", b"") for _ in range(4)] == [200, 503, 503, 200]
    for agent, path, status in [("muster/1", "/y?dryRun=All", 500), ("muster/1", "/y", 200), ("kubectl", "/y", 200)]:
        async with http.post(path, headers={"User-Agent": agent}) as answer:
            assert answer.status == status, (agent, path)


async def test_the_oldest_rule_has_a_request_alone_until_it_is_stopped(
    proxy: ChaosProxy, http: aiohttp.ClientSession
) -> None:
    first = proxy.when("GET", "/x", times=None).answer(500)
    watcher = proxy.when("GET", "/x", times=None)  # without a fault: only looks on
    assert await _send(http, "GET", "/x", b"") == 500
    first.stop()
    assert await _send(http, "GET", "/x", b"") == 200
    assert (await watcher.caught()).path == "/x"
    with pytest.raises(TimeoutError):
        await watcher.caught(0.01)


async def test_closing_releases_what_is_held_and_leaks_nothing(upstream: Upstream) -> None:
    async def once() -> None:
        async with ChaosProxy(upstream.url, upstream.ca_file) as proxy, session_for(proxy) as client:
            before, after = proxy.when("GET", "/before").hold(), proxy.when("GET", "/after").hold(after=True)
            held = [asyncio.create_task(_send(client, "GET", path, b"")) for path in ("/before", "/after")]
            await before.caught()
            await after.caught()
            async with client.get("/w?watch=1") as watch:
                await proxy.__aexit__(None, None, None)
                assert await asyncio.gather(*held) == [200, 200]
                with pytest.raises(aiohttp.ClientError):
                    await watch.content.read()
            folder = proxy.ca_file.parent
        assert not folder.exists()

    await once()
    async with asyncio.timeout(PATIENCE):
        await upstream.closed.wait()
    tasks, files = asyncio.all_tasks(), len(os.listdir("/proc/self/fd"))
    await once()
    await until(lambda: asyncio.all_tasks() <= tasks)
    await until(lambda: len(os.listdir("/proc/self/fd")) <= files)


async def test_our_own_client_reaches_it_by_its_kubeconfig(proxy: ChaosProxy, upstream: Upstream) -> None:
    kubeconfig = proxy.kubeconfig("secret")
    assert kubeconfig.stat().st_mode & 0o777 == 0o600
    async with await Client.connect(kubeconfig=str(kubeconfig), user_agent="muster-test") as client:
        await client.request("GET", "/api/v1/nodes")
        assert upstream.authorization == ["Bearer secret"]
        assert proxy.requests[-1].user_agent == "muster-test"
        proxy.when("PATCH", "/x").reset(after=True)
        with pytest.raises(Unreachable):
            await client.request("PATCH", "/x", body={})
        proxy.when("GET", "/x").answer(429, retry_after=3)
        with pytest.raises(ApiError) as error:
            await client.request("GET", "/x")
        assert (error.value.status, error.value.reason, error.value.retry_after) == (429, "TooManyRequests", 3)


async def _send(http: aiohttp.ClientSession, method: str, path: str, body: bytes) -> int:
    async with http.request(method, path, data=body or None) as answer:
        await answer.read()
        return answer.status
