"""How many pods of one podset a set of pools takes (reference/capacity.md §3.6, §3.8): exact for identical pods."""

from collections.abc import Iterable, Sequence

import msgspec

from classifier.fit.matching.match import NO, YES, Match
from classifier.fit.requests import Amounts
from classifier.fit.supplied.pools import Pool
from classifier.quantity import is_extended


class Limit(msgspec.Struct, frozen=True, gc=False):
    """What binds the pods of one node: ``resource`` is None where only one may stand there. Amounts, see quantity."""

    resource: str | None
    needs: int
    offers: int
    source: str


class Room(msgspec.Struct, frozen=True, eq=False, gc=False):
    """One pool seen by one podset. Pods per node: ``most`` surely not more (None: no bound is known), ``usable`` may be
    promised. ``why`` says what is not known. ``foreign``: it does not match for a flavor's labels, whatever the podset
    asks for. ``capacity``: pods the whole pool takes at most; None: unbounded. There are thousands, and no cycle leads
    through any: the collector need not look at them."""

    pool: Pool
    match: Match
    most: int | None
    limit: Limit | None
    usable: int
    capacity: int | None
    why: str
    foreign: bool


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
    if pool.borrowed_of is not None:
        sure, missing = 0, f"nodes of pool {pool.name} are for flavor {pool.flavor}, and may take some of its pods"
    else:
        sure, missing = _sure(at_most, pool)
    if one_per_node and sure > 1:
        sure = 1
    usable = sure if match is YES else 0
    if match is NO or most == 0 or pool.max_nodes == 0:
        capacity: int | None = 0
    else:
        capacity = None if most is None or pool.max_nodes is None else most * pool.max_nodes
    return Room(pool, match, most, limit, usable, capacity, why or missing, foreign)


def capacity(rooms: Iterable[Room]) -> int | None:
    """Upper bound on the pods all pools take together, since a podset may spread over the pools of its flavor."""
    total = 0
    for one in rooms:
        most = one.capacity
        if most is None:
            return None
        total += most
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


def _most(requests: Sequence[tuple[str, int]], pool: Pool) -> tuple[int | None, Limit | None]:
    """Pods per node at most, and what binds them."""
    most: int | None = None
    binds, upper = ("", 0), pool.upper
    for asked in requests:
        figure = upper.get(asked[0])
        if figure is None:
            if not pool.says_all_of(asked[0]):
                continue
            pods = 0
        else:
            pods = figure.amount // asked[1]
        if most is None or pods < most:
            most, binds = pods, asked
    if most is None:
        return None, None
    figure = upper.get(binds[0])
    offers, source = figure if figure is not None else (0, pool.source)
    return most, Limit(*binds, offers, source)


def _sure(requests: Amounts, pool: Pool) -> tuple[int, str]:
    """Pods per node at least; 0 where some figure is not known, and which."""
    sure: int | None = None
    lower = pool.lower
    for resource, needs in requests.items():
        offers = lower.get(resource)
        if offers is None:
            if not pool.says_all_of(resource):
                return 0, f"pool {pool.name} does not say how much {resource} a node has"
            offers = 0
        pods = offers // needs
        if sure is None or pods < sure:
            sure = pods
    return sure or 0, ""
