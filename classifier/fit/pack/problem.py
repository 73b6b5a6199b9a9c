"""The gang and its bins reduced to what matters to a proof: distinct shapes, distinct kinds of nodes, vectors.

Parts alike in everything are one shape, bins alike to every shape are one kind. A bin that holds no pod of any shape
is gone. There are no more nodes than pods.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from classifier.fit.pack.layout import Rooms
from classifier.fit.pack.packing import ENDLESS, Bin, Part

Vector = tuple[int, ...]


@dataclass(slots=True)
class Shape:
    """``count`` pods that request ``needs``; ``kinds`` are the kinds that hold one."""

    count: int
    needs: Vector
    kinds: frozenset[int]
    alone: bool
    ports: frozenset[str]
    names: tuple[str, ...]


@dataclass(slots=True)
class Kind:
    """``nodes`` nodes that offer ``offers``, from these bins."""

    nodes: int
    offers: Vector
    bins: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Problem:
    """``resources`` names the places of all vectors."""

    resources: tuple[str, ...]
    shapes: list[Shape]
    kinds: list[Kind]

    def holds(self, shape: Shape, kind: Kind) -> int:
        """Pods of the shape on one node of a kind that is open to it."""
        pods = shape.count
        for needs, room in zip(shape.needs, kind.offers, strict=True):
            if needs and room < pods * needs:
                pods = room // needs
        return min(pods, 1) if shape.alone else pods

    def bins_of(self, kinds: frozenset[int]) -> frozenset[int]:
        return frozenset(index for kind in kinds for index in self.kinds[kind].bins)


def reduce(parts: Sequence[tuple[Part, Rooms]], bins: Sequence[Bin]) -> Problem:
    """Of parts that hold at least one pod of some bin each, all of limited nodes. Its order depends on names and keys
    alone, not on the order in which parts and bins came."""
    parts = sorted(parts, key=lambda one: one[0].name)
    total = sum(part.count for part, _ in parts)
    open_to: dict[int, list[int]] = {}
    for place, (_, rooms) in enumerate(parts):
        for index, _ in rooms:
            open_to.setdefault(index, []).append(place)
    wanted = {resource for part, _ in parts for resource in part.requests}
    resources = tuple(sorted(resource for resource in wanted if any(resource in bins[i].offers for i in open_to)))

    kinds: list[Kind] = []
    places: dict[tuple[Vector, tuple[int, ...]], int] = {}
    kind_of: dict[int, int] = {}
    for index in sorted(open_to, key=lambda index: bins[index].key):
        offers = tuple(bins[index].offers.get(resource, ENDLESS) for resource in resources)
        place = places.setdefault((offers, tuple(open_to[index])), len(kinds))
        kind_of[index] = place
        there = bins[index].nodes
        if place == len(kinds):
            kinds.append(Kind(0, offers, ()))
        kind = kinds[place]
        kind.nodes = min(total, kind.nodes + (total if there is None else there))
        kind.bins += (index,)

    shapes: dict[tuple[object, ...], Shape] = {}
    for part, rooms in parts:
        needs = tuple(part.requests.get(resource, 0) for resource in resources)
        open_kinds = frozenset(kind_of[index] for index, _ in rooms)
        # Two parts of which each has one pod a node may share a node, which one part of both could not say.
        mark = part.name if part.alone or part.ports else None
        shape = shapes.setdefault((needs, open_kinds, mark), Shape(0, needs, open_kinds, part.alone, part.ports, ()))
        shape.count += part.count
        shape.names += (part.name,)
    return Problem(resources, list(shapes.values()), kinds)
