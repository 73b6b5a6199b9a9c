"""An API server in memory, over HTTP or HTTPS on loopback: it keeps the rules clients rely on and breaks them on wish.

resourceVersions rise with every write; lists come in pages of one snapshot, whose continue tokens expire with
:meth:`ApiServer.compact`; watches replay from a version, send bookmarks when asked to, and answer 410 from before the
compaction; label selectors, set-based ones included, narrow both, and an object that ceases to match is DELETED from
a watch as it was; merge patches are guarded by ``metadata.resourceVersion`` and deletions by their preconditions (409);
creating what exists is 409.

    server.fault = answer(500)             # every request that ``server.faulty`` selects
    server.say(b"...")                     # raw bytes on every open watch
    server.end_watches(); server.cut_watches(b'{"type":"ADD')
"""

import asyncio
import contextlib
import copy
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from aiohttp import web

from tests.selection import Event, Object, Selection, line_of, merged
from tests.until import PATIENCE

Fault = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Call(NamedTuple):
    """A request as it arrived."""

    method: str
    path: str
    query: Mapping[str, str]

    @property
    def watch(self) -> bool:
        return self.query.get("watch") == "1"


class _Watch(NamedTuple):
    """``bookmarks``: whether its client asked for them. A queued None ends the stream, an exception breaks it."""

    selection: Selection
    bookmarks: bool
    queue: asyncio.Queue[bytes | ConnectionError | None]

    @property
    def collection(self) -> str:
        return self.selection.collection


def everything(call: Call) -> bool:
    return True


def watches(call: Call) -> bool:
    return call.watch


def lists(call: Call) -> bool:
    return call.method == "GET" and not call.watch


