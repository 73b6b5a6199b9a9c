"""Keeps a copy of one kind: a paged list, then a watch, and again whenever the watch cannot go on.

Our own, because no client at hand survives what API servers do: 410 in either place, torn lines, a proxy's HTML, 429
with Retry-After, silence, a stream that closes at once (reference/engineering.md §A.2, §A.4). Never more than one
reconnect a second on average while failing.
"""

import asyncio
import contextlib
import gc
import logging
import random
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Final, Generic, TypeVar

import msgspec

from classifier.api import Resource
from classifier.cluster.backoff import Backoff
from classifier.cluster.client import ApiError, Client, ClientError
from classifier.cluster.lines import Lines, LineTooLong
from classifier.cluster.store import Store, number
from classifier.cluster.wire import IDLE, MAX_LINE, PAGE, WATCH_SECONDS, Page, event_of
from classifier.objects import Meta

T = TypeVar("T", bound=Meta)

log = logging.getLogger(__name__)

#: Seconds for one page, or for a whole list where pages expire.
LIST_TIMEOUT: Final = 60.0
#: A list of so many objects is more than Python's collector goes through unnoticed.
MANY: Final = 2_000
#: A watch that lived this long, seconds, was a good one: the next failure starts small again.
LIVED: Final = 10.0


class _Expired(Exception):
    """The watch cannot go on from its resourceVersion: only a new list helps."""


