"""What one node can hold: every maximal way to fill it, and what follows from all of them by weighing.

A pattern is the number of pods of each shape. Whatever weights the shapes get, no node carries more than its heaviest
pattern does; where all pods together weigh more than all nodes carry, they do not fit. That is Farkas' lemma; it knows
what sums do not: two pods of 5 do not share a node of 8.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Final

from classifier.fit.pack.lower import Spend
from classifier.fit.pack.problem import Kind, Problem, Vector

#: A whole node, of which a pod's share is a whole number for up to six a node.
_WHOLE: Final = 60


def patterns(problem: Problem, place: int, spend: Spend) -> list[Vector]:
    """The maximal patterns of the kind at ``place``, those of most pods first. A kind that holds nothing has one."""
    kind = problem.kinds[place]
    found: list[Vector] = []
    _extend(problem, place, (), kind.offers, found, spend)
    found.sort(key=lambda pattern: (-sum(pattern), pattern))
    return found


def _extend(problem: Problem, place: int, head: Vector, free: Sequence[int], found: list[Vector], spend: Spend) -> None:
    at = len(head)
    if at == len(problem.shapes):
        if not any(_fits(problem, place, head, free, other) for other in range(at - 1)):
            found.append(head)
        return
    spend(1)
    most = _most(problem, place, head, free, at)
    needs = problem.shapes[at].needs
    last = at == len(problem.shapes) - 1
    for pods in range(most, most - 1 if last else -1, -1):
        left = [room - pods * need for room, need in zip(free, needs, strict=True)]
        _extend(problem, place, (*head, pods), left, found, spend)


def _most(problem: Problem, place: int, head: Vector, free: Sequence[int], at: int) -> int:
    """Pods of the shape at ``at`` that still fit beside those of ``head``."""
    shape = problem.shapes[at]
    if place not in shape.kinds or _excluded(problem, head, at):
        return 0
    return problem.holds(shape, Kind(1, tuple(free), ()))


def _fits(problem: Problem, place: int, pattern: Vector, free: Sequence[int], other: int) -> bool:
    """Whether one more pod of the shape ``other`` would fit."""
    shape = problem.shapes[other]
    return (
        place in shape.kinds
        and pattern[other] < (1 if shape.alone else shape.count)
        and all(need <= room for need, room in zip(shape.needs, free, strict=True))
        and not _excluded(problem, pattern, other)
    )


def _excluded(problem: Problem, pattern: Vector, at: int) -> bool:
    ports = problem.shapes[at].ports
    return bool(ports) and any(
        pods and other != at and ports & problem.shapes[other].ports for other, pods in enumerate(pattern)
    )


def weights(problem: Problem) -> Iterator[tuple[Vector, str | None]]:
    """Weights of the shapes that are worth asking about, and the resource they stand for."""
    size = len(problem.shapes)
    for place, resource in enumerate(problem.resources):
        yield tuple(shape.needs[place] for shape in problem.shapes), resource
    for few in range(1, size + 1):
        for some in combinations(range(size), few):
            yield tuple(int(at in some) for at in range(size)), None
    # By the share of a node that one pod takes.
    for place, kind in enumerate(problem.kinds):
        yield (
            tuple(_WHOLE // problem.holds(shape, kind) if place in shape.kinds else _WHOLE for shape in problem.shapes),
            None,
        )


def heaviest(some: Sequence[Vector], weighing: Vector) -> int:
    return max(sum(pods * weight for pods, weight in zip(pattern, weighing, strict=True)) for pattern in some)
