"""The API server's audit log, read piece by piece: every write to Workloads, jobs and pods, with body and answer."""

import asyncio
import itertools
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from classifier.cluster.client import ApiError, Client

Event = Mapping[str, Any]

_TIMEOUT: Final = 60.0
_MARKS: Final = itertools.count()


def revision(event: Event) -> int:
    """The cluster-wide revision a write made (etcd's); 0 where the answer carries none (refusals, some deletions)."""
    answer = event.get("responseObject") or {}
    return int((answer.get("metadata") or {}).get("resourceVersion") or 0)


def namespace_of(event: Event) -> str:
    return str((event.get("objectRef") or {}).get("namespace", ""))


def succeeded(event: Event) -> bool:
    """Did it change anything? A refused request and a dry run did not."""
    code = (event.get("responseStatus") or {}).get("code", 0)
    return 200 <= code < 300 and "dryRun=" not in event.get("requestURI", "")


def in_order(events: Iterable[Event]) -> list[Event]:
    """By revision. The log's own order is that of the answers, which differs where writes overlap.

    A write that changes nothing is answered with the revision that is there, perhaps before the one that made it: of
    one revision the first to ask comes first. Events without one keep their place behind the newest before them.
    """
    newest = 0
    keyed = []
    for event in events:
        own = revision(event) if succeeded(event) else 0
        newest = max(newest, own)
        asked = str(event.get("requestReceivedTimestamp", "")) if own else ""
        keyed.append(((own or newest, not own, asked), event))
    return [event for _, event in sorted(keyed, key=lambda pair: pair[0])]


class AuditLog:
    """A reader with a position; several may read the same log."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self._torn = b""
        self._discard = False

    def skip(self) -> None:
        """Leave out what was logged so far."""
        self._torn = b""
        try:
            with self._path.open("rb") as file:
                self._offset = file.seek(0, 2)
                if self._offset:
                    file.seek(self._offset - 1)
                    # In the middle of a line: the rest of it is not one.
                    self._discard = file.read(1) != b"\n"
        except FileNotFoundError:
            self._offset = 0

    def read(self, namespace: str | None = None) -> list[Event]:
        """What was logged since the last call, in order; of one namespace alone if asked."""
        events = (msgspec.json.decode(line) for line in self._lines())
        return in_order(event for event in events if namespace is None or namespace_of(event) == namespace)

    async def drain(self, client: Client, namespace: str | None = None) -> list[Event]:
        """As :meth:`read`, but sure to hold every write that was answered before this call.

        The log is written right after the answer; so a request that changes nothing is made, and awaited in the log.
        """
        mark = f"audit-mark-{next(_MARKS)}"
        try:
            await client.request("DELETE", f"/api/v1/namespaces/default/configmaps/{mark}")
        except ApiError as error:
            if not error.missing:
                raise
        events: list[Event] = []
        deadline = time.monotonic() + _TIMEOUT
        while not any((event.get("objectRef") or {}).get("name") == mark for event in events):
            if time.monotonic() >= deadline:
                raise TimeoutError(f"the API server did not log {mark} within {_TIMEOUT:g} s")
            await asyncio.sleep(0.01)
            events += [msgspec.json.decode(line) for line in self._lines()]
        return in_order(event for event in events if namespace is None or namespace_of(event) == namespace)

    def _lines(self) -> Iterator[bytes]:
        """Whole lines; a last one that is still being written is kept for the next time."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                data = file.read()
        except FileNotFoundError:
            return
        self._offset += len(data)
        *lines, self._torn = (self._torn + data).split(b"\n")
        if self._discard and lines:
            del lines[0]
            self._discard = False
        yield from lines
