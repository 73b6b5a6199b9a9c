"""Who comes next among the keys that wait: due, changed, or nothing urgent; each namespace in its turn. Pure."""

from collections import deque
from collections.abc import Callable, Hashable
from enum import IntEnum
from typing import Final, Generic, TypeVar

K = TypeVar("K", bound=Hashable)

#: So many due keys come in a row while others wait: a storm of deadlines must not keep new jobs from being told theirs.
STRAIGHT: Final = 3
#: Of so many keys one is of the last lane while others wait: late, but never not at all.
SELDOM: Final = 128


class Lane(IntEnum):
    """The most urgent first."""

    DUE = 0  # its deadline has come
    CHANGED = 1  # something about it has changed
    LATER = 2  # nobody's wait depends on what is to be done


class _Turns(Generic[K]):
    """Keys in the order of their arrival within a namespace; namespaces in turn, so that none can starve another."""

    def __init__(self) -> None:
        self._keys: dict[Hashable, deque[K]] = {}
        self._turns: deque[Hashable] = deque()

    def push(self, namespace: Hashable, key: K) -> None:
        waiting = self._keys.get(namespace)
        if waiting is None:
            waiting = self._keys[namespace] = deque()
            self._turns.append(namespace)
        waiting.append(key)

    def pop(self) -> K | None:
        if not self._turns:
            return None
        namespace = self._turns.popleft()
        waiting = self._keys[namespace]
        key = waiting.popleft()
        if waiting:
            self._turns.append(namespace)
        else:
            del self._keys[namespace]
        return key


class Lanes(Generic[K]):
    """A set of keys, each at most once, in the most urgent :class:`Lane` it was pushed into.

    Deadlines are pushed in the order in which they fall due, so within a namespace the earliest comes first.
    ``namespace`` tells whose turn a key takes.
    """

    def __init__(self, namespace: Callable[[K], Hashable]) -> None:
        self._namespace = namespace
        self.clear()

    def clear(self) -> None:
        self._lanes: dict[Lane, _Turns[K]] = {lane: _Turns() for lane in Lane}
        #: The keys that wait, and where: an entry of another lane is an old one.
        self._waiting: dict[K, Lane] = {}
        self._counts = dict.fromkeys(Lane, 0)
        self._straight = 0
        self._since_later = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def waits(self, lane: Lane) -> int:
        """How many keys wait in a lane."""
        return self._counts[lane]

    def push(self, key: K, lane: Lane = Lane.CHANGED) -> None:
        """Add a key. One that waits already keeps its place, unless this lane is more urgent."""
        before = self._waiting.get(key)
        if before is not None:
            if before <= lane:
                return
            self._left(before)
        self._waiting[key] = lane
        self._counts[lane] += 1
        self._lanes[lane].push(self._namespace(key), key)

    def pop(self) -> tuple[K, Lane]:
        """The next key, and its lane. Raises IndexError if none waits."""
        lane = self._next()
        key = self._take(lane)
        self._straight = self._straight + 1 if lane is Lane.DUE else 0
        self._since_later = 0 if lane is Lane.LATER else self._since_later + 1
        del self._waiting[key]
        self._left(lane)
        return key, lane

    def _left(self, lane: Lane) -> None:
        self._counts[lane] -= 1
        if not self._counts[lane]:
            # What is left there are old entries, and a lane whose turn does not come would keep them.
            self._lanes[lane] = _Turns()

    def _next(self) -> Lane:
        if self._counts[Lane.LATER] and self._since_later >= SELDOM - 1:
            return Lane.LATER
        if self._counts[Lane.CHANGED] and (self._straight >= STRAIGHT or not self._counts[Lane.DUE]):
            return Lane.CHANGED
        if self._counts[Lane.DUE]:
            return Lane.DUE
        if not self._waiting:
            raise IndexError("no key waits")
        return Lane.LATER

    def _take(self, lane: Lane) -> K:
        while (key := self._lanes[lane].pop()) is None or self._waiting.get(key) is not lane:
            if key is None:
                raise LookupError(f"lane {lane.name} is said to hold a key and does not")
        return key
