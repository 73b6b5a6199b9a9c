"""Which pools may be promised beside each other: no two of them can be the same nodes.

Pools of one flavor are others by declaration. Those of different flavors may be the same nodes, described twice, unless
a label tells them apart; live nodes are told apart by their names.
"""

from collections.abc import Mapping, Sequence

from classifier.fit.budget import Budget
from classifier.fit.judging.choice import Ground


def apart(places: Sequence[Ground], budget: Budget) -> list[int]:
    """Those, by index, of which each is surely other nodes than those before it, the declared ones first: a live node
    that is a stray of one flavor may be counted among the declared nodes of another. Raises OverBudget."""
    kept: list[int] = []
    declared = 0
    described = _Described()
    names: set[str] = set()
    several = len({place.flavor for place in places}) > 1
    for at in sorted(range(len(places)), key=lambda at: places[at].pool.stray):
        place = places[at]
        if several:
            budget.glance(declared)
            if described.elsewhere(place):
                continue
        if place.pool.borrowed_of is not None:
            continue  # never promised
        if place.pool.stray:
            own = {live.name for live in place.pool.lives}
            if not names.isdisjoint(own):
                continue
            names |= own
        else:
            declared += 1
            if several:
                described.add(place)
        kept.append(at)
    return sorted(kept)


class _Described:
    """Declared pools by the keys of their labels: there are few sets of them, and many pools."""

    def __init__(self) -> None:
        self._by_keys: dict[frozenset[str], _SameKeys] = {}

    def add(self, place: Ground) -> None:
        labels = place.pool.labels.known
        self._by_keys.setdefault(frozenset(labels), _SameKeys()).add(labels, place.flavor)

    def elsewhere(self, place: Ground) -> bool:
        """Whether one of another flavor has no other value of any label that both have."""
        labels = place.pool.labels.known
        for keys, pools in self._by_keys.items():
            flavors = pools.flavors(labels, tuple(sorted(keys.intersection(labels))))
            if len(flavors) > 1 or (flavors and place.flavor not in flavors):
                return True
        return False


class _SameKeys:
    """Pools whose labels have the same keys."""

    def __init__(self) -> None:
        self._pools: list[tuple[Mapping[str, str], str]] = []
        #: By some of the keys, and the values that pools have of these, the flavors of the pools.
        self._flavors: dict[tuple[str, ...], dict[tuple[str, ...], set[str]]] = {}

    def add(self, labels: Mapping[str, str], flavor: str) -> None:
        self._pools.append((labels, flavor))
        for keys, flavors in self._flavors.items():
            flavors.setdefault(_values(labels, keys), set()).add(flavor)

    def flavors(self, labels: Mapping[str, str], keys: tuple[str, ...]) -> set[str]:
        """Those of the pools with the same values of these keys."""
        known = self._flavors.get(keys)
        if known is None:
            known = self._flavors[keys] = {}
            for own, flavor in self._pools:
                known.setdefault(_values(own, keys), set()).add(flavor)
        return known.get(_values(labels, keys), set())


def _values(labels: Mapping[str, str], keys: tuple[str, ...]) -> tuple[str, ...]:
    return tuple([labels[key] for key in keys])
