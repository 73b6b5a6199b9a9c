"""A cluster with dispatch's job ``train``, and a backend for it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web

from classifier import api
from classifier.cluster import watching
from classifier.cluster.backend import Backend
from classifier.cluster.client import Client
from classifier.cluster.snapshot import TYPES
from classifier.cluster.wire import PAGE, Event, event_of
from classifier.objects import Meta
from classifier.state import Explanation, Mode, Settings
from tests.apiserver import ApiServer, Call, Fault, reset, serving
from tests.unit.cluster.conftest import write_kubeconfig
from tests.unit.state.builders import NAMESPACE
from tests.until import PATIENCE

PLAIN, KUEUE = Settings(mode=Mode.PLAIN), Settings(mode=Mode.KUEUE)
_KINDS = {(resource.api_version, resource.kind): resource for resource in TYPES}


@pytest.fixture
async def server() -> AsyncIterator[ApiServer]:
    async with serving(ApiServer()) as server:
        yield server


@pytest.fixture
async def client(server: ApiServer, tmp_path: Path) -> AsyncIterator[Client]:
    async with await Client.connect(kubeconfig=write_kubeconfig(tmp_path / "kubeconfig", server.url)) as client:
        yield client


@pytest.fixture
def plain(client: Client) -> Backend:
    return Backend(client, NAMESPACE, PLAIN)


@pytest.fixture
def kueue(client: Client) -> Backend:
    return Backend(client, NAMESPACE, KUEUE)


@pytest.fixture(autouse=True)
async def _no_task_is_left() -> AsyncIterator[None]:
    yield
    current = asyncio.current_task()
    ours = {t for t in asyncio.all_tasks() if t is not current and "classifier" in _file(t)}
    assert not ours


def _file(task: asyncio.Task[Any]) -> str:
    code = getattr(task.get_coro(), "cr_code", None)
    return getattr(code, "co_filename", "")


def path(resource: api.Resource, name: str | None = None) -> str:
    return resource.path(NAMESPACE if resource.namespaced else None, name)


def put(server: ApiServer, *built: Any) -> None:
    """Create or replace what the builders tell."""
    for one in built:
        raw = one.raw()
        server.put(path(_KINDS[raw["apiVersion"], raw["kind"]], raw["metadata"]["name"]), raw)


def remove(server: ApiServer, resource: api.Resource, name: str) -> None:
    server.remove(path(resource, name))


def refuse(server: ApiServer, faults: dict[api.Resource, Fault], which: Callable[[Call], bool] | None = None) -> None:
    """Every call about these kinds is answered by their faults."""

    def of(call_path: str) -> Fault | None:
        for resource, fault in faults.items():
            collection = path(resource)
            if call_path == collection or call_path.startswith(collection + "/"):
                return fault
        return None

    async def answer(request: web.Request) -> web.StreamResponse:
        fault = of(request.path)
        assert fault is not None
        return await fault(request)

    server.fault = answer
    server.faulty = lambda call: of(call.path) is not None and (which is None or which(call))


def about(resource: api.Resource) -> Callable[[Call], bool]:
    """Whether a call is about that kind, one object or all."""
    return lambda call: call.path == path(resource) or call.path.startswith(path(resource) + "/")


def asked(server: ApiServer, resource: api.Resource) -> list[str]:
    """What was asked about a kind: names, selectors, or "*" for all of it."""

    def words() -> Iterator[str]:
        for call in filter(about(resource), server.calls):
            name = call.path.removeprefix(path(resource)).lstrip("/")
            yield name or call.query.get("labelSelector") or "*"

    return list(words())


def told(found: list[Explanation]) -> list[tuple[str, str, str]]:
    return [(e.observation.ref.kind, e.observation.ref.name, e.observation.state.value) for e in found]


def happening(server: ApiServer, resource: api.Resource, change: Callable[[], object], times: int = 1) -> None:
    """While that kind is read, something else changes: so many times."""
    left = times

    def happens(call: Call) -> bool:
        nonlocal left
        if left and about(resource)(call) and not call.watch:
            left -= 1
            change()
        return False

    server.fault, server.faulty = reset(), happens  # no answer is replaced


class Watch:
    """A subscription to dispatch's job ``train``, read until nothing more is said."""

    def __init__(self, backend: Backend) -> None:
        self.said: list[Explanation] = []
        self._backend = backend
        self._heard = asyncio.Condition()
        self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        async with contextlib.aclosing(self._backend.watch("train")) as stream:
            async for explanation in stream:
                self.said.append(explanation)
                async with self._heard:
                    self._heard.notify_all()

    async def until(self, condition: Callable[[], object]) -> None:
        async with asyncio.timeout(PATIENCE), self._heard:
            await self._heard.wait_for(condition)

    async def hears(self, count: int) -> list[tuple[str, str, str]]:
        """So many explanations in all, and no more; the last of them."""
        await self.until(lambda: len(self.said) >= count)
        assert len(self.said) == count
        return told(self.said[-1:])

    async def ends(self) -> None:
        """Of itself, and without an error."""
        async with asyncio.timeout(PATIENCE):
            await self._task

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


def finds(server: ApiServer) -> int:
    """How many Finds there were: each reads the runtimes once, as its first."""
    return sum(map(about(api.TRAINING_RUNTIMES), server.calls))


async def found(server: ApiServer, count: int) -> None:
    """Wait until so many Finds have asked their last question."""
    listed = path(api.TRAIN_JOBS)
    await server.called(2 * count, lambda call: call.path == listed and call.query.get("limit") == str(PAGE))


class Taken:
    """What the watches have taken in: (event, name)."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.events: list[tuple[str, str]] = []
        self.lines: list[bytes] = []
        self._more = asyncio.Event()
        monkeypatch.setattr(watching, "event_of", self._event_of)

    def _event_of(self, line: bytes) -> Event:
        event = event_of(line)
        self.lines.append(line)
        self.events.append((event.type, msgspec.json.decode(event.object, type=Meta).name))
        self._more.set()
        return event

    async def until(self, kind: str, name: str, times: int = 1) -> None:
        async with asyncio.timeout(PATIENCE):
            while self.events.count((kind, name)) < times:
                self._more.clear()
                await self._more.wait()


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> Taken:
    return Taken(monkeypatch)


@pytest.fixture
async def watch() -> AsyncIterator[Callable[[Backend], Watch]]:
    """Opens subscriptions, and closes those still open."""
    opened: list[Watch] = []

    def open_one(backend: Backend) -> Watch:
        opened.append(Watch(backend))
        return opened[-1]

    yield open_one
    for one in opened:
        await one.close()
