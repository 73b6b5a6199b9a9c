"""How much work one judgement may be (design §4: past the budget the verdict is unknown).

Counted in steps, not by a clock: the same gang in the same world always gets the same verdict, on any machine, warm or
cold. A step is about one requirement held against one set of labels, or one quantity: two or three microseconds. Work
is paid for before it is done. What depends on the world alone is no job's to pay for: see ``supply.py``.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Final, TypeVar

from classifier.fit.matching.match import required_terms
from classifier.objects import PodSpec

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

#: Under 50 ms at worst, of the second that the webhook has for a review. A common gang takes a few dozen steps.
STEPS: Final = 15_000
#: Things merely looked through, such as values of one requirement or labels of nodes, that make up one step.
GLANCES: Final = 16


class OverBudget(Exception):
    """The judgement would take more than its steps."""


class Budget:
    def __init__(self, steps: int) -> None:
        self._left = steps

    def spend(self, steps: int) -> None:
        """Raises OverBudget when there is not as much left."""
        self._left -= steps
        if self._left < 0:
            raise OverBudget

    @property
    def left(self) -> int:
        return self._left

    def glance(self, things: int) -> None:
        self.spend(-(-things // GLANCES))

    def recall(self, kept: dict[K, tuple[int, T]], key: K, work_out: Callable[[], T]) -> T:
        """What was worked out before under ``key``, for as many steps as that took. Raises OverBudget."""
        found = kept.get(key)
        if found is not None:
            self.spend(found[0])
            return found[1]
        before = self._left
        value = work_out()
        kept[key] = (before - self._left, value)
        return value


@dataclass(frozen=True, slots=True)
class Effort:
    """Steps that one pod template costs: to read it through, to hold it against one set of labels, one taint."""

    reading: int
    selecting: int
    tolerating: int


def effort_of(spec: PodSpec) -> Effort:
    selecting, values = max(1, len(spec.node_selector or ())), 0
    for term in required_terms(spec) or ():
        selecting += max(1, len(term.match_expressions or ()))
        values += sum(len(expression.values or ()) for expression in term.match_expressions or ())
    tolerating = 1 + len(spec.tolerations or ()) // GLANCES
    return Effort(
        reading=_size(spec) + tolerating + (selecting + values) // GLANCES,
        selecting=selecting + values // GLANCES,
        tolerating=tolerating,
    )


def _size(spec: PodSpec) -> int:
    """Entries outside of node selection."""
    size = len(spec.volumes or ()) + len(spec.topology_spread_constraints or ()) + len(spec.overhead or ())
    for container in (*(spec.containers or ()), *(spec.init_containers or ())):
        size += 1 + len(container.ports or ())
        if container.resources is not None:
            size += len(container.resources.requests or ()) + len(container.resources.limits or ())
    anti = spec.affinity.pod_anti_affinity if spec.affinity else None
    for term in (anti.required if anti else None) or ():
        selector = term.label_selector
        size += 1 + len(term.namespaces or ()) // GLANCES
        if selector is not None:
            size += len(selector.match_labels or ())
            size += sum(1 + len(one.values or ()) // GLANCES for one in selector.match_expressions or ())
    return size
