"""``status.pools`` of a CapacityProfile and its condition ``Drift``: what is known of each pool, from which object."""

from collections.abc import Iterator, Sequence
from typing import Final

from classifier.fit.facts import Sources, backoff_of, drift_of, refined_max
from classifier.fit.facts.nodes import NodePools
from classifier.fit.supplied.faults import legible
from classifier.instant import SECOND, format_instant
from classifier.objects import CapacityProfile, Node, Pool, PoolStatus, Quantity
from classifier.quantity import format_amount, is_extended
from classifier.report.profiles import ProfileCondition

#: Of one profile this many disagreements are told.
_MOST: Final = 8


def pool_statuses(profile: CapacityProfile, sources: Sources, nodes: NodePools, now: int) -> list[PoolStatus]:
    """One entry a pool, by the first of each name. Pure; ``now`` in ms."""
    declared: dict[str, Pool] = {}
    for pool in profile.spec.pools or ():
        declared.setdefault(pool.name, pool)
    return [_status(f"CapacityProfile/{profile.name}", pool, sources, nodes, now) for pool in declared.values()]


def _status(profile: str, pool: Pool, sources: Sources, nodes: NodePools, now: int) -> PoolStatus:
    live = nodes.of(pool)
    facts = (*sources.of(pool), *((live,) if live else ()))
    most = refined_max(pool.max_nodes, profile, facts, now)
    current = [fact for fact in facts if fact.fresh(now)]
    # Live nodes count first; an autoscaler counts the machines of its groups, whose nodes may not be read here.
    counted = live or next((fact for fact in current if fact.nodes is not None), None)
    aimed = next((fact for fact in current if fact.target is not None), None)
    held = backoff_of(facts, now)
    until = held.until if held is not None and held.until is not None and held.until > now else None
    said = [most.source, aimed.source if aimed else None, counted.source if counted else None]
    observed = aimed.observed_at if aimed is not None and aimed.observed_at is not None else now
    return PoolStatus(
        name=pool.name,
        nodes=counted.nodes if counted else None,
        ready_nodes=counted.ready if counted else None,
        target_nodes=aimed.target if aimed else None,
        max_nodes=most.nodes,
        backoff_since=format_instant(_second(held.since)) if held is not None and held.since is not None else None,
        backoff_until=format_instant(_second(until)) if until is not None else None,
        source=", ".join(dict.fromkeys(one for one in said if one)) or None,
        observed_at=format_instant(_second(observed)),
    )


def drift(profile: CapacityProfile, sources: Sources, nodes: NodePools, now: int) -> ProfileCondition:
    """True where what is declared and what is known differ; denials then go by the larger figure. Pure."""
    texts = [
        f"pool {pool.name}: {text}" for pool in profile.spec.pools or () for text in _differs(pool, sources, nodes, now)
    ]
    if texts:
        return ProfileCondition("True", "PoolsDiffer", "; ".join(texts[:_MOST]))
    return ProfileCondition("False", "NothingDiffers", "nothing that is known of the pools contradicts the profile")


def _differs(pool: Pool, sources: Sources, nodes: NodePools, now: int) -> Iterator[str]:
    text = drift_of(pool.max_nodes, sources.of(pool), now)
    if text is not None:
        yield text
    live = nodes.nodes_of(pool) or ()
    if pool.max_nodes is not None and len(live) > pool.max_nodes:
        yield f"maxNodes is {pool.max_nodes}, {len(live)} nodes exist"
    shape = legible(pool.node.allocatable if pool.node else None)
    for resource, declared in sorted(shape.items()):
        other = next((shown for shown in _shown(live, resource) if _matters(resource, declared, shown[1])), None)
        if other is not None:
            name, value = other
            yield (
                f"node.allocatable[{resource}] is {format_amount(resource, declared)}, "
                f"Node/{name} shows {format_amount(resource, value)}"
            )


def _shown(nodes: Sequence[Node], resource: str) -> Iterator[tuple[str, int]]:
    """What the nodes have, by capacity where a device is down. One that shows none may not be set up yet.

    Most nodes of a pool say the same, word for word: each text is read once.
    """
    said: dict[tuple[Quantity, Quantity], str] = {}
    for node in nodes:
        if node.status is not None:
            lists = (node.status.allocatable or {}, node.status.capacity or {})
            said.setdefault((lists[0].get(resource, 0), lists[1].get(resource, 0)), node.name)
    for quantities, name in said.items():
        value = max((legible({resource: quantity}).get(resource, 0) for quantity in quantities), default=0)
        if value > 0:
            yield name, value


def _matters(resource: str, declared: int, shown: int) -> bool:
    """Devices are counted. Of cpu, memory and the like a node keeps some back, on one image more than on another: only
    one that is larger by more than that shows a bound to be too small."""
    return shown != declared if is_extended(resource) else shown > declared + declared // 16


def _second(at: int) -> int:
    return at // SECOND * SECOND
