"""How much of a flavor a ClusterQueue may ever use: its own, and what its cohorts would lend it (kueue.md §6.5).

Kueue: ``pkg/cache/scheduler/resource_node.go`` potentialAvailable, with the arithmetic of ``pkg/resources/amount.go``.
Quota of stopped and inactive queues counts; preemption settings do not.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from classifier.objects import ClusterQueue, Cohort, Quantity, ResourceQuota
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
        #: Of each root that has members all of its tree, children first.
        self._members: dict[str, list[_Node]] = {}

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
            potential = subtree.get(path[-1], 0)
            for one in reversed(path[:-1]):
                quota = _quota(one, flavor, resource)
                own = subtree.get(one, 0)
                potential = _add(_kept(quota, own), potential)
                if quota.borrowing is not None:
                    potential = min(potential, _add(own, quota.borrowing))
        except QuantityError:
            return UNLIMITED
        return potential

    def _subtree(self, root: "_Node", flavor: str, resource: str) -> "dict[_Node, int]":
        """The quota of every node of the tree that has any, with what its children lend it. Raises QuantityError."""
        if not root.children:
            return {root: _quota(root, flavor, resource).nominal}
        key = (root.name, flavor, resource)
        found = self._subtrees.get(key)
        if found is None:
            found = self._subtrees[key] = self._add_up(root, flavor, resource)
        return found

    def _add_up(self, root: "_Node", flavor: str, resource: str) -> "dict[_Node, int]":
        members = self._members.get(root.name)
        if members is None:
            members = self._members[root.name] = _downwards(root)[::-1]
        found: dict[_Node, int] = {}
        for node in members:
            quota = _quota(node, flavor, resource)
            own = _add(found.get(node, 0), quota.nominal)
            if own:
                found[node] = own
                if node is not root and node.parent is not None:
                    found[node.parent] = _add(found.get(node.parent, 0), _subtract(own, _kept(quota, own)))
        return found


@dataclass(slots=True, eq=False)
class _Node:
    """A ClusterQueue or a Cohort."""

    name: str
    #: By flavor and resource; of several the first.
    quotas: dict[tuple[str, str], ResourceQuota] = field(default_factory=dict)
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
            for one in flavor.resources or ():
                node.quotas.setdefault((flavor.name, one.name), one)
    return node


def _quota(node: _Node, flavor: str, resource: str) -> _Quota:
    """Raises QuantityError for one that the API server would refuse."""
    one = node.quotas.get((flavor, resource))
    return _NO_QUOTA if one is None else _read(resource, one.nominal_quota, one.borrowing_limit, one.lending_limit)


@lru_cache(maxsize=4096, typed=True)
def _read(resource: str, nominal: Quantity | None, borrowing: Quantity | None, lending: Quantity | None) -> _Quota:
    """Kept by their texts: a thousand queues have a few dozen different quotas."""
    return _Quota(_amount(resource, nominal) or 0, _amount(resource, borrowing), _amount(resource, lending))


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
