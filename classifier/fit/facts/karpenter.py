"""Karpenter's NodePools: soft limits, and what is in use of them (Karpenter: pkg/apis/v1/nodepool.go).

In-flight nodes overshoot a limit and instance types are not in the API, so all of it is a hint and proves nothing
(reference/capacity.md §2.5).
"""

from collections.abc import Mapping
from typing import Final

from classifier.fit.facts.fact import PoolFacts
from classifier.fit.facts.groups import POOL_LABELS
from classifier.fit.supplied.faults import legible
from classifier.objects import NodePool, Pool
from classifier.quantity import format_amount

_NODES: Final = "nodes"
_MAX_COUNT: Final = 2**31 - 1
#: Limits named in a hint.
_SHOWN: Final = 3


class KarpenterPools:
    def __init__(self, node_pools: Mapping[str, NodePool]) -> None:
        self._by_name = {pool.name: pool for pool in node_pools.values()}

    def of(self, pool: Pool) -> PoolFacts | None:
        """The NodePool that the pool's ``karpenter.sh/nodepool`` label names."""
        label = (pool.node_labels or {}).get(POOL_LABELS["karpenter"][0])
        found = self._by_name.get(label) if label is not None else None
        if found is None:
            return None
        limits = legible(found.spec.limits) if found.spec else {}
        used = legible(found.status.resources) if found.status else {}
        replicas = found.spec.replicas if found.spec else None
        return PoolFacts(
            source=f"NodePool/{found.name}",
            max_nodes=_count(limits.get(_NODES)),
            target=_count(replicas),
            nodes=_count(used.get(_NODES)),
            soft=True,
            hint=_hint(limits, used),
        )


def _count(value: int | None) -> int | None:
    return value if value is not None and 0 <= value <= _MAX_COUNT else None


def _hint(limits: Mapping[str, int], used: Mapping[str, int]) -> str | None:
    """``16 of 16 nvidia.com/gpu in use``: the limits that are nearest to being reached."""
    nearest = sorted(limits, key=lambda resource: (limits[resource] - used.get(resource, 0), resource))[:_SHOWN]
    told = [
        f"{format_amount(name, used[name])} of {format_amount(name, limits[name])} {name} in use"
        for name in nearest
        if name in used and used[name] >= limits[name]
    ]
    return ", ".join(told) or None
