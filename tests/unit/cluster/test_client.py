"""The connection: what is asked, what counts as an answer, and what is said when there is none."""

import asyncio
import contextlib
import json
from pathlib import Path

import pytest
from aiohttp import web

from classifier.cluster.client import MERGE_PATCH, ApiError, Client, ClientError, Unreachable
from classifier.instant import parse_instant
from classifier.objects import Job
from tests.apiserver import ApiServer, Fault, answer, raw, reset, serving, silent, stream
from tests.unit.cluster.conftest import write_kubeconfig

JOBS = "/apis/batch/v1/namespaces/team/jobs"
DATE = "Sun, 29 Nov 2026 10:00:00 GMT"


async def failing(client: Client, method: str = "GET", timeout: float = 10.0) -> ApiError:
    with pytest.raises(ApiError) as caught:
        await client.request(method, f"{JOBS}/a", body=None if method == "GET" else {}, timeout=timeout)
    return caught.value


# --- requests ---------------------------------------------------------------------------------------------------


async def test_an_object_is_read_written_and_guarded(server: ApiServer, client: Client) -> None:
    created = await client.request("POST", JOBS, body={"metadata": {"name": "a"}})
    version = json.loads(created)["metadata"]["resourceVersion"]
    patch = {"metadata": {"resourceVersion": version, "annotations": {"x": "y"}}}
    await client.request("PATCH", f"{JOBS}/a", body=patch, content_type=MERGE_PATCH)
    job = await client.get(f"{JOBS}/a", Job)
    assert job.annotation("x") == "y"

    again = await failing_patch(client, patch)
    assert again.conflict
    twice = await failing_create(client)
    assert (twice.status, twice.reason) == (409, "AlreadyExists")
    with pytest.raises(ApiError) as missing:
        await client.get(f"{JOBS}/b", Job)
    assert missing.value.missing


@pytest.mark.parametrize(
    ("fault", "missing", "unserved"),
    [
        pytest.param(answer(404, "NotFound", 'jobs "a" not found'), True, False, id="no such object"),
        pytest.param(raw(404, "404 page not found\n", "text/plain"), True, True, id="no such kind"),
        pytest.param(raw(404, "<html><h1>404 Not Found</h1></html>"), False, False, id="a proxy's page"),
        pytest.param(raw(404, "default backend - 404", "text/plain"), False, False, id="a proxy's word"),
        pytest.param(raw(404, '{"message":"no Route matched"}', "application/json"), False, False, id="a gateway's"),
        pytest.param(raw(404, '{"kind":' + "[" * 100_000, "application/json"), False, False, id="what cannot be read"),
    ],
)
async def test_only_the_api_server_can_say_that_something_is_missing(
    server: ApiServer, client: Client, fault: Fault, missing: bool, unserved: bool
) -> None:
    server.fault = fault
    error = await failing(client)
    assert (error.status, error.missing, error.unserved) == (404, missing, unserved)


async def failing_patch(client: Client, patch: object) -> ApiError:
    with pytest.raises(ApiError) as caught:
        await client.request("PATCH", f"{JOBS}/a", body=patch, content_type=MERGE_PATCH)
    return caught.value


async def failing_create(client: Client) -> ApiError:
    with pytest.raises(ApiError) as caught:
        await client.request("POST", JOBS, body={"metadata": {"name": "a"}})
    return caught.value


async def test_it_says_who_it_is(server: ApiServer, tmp_path: Path) -> None:
    seen: dict[str, str] = {}

    async def note(request: web.Request) -> web.StreamResponse:
        seen.update(request.headers)
        return web.json_response({})

    server.fault = note
    config = write_kubeconfig(tmp_path / "config", server.url)
    async with await Client.connect(kubeconfig=config, user_agent="muster-controller", impersonate="alice") as client:
        await client.request("PATCH", f"{JOBS}/a", body=b"{}", content_type=MERGE_PATCH)
    assert seen["Authorization"] == "Bearer secret"
    assert seen["User-Agent"] == "muster-controller"
    assert seen["Impersonate-User"] == "alice"
    assert seen["Accept"] == "application/json"
    assert seen["Content-Type"] == MERGE_PATCH


