"""The search for flavors within one resource group: depth first, and never twice into the same dead end."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from classifier.fit.budget import Budget
from classifier.fit.quota.tree import UNLIMITED

#: More than any needs, still after it was divided.
_ENDLESS: Final = 1 << 256


@dataclass(frozen=True, slots=True)
class Slot:
    """What needs one flavor of the group: ``needs`` of it in all, only what is more than 0.

    Of slots whose ``alike`` is the same, other than None, the later never gets an earlier option than the one before.
    """

    options: tuple[str, ...]
    needs: Mapping[str, int]
    alike: object = None


def choices(slots: Sequence[Slot], potential: Callable[[str, str], int], budget: Budget) -> Iterator[tuple[str, ...]]:
    """The flavor of each slot, every choice that keeps each sum of needs within the potential.

    If Kueue's way leads to a choice, never going back, it comes first. Else the largest slots go first, which shows
    soonest that there is none. Raises OverBudget.
    """
    if not slots:
        yield ()
        return
    straight = _Search(slots, potential, budget, straight=True)
    yield from straight.run()
    if straight.stuck:
        order = _largest_first(slots, potential, budget)
        place = [order.index(which) for which in range(len(slots))]
        for found in _Search([slots[which] for which in order], potential, budget).run():
            yield tuple(found[at] for at in place)


def _largest_first(slots: Sequence[Slot], potential: Callable[[str, str], int], budget: Budget) -> list[int]:
    """By the largest share in what its flavors hold of a resource. Slots that are alike keep their order."""
    budget.glance(sum(len(slot.needs) * len(slot.options) for slot in slots))

    def share(slot: Slot) -> float:
        held = {name: sum(potential(flavor, name) for flavor in slot.options) for name in slot.needs}
        return max((amount / held[name] for name, amount in slot.needs.items() if held[name]), default=0.0)

    shares = [share(slot) for slot in slots]
    return sorted(range(len(slots)), key=lambda which: -shares[which])


@dataclass(slots=True)
class _Frame:
    """One slot on the way: the options still to be tried, and how many choices were found before it was reached."""

    options: Iterator[int]
    found_before: int
    #: Whether it was held against what is left. Until the first dead end nothing is looked at but the way itself.
    looked_ahead: bool = False


class _Search:
    def __init__(
        self, slots: Sequence[Slot], potential: Callable[[str, str], int], budget: Budget, *, straight: bool = False
    ) -> None:
        self._slots, self._potential, self._budget = slots, potential, budget
        self._straight = straight
        #: Whether the straight way led nowhere.
        self.stuck = False
        self._before = _before(slots)
        self._resources = list(dict.fromkeys(name for slot in slots for name in slot.needs))
        #: Of each flavor, which slots may get it; made at the first dead end.
        self._kinds: dict[str, tuple[int, ...]] = {}
        self._used: dict[tuple[str, str], int] = {}
        self._chosen: list[int] = []
        #: States that lead to no choice.
        self._dead: set[tuple[object, ...]] = set()

    def run(self) -> Iterator[tuple[str, ...]]:
        found = 0
        stack = [_Frame(self._options(0), found)]
        while stack:
            index, frame = len(stack) - 1, stack[-1]
            if len(self._chosen) > index:
                self._step_back()
                if found == frame.found_before and not frame.looked_ahead:
                    frame.looked_ahead = True
                    if self._hopeless(index):
                        frame.options = iter(())
            if not self._step(index, frame.options):
                stack.pop()
                if self._straight and not found:
                    self.stuck = True
                    return
                if found == frame.found_before:
                    self._dead.add(self._state(index))
            elif index + 1 == len(self._slots):
                found += 1
                yield tuple(slot.options[which] for slot, which in zip(self._slots, self._chosen, strict=True))
            elif self._dead and (self._state(index + 1) in self._dead or self._hopeless(index + 1)):
                stack.append(_Frame(iter(()), found, looked_ahead=True))
            else:
                stack.append(_Frame(self._options(index + 1), found, looked_ahead=bool(self._dead)))

    def _options(self, index: int) -> Iterator[int]:
        before = self._before[index]
        return iter(range(0 if before is None else self._chosen[before], len(self._slots[index].options)))

    def _step(self, index: int, options: Iterator[int]) -> bool:
        """Takes the next option that holds the slot, if there is one."""
        slot = self._slots[index]
        for which in options:
            self._budget.spend(1)
            flavor = slot.options[which]
            for resource, amount in slot.needs.items():
                limit = self._potential(flavor, resource)
                if limit != UNLIMITED and self._used.get((flavor, resource), 0) + amount > limit:
                    break
            else:
                self._take(flavor, slot.needs, 1)
                self._chosen.append(which)
                return True
        return False

    def _step_back(self) -> None:
        slot = self._slots[len(self._chosen) - 1]
        self._take(slot.options[self._chosen.pop()], slot.needs, -1)

    def _take(self, flavor: str, needs: Mapping[str, int], times: int) -> None:
        for resource, amount in needs.items():
            self._used[flavor, resource] = self._used.get((flavor, resource), 0) + times * amount

    def _left(self, flavor: str, resource: str) -> int:
        limit = self._potential(flavor, resource)
        return _ENDLESS if limit == UNLIMITED else limit - self._used.get((flavor, resource), 0)

    def _state(self, index: int) -> tuple[object, ...]:
        """All that the rest of the search depends on: what is left, and where slots that are alike begin.

        Flavors of which the same is left may stand for each other where the same slots may get them.
        """
        begin = tuple(self._chosen[one] for one in self._before[index:] if one is not None and one < index)
        if begin:
            self._budget.glance(len(self._used) + len(self._slots))
            return index, frozenset(item for item in self._used.items() if item[1]), begin
        if not self._kinds:
            for which, slot in enumerate(self._slots):
                self._budget.glance(len(slot.options))
                for flavor in slot.options:
                    self._kinds[flavor] = (*self._kinds.get(flavor, ()), which)
        self._budget.glance(len(self._kinds) * len(self._resources))
        left = Counter(
            (kind, tuple(self._left(flavor, name) for name in self._resources)) for flavor, kind in self._kinds.items()
        )
        return index, frozenset(left.items())

    def _hopeless(self, index: int) -> bool:
        """Whether the slots from here on are too much for what is left, all together or all that are the same."""
        totals: Counter[str] = Counter()
        asked: dict[str, dict[str, None]] = {}
        same: Counter[tuple[frozenset[tuple[str, int]], tuple[str, ...]]] = Counter()
        for slot in self._slots[index:]:
            same[frozenset(slot.needs.items()), slot.options] += 1
            for resource, amount in slot.needs.items():
                totals[resource] += amount
                asked.setdefault(resource, {}).update(dict.fromkeys(slot.options))
        self._budget.glance(sum(map(len, asked.values())) + sum(len(needs) * len(names) for needs, names in same))
        for resource, total in totals.items():
            if not _reach(total, (self._left(flavor, resource) for flavor in asked[resource])):
                return True
        for (needs, flavors), count in same.items():
            held = (min(self._left(flavor, name) // amount for name, amount in needs) for flavor in flavors)
            if needs and not _reach(count, held):
                return True
        return False


def _reach(total: int, parts: Iterable[int]) -> bool:
    for part in parts:
        total -= part
        if total <= 0:
            return True
    return False


def _before(slots: Sequence[Slot]) -> list[int | None]:
    """For each slot the last one before it that is alike."""
    last: dict[object, int] = {}
    found: list[int | None] = []
    for index, slot in enumerate(slots):
        found.append(last.get(slot.alike) if slot.alike is not None else None)
        last[slot.alike] = index
    return found
