"""The smallest input that still breaks the same law: what can be left out is left out."""

from collections.abc import Callable, Iterator
from typing import Any, Final, TypeVar

import msgspec

from tests.fuzz.run import broken
from tests.graphs.graph import Graph
from tests.graphs.heap import Heap

T = TypeVar("T", bound=Graph | Heap)

#: So many tries: a person reads the result, it need not be the very smallest.
_TRIES: Final = 3000
#: What every object has, and what makes the input one.
_KEPT: Final = frozenset({"metadata", "name", "seed", "kind", "settings", "job", "documents"})
_LONG: Final = 40


def smallest(made: T) -> T:
    """Without the parts that its failure does not need. One that breaks no law stays as it is."""
    first = broken(made)
    if first is None:
        return made

    def breaks(raw: Any) -> bool:
        try:
            candidate = msgspec.convert(raw, type(made))
            found = broken(candidate)
        except msgspec.ValidationError:
            return False
        return found is not None and (found.law, type(found.__cause__)) == (first.law, type(first.__cause__))

    return msgspec.convert(shrink(msgspec.to_builtins(made), breaks), type(made))


def shrink(raw: Any, breaks: Callable[[Any], bool], tries: int = _TRIES) -> Any:
    """Leave out one part after another, those near the root first, until none can go or the tries are used up."""
    shrank = True
    while shrank and tries > 0:
        shrank = False
        place = 0
        while place < len(paths := sorted(_paths(raw), key=len)) and tries > 0:
            for candidate in _without(raw, paths[place]):
                tries -= 1
                if breaks(candidate):
                    raw, shrank = candidate, True
                    break
            else:
                place += 1
    return raw


def _paths(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list | tuple) else ()
    for key, item in below:
        if isinstance(value, list) or (isinstance(value, dict) and key not in _KEPT):
            yield (*at, key)
        yield from _paths(item, (*at, key))


def _without(raw: Any, path: tuple[Any, ...]) -> Iterator[Any]:
    """Without that part; a long text also with half of it."""
    for halve in (False, True):
        copy = msgspec.json.decode(msgspec.json.encode(raw))
        holder = copy
        for key in path[:-1]:
            holder = holder[key]
        value = holder[path[-1]]
        if not halve:
            del holder[path[-1]]
        elif isinstance(value, str) and len(value) > _LONG:
            holder[path[-1]] = value[: len(value) // 2]
        else:
            return
        yield copy
