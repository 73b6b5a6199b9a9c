"""Who comes next among the keys that wait: what is due before what has changed, each namespace in its turn. Pure."""

from collections import deque
from collections.abc import Callable, Hashable
from typing import Final, Generic, TypeVar

K = TypeVar("K", bound=Hashable)

#: So many due keys come in a row while others wait: a storm of deadlines must not keep new jobs from being told theirs.
STRAIGHT: Final = 3


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
    """A set of keys, each at most once, in two lanes: those whose deadline has come, and those that have changed.

    Deadlines are pushed in the order in which they fall due, so within a namespace the earliest comes first.
    ``namespace`` tells whose turn a key takes.
    """

    def __init__(self, namespace: Callable[[K], Hashable]) -> None:
        self._namespace = namespace
        self.clear()

    def clear(self) -> None:
        self._due: _Turns[K] = _Turns()
        self._changed: _Turns[K] = _Turns()
        #: The keys that wait, and whether in the lane of what is due: an entry of the other lane is an old one.
        self._waiting: dict[K, bool] = {}
        self._straight = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def push(self, key: K, *, due: bool = False) -> None:
        """Add a key. One that waits already keeps its place, unless it falls due meanwhile."""
        waits = self._waiting.get(key)
        if waits or waits is due:
            return
        self._waiting[key] = due
        (self._due if due else self._changed).push(self._namespace(key), key)

    def pop(self) -> tuple[K, bool]:
        """The next key, and whether it is due. Raises IndexError if none waits."""
        if not self._waiting:
            raise IndexError("no key waits")
        due = self._straight < STRAIGHT
        key = self._take(due)
        if key is None:
            due = not due
            key = self._take(due)
        assert key is not None
        self._straight = self._straight + 1 if due else 0
        del self._waiting[key]
        return key, due

    def _take(self, due: bool) -> K | None:
        lane = self._due if due else self._changed
        while (key := lane.pop()) is not None:
            if self._waiting.get(key) is due:
                return key
        return None