@pytest.mark.parametrize("compressed", [True, False])
async def test_answers_come_compressed_or_not(server: ApiServer, tmp_path: Path, compressed: bool) -> None:
    seen: dict[str, str] = {}

    async def note(request: web.Request) -> web.StreamResponse:
        seen.update(request.headers)
        return web.json_response({})

    server.fault = note
    config = write_kubeconfig(tmp_path / "config", server.url)
    async with await Client.connect(kubeconfig=config, compressed=compressed) as client:
        await client.request("GET", JOBS)
    assert ("gzip" in seen["Accept-Encoding"]) is compressed


async def test_every_group_is_a_header_of_its_own(server: ApiServer, tmp_path: Path) -> None:
    seen: list[str] = []

    async def note(request: web.Request) -> web.StreamResponse:
        seen.extend(request.headers.getall("Impersonate-Group", []))
        return web.json_response({})

    server.fault = note
    config = write_kubeconfig(tmp_path / "config", server.url)
    async with await Client.connect(kubeconfig=config, impersonate="alice", groups=["dev", "ops, night"]) as client:
        await client.request("GET", f"{JOBS}/a")
        assert seen == ["dev", "ops, night"]


# --- answers ----------------------------------------------------------------------------------------------------


async def test_a_status_becomes_an_error_with_its_reason(server: ApiServer, client: Client) -> None:
    server.fault = answer(403, "Forbidden", 'jobs "a" is forbidden:\nno such luck')
    error = await failing(client)
    assert (error.status, error.reason) == (403, "Forbidden")
    assert str(error) == '403 Forbidden: jobs "a" is forbidden: no such luck'


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("<html>\n<h1>502 Bad Gateway</h1>\n" + "x" * 1000, "502: <html> <h1>502 Bad Gateway</h1> xxx"),
        ("", "502: no message"),
        ("[]", "502: []"),
        ('{"message": 5}', '502: {"message": 5}'),
        ('{"kind":"Status","message":null}', "502: no message"),
        ('{"kind":"Sta', '502: {"kind":"Sta'),
    ],
)
async def test_whatever_an_error_says_is_one_short_line(
    server: ApiServer, client: Client, body: str, says: str
) -> None:
    server.fault = raw(502, body)
    text = str(await failing(client))
    assert text.startswith(says)
    assert len(text) < 250
    assert "\n" not in text


@pytest.mark.parametrize(
    ("retry_after", "seconds"),
    [
        ("7", 7),
        ("0.5", 0.5),
        ("-3", 0),
        ("", None),
        ("soon", None),
        ("nan", None),
        ("inf", None),
        ("Sun, 29 Nov 2026 10:00:30 GMT", 30),
        ("Sun, 29 Nov 2026 09:00:00 GMT", 0),
    ],
)
async def test_retry_after_in_seconds_or_as_a_date_of_the_servers_clock(
    server: ApiServer, client: Client, retry_after: str, seconds: float | None
) -> None:
    server.fault = answer(429, "TooManyRequests", "slow down", Retry_After=retry_after, Date=DATE)
    assert (await failing(client)).retry_after == seconds


async def test_a_redirect_is_no_answer(server: ApiServer, client: Client) -> None:
    server.put(f"{JOBS}/elsewhere")
    server.fault, server.faulty = raw(302, "", Location=f"{JOBS}/elsewhere"), lambda call: call.path.endswith("/a")
    assert (await failing(client)).status == 302
    assert len(server.calls) == 1


@pytest.mark.parametrize("body", ["<html>sign in</html>", "", '{"spec":{"parallelism":"many"}}', "[" * 5000])
async def test_an_answer_that_is_no_such_object_says_so(server: ApiServer, client: Client, body: str) -> None:
    server.fault = raw(200, body)
    with pytest.raises(ClientError, match=r"the answer of http://127.0.0.1:\d+ to GET .*/jobs/a cannot be read: "):
        await client.get(f"{JOBS}/a", Job)


# --- no answer --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["GET", "PATCH", "POST"])
async def test_no_answer_in_time(server: ApiServer, client: Client, method: str) -> None:
    server.fault = silent()
    with pytest.raises(Unreachable, match=rf"no answer from .* to {method} {JOBS}/a: \w+"):
        await client.request(method, f"{JOBS}/a", body={}, timeout=0.05)


