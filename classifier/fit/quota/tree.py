"""How much of a flavor a ClusterQueue may ever use: its own, and what its cohorts would lend it (kueue.md §6.5).

Kueue: ``pkg/cache/scheduler/resource_node.go`` potentialAvailable, with the arithmetic of ``pkg/resources/amount.go``.
Quota of stopped and inactive queues counts; preemption settings do not.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from classifier.objects import ClusterQueue, Cohort, FlavorQuotas, Quantity
from classifier.quantity import MAX_INT64, NANO, QuantityError, amount_of, parse

#: As an amount it is int64's largest, and stays it whatever is added or taken away.
UNLIMITED: Final = MAX_INT64


class QuotaTree:
    """The quota of all ClusterQueues, worked out as it is asked for. Build one for a state of queues and cohorts.

    Where ``cohorts_known`` is false there may be Cohorts beside ``cohorts``: what their members may use has no bound.
    """

    def __init__(
        self, queues: Mapping[str, ClusterQueue], cohorts: Mapping[str, Cohort], *, cohorts_known: bool = True
    ) -> None:
        self._cohorts_known = cohorts_known
        self._cohorts = {name: _node(name, one) for name, one in cohorts.items()}
        self._queues = {name: _node(name, one) for name, one in queues.items()}
        for name, queue in queues.items():
            self._put_under(self._queues[name], queue.spec.cohort_name if queue.spec else None)
        for name, cohort in cohorts.items():
            self._put_under(self._cohorts[name], cohort.spec.parent_name if cohort.spec else None)
        self._circular = _circular(self._cohorts.values())
        self._missing = self._cohorts.keys() - cohorts.keys()
        self._potentials: dict[tuple[str, str, str], int] = {}
        self._subtrees: dict[tuple[str, str, str], dict[_Node, int]] = {}

    def potential(self, queue: str, flavor: str, resource: str) -> int:
        """The most that the queue could use of the flavor if nobody else used any; UNLIMITED if there is no bound.

        In milli-cpu, else whole units. No bound either where the quota cannot be read, or the queue is not known.
        """
        key = (queue, flavor, resource)
        found = self._potentials.get(key)
        if found is None:
            found = self._potentials[key] = self._potential(*key)
        return found

    def nominal(self, queue: str, flavor: str, resource: str) -> int:
        """The queue's own quota, in milli-cpu, else whole units; 0 if it has none."""
        node = self._queues.get(queue)
        try:
            return _quota(node, flavor, resource).nominal if node else 0
        except QuantityError:
            return 0

    def circular(self, queue: str) -> str | None:
        """The queue's cohort if its ancestors lead in a circle: Kueue then starts nothing in it."""
        node = self._queues.get(queue)
        cohort = node.parent if node else None
        return cohort.name if cohort is not None and cohort in self._circular else None

    def missing_cohorts(self, queue: str) -> list[str]:
        """Cohorts above the queue that have no object: they count as roots without quota of their own."""
        node = self._queues.get(queue)
        if node is None or node.parent in self._circular:
            return []
        return [one.name for one in _upwards(node.parent) if one.name in self._missing]

    def _put_under(self, child: "_Node", cohort: str | None) -> None:
        if cohort:
            child.parent = self._cohorts.setdefault(cohort, _Node(cohort))
            child.parent.children.append(child)

    def _potential(self, queue: str, flavor: str, resource: str) -> int:
        node = self._queues.get(queue)
        if node is None or node.parent in self._circular or not (self._cohorts_known or node.parent is None):
            return UNLIMITED
        path = list(_upwards(node))
        try:
            subtree = self._subtree(path[-1], flavor, resource)
            potential = subtree[path[-1]]
            for one in reversed(path[:-1]):
                quota = _quota(one, flavor, resource)
                potential = _add(_kept(quota, subtree[one]), potential)
                if quota.borrowing is not None:
                    potential = min(potential, _add(subtree[one], quota.borrowing))
        except QuantityError:
            return UNLIMITED
        return potential

    def _subtree(self, root: "_Node", flavor: str, resource: str) -> "dict[_Node, int]":
        """The quota of every node of the tree, with what its children lend it. Raises QuantityError."""
        key = (root.name, flavor, resource)
        found = self._subtrees.get(key) if root.children else None
        if found is None:
            found = {}
            for node in reversed(_downwards(root)):
                total = _quota(node, flavor, resource).nominal
                for child in node.children:
                    own = found[child]
                    total = _add(total, _subtract(own, _kept(_quota(child, flavor, resource), own)))
                found[node] = total
            if root.children:
                self._subtrees[key] = found
        return found


@dataclass(slots=True, eq=False)
class _Node:
    """A ClusterQueue or a Cohort."""

    name: str
    flavors: dict[str, list[FlavorQuotas]] = field(default_factory=dict)
    parent: "_Node | None" = None
    children: "list[_Node]" = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Quota:
    nominal: int = 0
    borrowing: int | None = None
    lending: int | None = None


_NO_QUOTA: Final = _Quota()


def _node(name: str, obj: ClusterQueue | Cohort) -> _Node:
    node = _Node(name)
    for group in (obj.spec.resource_groups if obj.spec else None) or ():
        for flavor in group.flavors or ():
            node.flavors.setdefault(flavor.name, []).append(flavor)
    return node


def _quota(node: _Node, flavor: str, resource: str) -> _Quota:
    """Raises QuantityError for one that the API server would refuse."""
    for quotas in node.flavors.get(flavor, ()):
        for one in quotas.resources or ():
            if one.name == resource:
                return _Quota(
                    nominal=_amount(resource, one.nominal_quota) or 0,
                    borrowing=_amount(resource, one.borrowing_limit),
                    lending=_amount(resource, one.lending_limit),
                )
    return _NO_QUOTA


def _amount(resource: str, quantity: Quantity | None) -> int | None:
    """Kueue: AmountFromQuantity. So much cpu that it would not fit into int64 as milli-cpu is no limit at all."""
    if quantity is None:
        return None
    nanos = parse(quantity)
    if nanos < 0:
        raise QuantityError(f"{str(quantity)[:32]} is less than 0")
    if resource == "cpu" and nanos >= MAX_INT64 // 1000 * NANO:
        return UNLIMITED
    return amount_of(resource, nanos)


def _kept(quota: _Quota, subtree: int) -> int:
    """What the node never lends to its parent."""
    return 0 if quota.lending is None else max(0, _subtract(subtree, quota.lending))


def _add(a: int, b: int) -> int:
    return min(a + b, UNLIMITED)


def _subtract(a: int, b: int) -> int:
    """Kueue takes nothing to be left of UNLIMITED less UNLIMITED."""
    if a == UNLIMITED:
        return 0 if b == UNLIMITED else UNLIMITED
    return a - b


def _upwards(node: _Node | None) -> Iterator[_Node]:
    while node is not None:
        yield node
        node = node.parent


def _downwards(root: _Node) -> list[_Node]:
    """Every node of the tree, parents first."""
    found = [root]
    for node in found:
        found.extend(node.children)
    return found


def _circular(cohorts: Iterable[_Node]) -> set[_Node | None]:
    """The cohorts whose ancestors lead in a circle, those above which one lies included."""
    circular: set[_Node | None] = set()
    settled: set[_Node] = set()
    for cohort in cohorts:
        path: dict[_Node, None] = {}
        node: _Node | None = cohort
        while node is not None and node not in settled and node not in path:
            path[node] = None
            node = node.parent
        if node is not None and (node in path or node in circular):
            circular.update(path)
        settled.update(path)
    return circular
