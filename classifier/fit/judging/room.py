"""How many pods of one podset a set of pools takes (reference/capacity.md §3.6, §3.8): exact for identical pods."""

from collections.abc import Iterable, Sequence
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
    requests: Sequence[tuple[str, int]],
    at_most: Amounts,
    one_per_node: bool,
    pool: Pool,
    match: Match,
    why: str,
    *,
    foreign: bool = False,
) -> Room:
    """``requests`` are what a pod takes at least, :func:`by_scarcity`; ``at_most`` what it may take."""
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
    """Least nodes that hold ``count`` pods, from pairs of pods per node (at least 1) and nodes there are."""
    return nodes_in_order(count, sorted(offers, key=lambda offer: -offer[0]))


def nodes_in_order(count: int, offers: Iterable[tuple[int, int | None]]) -> int:
    """The same of offers with the fullest nodes first, which is how they are taken. Where the pools run out, as many
    more nodes of the largest kind as the rest would need."""
    nodes, left, largest = 0, count, 1
    for per_node, available in offers:
        if per_node > largest:
            largest = per_node
        wanted = -(-left // per_node)
        if available is None or wanted <= available:
            return nodes + wanted
        nodes += available
        left -= available * per_node
    return nodes + -(-left // largest)


def by_scarcity(requests: Amounts) -> list[tuple[str, int]]:
    """Devices before cpu and memory: of resources that bind alike, the first is named."""
    return sorted(requests.items(), key=lambda asked: (not is_extended(asked[0]), asked[0] == "pods", asked[0]))


def _most(requests: Iterable[tuple[str, int]], pool: Pool) -> tuple[int | None, Limit | None]:
    """Pods per node at most, and what binds them."""
    most: int | None = None
    binds: tuple[str, int, int, str] | None = None
    for resource, needs in requests:
        figure = pool.upper.get(resource)
        if figure is None and not pool.says_all_of(resource):
            continue
        offers, source = figure or (0, pool.source)
        pods = offers // needs
        if most is None or pods < most:
            most, binds = pods, (resource, needs, offers, source)
    return most, Limit(*binds) if binds is not None else None


def _sure(requests: Amounts, pool: Pool) -> tuple[int | None, str]:
    sure: int | None = None
    for resource, needs in requests.items():
        offers = pool.lower.get(resource)
        if offers is None and not pool.says_all_of(resource):
            return None, f"pool {pool.name} does not say how much {resource} a node has"
        pods = (offers or 0) // needs
        sure = pods if sure is None else min(sure, pods)
    return sure, ""
