"""What one pool has of the domains of one topology level: declared by its profile, seen on live nodes.

A profile names the domains of its ``topology.nodeLabel``. They bound every level that is not wider: who shares a rack
shares the block. They promise every level that is not narrower.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from classifier.fit.supplied.pools import Pool

#: A level of which every node is a domain, and nothing has to be declared.
HOSTNAME: Final = "kubernetes.io/hostname"


@dataclass(frozen=True, slots=True, eq=False)
class Survey:
    """``most``: nodes of the pool (None: no limit is known); ``sure``: those that may be promised.

    ``hosts``: every node is a domain of its own, and the maps are empty.
    """

    pool: str
    most: int | None
    sure: int
    #: The level that the names of ``possible`` are of.
    named_by: str | None = None
    #: Nodes at most by domain; None where not all domains are known, so that any may hold every node.
    possible: Mapping[str, int] | None = None
    #: Nodes that may be promised in one domain, by label and value.
    certain: Mapping[tuple[str, str], int] | None = None
    hosts: bool = False


def survey(pool: Pool, level: str, levels: Sequence[str], sure: int, *, recent: bool) -> Survey:
    """``levels`` of the flavor's Topology, widest first. ``sure``: nodes of the pool that may be promised; ``recent``:
    whether live nodes count as there. Looks at every live node of the pool."""
    if level == HOSTNAME:
        return Survey(pool.name, pool.max_nodes, sure, hosts=True)
    named_by, possible = pool.level, None
    certain: dict[tuple[str, str], int] = {}
    if pool.stray and all(level in live.labels for live in pool.lives):
        # It is these nodes and no others.
        named_by, possible = level, dict(Counter(live.labels[level] for live in pool.lives))
    if pool.level is not None:
        # Where the order is not known a level bounds itself alone.
        where = {name: at for at, name in enumerate(levels)}
        asked, declared = where.get(level), where.get(pool.level)
        narrower = asked is not None and declared is not None and asked >= declared
        wider = asked is not None and declared is not None and asked <= declared
        if pool.level == level or narrower:
            possible = _possible(pool, pool.level)
        if pool.level == level or wider:
            for name, nodes in pool.domains:
                if nodes is not None and nodes > 0:
                    certain[pool.level, name] = min(sure, certain.get((pool.level, name), 0) + nodes)
    if recent:
        standing = Counter(live.labels[level] for live in pool.lives if live.ready and level in live.labels)
        for name, nodes in standing.items():
            certain[level, name] = min(sure, max(nodes, certain.get((level, name), 0)))
    return Survey(pool.name, pool.max_nodes, sure, named_by, possible, certain)


def _possible(pool: Pool, level: str) -> dict[str, int] | None:
    """The declared figures, raised by what stands; None if they do not add up to the pool, or a node refutes them."""
    if not pool.domains or pool.max_nodes is None:
        return None
    found: dict[str, int] = {}
    for name, nodes in pool.domains:
        most = pool.max_nodes if nodes is None or nodes < 0 else nodes
        found[name] = found.get(name, 0) + most
    for name, nodes in Counter(live.labels[level] for live in pool.lives if level in live.labels).items():
        if name not in found:
            return None
        found[name] = max(found[name], nodes)
    if sum(found.values()) < pool.max_nodes:
        return None
    return {name: min(most, pool.max_nodes) for name, most in found.items()}
