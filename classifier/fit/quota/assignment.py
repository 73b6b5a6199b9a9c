"""Which flavors Kueue may give a gang by quota alone: for each podset and resource group one (kueue.md §6.6).

Kueue tries flavors in order and never goes back, so it may miss an assignment. What counts here is whether one exists.
Resource groups cover different resources, so each is searched by itself and the results are combined.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from classifier.fit.budget import Budget
from classifier.fit.quota.search import Slot, choices
from classifier.fit.quota.tree import UNLIMITED
from classifier.fit.requests.amounts import Amounts

#: Most that the queue could use of (flavor, resource).
Potential = Callable[[str, str], int]
#: For each demand, for each of its groups, the flavor.
Assignment = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Demand:
    """One podset. ``options`` and ``resources`` go together: for each resource group that it touches, the flavors
    it may get of it in Kueue's order, and the resources the group covers.

    ``group`` (podSetGroupName): podsets of one group get the same flavors; name for each of them every resource group
    that any of them touches, for each must be able to take the flavor. ``alike``: demands with the same, other than
    None, may be exchanged for each other; assignments that differ only in that are told once.
    """

    name: str
    #: Pods that Kueue must admit at least.
    count: int
    group: str | None
    #: Of one pod, as Kueue counts.
    amounts: Amounts
    options: tuple[tuple[str, ...], ...]
    resources: tuple[frozenset[str], ...]
    alike: object = None


@dataclass(frozen=True, slots=True)
class Shortage:
    """Why no assignment exists: ``needs`` against ``limit`` of ``resource``.

    ``podset`` None: of all podsets together. ``flavor`` None: of all flavors in question together. ``resource`` None:
    the podset may get no flavor of some resource group at all.
    """

    podset: str | None
    flavor: str | None
    resource: str | None
    needs: int
    limit: int


def assignments(demands: Sequence[Demand], potential: Potential, budget: Budget) -> Iterator[Assignment]:
    """Every assignment that fits into quota, with Kueue's first flavors first. Raises OverBudget."""
    units, unit_of = _units(demands)
    groups = {group: _slots(units, group) for group in dict.fromkeys(one for unit in units for one in unit.options)}
    if len(groups) > 1:
        # One group without any choice would be found out again and again for each choice of the others.
        for slots in groups.values():
            if next(choices(list(slots.values()), potential, budget), None) is None:
                return
    for found in _combined(list(groups.items()), potential, budget, {}):
        yield tuple(
            tuple(found[group, which] for group in one.resources) for one, which in zip(demands, unit_of, strict=True)
        )


def impossible(demands: Sequence[Demand], potential: Potential) -> Shortage | None:
    """A cheap proof that no assignment exists; None if there is no cheap one.

    A podset that may get no flavor, one that is too large for each, or all that are too large for all flavors together.
    """
    units, _ = _units(demands)
    found: list[Shortage] = []
    for group in dict.fromkeys(one for unit in units for one in unit.options):
        slots = _slots(units, group)
        found += [
            one for which, slot in slots.items() if (one := _too_large(units[which].name, slot, potential)) is not None
        ]
        asking = list(slots.values())
        found += [one for name in sorted(group) if (one := _too_many(asking, name, potential)) is not None]
    return min(found, key=_severity, default=None)


@dataclass(frozen=True, slots=True)
class _Unit:
    """The podsets of one podSetGroupName, or one podset: they get their flavors together."""

    demands: list[Demand]
    options: dict[frozenset[str], tuple[str, ...]]

    @property
    def name(self) -> str:
        return ", ".join(one.name for one in self.demands)

    @property
    def alike(self) -> object:
        each = [one.alike for one in self.demands]
        return None if None in each else tuple(each)

    def needs(self, group: frozenset[str]) -> dict[str, int]:
        total: dict[str, int] = {}
        for one in self.demands:
            for resource, amount in one.amounts.items():
                if amount and one.count and resource in group:
                    total[resource] = total.get(resource, 0) + one.count * amount
        return total


def _units(demands: Sequence[Demand]) -> tuple[list[_Unit], list[int]]:
    """The units, and for each demand the index of its own."""
    units: list[_Unit] = []
    unit_of: list[int] = []
    by_name: dict[str, int] = {}
    for one in demands:
        which = by_name.get(one.group) if one.group is not None else None
        if which is None:
            which = len(units)
            units.append(_Unit([], {}))
            if one.group is not None:
                by_name[one.group] = which
        unit_of.append(which)
        units[which].demands.append(one)
        for group, flavors in zip(one.resources, one.options, strict=True):
            kept = units[which].options.get(group, flavors)
            units[which].options[group] = kept if kept == flavors else tuple(name for name in kept if name in flavors)
    return units, unit_of


def _slots(units: Sequence[_Unit], group: frozenset[str]) -> dict[int, Slot]:
    """What needs a flavor of the group, by the index of the unit."""
    return {
        which: Slot(unit.options[group], unit.needs(group), unit.alike)
        for which, unit in enumerate(units)
        if group in unit.options
    }


def _combined(
    groups: list[tuple[frozenset[str], dict[int, Slot]]],
    potential: Potential,
    budget: Budget,
    chosen: Mapping[tuple[frozenset[str], int], str],
) -> Iterator[Mapping[tuple[frozenset[str], int], str]]:
    """The choices of all groups, by group and unit. Units that are alike keep an order only among those which the
    choices of earlier groups do not tell apart."""
    if not groups:
        yield chosen
        return
    (group, slots), *others = groups
    earlier = {one for one, _ in chosen}
    told_apart = [
        replace(slot, alike=(slot.alike, *(chosen.get((one, which)) for one in earlier)))
        if slot.alike is not None
        else slot
        for which, slot in slots.items()
    ]
    for flavors in choices(told_apart, potential, budget):
        own = {(group, which): flavor for which, flavor in zip(slots, flavors, strict=True)}
        yield from _combined(others, potential, budget, {**chosen, **own})


def _too_large(name: str, slot: Slot, potential: Potential) -> Shortage | None:
    """The flavor that comes nearest speaks for all."""
    nearest: tuple[float, str, str] | None = None
    for flavor in slot.options:
        worst: tuple[float, str, str] | None = None
        for resource, needs in slot.needs.items():
            limit = potential(flavor, resource)
            if limit < needs and limit != UNLIMITED and (worst is None or (limit / needs, resource) < worst[:2]):
                worst = (limit / needs, resource, flavor)
        if worst is None:
            return None
        nearest = worst if nearest is None else max(nearest, worst)
    if nearest is None:
        return Shortage(name, None, None, 0, 0)
    _, resource, flavor = nearest
    return Shortage(name, flavor, resource, slot.needs[resource], potential(flavor, resource))


def _too_many(slots: Sequence[Slot], resource: str, potential: Potential) -> Shortage | None:
    asking = [slot for slot in slots if resource in slot.needs]
    needs = sum(slot.needs[resource] for slot in asking)
    limit, seen = 0, set()
    for flavor in (flavor for slot in asking for flavor in slot.options):
        if flavor not in seen:
            seen.add(flavor)
            each = potential(flavor, resource)
            limit += each
            if each == UNLIMITED or limit >= needs:
                return None
    return Shortage(None, seen.pop() if len(seen) == 1 else None, resource, needs, limit) if asking else None


def _severity(one: Shortage) -> tuple[float, bool, str, str, str]:
    """The smaller, the less there is of what is needed; a podset before all of them; then by name, not by order."""
    share = one.limit / one.needs if one.needs else -1.0
    return share, one.podset is None, one.podset or "", one.resource or "", one.flavor or ""
