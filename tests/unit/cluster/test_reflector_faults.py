"""What API servers and the things before them do wrong (reference/engineering.md §A.2): few requests, and recovery."""

import asyncio
from typing import NamedTuple

import pytest

from classifier.cluster.client import Client
from classifier.cluster.wire import PAGE
from tests.apiserver import ApiServer, Call, Fault, answer, gone, lists, raw, reset, silent, stream, watches
from tests.unit.cluster.conftest import Followed, Pauses, follow, running

#: From 0.2 s doubling to 30 s with jitter: so many attempts fit into a minute at the very most.
ATTEMPTS = 11
JOBS = "/apis/batch/v1/namespaces/team/jobs"


class Case(NamedTuple):
    """``requests`` is how many one attempt makes: two where only a list helps, and where aiohttp asks once more."""

    fault: Fault
    trouble: str
    requests: int = 1


FAULTS = {
    "500": Case(answer(500, "InternalError", "etcd is away"), "500 InternalError: etcd is away"),
    "429": Case(answer(429, "TooManyRequests", "slow down", Retry_After="1"), "429 TooManyRequests"),
    "401": Case(answer(401, "Unauthorized", "Unauthorized"), "401 Unauthorized"),
    "403": Case(answer(403, "Forbidden", "jobs is forbidden"), "403 Forbidden: jobs is forbidden"),
    "HTML 502": Case(raw(502, "<html>\n<h1>502 Bad Gateway</h1>"), "502: <html> <h1>502 Bad Gateway</h1>"),
    "a login page": Case(raw(302, "", Location="https://login.example.com/"), "302"),
    "HTML with 200": Case(raw(200, "<html>\nhello\n</html>\n"), "cannot be read"),
    "HTTP 410": Case(answer(410, "Expired", "too old resource version"), "410 Expired", requests=2),
    "410 in the stream": Case(stream(gone()), "410", requests=2),
    "a version never reached": Case(
        answer(504, "Timeout", "Timeout: Too large resource version: 9, current: 3"), "Too large", requests=2
    ),
    "500 in the stream": Case(stream(gone(500)), "500"),
    "closes at once": Case(stream(), "the watch closes at once"),
    "cut in mid-line": Case(stream(b'{"type":"ADDED","obj', broken=True), "broke"),
    "ends in mid-line": Case(stream(b'{"type":"ADDED","obj'), "the watch closes at once"),
    "torn in the middle": Case(stream(b'{"type":"ADDED","obj\n'), "cannot be read"),
    "not an event": Case(stream(b'{"hello":"world"}\n'), "cannot be read"),
    "an unknown event": Case(stream(b'{"type":"SURPRISE","object":{}}\n'), "unknown watch event 'SURPRISE'"),
    "an endless line": Case(stream(b"x" * 2**20, b"x" * 2**20), "a line is longer than", requests=2),
    "reset": Case(reset(), "broke", requests=2),
    "silent": Case(silent(), "broke"),
    "silent after its headers": Case(silent(b" "), "broke"),
}


@pytest.fixture
def _short_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("classifier.cluster.reflector.MAX_LINE", 2**20)


@pytest.mark.usefixtures("_short_lines")
@pytest.mark.parametrize("name", FAULTS)
async def test_a_watch_that_fails_is_tried_rarely_and_goes_on_afterwards(
    server: ApiServer, client: Client, pauses: Pauses, name: str
) -> None:
    case = FAULTS[name]
    server.put(f"{JOBS}/a")
    server.fault, server.faulty = case.fault, watches
    pauses.stop_after(60)
    followed = follow(client, pauses, idle=0.05)
    async with running(followed):
        await asyncio.wait_for(pauses.over.wait(), 30)
        assert 2 <= len(pauses.taken) <= ATTEMPTS
        assert len(server.calls) <= 1 + len(pauses.taken) * case.requests
        # The copy stands, and says that it may be old.
        assert set(followed.seen) == {"team/a"}
        assert case.trouble in (followed.reflector.trouble or "")
        assert followed.reflector.synced

        server.fault = None
        pauses.go_on()
        await server.watched()
        server.put(f"{JOBS}/b")
        await followed.until(lambda: set(followed.seen) == {"team/a", "team/b"})
        assert followed.reflector.trouble is None


LIST_FAULTS = {
    name: case.fault
    for name, case in FAULTS.items()
    if name in ("500", "429", "403", "HTML 502", "HTML with 200", "HTTP 410", "cut in mid-line", "reset")
} | {
    "no version": raw(200, '{"metadata":{},"items":[]}', "application/json"),
    "a list that is none": raw(200, "[]", "application/json"),
}


