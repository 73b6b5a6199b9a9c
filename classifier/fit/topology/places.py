"""Podsets that share one domain, packed into each domain there is."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

from classifier.fit.budget import Budget
from classifier.fit.gang import Podset
from classifier.fit.pack import Bin, Fate, Packing, Part, pack
from classifier.fit.topology.domains import Domain


@dataclass(frozen=True, slots=True)
class Placed:
    """The answer, and the domain it speaks of: one that holds all, or the one that comes nearest."""

    packing: Packing
    domain: Domain | None


def companies(podsets: Sequence[Podset]) -> list[tuple[str, list[Podset]]]:
    """The podsets of each domain that is required, with its level: a group shares one, a podset has its own."""
    found: dict[Hashable, tuple[str, list[Podset]]] = {}
    for podset in podsets:
        request = podset.topology
        if request is not None and request.required is not None:
            key = (request.required, request.group) if request.group else (request.required, None, podset.name)
            found.setdefault(key, (request.required, []))[1].append(podset)
    return list(found.values())


def together(parts: Sequence[Part], bins: Sequence[Bin], domains: Sequence[Domain], budget: Budget) -> Placed:
    """Whether one of the domains holds all the parts. A bin has no more nodes than it has of the domain.

    NEVER: none does, and the nearest speaks. Raises OverBudget.
    """
    nearest: Placed | None = None
    unsure = False
    for domain in domains:
        budget.spend(1 + len(bins) // 4)
        inside = [_limited(one, nodes) for one, nodes in zip(bins, domain.nodes, strict=True)]
        packing = pack(parts, inside, budget)
        if packing.fate is Fate.FITS:
            return Placed(packing, domain)
        unsure = unsure or packing.fate is Fate.UNKNOWN
        if packing.fate is Fate.NEVER and (nearest is None or _gap(packing) < _gap(nearest.packing)):
            nearest = Placed(packing, domain)
    if unsure or nearest is None:
        return Placed(Packing(Fate.UNKNOWN), None)
    return nearest


def beside(
    parts: Sequence[Part],
    inside: frozenset[str],
    bins: Sequence[Bin],
    domains: Sequence[Domain],
    budget: Budget,
) -> Placed:
    """Whether one of the domains holds the parts named ``inside`` while all others find room in it or around it.

    Only FITS says something. The bins of the packing are those given. Raises OverBudget.
    """
    size = len(bins)
    for domain in domains:
        budget.spend(1 + len(bins) // 2)
        within = [_limited(one, nodes) for one, nodes in zip(bins, domain.nodes, strict=True)]
        around = [
            Bin(f"{one.key} elsewhere", one.offers, None if one.nodes is None else one.nodes - (part.nodes or 0))
            for one, part in zip(bins, within, strict=True)
        ]
        moved = [
            part if part.name in inside else replace(part, bins=part.bins | {size + index for index in part.bins})
            for part in parts
        ]
        packing = pack(moved, [*within, *around], budget)
        if packing.fate is Fate.FITS:
            return Placed(replace(packing, nodes=_merged(packing.nodes, size)), domain)
    return Placed(Packing(Fate.UNKNOWN), None)


def _limited(one: Bin, nodes: int | None) -> Bin:
    if nodes is None or (one.nodes is not None and one.nodes <= nodes):
        return one
    return Bin(one.key, one.offers, nodes)


def _merged(nodes: Mapping[int, int], size: int) -> dict[int, int]:
    found: dict[int, int] = {}
    for index, count in nodes.items():
        found[index % size] = found.get(index % size, 0) + count
    return found


def _gap(packing: Packing) -> tuple[int, int]:
    """Too few nodes is nearer than a pod no node can hold."""
    return int(packing.binding == "pod-size"), (packing.needs or 0) - (packing.limit or 0)
