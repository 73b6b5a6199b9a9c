"""Keeps a copy of one kind: a paged list, then a watch, and again whenever the watch cannot go on.

Our own, because no client at hand survives what API servers do: 410 in either place, torn lines, a proxy's HTML, 429
with Retry-After, silence, a stream that closes at once (reference/engineering.md §A.2, §A.4). Never more than one
reconnect a second on average while failing; every change reaches ``on_change`` exactly as the server ordered it.
"""

import asyncio
import contextlib
import gc
import logging
import random
import time
from collections.abc import Callable, Iterator
from typing import Final, Generic, TypeVar

import msgspec

from classifier.api import Resource
from classifier.cluster.client import ApiError, Client, ClientError
from classifier.objects import Meta

T = TypeVar("T", bound=Meta)

log = logging.getLogger(__name__)

PAGE: Final = 500
#: Seconds without a byte before a watch counts as dead. Bookmarks come about once a minute.
IDLE: Final = 150.0
WATCH_SECONDS: Final = (300, 600)
BACKOFF: Final = (0.2, 30.0)
#: A connection that lived this long, seconds, was a good one: the next failure starts small again.
LIVED: Final = 10.0
#: One watch line: an object is at most 3 MiB in etcd, JSON may be somewhat more.
MAX_LINE: Final = 16 * 2**20


