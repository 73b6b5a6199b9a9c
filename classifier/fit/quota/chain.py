"""What stands between a gang and its quota, whatever it asks for: its queues and its namespace (kueue.md §6.1).

None of it is a proof: whoever runs the queues can undo it at any time, and Kueue waits meanwhile without a word.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from classifier import api
from classifier.fit.quota.selector import takes
from classifier.fit.quota.tree import QuotaTree
from classifier.objects import ClusterQueue, LocalQueue, Namespace
from classifier.objects.meta import Conditioned


@dataclass(frozen=True, slots=True)
class ChainFault:
    """``misconfigured``: it cannot work as it is set up. ``warn``: it is meant to stand still, or only does for now.

    ``text`` names the object to change.
    """

    kind: Literal["misconfigured", "warn"]
    text: str


def chain_faults(
    local_queue: LocalQueue, queue: ClusterQueue, namespace: Namespace | None, tree: QuotaTree
) -> list[ChainFault]:
    """The worst first. A Namespace that is not known is not held against its queue."""
    found = [*_unselected(queue, namespace), *_circle(queue, tree)]
    above = list(_standing(queue, "ClusterQueue", queue.name))
    own = list(_standing(local_queue, "LocalQueue", local_queue.key, but_for="ClusterQueue" if above else None))
    return [*found, *above, *own]


def no_quota(queue: ClusterQueue, flavor: str, resource: str) -> str:
    """What to say where a queue may use none of a flavor although its pool could have nodes: often quota that is
    copied from the nodes that stand, so that the first never comes."""
    return f"ClusterQueue {queue.name} has no quota of {resource} in flavor {flavor}, whose pool may have nodes"


def _unselected(queue: ClusterQueue, namespace: Namespace | None) -> Iterator[ChainFault]:
    selector = queue.spec.namespace_selector if queue.spec else None
    if selector is None:
        yield ChainFault(
            "misconfigured", f"ClusterQueue {queue.name} has no namespaceSelector: it selects no namespace"
        )
    elif namespace is not None and takes(selector, namespace) is False:
        yield ChainFault(
            "misconfigured", f"the namespaceSelector of ClusterQueue {queue.name} does not select {namespace.name}"
        )


def _circle(queue: ClusterQueue, tree: QuotaTree) -> Iterator[ChainFault]:
    cohort = tree.circular(queue.name)
    if cohort is not None:
        yield ChainFault("misconfigured", f"the parents of Cohort {cohort} lead in a circle")


def _standing(
    queue: LocalQueue | ClusterQueue, kind: str, name: str, but_for: str | None = None
) -> Iterator[ChainFault]:
    """``but_for``: reasons that begin so are left out, for they repeat what was said of the queue above."""
    policy = queue.spec.stop_policy if queue.spec else None
    status: Conditioned | None = queue.status
    active = status.condition(api.ACTIVE) if status else None
    reason = (active.reason if active else None) or ""
    if policy in ("Hold", "HoldAndDrain"):
        yield ChainFault("warn", f"{kind} {name} is stopped (stopPolicy {policy})")
    elif queue.metadata.deletion_timestamp is not None:
        yield ChainFault("warn", f"{kind} {name} is being deleted")
    elif active is not None and active.status == "False" and not (but_for and reason.startswith(but_for)):
        yield ChainFault("warn", f"{kind} {name} is not active: {active.message or reason or 'no reason given'}")
