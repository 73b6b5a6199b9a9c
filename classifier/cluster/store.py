"""The copy of one kind that a reflector keeps: lists, watch lines and the server's answers to us, put in order.

No I/O. Every change reaches ``on_change(key, old, new)`` once, each object's in its order, whatever comes twice, late
or out of the past.
"""

import logging
from collections.abc import Callable, Generator, Mapping
from typing import Final, Generic, TypeVar

import msgspec

from classifier.objects import Meta

T = TypeVar("T", bound=Meta)

log = logging.getLogger(__name__)

#: After so many objects looked at in one go others get their turn.
TURN: Final = 500


class Store(Generic[T]):
    """``objects`` maps ``namespace/name`` to the latest copy seen: one dictionary for life.

    ``version`` is the resourceVersion up to which everything was seen.
    """

    def __init__(
        self,
        kind: str,
        type_: type[T],
        project: Callable[[T], T] | None = None,
        on_change: Callable[[str, T | None, T | None], None] | None = None,
    ) -> None:
        self.objects: dict[str, T] = {}
        self.version = ""
        self.decode_errors = 0
        self._kind = kind
        self._decoder = msgspec.json.Decoder(type_)
        self._project = project
        self._on_change = on_change
        #: While a list is under way: what :meth:`put` took in, which the list may not have seen.
        self._ahead: dict[str, T] | None = None
        #: After a list: the keys not yet told of, with the copy they were last told of.
        self._untold: dict[str, T | None] = {}

    def decode(self, raw: msgspec.Raw) -> T | None:
        """The object, trimmed; None, and counted, if it cannot be read: it must not stop the others."""
        try:
            obj = self._decoder.decode(raw)
        except (msgspec.MsgspecError, RecursionError) as error:
            self.decode_errors += 1
            log.warning("%s: an object cannot be read and is left out: %s", self._kind, error)
            return None
        return self._project(obj) if self._project else obj

    # --- lists ------------------------------------------------------------------------------------------------

    def begin_list(self) -> None:
        """From here on :meth:`put` may be ahead of the list."""
        self._ahead = {}

    def replace(self, fresh: Mapping[str, T], version: str) -> Generator[None, None, None]:
        """Take over a whole list as of ``version``, then tell of every difference, deletions included.

        The copy is complete with the first step; each further one tells of :data:`TURN` keys.
        """
        last_told: dict[str, T | None] = {**dict.fromkeys(fresh), **self.objects, **self._untold}
        self.objects.clear()
        self.objects.update(fresh)
        # Answers to our own writes after the list was taken: it must not take them back.
        ahead = self._ahead or {}
        self.objects.update((key, obj) for key, obj in ahead.items() if number(version_of(obj)) > number(version))
        self._ahead = None
        self._untold = last_told
        self.version = version
        yield
        for count, key in enumerate(tuple(last_told), 1):
            # Whatever changed in the meantime was told of then.
            if key in self._untold:
                before, after = self._untold.pop(key), self.objects.get(key)
                if (before and version_of(before)) != (after and version_of(after)):
                    self._report(key, before, after)
            if count % TURN == 0:
                yield

    # --- watch lines ------------------------------------------------------------------------------------------

    def follow(self, raw: msgspec.Raw, *, deleted: bool) -> None:
        """Take in the object of a watch line. Raises MsgspecError if not even its name can be read."""
        obj = self.decode(raw)
        # What can no longer be read is no longer known: an old copy in its place would be a lie.
        seen: Meta = obj if obj is not None else msgspec.json.decode(raw, type=Meta)
        if number(version_of(seen)) < number(self.version):
            return  # a line of the past, repeated
        self.advance(version_of(seen))
        if obj is not None and not deleted:
            self._set(obj)
        else:
            self._drop(seen)

    def advance(self, version: str) -> None:
        """Everything up to ``version`` was seen."""
        if number(version) > number(self.version):
            self.version = version

    # --- answers ----------------------------------------------------------------------------------------------

    def put(self, body: bytes) -> T | None:
        """Take in an object the server just answered with, so that the next look sees it before the watch brings it.

        Only what the watch cannot have told yet is kept: a late answer must not bring a deleted object back. Returns
        the decoded object, None if it cannot be read.
        """
        obj = self.decode(msgspec.Raw(body))
        if obj is not None and number(version_of(obj)) > number(self.version):
            if self._ahead is not None:
                self._ahead[obj.key] = obj
            self._set(obj)
        return obj

    # --- changes ----------------------------------------------------------------------------------------------

    def _set(self, obj: T) -> None:
        old = self.objects.get(obj.key)
        # A line once more, or one that tells what our own write overtook: nothing new.
        if old is not None and number(version_of(old)) >= number(version_of(obj)):
            return
        self.objects[obj.key] = obj
        self._report(obj.key, self._untold.pop(obj.key, old), obj)

    def _drop(self, gone: Meta) -> None:
        old = self.objects.get(gone.key)
        # Newer than the deletion: another object of that name, which the server has answered us with.
        if old is None or number(version_of(old)) > number(version_of(gone)):
            return
        del self.objects[gone.key]
        told = self._untold.pop(gone.key, old)
        if told is not None:
            self._report(gone.key, told, None)

    def _report(self, key: str, old: T | None, new: T | None) -> None:
        if self._on_change is not None:
            self._on_change(key, old, new)


def version_of(obj: Meta) -> str:
    return obj.metadata.resource_version


def number(version: str) -> int:
    """Resource versions of one kind in one cluster are comparable integers (Kubernetes: KEP-5504)."""
    return int(version) if version.isascii() and version.isdigit() else 0
