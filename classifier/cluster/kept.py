"""One kind of the world that is followed: its objects as versions, and whether they are all there are."""

import asyncio
from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar

from classifier import api
from classifier.cluster.client import Client
from classifier.cluster.reflector import Reflector
from classifier.objects import Meta

T = TypeVar("T", bound=Meta)
R = TypeVar("R")

#: Seconds after which a kind that is not installed, or may not be read, is asked for again.
ASK_AGAIN: Final = 300.0

#: Written by kubectl, as long as the object itself, and read by nobody here.
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"


def trim(obj: T) -> T:
    """Without managedFields and kubectl's copy: nobody here asks who wrote what, and they are most of an object."""
    obj.metadata.managed_fields = None
    if obj.metadata.annotations and _LAST_APPLIED in obj.metadata.annotations:
        del obj.metadata.annotations[_LAST_APPLIED]
    return obj


def tells_the_same(old: Meta, new: Meta, apart_from: str = "") -> bool:
    """Whether two copies of one name say the same in all that is read of the kind: a counter in a status is no news.

    ``apart_from`` is a field that tells nothing.
    """
    was, now = old.metadata, new.metadata
    return (
        was.uid == now.uid
        and was.labels == now.labels
        and was.annotations == now.annotations
        and was.deletion_timestamp == now.deletion_timestamp
        and all(
            getattr(old, name) == getattr(new, name)
            for name in old.__struct_fields__
            if name not in ("metadata", apart_from)
        )
    )


class Kept(Generic[T]):
    """``live`` is the reflector's own dictionary and changes all the time; ``objects`` and ``values`` are versions.

    A version is made anew, when it is asked for, after an object has changed in what it tells; ``same`` says whether it
    has. ``on_news`` is called then, and when :attr:`Reflector.known` changes. ``patience`` as in :class:`Reflector`.
    """

    def __init__(
        self,
        client: Client,
        resource: api.Resource,
        type_: type[T],
        on_news: Callable[[api.Resource], None],
        *,
        project: Callable[[T], T] = trim,
        same: Callable[[T, T], bool] = tells_the_same,
        **options: Any,
    ) -> None:
        self.resource = resource
        self.reflector = Reflector(
            client,
            resource,
            type_,
            project=project,
            on_change=self._changed,
            on_known=lambda: on_news(resource),
            **options,
        )
        self._same = same
        self._on_news = on_news
        self._listeners: list[Callable[[str, T | None, T | None], object]] = []
        self._objects: dict[str, T] | None = None
        self._values: list[T] | None = None

    def listen(self, call: Callable[[str, T | None, T | None], object]) -> None:
        """``call(key, old, new)`` for every change, news or not; quick, as a reflector's ``on_change``."""
        self._listeners.append(call)

    def _changed(self, key: str, old: T | None, new: T | None) -> None:
        if old is None or new is None or not self._same(old, new):
            self._objects = self._values = None
            self._on_news(self.resource)
        for call in self._listeners:
            call(key, old, new)

    @property
    def live(self) -> dict[str, T]:
        return self.reflector.objects

    @property
    def objects(self) -> dict[str, T]:
        if self._objects is None:
            self._objects = dict(self.reflector.objects)
        return self._objects

    @property
    def values(self) -> list[T]:
        if self._values is None:
            self._values = list(self.reflector.objects.values())
        return self._values

    def unread(self, stale_after: float) -> bool:
        """Whether there may be objects that we do not see. Of a kind that is not served there are none for a while."""
        reflector = self.reflector
        return not reflector.known or (reflector.synced and reflector.age() > stale_after)


class Joined(Generic[R]):
    """One version made of several: made anew when one of its parts is another object."""

    def __init__(self, make: Callable[..., R]) -> None:
        self._make = make
        self._parts: tuple[object, ...] | None = None
        self._value: R

    def __call__(self, *parts: object) -> R:
        if self._parts is None or any(one is not other for one, other in zip(parts, self._parts, strict=True)):
            self._parts, self._value = parts, self._make(*parts)
        return self._value


class News:
    """What has changed for one consumer, gathered until it looks."""

    def __init__(self) -> None:
        self._kinds: set[api.Resource] = set()
        self._there = asyncio.Event()

    def add(self, resource: api.Resource) -> None:
        self._kinds.add(resource)
        self._there.set()

    async def next(self, settle: float = 0.5) -> frozenset[api.Resource]:
        """The kinds that told something new since the last call. Waits for one, and ``settle`` seconds for more."""
        await self._there.wait()
        await asyncio.sleep(settle)
        self._there.clear()
        kinds, self._kinds = frozenset(self._kinds), set()
        return kinds
