"""Nodes of the pools a gang is meant for: how many it needs, how many are there, how many are ready."""

from collections.abc import Iterable

import msgspec

from classifier.fit import Verdict
from classifier.fit.facts import Backoff, PoolFacts, Sources, backoff_of, refined_max
from classifier.instant import format_instant, instant_or_none
from classifier.objects import CapacityProfile, Node, Pool


class PoolCount(msgspec.Struct, frozen=True, kw_only=True):
    """``nodes`` and ``ready`` are None where nodes may not be read or the profile does not say which they are."""

    name: str
    max_nodes: int | None = None
    #: The object that says so, where it is not the profile.
    max_source: str | None = None
    backoff: Backoff | None = None
    #: What else an autoscaler says that is not as it should be.
    hint: str | None = None
    needed: int | None = None
    nodes: int | None = None
    ready: int | None = None
    #: When each ready node became so, earliest first, milliseconds.
    ready_at: tuple[int, ...] = ()

    @property
    def enough(self) -> bool:
        return self.ready is not None and self.needed is not None and self.ready >= self.needed

    @property
    def enough_since(self) -> int | None:
        """When the last node the gang needs became ready."""
        return self.ready_at[self.needed - 1] if self.needed and len(self.ready_at) >= self.needed else None

    @property
    def progress(self) -> str | None:
        """``0/2 nodes of gpupool``; never more than are needed, for the others are not this gang's."""
        if self.needed is None:
            return None
        if self.ready is None:
            return f"{self.needed} node(s) of {self.name} needed"
        return f"{min(self.ready, self.needed)}/{self.needed} nodes of {self.name}"

    @property
    def readiness(self) -> str | None:
        """``1/2 nodes of gpupool ready``; where nodes may not be read just what is needed."""
        return self.progress if self.ready is None or self.progress is None else f"{self.progress} ready"

    @property
    def line(self) -> str:
        """``Node pool gpupool: 0/2 nodes``; more where nodes are not ready, or an autoscaler says more."""
        most = "?" if self.max_nodes is None else str(self.max_nodes)
        unready = self.nodes - self.ready if self.nodes is not None and self.ready is not None else 0
        notes = [
            "may not be read" if self.nodes is None or self.ready is None else "",
            f"{unready} not ready" if unready else "",
            f"maximum by {self.max_source}" if self.max_source else "",
        ]
        told = ", ".join(note for note in notes if note)
        line = f"Node pool {self.name}: {'?' if self.ready is None else self.ready}/{most} nodes"
        return "; ".join(text for text in (line + (f" ({told})" if told else ""), self.held) if text)

    @property
    def held(self) -> str | None:
        """``node group in backoff since 2026-11-29T10:00:00Z (QuotaExceeded)``."""
        if self.backoff is None:
            return self.hint
        since = f" since {format_instant(self.backoff.since // 1000 * 1000)}" if self.backoff.since is not None else ""
        return f"node group in backoff{since}" + (f" ({self.backoff.code})" if self.backoff.code else "")


def _is_of(node: Node, pool: Pool) -> bool:
    labels = node.metadata.labels or {}
    return bool(pool.node_labels) and all(labels.get(k) == v for k, v in (pool.node_labels or {}).items())


def _ready_at(node: Node) -> int | None:
    condition = node.status.condition("Ready") if node.status else None
    if condition is None or not condition.true or node.metadata.deletion_timestamp:
        return None
    return instant_or_none(condition.last_transition_time) or 0


def needed_nodes(verdict: Verdict | None) -> dict[str, int | None]:
    """Nodes the gang needs by pool, as the verdict counts them; None where it does not count nodes."""
    needed: dict[str, int | None] = {}
    for podset in verdict.pod_sets if verdict else ():
        if not podset.pool:
            continue
        # Only node counts are plain numbers; everything else that binds is a quantity (design §8).
        count = podset.needs if isinstance(podset.needs, int) else None
        before = needed.get(podset.pool)
        needed[podset.pool] = count if before is None else before + (count or 0)
    return needed


def count_pools(
    verdict: Verdict | None,
    profiles: Iterable[CapacityProfile],
    nodes: Iterable[Node] | None,
    sources: Sources | None = None,
    now: int = 0,
) -> tuple[PoolCount, ...]:
    """The pools the verdict speaks of; without a verdict on pools, those of the profiles. ``now`` in ms."""
    pools = {pool.name: pool for profile in profiles for pool in profile.spec.pools or ()}
    needed = needed_nodes(verdict) or dict.fromkeys(pools)
    known = None if nodes is None else tuple(nodes)
    counts = []
    for name, need in needed.items():
        pool = pools.get(name)
        if pool is None:
            counts.append(PoolCount(name=name, needed=need))
            continue
        facts = sources.of(pool) if sources is not None else ()
        mine = None if known is None or not pool.node_labels else [n for n in known if _is_of(n, pool)]
        counts.append(_count(pool, need, mine, facts, now))
    return tuple(counts)


def _count(
    pool: Pool, needed: int | None, nodes: list[Node] | None, facts: tuple[PoolFacts, ...], now: int
) -> PoolCount:
    most = refined_max(pool.max_nodes, "", facts, now)
    ready_at = sorted(at for at in map(_ready_at, nodes or ()) if at is not None)
    return PoolCount(
        name=pool.name,
        needed=needed,
        max_nodes=most.nodes,
        max_source=most.source or None,
        backoff=backoff_of(facts, now),
        hint=next((f"{fact.hint} ({fact.source})" for fact in facts if fact.hint and fact.fresh(now)), None),
        nodes=None if nodes is None else len(nodes),
        ready=None if nodes is None else len(ready_at),
        ready_at=tuple(ready_at),
    )
