"""How many pods of one podset a set of pools takes (reference/capacity.md §3.6, §3.8): exact for identical pods."""

from collections.abc import Iterable
from dataclasses import dataclass

from classifier.fit.matching.match import Match
from classifier.fit.requests import Amounts
from classifier.fit.supplied.pools import Pool
from classifier.quantity import is_extended


@dataclass(frozen=True, slots=True)
class Limit:
    """What binds the pods of one node: ``resource`` is None where only one may stand there. Amounts, see quantity."""

    resource: str | None
    needs: int
    offers: int
    source: str


@dataclass(frozen=True, slots=True)
class Room:
    """One pool seen by one podset. Pods per node: ``most`` surely not more (None: no bound is known), ``sure`` surely
    as many (None: not known). ``why`` says what is not known. ``foreign``: it does not match for a flavor's labels,
    whatever the podset asks for."""

    pool: Pool
    match: Match
    most: int | None
    limit: Limit | None
    sure: int | None
    why: str
    foreign: bool = False

    @property
    def capacity(self) -> int | None:
        """Pods the whole pool takes at most; None: unbounded."""
        if self.match is Match.NO or self.most == 0 or self.pool.max_nodes == 0:
            return 0
        return None if self.most is None or self.pool.max_nodes is None else self.most * self.pool.max_nodes

    @property
    def usable(self) -> int:
        """Pods of one node that may be promised."""
        return (self.sure or 0) if self.match is Match.YES else 0


def room(
    requests: Amounts,
    at_most: Amounts,
    one_per_node: bool,
    pool: Pool,
    match: Match,
    why: str,
    *,
    foreign: bool = False,
) -> Room:
    """``requests`` are what a pod takes at least, ``at_most`` what it may take."""
    most, limit = _most(requests, pool)
    if one_per_node and (most is None or most > 1):
        most, limit = 1, Limit(None, 1, 1, pool.source)
    sure, missing = _sure(at_most, pool)
    if one_per_node and sure is not None:
        sure = min(sure, 1)
    return Room(pool, match, most, limit, sure, why or missing, foreign)


def capacity(rooms: Iterable[Room]) -> int | None:
    """Upper bound on the pods all pools take together, since a podset may spread over the pools of its flavor."""
    total = 0
    for one in rooms:
        if one.capacity is None:
            return None
        total += one.capacity
    return total


def nodes_needed(count: int, offers: Iterable[tuple[int, int | None]]) -> int:
    """Least nodes that hold ``count`` pods, from pairs of pods per node (at least 1) and nodes there are.

    Fullest nodes first. Where the pools run out, as many more nodes of the largest kind as the rest would need.
    """
    nodes, left, largest = 0, count, 1
    for per_node, available in sorted(offers, key=lambda offer: -offer[0]):
        largest = max(largest, per_node)
        wanted = -(-left // per_node)
        taken = wanted if available is None else min(wanted, available)
        nodes += taken
        left -= taken * per_node
        if left <= 0:
            return nodes
    return nodes + -(-left // largest)


def _most(requests: Amounts, pool: Pool) -> tuple[int | None, Limit | None]:
    """Pods per node at most. Of resources that bind alike, a device's is named rather than cpu or memory."""
    most: int | None = None
    limit: Limit | None = None
    for resource in sorted(requests, key=lambda name: (not is_extended(name), name == "pods", name)):
        figure = pool.upper.get(resource)
        if figure is None and not pool.says_all_of(resource):
            continue
        offers, source = figure or (0, pool.source)
        pods = offers // requests[resource]
        if most is None or pods < most:
            most, limit = pods, Limit(resource, requests[resource], offers, source)
    return most, limit


def _sure(requests: Amounts, pool: Pool) -> tuple[int | None, str]:
    sure: int | None = None
    for resource, needs in requests.items():
        offers = pool.lower.get(resource)
        if offers is None and not pool.says_all_of(resource):
            return None, f"pool {pool.name} does not say how much {resource} a node has"
        pods = (offers or 0) // needs
        sure = pods if sure is None else min(sure, pods)
    return sure, ""
