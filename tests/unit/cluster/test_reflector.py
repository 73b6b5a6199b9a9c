"""A reflector and a server that keeps the rules: pages, events, bookmarks, expiry, what is told."""

import gc
import json
import weakref
from collections.abc import Iterator

import pytest

from classifier.cluster.client import Client
from tests.apiserver import ApiServer, Call, answer, lists, silent, watches
from tests.unit.cluster.conftest import Followed, Pauses, follow, running

JOBS = "/apis/batch/v1/namespaces/team/jobs"


@pytest.fixture
def _small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("classifier.cluster.reflector.PAGE", 2)


def pages(server: ApiServer) -> list[str]:
    return [
        f"limit={call.query.get('limit')} {'more' if 'continue' in call.query else 'first'}" for call in listed(server)
    ]


def listed(server: ApiServer) -> list[Call]:
    return [call for call in server.calls if lists(call)]


@pytest.mark.usefixtures("_small_pages")
async def test_a_list_is_read_in_pages(server: ApiServer, client: Client, pauses: Pauses) -> None:
    for name in "abcde":
        server.put(f"{JOBS}/{name}")
    followed = follow(client, pauses)
    async with running(followed):
        await followed.reflector.wait_synced()
    assert pages(server) == ["limit=2 first", "limit=2 more", "limit=2 more"]
    assert sorted(followed.seen) == [f"team/{name}" for name in "abcde"]
    assert followed.reflector.relists == 1
    assert gc.isenabled()


class _Cycle:
    """Refers to itself: only the collector frees it."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture
def _frozen(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Any list is told to the collector as here to stay, and the collector runs only when it is asked to."""
    monkeypatch.setattr("classifier.cluster.reflector.MANY", 1)
    gc.disable()
    yield
    gc.unfreeze()
    gc.enable()


@pytest.mark.usefixtures("_frozen")
async def test_what_was_garbage_before_a_list_is_not_kept_with_it(
    server: ApiServer, client: Client, pauses: Pauses
) -> None:
    server.put(f"{JOBS}/a")
    followed = follow(client, pauses)
    async with running(followed):
        await server.watched()
        garbage = weakref.ref(_Cycle())
        assert garbage() is not None
        server.end_watches()
        server.put(f"{JOBS}/a")
        server.compact()
        await followed.until(lambda: followed.reflector.relists == 2)
        gc.collect()
        assert garbage() is None


@pytest.mark.usefixtures("_small_pages")
async def test_a_list_that_expires_between_its_pages_is_taken_at_once(
    server: ApiServer, client: Client, pauses: Pauses
) -> None:
    for name in "abcde":
        server.put(f"{JOBS}/{name}")
    server.fault = answer(410, "Expired", "The provided continue parameter is too old")
    server.faulty = lambda call: "continue" in call.query
    followed = follow(client, pauses)
    async with running(followed):
        await followed.reflector.wait_synced()
        assert pages(server) == ["limit=2 first", "limit=2 more", "limit=None first"]
        assert len(followed.seen) == 5
        assert followed.reflector.trouble is None
        # The next one is paged again.
        server.fault = None
        await server.watched()
        server.compact()
        server.end_watches()
        server.put(f"{JOBS}/a")
        server.compact()
        await followed.until(lambda: followed.reflector.relists == 2)
    assert pages(server)[3:] == ["limit=2 first", "limit=2 more", "limit=2 more"]


async def test_every_change_is_told(server: ApiServer, followed: Followed) -> None:
    first = server.put(f"{JOBS}/a")["metadata"]["resourceVersion"]
    await server.watched()
    second = server.put(f"{JOBS}/a")["metadata"]["resourceVersion"]
    server.remove(f"{JOBS}/a")
    await followed.until(lambda: len(followed.changes) == 3)
    assert followed.changes == [("team/a", None, first), ("team/a", first, second), ("team/a", second, None)]
    assert followed.reflector.objects == {}


async def test_a_new_watch_goes_on_where_the_old_one_ended(server: ApiServer, followed: Followed) -> None:
    await server.watched()
    server.put(f"{JOBS}/a")
    await followed.until(lambda: followed.seen)
    server.cut_watches(b'{"type":"MODIFIED","object":{"meta')
    server.put(f"{JOBS}/b")
    await followed.until(lambda: len(followed.seen) == 2)
    assert [call.query["resourceVersion"] for call in server.calls if call.watch] == ["100", "101"]
    assert len(followed.changes) == 2
    assert followed.reflector.relists == 1


async def test_a_bookmark_spares_a_quiet_kind_the_relist(server: ApiServer, followed: Followed) -> None:
    await server.watched()
    for _ in range(5):
        server.put("/api/v1/namespaces/team/pods/other")
    server.bookmark()
    server.compact()
    server.end_watches()
    await server.watched()
    assert [call.query["resourceVersion"] for call in server.calls if call.watch] == ["100", "105"]
    assert followed.reflector.relists == 1