@dataclass
class ApiServer:
    """``objects`` by URL path. ``fault`` takes the place of the answer to every call that ``faulty`` selects."""

    objects: dict[str, Object] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    fault: Fault | None = None
    faulty: Callable[[Call], bool] = everything
    #: Kinds that are not installed (404) or may not be read (403), by plural.
    refusals: dict[str, int] = field(default_factory=dict)
    #: Extra headers of every regular answer.
    headers: dict[str, str] = field(default_factory=dict)
    version: int = 100
    url: str = ""
    _events: list[Event] = field(default_factory=list)
    _compacted: int = 0
    _snapshots: dict[str, tuple[int, list[Object]]] = field(default_factory=dict)
    _watches: list[_Watch] = field(default_factory=list)
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    # --- what others do to the cluster ------------------------------------------------------------------------

    def put(self, path: str, obj: Object | None = None) -> Object:
        """Create or replace; the stored object."""
        return self._store("MODIFIED" if path in self.objects else "ADDED", path, obj or {})

    def remove(self, path: str) -> None:
        self._store("DELETED", path, self.objects.pop(path))

    def compact(self) -> None:
        """Forget the past: versions and continue tokens from before now are too old."""
        self._compacted = self.version
        self._events.clear()
        self._snapshots.clear()

    def bookmark(self) -> None:
        line = line_of("BOOKMARK", {"kind": "Bookmark", "metadata": {"resourceVersion": str(self.version)}})
        for watch in self._watches:
            if watch.bookmarks:
                watch.queue.put_nowait(line)

    def say(self, *raw: bytes, which: str = "") -> None:
        """Raw bytes on every open watch."""
        for watch in self._watches:
            for chunk in raw if which in watch.collection else ():
                watch.queue.put_nowait(chunk)

    def end_watches(self, which: str = "") -> None:
        """``which``: a part of the path they watch."""
        self._watches_get(None, which)

    def cut_watches(self, *raw: bytes, which: str = "") -> None:
        """Break every watch, after a last few bytes."""
        self.say(*raw, which=which)
        self._watches_get(ConnectionResetError(), which)

    def _watches_get(self, last: ConnectionError | None, which: str) -> None:
        for watch in [watch for watch in self._watches if which in watch.collection]:
            watch.queue.put_nowait(last)
            self._watches.remove(watch)

    async def watched(self, count: int = 1) -> None:
        """Wait until so many watches are open."""
        await self._until(lambda: len(self._watches) >= count)

    async def unwatched(self) -> None:
        """Wait until no watch is open."""
        await self._until(lambda: not self._watches)

    async def called(self, count: int, which: Callable[[Call], bool] = everything) -> None:
        """Wait until so many such requests have arrived."""
        await self._until(lambda: sum(map(which, self.calls)) >= count)

    async def _until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE), self._changed:
            await self._changed.wait_for(condition)

    # --- HTTP -------------------------------------------------------------------------------------------------

    async def handle(self, request: web.Request) -> web.StreamResponse:
        call = Call(request.method, request.path, dict(request.query))
        self.calls.append(call)
        async with self._changed:
            self._changed.notify_all()
        if self.fault is not None and self.faulty(call):
            return await self.fault(request)
        refused = [code for plural, code in self.refusals.items() if plural in request.path.split("/")]
        if refused:
            return status(refused[0], "Forbidden" if refused[0] == 403 else "", f"{request.path} is refused")
        match request.method:
            case "GET" if call.watch:
                return await self._watch(request)
            case "GET" if request.path in self.objects:
                return self._answer(self.objects[request.path])
            case "GET" if _is_collection(request.path):
                return self._list(request)
            case "POST":
                return await self._create(request)
            case "PATCH" if _main(request.path) in self.objects:
                return await self._patch(request)
            case "DELETE" if request.path in self.objects:
                return await self._delete(request)
        return status(404, "NotFound", f"{request.path} not found")

    def _answer(self, body: Object, code: int = 200) -> web.Response:
        return web.json_response(body, status=code, headers=self.headers)

    def _list(self, request: web.Request) -> web.Response:
        token, limit = request.query.get("continue"), int(request.query.get("limit", "0"))
        start = 0
        if token:
            name, _, position = token.partition(":")
            if name not in self._snapshots:
                return status(410, "Expired", "The provided continue parameter is too old")
            start = int(position)
        else:
            selection = Selection.of(request)
            items = [o for p, o in sorted(self.objects.items()) if selection.holds(p, o)]
            name = f"{self.version}-{len(self.calls)}"
            self._snapshots[name] = self.version, items
        version, items = self._snapshots[name]
        end = start + limit if limit else len(items)
        metadata = {"resourceVersion": str(version)}
        if end < len(items):
            metadata["continue"] = f"{name}:{end}"
        return self._answer({"kind": "List", "metadata": metadata, "items": items[start:end]})

    async def _create(self, request: web.Request) -> web.Response:
        body = await request.json()
        path = f"{request.path}/{body['metadata']['name']}"
        if path in self.objects:
            return status(409, "AlreadyExists", f"{path} already exists")
        return self._answer(self._store("ADDED", path, body), 201)

    async def _patch(self, request: web.Request) -> web.Response:
        body = await request.json()
        path = _main(request.path)
        current = self.objects[path]
        asked = body.get("metadata", {}).get("resourceVersion")
        if asked is not None and asked != current["metadata"]["resourceVersion"]:
            return status(409, "Conflict", "the object has been modified; please apply your changes to the latest")
        if path != request.path:
            # The status and nothing else, as the subresource does.
            body = {"status": body.get("status")}
        patched = merged(current, body)
        if request.query.get("dryRun") == "All":
            return self._answer(patched)
        return self._answer(self._store("MODIFIED", path, patched))

    async def _delete(self, request: web.Request) -> web.StreamResponse:
        gone = self.objects[request.path]
        asked = (await request.json() if request.can_read_body else {}).get("preconditions", {})
        if any(asked[key] != gone["metadata"][key] for key in ("uid", "resourceVersion") if key in asked):
            return status(409, "Conflict", "Precondition failed")
        self.remove(request.path)
        return self._answer(gone)

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        since = int(request.query["resourceVersion"])
        bookmarks = request.query.get("allowWatchBookmarks") == "true"
        watch = _Watch(Selection.of(request), bookmarks, asyncio.Queue())
        stream = web.StreamResponse(headers={"Content-Type": "application/json", **self.headers})
        await stream.prepare(request)
        if since < self._compacted:
            await stream.write(gone())
            return stream
        for event in self._events:
            if event.version > since and (line := watch.selection.line(event)) is not None:
                watch.queue.put_nowait(line)
        self._watches.append(watch)
        async with self._changed:
            self._changed.notify_all()
        try:
            while (item := await watch.queue.get()) is not None:
                if isinstance(item, ConnectionError):
                    await stream.drain()
                    if request.transport is not None:
                        request.transport.close()
                    break
                await stream.write(item)
        finally:
            if watch in self._watches:
                self._watches.remove(watch)
            async with self._changed:
                self._changed.notify_all()
        return stream

    def _store(self, kind: str, path: str, obj: Object) -> Object:
        self.version += 1
        obj = copy.deepcopy(obj)
        metadata = obj.setdefault("metadata", {})
        parent, _, name = path.rpartition("/")
        metadata.setdefault("name", name)
        if "/namespaces/" in parent:
            metadata.setdefault("namespace", parent.split("/")[-2])
        metadata.setdefault("uid", f"uid-{path.rpartition('/')[2]}-{self.version}")
        metadata["resourceVersion"] = str(self.version)
        old = obj if kind == "DELETED" else self.objects.get(path)
        if kind != "DELETED":
            self.objects[path] = obj
        event = Event(self.version, kind, path, obj, old)
        self._events.append(event)
        for watch in self._watches:
            if (line := watch.selection.line(event)) is not None:
                watch.queue.put_nowait(line)
        return obj