class _ListMeta(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    continue_: str | None = msgspec.field(default=None, name="continue")


class _Page(msgspec.Struct):
    """A page of a list. Items stay raw: one object we cannot read must not cost us the page."""

    metadata: _ListMeta
    items: list[msgspec.Raw] | None = None


class _Envelope(msgspec.Struct):
    """A watch line: the object stays raw until its type is known."""

    type: str
    object: msgspec.Raw


class _Gone(msgspec.Struct):
    code: int | None = None
    message: str | None = None


class _Bookmark(msgspec.Struct):
    metadata: _ListMeta


class _Expired(Exception):
    """The resourceVersion is too old: only a new list helps."""


class Backoff:
    """Seconds to stay away: doubles with jitter, honours what the server asked for, starts over after success."""

    def __init__(self, low: float = BACKOFF[0], high: float = BACKOFF[1]) -> None:
        self._low, self._high, self._next = low, high, low

    def reset(self) -> None:
        self._next = self._low

    def next(self, at_least: float | None = None) -> float:
        delay = self._next * random.uniform(0.5, 1.0)
        self._next = min(self._next * 2, self._high)
        # A server that asks for an hour is obeyed, but no longer than our own longest wait at a time.
        return max(delay, min(at_least or 0.0, self._high))


class Reflector(Generic[T]):
    """``objects`` maps ``namespace/name`` to the latest copy seen.

    ``project`` may trim an object before it is kept. ``on_change(key, old, new)`` is called for every difference,
    inside the event loop, before the next line is read: it must be quick. ``new`` is None for a deletion; after a
    relist ``old`` and ``new`` may be different objects of one name (compare their UIDs).
    """

    def __init__(
        self,
        client: Client,
        resource: Resource,
        type_: type[T],
        *,
        namespace: str | None = None,
        field_selector: str | None = None,
        label_selector: str | None = None,
        project: Callable[[T], T] | None = None,
        on_change: Callable[[str, T | None, T | None], None] | None = None,
    ) -> None:
        self.resource = resource
        self.objects: dict[str, T] = {}
        self.relists = 0
        self.decode_errors = 0
        #: Why the last attempt failed; None while all is well.
        self.trouble: str | None = None
        self._client = client
        self._path = resource.path(namespace)
        self._selectors = {
            name: value
            for name, value in (("fieldSelector", field_selector), ("labelSelector", label_selector))
            if value
        }
        self._decoder = msgspec.json.Decoder(type_)
        self._page_decoder = msgspec.json.Decoder(_Page)
        self._project = project
        self._on_change = on_change
        self._synced = asyncio.Event()
        self._heard = time.monotonic()
        self._version = ""

    @property
    def synced(self) -> bool:
        """Whether the first list is complete."""
        return self._synced.is_set()

    async def wait_synced(self) -> None:
        await self._synced.wait()

    def age(self) -> float:
        """Seconds since the server last said anything on this watch or list."""
        return time.monotonic() - self._heard

    async def run(self) -> None:
        """Follow the kind until cancelled."""
        backoff = Backoff()
        while True:
            wait: float | None = None
            started = time.monotonic()
            try:
                if not self._version:
                    await self._list()
                await self._watch()
                self.trouble = None
            except _Expired:
                self._version = ""
            except ApiError as error:
                self.trouble, wait = str(error), error.retry_after
                if error.status == 410:
                    self._version = ""
            except (ClientError, msgspec.MsgspecError) as error:
                self.trouble = str(error)
            if time.monotonic() - started >= LIVED:
                backoff.reset()
            delay = backoff.next(wait)
            if self.trouble:
                log.warning("%s: %s; again in %.1fs", self.resource.plural, self.trouble, delay)
            await asyncio.sleep(delay)

    # --- list -------------------------------------------------------------------------------------------------

    async def _list(self) -> None:
        fresh: dict[str, T] = {}
        params = {"limit": str(PAGE), **self._selectors}
        version = ""
        # The collector would walk the growing heap over and over: engineering.md §A.3.
        with _collector_paused():
            while True:
                body = await self._client.request("GET", self._path, params=params, timeout=60.0)
                page = self._page_decoder.decode(body)
                self._heard = time.monotonic()
                for raw in page.items or ():
                    obj = self._decode(raw)
                    if obj is not None:
                        fresh[obj.key] = obj
                # The version of the last page covers them all (they come from one snapshot).
                version = page.metadata.resource_version or version
                if not page.metadata.continue_:
                    break
                params["continue"] = page.metadata.continue_
                await asyncio.sleep(0)
        if not version:
            raise ClientError(f"the list of {self.resource.plural} came without a resourceVersion")
        self.relists += 1
        old, self.objects = self.objects, fresh
        if self._on_change is not None:
            for count, key in enumerate([*old, *(k for k in fresh if k not in old)]):
                before, after = old.get(key), fresh.get(key)
                if before is None or after is None or _version(before) != _version(after):
                    self._on_change(key, before, after)
                if count % PAGE == PAGE - 1:
                    await asyncio.sleep(0)
        self._version = version
        self.trouble = None
        self._synced.set()

    # --- watch ------------------------------------------------------------------------------------------------

    async def _watch(self) -> None:
        params = {
            "watch": "1",
            "allowWatchBookmarks": "true",
            "resourceVersion": self._version,
            "timeoutSeconds": str(random.randint(*WATCH_SECONDS)),
            **self._selectors,
        }
        async with self._client.stream(self._path, params=params, idle=IDLE) as stream:
            rest = b""
            async for chunk in stream.iter_any():
                self._heard = time.monotonic()
                self.trouble = None
                lines = (rest + chunk).split(b"\n") if rest else chunk.split(b"\n")
                rest = lines.pop()
                if len(rest) > MAX_LINE:
                    raise ClientError(f"a watch line of {self.resource.plural} is longer than {MAX_LINE} bytes")
                for line in lines:
                    if line.strip():
                        self._take(line)
            # What is left is the half of a torn line: the next watch starts from the last whole one.

    def _take(self, line: bytes) -> None:
        envelope = msgspec.json.decode(line, type=_Envelope)
        match envelope.type:
            case "ADDED" | "MODIFIED":
                obj = self._decode(envelope.object)
                if obj is not None:
                    self._version = _version(obj) or self._version
                    self._set(obj)
            case "DELETED":
                obj = self._decode(envelope.object)
                if obj is not None:
                    self._version = _version(obj) or self._version
                    old = self.objects.pop(obj.key, None)
                    if old is not None and self._on_change is not None:
                        self._on_change(obj.key, old, None)
            case "BOOKMARK":
                version = msgspec.json.decode(envelope.object, type=_Bookmark).metadata.resource_version
                self._version = version or self._version
            case "ERROR":
                error = msgspec.json.decode(envelope.object, type=_Gone)
                if error.code == 410:
                    raise _Expired
                raise ApiError(error.code or 500, "", error.message or "the watch reported an error")
            case _:
                raise ClientError(f"unknown watch event {envelope.type[:32]!r}")

    def put(self, body: bytes) -> T | None:
        """Take in an object the server just answered with, so that the next look sees it before the watch brings it.

        Only what the watch cannot have told yet is kept: a late answer must not bring a deleted object back. Returns
        the decoded object, None if it cannot be read.
        """
        obj = self._decode(msgspec.Raw(body))
        if obj is not None and _number(_version(obj)) > _number(self._version):
            self._set(obj)
        return obj

    def _set(self, obj: T) -> None:
        old = self.objects.get(obj.key)
        # A duplicated line, or one that tells what our own write overtook: nothing new.
        if old is not None and _number(_version(old)) >= _number(_version(obj)):
            return
        self.objects[obj.key] = obj
        if self._on_change is not None:
            self._on_change(obj.key, old, obj)

    def _decode(self, raw: msgspec.Raw) -> T | None:
        try:
            obj = self._decoder.decode(raw)
        except (msgspec.MsgspecError, RecursionError) as error:
            # One odd object must not stop the others; it counts as unseen, and that is said.
            self.decode_errors += 1
            log.warning("%s: an object cannot be read and is left out: %s", self.resource.plural, error)
            return None
        return self._project(obj) if self._project else obj


def _version(obj: Meta) -> str:
    return obj.metadata.resource_version


def _number(version: str) -> int:
    """Resource versions of one kind in one cluster are comparable integers (Kubernetes: KEP-5504)."""
    return int(version) if version.isascii() and version.isdigit() else 0


@contextlib.contextmanager
def _collector_paused() -> Iterator[None]:
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