async def test_a_relist_tells_of_what_was_missed(server: ApiServer, followed: Followed) -> None:
    kept = server.put(f"{JOBS}/kept")["metadata"]["resourceVersion"]
    old = server.put(f"{JOBS}/changed")["metadata"]["resourceVersion"]
    lost = server.put(f"{JOBS}/lost")["metadata"]["resourceVersion"]
    await server.watched()
    followed.changes.clear()
    uids = {followed.reflector.objects["team/changed"].uid}
    server.end_watches()
    server.remove(f"{JOBS}/lost")
    server.remove(f"{JOBS}/changed")
    new = server.put(f"{JOBS}/changed")["metadata"]["resourceVersion"]
    server.compact()
    await followed.until(lambda: followed.reflector.relists == 2 and len(followed.changes) == 2)
    assert sorted(followed.changes) == [("team/changed", old, new), ("team/lost", lost, None)]
    assert followed.seen == {"team/kept": kept, "team/changed": new}
    # Another object under one name: whoever cares compares the uids.
    assert followed.reflector.objects["team/changed"].uid not in uids
    assert followed.reflector.trouble is None


async def test_an_odd_object_does_not_cost_us_the_others(server: ApiServer, client: Client, pauses: Pauses) -> None:
    odd = {"spec": {"parallelism": "many"}}
    server.put(f"{JOBS}/a")
    server.put(f"{JOBS}/odd", odd)
    followed = follow(client, pauses)
    async with running(followed):
        await server.watched()
        server.put(f"{JOBS}/odd2", odd)
        server.put(f"{JOBS}/b")
        await followed.until(lambda: len(followed.seen) == 2)
    assert sorted(followed.seen) == ["team/a", "team/b"]
    assert followed.reflector.decode_errors == 2
    assert followed.reflector.trouble is None


async def test_lines_sent_twice_are_told_once(server: ApiServer, followed: Followed) -> None:
    await server.watched()
    line = json.dumps(
        {"type": "ADDED", "object": {"metadata": {"name": "a", "namespace": "team", "resourceVersion": "200"}}}
    )
    server.say(line.encode() + b"\n", line.encode() + b"\n", b"\n")
    server.put(f"{JOBS}/b")  # 101: out of the past by now
    last = json.dumps(
        {"type": "ADDED", "object": {"metadata": {"name": "c", "namespace": "team", "resourceVersion": "201"}}}
    )
    server.say(last.encode() + b"\n")
    await followed.until(lambda: "team/c" in followed.seen)
    assert followed.changes == [("team/a", None, "200"), ("team/c", None, "201")]


async def test_an_answer_is_seen_before_the_watch_brings_it(server: ApiServer, followed: Followed) -> None:
    server.put(f"{JOBS}/a")
    await server.watched()
    await followed.until(lambda: followed.seen)
    answered = server.put(f"{JOBS}/a", {"spec": {"suspend": True}})
    job = followed.reflector.put(json.dumps(answered).encode())
    assert job is not None
    assert followed.seen == {"team/a": "102"}
    server.put(f"{JOBS}/b")
    await followed.until(lambda: len(followed.seen) == 2)
    assert followed.changes == [("team/a", None, "101"), ("team/a", "101", "102"), ("team/b", None, "103")]


async def test_before_the_first_list_nothing_counts_as_synced(
    server: ApiServer, client: Client, pauses: Pauses
) -> None:
    server.fault, server.faulty = silent(), lists
    followed = follow(client, pauses)
    async with running(followed):
        await server.called(1)
        assert not followed.reflector.synced
        assert followed.reflector.trouble is None


async def test_its_age_is_the_silence_of_the_server(server: ApiServer, followed: Followed) -> None:
    await server.watched()
    await server.called(1, watches)
    server.bookmark()
    await followed.until(lambda: followed.reflector.age() == 0)
    followed.pauses.now += 70
    assert followed.reflector.age() == 70
    server.bookmark()
    await followed.until(lambda: followed.reflector.age() == 0)


async def test_what_a_list_tells_may_have_happened_since_the_watch_was_heard_last(
    server: ApiServer, client: Client, pauses: Pauses
) -> None:
    server.put(f"{JOBS}/a")
    followed = follow(client, pauses)
    unfollowed: list[float] = []
    followed.reflector._store._on_change = lambda *_: unfollowed.append(followed.reflector.unfollowed())
    async with running(followed):
        await followed.until(lambda: len(unfollowed) == 1)
        await server.watched()
        pauses.now += 50
        server.put(f"{JOBS}/b")
        await followed.until(lambda: len(unfollowed) == 2)
        pauses.now += 70
        server.compact()
        server.fault, server.faulty = answer(500), watches
        server.cut_watches()
        await followed.until(lambda: followed.reflector.trouble is not None)
        server.fault = None
        server.put(f"{JOBS}/c")
        server.compact()
        await followed.until(lambda: len(unfollowed) == 3)
        assert unfollowed[2] >= 70
        await server.watched()
        server.put(f"{JOBS}/d")
        await followed.until(lambda: len(unfollowed) == 4)
        assert unfollowed[3] < 70
        pauses.now += 100
        server.put(f"{JOBS}/e")
        await followed.until(lambda: len(unfollowed) == 5)
        server.put(f"{JOBS}/f")
        await followed.until(lambda: len(unfollowed) == 6)
        assert unfollowed[5] < 100
