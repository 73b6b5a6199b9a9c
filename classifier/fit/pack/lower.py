"""Lower bounds: proofs by counting that no packing exists, without search (reference/capacity.md §3.7, §3.8).

Hall's condition: whatever shapes are taken together, the nodes open to any of them must hold them all. It is asked of
resources (sums), and of pods: of shapes of which at most m share a node, c pods need c/m nodes.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from classifier.fit.pack.problem import Kind, Problem, Shape

#: Pays for work before it is done, see ``exact.py``.
Spend = Callable[[int], None]

#: Sets of kinds that are looked at; with more the wider ones are left out, which loses proofs and nothing else.
_SETS: Final = 1023


@dataclass(frozen=True, slots=True)
class Shortage:
    """``kinds`` have ``limit`` nodes; these ``shapes`` need at least ``needs``."""

    shapes: list[Shape]
    kinds: frozenset[int]
    resource: str | None
    needs: int
    limit: int


def shortage(problem: Problem, spend: Spend) -> Shortage | None:
    for kinds in _unions(problem):
        inside = [shape for shape in problem.shapes if shape.kinds <= kinds]
        spend(1 + len(inside) * len(problem.resources) * (1 + len(kinds)) // 4)
        found = _sums(problem, inside, kinds) or _crowds(problem, inside, kinds)
        if found is not None:
            return found
    return None


def short_of(weights: list[tuple[int, int]], wanted: int) -> tuple[int, int] | None:
    """Nodes needed at least for ``wanted``, and the nodes there are, from pairs of most on one node (above 0) and
    nodes; None where they are enough. Fullest nodes first; where they run out, more of the fullest."""
    limit = sum(nodes for _, nodes in weights)
    missing = wanted - sum(most * nodes for most, nodes in weights)
    if missing <= 0:
        return None
    return limit + -(-missing // max((most for most, _ in weights), default=wanted)), limit


def _unions(problem: Problem) -> Iterator[frozenset[int]]:
    """Every union of the sets of kinds that are open to some shape, narrow ones first."""
    found: dict[frozenset[int], None] = {}
    for base in dict.fromkeys(shape.kinds for shape in problem.shapes):
        for other in list(found):
            if len(found) < _SETS:
                found.setdefault(other | base)
        found.setdefault(base)
    return iter(sorted(found, key=lambda kinds: (len(kinds), sorted(kinds))))


def _sums(problem: Problem, inside: list[Shape], kinds: frozenset[int]) -> Shortage | None:
    for place, resource in enumerate(problem.resources):
        wanted = sum(shape.count * shape.needs[place] for shape in inside)
        if wanted:
            found = short_of([(problem.kinds[k].offers[place], problem.kinds[k].nodes) for k in kinds], wanted)
            if found is not None:
                return Shortage(inside, kinds, resource, *found)
    return None


def _crowds(problem: Problem, inside: list[Shape], kinds: frozenset[int]) -> Shortage | None:
    """The shapes that ask most of a resource, by and by: how many pods of them a node takes at most."""
    for place, resource in enumerate(problem.resources):
        some = sorted((shape for shape in inside if shape.needs[place]), key=lambda shape: -shape.needs[place])
        for size in range(1, len(some) + 1):
            if size < len(some) and some[size].needs[place] == some[size - 1].needs[place]:
                continue
            most = [(crowd(problem, some[:size], problem.kinds[k]), problem.kinds[k].nodes) for k in kinds]
            found = short_of(most, sum(shape.count for shape in some[:size]))
            if found is not None:
                return Shortage(some[:size], kinds, resource, *found)
    for port in sorted({port for shape in inside if shape.alone for port in shape.ports}):
        some = [shape for shape in inside if shape.alone and port in shape.ports]
        found = short_of([(1, problem.kinds[k].nodes) for k in kinds], sum(shape.count for shape in some))
        if found is not None:
            return Shortage(some, kinds, None, *found)
    return None


def crowd(problem: Problem, shapes: list[Shape], kind: Kind) -> int:
    """No node of the kind takes more pods of these shapes: smallest first, of each resource by itself."""
    limits = [(min(shape.count, 1) if shape.alone else shape.count) for shape in shapes]
    most = sum(limits)
    for place, room in enumerate(kind.offers):
        pods, left = 0, room
        for needs, limit in sorted((shape.needs[place], limit) for shape, limit in zip(shapes, limits, strict=True)):
            taken = limit if needs == 0 else min(limit, left // needs)
            pods += taken
            left -= taken * needs
        most = min(most, pods)
    return most