class Reflector(Generic[T]):
    """``objects`` maps ``namespace/name`` to the latest copy seen: one dictionary for life.

    ``project`` may trim an object before it is kept. ``on_change(key, old, new)`` is called for every difference,
    inside the event loop, before the next line is read: it must be quick. ``new`` is None for a deletion; ``old`` and
    ``new`` may be different objects of one name where the deletion between them was not seen (compare their UIDs).
    An object that cannot be read is left out, and that is said. ``idle`` is in seconds.

    A kind that may be missing has ``patience``, in seconds: while the server does not serve it (404) or does not let us
    read it (403), it is asked for again so much later and not as after other failures; see :attr:`refused`.
    ``versions`` are tried in turn, the first one first. ``on_known`` is called whenever :attr:`known` has changed.
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
        on_known: Callable[[], None] | None = None,
        patience: float | None = None,
        versions: Sequence[str] = (),
        idle: float = IDLE,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.resource = resource
        self.relists = 0
        #: Why the copy may be out of date; None while a watch is open.
        self.trouble: str | None = None
        #: 403 or 404 while the server answers so for a kind that may be missing.
        self.refused: int | None = None
        self._client = client
        self._namespace = namespace
        self._served = [resource._replace(version=version) for version in versions] or [resource]
        self._patience = patience
        self._on_known = on_known
        self._untried = len(self._served)
        self._nudged = asyncio.Event()
        self._selectors = {
            name: value
            for name, value in (("fieldSelector", field_selector), ("labelSelector", label_selector))
            if value
        }
        self._pages = msgspec.json.Decoder(Page)
        self._store = Store(resource.plural, type_, project, on_change)
        self._idle = idle
        self._sleep = sleep
        self._monotonic = monotonic
        self._synced = asyncio.Event()
        self._answered = asyncio.Event()
        self._heard = monotonic()
        #: Up to here nothing can have been missed.
        self._followed = self._heard
        #: When the current watch was opened.
        self._opened: float | None = None
        #: Whether the next thing to do is a list, and whether in pages.
        self._expired = True
        self._paged = True

    @property
    def objects(self) -> dict[str, T]:
        return self._store.objects

    @property
    def decode_errors(self) -> int:
        """How many objects could not be read so far."""
        return self._store.decode_errors

    @property
    def synced(self) -> bool:
        """Whether the first list is complete."""
        return self._synced.is_set()

    @property
    def known(self) -> bool:
        """Whether ``objects`` are all there are. Of a kind that is not served there are none."""
        return self.refused is None if self.synced else self.refused == 404

    @property
    def answered(self) -> bool:
        """Whether the server has said anything about the kind yet, be it a refusal or an error."""
        return self.synced or self.refused is not None or self.trouble is not None

    def reaches(self, version: str) -> bool:
        """Whether all that was written before ``version`` is known; in doubt not. It may be another kind's: one store
        (etcd) counts them together."""
        return number(self._store.version) >= number(version)

    def nudge(self) -> None:
        """Ask again now for a kind that was refused: there is reason to believe that it is there."""
        self._nudged.set()

    async def wait_synced(self) -> None:
        await self._synced.wait()

    async def wait_answered(self) -> None:
        """Until :attr:`answered`."""
        await self._answered.wait()

    def age(self) -> float:
        """Seconds since the server last said anything on this watch or list."""
        return self._monotonic() - self._heard

    def unfollowed(self) -> float:
        """Seconds for which something may have happened that was never told: asked when a list has told a change, since
        the watch before it said something."""
        return self._monotonic() - self._followed

    def put(self, body: bytes) -> T | None:
        """Take in an object the server just answered with: see :meth:`Store.put`."""
        return self._store.put(body)

    async def run(self) -> None:
        """Follow the kind until cancelled."""
        backoff = Backoff()
        while True:
            wait: float | None = None
            listing, self._opened = self._expired, None
            try:
                if listing:
                    await self._list()
                if not await self._watch() and not self._lived():
                    self.trouble = "the watch closes at once"
            except _Expired as error:
                # Once is the course of things. Right after a list it is not: nothing is being followed.
                self.trouble = str(error) if listing else None
                self._expired = True
            except ApiError as error:
                self.trouble, wait = str(error), error.retry_after
                if await self._refuse(error, backoff):
                    continue
            except ClientError as error:
                self.trouble = str(error)
            except (msgspec.MsgspecError, RecursionError) as error:
                self.trouble = f"what the server says cannot be read: {error}"
            if self._lived():
                backoff.reset()
            self._answered.set()
            delay = backoff.next(wait)
            if self.trouble:
                log.warning("%s: %s; again in %.1fs", self.resource.plural, self.trouble, delay)
            await self._sleep(delay)

    # --- kinds that may be missing ----------------------------------------------------------------------------

    async def _refuse(self, error: ApiError, backoff: Backoff) -> bool:
        """Wait patiently if this is a refusal of a kind that may be missing; whether it was one."""
        if self._patience is None or not (error.status == 403 or error.missing):
            return False
        forget = False
        if error.missing:
            self._expired = True
            self._served.append(self._served.pop(0))
            self._untried -= 1
            if self._untried > 0:
                self.trouble = None
                return True
            # Twice, and long apart: uninstalled. Once may be a server that has only just started.
            forget = self.synced and self.refused == 404
        if self.refused != error.status:
            log.info("%s: %s; asked again every %.0fs", self.resource.plural, error, self._patience)
        self._learn(error.status, synced=self.synced and not forget)
        await self._rest(self._patience * random.uniform(0.9, 1.1), backoff.next(error.retry_after))
        return True

    def _learn(self, refused: int | None, *, synced: bool) -> None:
        known = self.known
        self.refused = refused
        self._answered.set()
        self._untried = len(self._served)
        if synced:
            self._synced.set()
        elif self.synced:
            self._synced.clear()
            for _ in self._store.replace({}, ""):
                pass
        if self._on_known is not None and self.known != known:
            self._on_known()

    async def _rest(self, seconds: float, at_least: float) -> None:
        """Sleep, or until nudged, but ``at_least`` so long: everything that comes up may be a nudge."""
        self._nudged.clear()
        await self._sleep(at_least)
        waits = [asyncio.ensure_future(self._sleep(seconds)), asyncio.ensure_future(self._nudged.wait())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    def _lived(self) -> bool:
        return self._opened is not None and self._monotonic() - self._opened >= LIVED

    def path(self, name: str | None = None, namespace: str | None = None) -> str:
        """Where what is followed is, or one object of it."""
        return self._served[0].path(namespace or self._namespace, name)

    # --- list -------------------------------------------------------------------------------------------------

    async def _list(self) -> None:
        if len(self.objects) >= MANY:
            # Garbage must not be frozen with what is kept, or it is kept as well. What was frozen before is not walked.
            gc.collect()
        self._store.begin_list()
        # The collector would walk the growing heap over and over: engineering.md §A.3.
        with _collector_paused():
            fresh, version = await self._read_pages()
            if len(fresh) >= MANY:
                # Nor is it to walk all of it once when it goes on: that holds up everything, and finds nothing.
                gc.freeze()
        self.relists += 1
        for _ in self._store.replace(fresh, version):
            await asyncio.sleep(0)
        self._followed = self._heard
        self._expired = False
        self.trouble = None
        self._learn(None, synced=True)

    async def _read_pages(self) -> tuple[dict[str, T], str]:
        """All objects, and the version they are as of."""
        fresh: dict[str, T] = {}
        version = ""
        params = {"limit": str(PAGE), **self._selectors} if self._paged else dict(self._selectors)
        while True:
            try:
                body = await self._client.request("GET", self.path(), params=params, timeout=LIST_TIMEOUT)
            except ApiError as error:
                if not _too_old(error):
                    raise
                # Compaction was faster than our paging: the next list asks for all at once.
                self._paged = False
                raise _Expired(f"the list expired before its end: {error}") from None
            page = self._pages.decode(body)
            self._heard = self._monotonic()
            for raw in page.items or ():
                obj = self._store.decode(raw)
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
        self._paged = True
        return fresh, version

    # --- watch ------------------------------------------------------------------------------------------------

    async def _watch(self) -> bool:
        """Follow one watch to its end; whether it said anything."""
        params = {
            "watch": "1",
            "allowWatchBookmarks": "true",
            "resourceVersion": self._store.version,
            "timeoutSeconds": str(random.randint(*WATCH_SECONDS)),
            **self._selectors,
        }
        spoke = False
        try:
            async with self._client.stream(self.path(), params=params, idle=self._idle) as stream:
                self._opened = self._heard = self._monotonic()
                self.trouble = None
                self._learn(None, synced=True)
                # The half of a torn line is dropped: the next watch starts from the last whole one.
                lines = Lines(MAX_LINE)
                async for chunk in stream.iter_any():
                    self._heard = self._monotonic()
                    for line in lines.feed(chunk):
                        spoke = True
                        self._take(line)
                    self._followed = self._heard
        except ApiError as error:
            if _too_old(error):
                raise _Expired(str(error)) from None
            raise
        except LineTooLong as error:
            # Every watch from here would break at it; a list has no lines.
            raise _Expired(f"the watch cannot go on: {error}") from None
        return spoke

    def _take(self, line: bytes) -> None:
        event = event_of(line)
        if event.type == "BOOKMARK":
            self._store.advance(event.version)
        else:
            self._store.follow(event.object, deleted=event.type == "DELETED")


def _too_old(error: ApiError) -> bool:
    """Whether the server cannot go on from our version: compacted, or never reached (etcd restored from a backup).

    Kubernetes: staging/src/k8s.io/apiserver/pkg/storage/errors.go, NewTooLargeResourceVersionError.
    """
    return error.status == 410 or (error.status == 504 and "Too large resource version" in error.message)


@contextlib.contextmanager
def _collector_paused() -> Iterator[None]:
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
