"""Exact answers for small gangs: branch and bound over what each node holds (reference/capacity.md §3.7).

Nodes are filled one after another, each with a pattern that is maximal for the pods that are left: any packing can be
brought into that form by moving pods forward. What is left after some nodes is a state; a state that led nowhere is
not tried again, and one whose weight exceeds what the other nodes carry is not tried at all.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from classifier.fit.budget import Budget, OverBudget
from classifier.fit.pack.lower import Shortage, short_of
from classifier.fit.pack.patterns import heaviest, patterns, weights
from classifier.fit.pack.problem import Problem, Vector

#: Beyond these sizes no search is begun.
MAX_SHAPES: Final = 6
MAX_NODES: Final = 64
#: Steps one search may take, however much is left: about 10 ms.
MAX_STEPS: Final = 4_000
#: Weighings that every state of the search is held against.
_WEIGHINGS: Final = 12


class Allowance:
    """A share of a budget. What runs out first, share or budget, ends the search and never the judgement."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        # The other half is for what the judgement still has to do.
        self._left = min(MAX_STEPS, budget.left // 2)

    def spend(self, steps: int) -> None:
        if steps > self._left:
            self._left = 0
            raise OverBudget
        self._left -= steps
        self._budget.spend(steps)


@dataclass(frozen=True, slots=True)
class _Stage:
    """The nodes of one kind. ``carries``: of each weighing, the heaviest of these patterns."""

    place: int
    nodes: int
    patterns: list[Vector]
    carries: Vector


def solve(problem: Problem, allowance: Allowance) -> dict[int, int] | Shortage:
    """Nodes used of each kind, or a proof that there is no packing. Raises OverBudget when neither was found."""
    if len(problem.shapes) > MAX_SHAPES:
        raise OverBudget
    some = [patterns(problem, place, allowance.spend) for place in range(len(problem.kinds))]
    weighings = dict(weights(problem))
    allowance.spend(1 + len(weighings) * sum(map(len, some)) * len(problem.shapes) // 16)
    counts = tuple(shape.count for shape in problem.shapes)
    stages = [
        _Stage(place, kind.nodes, some[place], tuple(heaviest(some[place], one) for one in weighings))
        for place, kind in enumerate(problem.kinds)
    ]
    for at, (weighing, resource) in enumerate(weighings.items()):
        found = short_of(
            [(stage.carries[at], stage.nodes) for stage in stages if stage.carries[at]], _weight(counts, weighing)
        )
        if found is not None:
            shapes = [shape for shape, weight in zip(problem.shapes, weighing, strict=True) if weight]
            kinds = frozenset(stage.place for stage in stages if stage.carries[at])
            return Shortage(shapes, kinds, resource, *found)
    nodes = sum(kind.nodes for kind in problem.kinds)
    if nodes > MAX_NODES:
        raise OverBudget
    # Nodes that fewer shapes may use go first: what they can take decides what the others must.
    stages.sort(key=lambda stage: (sum(stage.place in shape.kinds for shape in problem.shapes), stage.place))
    used = _Search(stages, list(weighings), counts, allowance).run(counts)
    if used is None:
        everything = frozenset(range(len(problem.kinds)))
        return Shortage(problem.shapes, everything, None, nodes + 1, nodes)
    return used


def _weight(pods: Vector, weighing: Vector) -> int:
    return sum(count * weight for count, weight in zip(pods, weighing, strict=True))


class _Search:
    def __init__(
        self, stages: Sequence[_Stage], weighings: Sequence[Vector], counts: Vector, allowance: Allowance
    ) -> None:
        self._stages = stages
        self._allowance = allowance
        self._dead: set[tuple[int, int, Vector]] = set()
        ranked = sorted(range(len(weighings)), key=lambda at: _slack(stages, weighings[at], counts, at))[:_WEIGHINGS]
        #: The weighings with the least to spare, each with what a node of every stage carries.
        self._weighings = [(weighings[at], [stage.carries[at] for stage in stages]) for at in ranked]
        self._cost = 1 + len(ranked) * len(counts) // 8

    def run(self, left: Vector, at: int = 0, used: int = 0) -> dict[int, int] | None:
        """Nodes used of each kind to hold the pods that are ``left``, when ``used`` nodes of the stage ``at`` and all
        before it are full; None: no packing exists. Raises OverBudget."""
        if not any(left):
            return {}
        if at == len(self._stages):
            return None
        stage = self._stages[at]
        if used == stage.nodes:
            return self.run(left, at + 1)
        state = (at, used, left)
        if state in self._dead:
            return None
        self._allowance.spend(self._cost + len(stage.patterns) * len(left) // 8)
        if self._carried(left, at, used):
            fills = {tuple(map(min, pattern, left)) for pattern in stage.patterns}
            for fill in sorted(fills, key=lambda fill: (-sum(fill), fill)):
                if not any(fill):
                    if len(fills) == 1:
                        return self.run(left, at + 1)
                    continue
                found = self.run(tuple(have - taken for have, taken in zip(left, fill, strict=True)), at, used + 1)
                if found is not None:
                    found[stage.place] = found.get(stage.place, 0) + 1
                    return found
        self._dead.add(state)
        return None

    def _carried(self, left: Vector, at: int, used: int) -> bool:
        """Whether no weighing says that the rest is more than the rest of the nodes carries."""
        for weighing, carries in self._weighings:
            spare = (self._stages[at].nodes - used) * carries[at]
            for after in range(at + 1, len(carries)):
                spare += self._stages[after].nodes * carries[after]
            if _weight(left, weighing) > spare:
                return False
        return True


def _slack(stages: Sequence[_Stage], weighing: Vector, counts: Vector, at: int) -> tuple[float, Vector]:
    return sum(stage.nodes * stage.carries[at] for stage in stages) / _weight(counts, weighing), weighing