@pytest.mark.parametrize("name", LIST_FAULTS)
async def test_a_list_that_fails_is_tried_rarely_and_nothing_is_synced(
    server: ApiServer, client: Client, pauses: Pauses, name: str
) -> None:
    server.put(f"{JOBS}/a")
    server.fault, server.faulty = LIST_FAULTS[name], lists
    pauses.stop_after(60)
    followed = follow(client, pauses)
    async with running(followed):
        await asyncio.wait_for(pauses.over.wait(), 30)
        assert 2 <= len(pauses.taken) <= ATTEMPTS
        assert len(server.calls) <= len(pauses.taken) * (2 if name == "reset" else 1)
        assert not followed.reflector.synced
        assert followed.reflector.trouble
        assert followed.changes == []
        server.fault = None
        pauses.go_on()
        await asyncio.wait_for(followed.reflector.wait_synced(), 10)
        assert set(followed.seen) == {"team/a"}


async def test_a_healthy_server_gets_two_requests(server: ApiServer, followed: Followed) -> None:
    server.put(f"{JOBS}/a")
    await server.watched()
    server.put(f"{JOBS}/b")
    await followed.until(lambda: len(followed.seen) == 2)
    (first, second) = server.calls
    assert first == Call("GET", "/apis/batch/v1/jobs", {"limit": str(PAGE)})
    assert second.watch
    assert second.query["allowWatchBookmarks"] == "true"
    assert 300 <= int(second.query["timeoutSeconds"]) <= 600
    assert followed.pauses.taken == []


async def test_selectors_and_a_namespace_are_asked_for_in_both(
    server: ApiServer, client: Client, pauses: Pauses
) -> None:
    chosen = {"metadata": {"labels": {"x": "y"}}}
    server.put(f"{JOBS}/a", chosen)
    server.put(f"{JOBS}/b", chosen)
    followed = follow(client, pauses, namespace="team", field_selector="metadata.name=a", label_selector="x=y")
    async with running(followed):
        await server.watched()
        server.put(f"{JOBS}/b", chosen | {"changed": True})
        server.put(f"{JOBS}/a", chosen | {"changed": True})
        await followed.until(lambda: len(followed.changes) == 2)
    assert set(followed.seen) == {"team/a"}
    for call in server.calls:
        assert call.path == JOBS
        assert (call.query["fieldSelector"], call.query["labelSelector"]) == ("metadata.name=a", "x=y")


async def test_a_good_watch_makes_the_next_failure_a_small_one(
    server: ApiServer, client: Client, pauses: Pauses
) -> None:
    server.fault, server.faulty = answer(500), watches
    pauses.stop_after(60)
    followed = follow(client, pauses)
    async with running(followed):
        await asyncio.wait_for(pauses.over.wait(), 10)
        assert pauses.taken[-1] > 5
        server.fault = None
        pauses.go_on()
        await followed.until(lambda: followed.reflector.trouble is None)
        failures = len(pauses.taken)
        pauses.now += 11  # it lived
        server.end_watches()
        await followed.until(lambda: len(pauses.taken) > failures)
        assert len(pauses.taken) == failures + 1
        assert pauses.taken[-1] <= 0.2
        assert followed.reflector.trouble is None


async def test_the_servers_wish_to_be_left_alone_is_met_but_not_for_ever(
    server: ApiServer, client: Client, pauses: Pauses
) -> None:
    server.fault, server.faulty = answer(429, Retry_After="7"), watches
    pauses.stop_after(20)
    async with running(follow(client, pauses)):
        await asyncio.wait_for(pauses.over.wait(), 10)
    assert all(pause >= 7 for pause in pauses.taken)
    server.fault = answer(429, Retry_After="86400")
    later = Pauses()
    later.stop_after(1)
    async with running(follow(client, later)):
        await asyncio.wait_for(later.over.wait(), 10)
    assert 30 <= later.taken[0] <= 60


async def test_one_failure_of_a_quiet_kind_is_no_trouble_once_the_watch_is_open_again(
    server: ApiServer, followed: Followed
) -> None:
    await server.watched()
    server.cut_watches()
    await server.called(2, watches)
    await server.watched()
    # Not a byte has come on the new watch, and none will until the first bookmark a minute later.
    await followed.until(lambda: followed.reflector.trouble is None)
