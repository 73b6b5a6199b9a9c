"""Live nodes: how many of a pool there are, and how many are ready (reference/capacity.md §2.2)."""

from collections.abc import Mapping, Sequence

from classifier.fit.facts.fact import PoolFacts
from classifier.fit.facts.groups import POOL_LABELS
from classifier.objects import Node, Pool


class NodePools:
    """Nodes by label, so that many pools cost no look at each node each. ``nodes`` None: they may not be read."""

    def __init__(self, nodes: Sequence[Node] | None) -> None:
        self._nodes = nodes
        self._by_label: dict[str, dict[str, list[Node]]] = {}

    def of(self, pool: Pool) -> PoolFacts | None:
        """None where nodes may not be read, or nothing says which of them are the pool's."""
        found = self.nodes_of(pool)
        if found is None:
            return None
        return PoolFacts(
            source=f"Node/{found[-1].name}" if len(found) == 1 else "Nodes",
            nodes=len(found),
            ready=sum(is_ready(node) for node in found),
        )

    def nodes_of(self, pool: Pool) -> Sequence[Node] | None:
        """The pool's nodes; None where :meth:`of` has no answer either."""
        if self._nodes is None:
            return None
        labels = pool.node_labels
        if not labels:
            return self._by_platform(pool.name)
        fewest = min((self._with(key).get(value, []) for key, value in labels.items()), key=len)
        return fewest if len(labels) == 1 else [node for node in fewest if _carries(node, labels)]

    def _by_platform(self, name: str) -> Sequence[Node] | None:
        """The nodes whose platform says they are of a pool of this name; None where none is."""
        for keys in POOL_LABELS.values():
            for key in keys:
                found = self._with(key).get(name)
                if found:
                    return found
        return None

    def _with(self, key: str) -> dict[str, list[Node]]:
        if key not in self._by_label:
            found: dict[str, list[Node]] = {}
            for node in self._nodes or ():
                value = node.label(key)
                if value is not None:
                    found.setdefault(value, []).append(node)
            self._by_label[key] = found
        return self._by_label[key]


def is_ready(node: Node) -> bool:
    """Ready, not being deleted. A cordoned node is one: it is there, and only closed to new pods."""
    return node.status is not None and node.status.is_true("Ready") and node.metadata.deletion_timestamp is None


def _carries(node: Node, labels: Mapping[str, str]) -> bool:
    return labels.items() <= (node.metadata.labels or {}).items()
