"""Which resource groups of a queue a pod needs a flavor of (reference/kueue.md §6.3).

Kueue: ``pkg/scheduler/flavorassigner/flavorassigner.go`` assignFlavors.
"""

from classifier.fit.requests.amounts import Amounts
from classifier.objects import ClusterQueue, ResourceGroup


def touched_groups(
    queue: ClusterQueue, amounts: Amounts, *, ignore_undeclared: bool = False
) -> tuple[tuple[ResourceGroup, ...], tuple[str, ...]]:
    """The groups, in the queue's order, and the resources of which there is something but no group covers them.

    A resource of amount 0 touches its group as well: Kueue looks for a flavor all the same. With
    ``ignore_undeclared`` (of Kueue's configuration) nothing is uncovered.
    """
    groups = tuple(one for one in _groups(queue) if any(name in amounts for name in one.covered_resources or ()))
    if ignore_undeclared:
        return groups, ()
    covered = {name for group in groups for name in group.covered_resources or ()}
    return groups, tuple(name for name, value in amounts.items() if value > 0 and name not in covered)


def with_pods(queue: ClusterQueue, amounts: Amounts) -> Amounts:
    """With the one of ``pods`` that Kueue counts each pod for, where the queue covers it."""
    covers = any("pods" in (group.covered_resources or ()) for group in _groups(queue))
    return amounts | {"pods": 1} if covers else amounts


def _groups(queue: ClusterQueue) -> list[ResourceGroup]:
    return (queue.spec.resource_groups if queue.spec else None) or []