@contextlib.asynccontextmanager
async def serving(server: ApiServer, tls: ssl.SSLContext | None = None) -> AsyncIterator[ApiServer]:
    """Serve on a free port of loopback; ``server.url`` says where."""
    app = web.Application(client_max_size=2**24)
    app.router.add_route("*", "/{path:.*}", server.handle)
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.2)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
        await site.start()
        server.url = f"{'https' if tls else 'http'}://127.0.0.1:{site.port}"
        yield server
    finally:
        await runner.cleanup()


# --- faults ---------------------------------------------------------------------------------------------------


def status(code: int, reason: str = "", message: str = "", headers: Mapping[str, str] | None = None) -> web.Response:
    """An error as API servers write it."""
    body = {"kind": "Status", "apiVersion": "v1", "code": code, "reason": reason, "message": message}
    return web.json_response(body, status=code, headers=headers)


def answer(code: int, reason: str = "", message: str = "", **headers: str) -> Fault:
    """A Status. Header names with ``_`` for ``-``."""

    async def fault(_: web.Request) -> web.StreamResponse:
        return status(code, reason, message, {k.replace("_", "-"): v for k, v in headers.items()})

    return fault


def raw(code: int, body: str = "", content_type: str = "text/html", **headers: str) -> Fault:
    """What proxies say."""

    async def fault(_: web.Request) -> web.StreamResponse:
        named = {k.replace("_", "-"): v for k, v in headers.items()}
        return web.Response(status=code, text=body, content_type=content_type, headers=named)

    return fault


def stream(*chunks: bytes, broken: bool = False) -> Fault:
    """A body in these chunks that ends at once; ``broken``: its connection does."""

    async def fault(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        for chunk in chunks:
            await response.write(chunk)
        if broken and request.transport is not None:
            request.transport.close()
        return response

    return fault


def silent(after: bytes | None = None) -> Fault:
    """Nothing, for ever: not even headers, or nothing after these bytes of the body."""

    async def fault(request: web.Request) -> web.StreamResponse:
        if after is not None:
            response = web.StreamResponse()
            await response.prepare(request)
            await response.write(after)
        await asyncio.Event().wait()
        raise AssertionError("unreachable")

    return fault


def reset() -> Fault:
    """The connection breaks before an answer."""

    async def fault(request: web.Request) -> web.StreamResponse:
        if request.transport is not None:
            request.transport.abort()
        return web.Response()

    return fault


def gone(code: int = 410) -> bytes:
    """The watch line that says a version is too old."""
    return line_of(
        "ERROR", {"kind": "Status", "code": code, "reason": "Expired", "message": "too old resource version"}
    )


def _is_collection(path: str) -> bool:
    return path.rpartition("/")[2].endswith("s")


def _main(path: str) -> str:
    return path.removesuffix("/status")