async def test_an_answer_whose_end_never_comes(server: ApiServer, client: Client) -> None:
    server.fault = silent(b'{"metadata":')
    with pytest.raises(Unreachable, match="no answer"):
        await client.request("GET", f"{JOBS}/a", timeout=0.05)


async def test_a_connection_that_breaks(server: ApiServer, client: Client) -> None:
    server.fault = reset()
    with pytest.raises(Unreachable, match="no answer"):
        await client.request("PATCH", f"{JOBS}/a", body={})
    assert len(server.calls) == 1, "a write of unknown outcome must not be sent twice"
    server.fault = stream(b'{"metadata"', broken=True)
    with pytest.raises(Unreachable, match="no answer"):
        await client.request("GET", f"{JOBS}/a")


async def test_nobody_there(tmp_path: Path) -> None:
    async with serving(ApiServer()) as server:
        url = server.url
    async with await Client.connect(kubeconfig=write_kubeconfig(tmp_path / "config", url)) as client:
        with pytest.raises(Unreachable, match=r"no answer from http://127.0.0.1:\d+ to GET /version: "):
            await client.request("GET", "/version")


async def test_a_cancelled_request_is_cancelled(server: ApiServer, client: Client) -> None:
    server.fault = silent()
    task = asyncio.create_task(client.request("GET", f"{JOBS}/a"))
    await server.called(1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


# --- streams ----------------------------------------------------------------------------------------------------


async def read_stream(client: Client, idle: float = 10) -> bytes:
    got = b""
    async with client.stream(JOBS, params={"watch": "1"}, idle=idle) as body:
        async for chunk in body.iter_any():
            got += chunk
    return got


async def test_a_stream_to_its_end(server: ApiServer, client: Client) -> None:
    server.fault = stream(b"one\n", b"two\n")
    assert await read_stream(client) == b"one\ntwo\n"


async def test_a_refused_stream_is_an_error_like_any_other(server: ApiServer, client: Client) -> None:
    server.fault = answer(429, "TooManyRequests", "slow down", Retry_After="3")
    with pytest.raises(ApiError) as caught:
        await read_stream(client)
    assert (caught.value.status, caught.value.retry_after) == (429, 3)


@pytest.mark.parametrize("fault", [silent(), silent(b"one\n"), reset(), stream(b"one\n", broken=True)])
async def test_a_stream_that_breaks_or_falls_silent(server: ApiServer, client: Client, fault: object) -> None:
    server.fault = fault  # type: ignore[assignment]  # parametrize knows no types
    with pytest.raises(Unreachable, match=f"the watch of {JOBS} broke: "):
        await read_stream(client, idle=0.05)


# --- time -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", [answer(200, Date=DATE), answer(409, "Conflict", "no", Date=DATE)])
async def test_every_answer_of_the_server_tells_the_time(server: ApiServer, client: Client, fault: object) -> None:
    server.fault = fault  # type: ignore[assignment]  # parametrize knows no types
    with contextlib.suppress(ApiError):
        await client.request("GET", f"{JOBS}/a")
    assert -2 <= client.time.now() - parse_instant("2026-11-29T10:00:00Z") < 60_000


async def test_a_watch_tells_the_time_too(server: ApiServer, client: Client) -> None:
    server.headers = {"Date": DATE}
    async with client.stream("/apis/batch/v1/jobs", params={"watch": "1", "resourceVersion": "100"}, idle=10):
        assert -2 <= client.time.now() - parse_instant("2026-11-29T10:00:00Z") < 60_000


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(raw(502, "<html>", Date=DATE), id="a page"),
        pytest.param(
            raw(503, '{"message":"no healthy upstream"}', "application/json", Date=DATE), id="a gateway's JSON"
        ),
    ],
)
async def test_a_proxys_error_does_not(server: ApiServer, client: Client, fault: Fault) -> None:
    await client.request("GET", JOBS)
    before = client.time.now()
    server.fault = fault
    await failing(client)
    with pytest.raises(ApiError):
        async with client.stream("/apis/batch/v1/jobs", params={"watch": "1"}, idle=10):
            pass
    assert client.time.now() >= before
    assert client.time.steps == 0
