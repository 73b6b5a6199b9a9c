"""All podsets of a gang in the nodes at once, each with the flavors one assignment gives it.

Twice: into nodes that are surely not too few nor too small, which may prove that there is no place, and into nodes that
are surely there, which is a promise. A pool that several podsets may use is one and the same.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from classifier.fit.finding import Finding, unknown
from classifier.fit.judging.apart import apart
from classifier.fit.judging.choice import Choice, Ground
from classifier.fit.judging.hearing import Hearing
from classifier.fit.judging.room import Room
from classifier.fit.judging.seat import Seat
from classifier.fit.judging.weigh import names, promised, qualified, show_amount
from classifier.fit.matching.match import NO
from classifier.fit.pack import Bin, Fate, Layout, Packing, Part, pack
from classifier.fit.supplied.pools import Pool
from classifier.fit.verdict import Outcome
from classifier.quantity import format_amount

#: A seat and the choices it is open to: one, or all of them for a proof that holds for every assignment.
Seated = tuple[Seat, tuple[Choice, ...]]
Which = Literal["upper", "lower", "ready"]


@dataclass(frozen=True, slots=True, eq=False)
class Floor:
    """The pools that any of the choices brings, and their nodes as bins: at most, surely, and standing."""

    pools: tuple[Pool, ...]
    index: Mapping[int, int]
    upper: tuple[Bin, ...]
    lower: tuple[Bin, ...]
    ready: tuple[Bin, ...]
    #: Pools that may be promised beside each other: no two of them can be the same nodes.
    apart: frozenset[int]
    #: Of each pool the levels of its flavor's Topology, widest first.
    levels: tuple[tuple[str, ...], ...]
    #: Whether any node is standing and ready.
    any_ready: bool
    #: Whether it has what only a proof asks for.
    wide: bool


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """The bins of a floor for certain podsets, those that no podset tells apart made one, and which are open to whom.

    ``pools``: of each bin, the indexes of the pools it is made of; ``standing``: how many of their nodes are ready.
    ``layout``: what the bins take of each podset, whatever its count; None where that hangs on the counts.
    """

    bins: tuple[Bin, ...]
    pools: tuple[tuple[int, ...], ...]
    standing: tuple[int, ...]
    open_to: tuple[frozenset[int], ...]
    nodes: int
    layout: Layout | None


def floor(seated: Sequence[Seated], hearing: Hearing, *, wide: bool = False) -> Floor:
    """``wide``: with what a proof has to look at beside (``Hearing.ground``). Raises OverBudget."""
    choices = {choice.flavors: choice for _, some in seated for choice in some}
    resources = frozenset(resource for seat, _ in seated for resource in seat.reading.requests_at_most)
    kept: dict[Hashable, tuple[int, Floor]] = hearing.sort("floors")
    key = (tuple(choices), resources, hearing.keys, wide)
    return hearing.budget.recall(kept, key, lambda: _lay(list(choices.values()), resources, hearing, wide))


def _lay(choices: Sequence[Choice], resources: frozenset[str], hearing: Hearing, wide: bool) -> Floor:
    places: dict[int, Ground] = {}
    for choice in choices:
        for place in hearing.ground(choice, wide=wide):
            places.setdefault(id(place.pool), place)
    # One that is there for its own flavor too is one bin, with all of its nodes.
    whole = {at: id(place.pool.borrowed_of) for at, place in places.items() if id(place.pool.borrowed_of) in places}
    places = {at: place for at, place in places.items() if at not in whole}
    hearing.budget.spend(len(places) * (1 + len(resources)))
    recent = hearing.world.nodes_recent
    pools = [place.pool for place in places.values()]
    index = {id(pool): at for at, pool in enumerate(pools)}
    upper = [_bin(at, _upper(pool, resources), pool.max_nodes) for at, pool in enumerate(pools)]
    lower = [_bin(at, _lower(pool, resources), promised(pool, recent)) for at, pool in enumerate(pools)]
    ready = [_bin(at, _lower(pool, resources), pool.ready if recent else 0) for at, pool in enumerate(pools)]
    return Floor(
        tuple(pools),
        index | {at: index[other] for at, other in whole.items()},
        tuple(upper),
        tuple(lower),
        tuple(ready),
        frozenset(apart(list(places.values()), hearing.budget)),
        tuple(hearing.levels(place.flavor) for place in places.values()),
        any(one.nodes for one in ready),
        wide,
    )


def _bin(at: int, offers: dict[str, int], nodes: int | None) -> Bin:
    return Bin(f"{at:06}", offers, nodes)


def _upper(pool: Pool, resources: Iterable[str]) -> dict[str, int]:
    found = {}
    for resource in resources:
        figure = pool.upper.get(resource)
        if figure is not None:
            found[resource] = figure.amount
        elif pool.says_all_of(resource):
            found[resource] = 0
    return found


def _lower(pool: Pool, resources: Iterable[str]) -> dict[str, int]:
    """What is not known is not in it: no podset that needs it is promised such a node."""
    return {
        resource: pool.lower.get(resource, 0)
        for resource in resources
        if resource in pool.lower or pool.says_all_of(resource)
    }


def promise(seated: Sequence[Seated], alone: Sequence[Finding], hearing: Hearing) -> Finding | None:
    """Room for all of them at once, on nodes that are surely there; None where none was found. Raises OverBudget."""
    laid = floor(seated, hearing)
    lower = table(seated, laid, "lower", hearing)
    packing = _pack(seated, lower, hearing, surely=True)
    if packing.fate is not Fate.FITS:
        return None
    stand = laid.any_ready and (
        by_number(packing.nodes, lower)
        or _pack(seated, table(seated, laid, "ready", hearing), hearing, surely=True).fate is Fate.FITS
    )
    largest = max(alone, key=lambda one: one.needs if isinstance(one.needs, int) else 0)
    return promised_in(packing.nodes, lower, laid, largest.flavor, stand=stand, tight=packing.tight)


def by_number(nodes: Mapping[int, int], lower: Table) -> bool:
    """Whether nodes that are ready would do, by their number: the packing stands on as many of each bin."""
    return all(lower.standing[at] >= count for at, count in nodes.items())


def promised_in(
    nodes: Mapping[int, int], lower: Table, laid: Floor, flavor: str | None, *, stand: bool, tight: bool = False
) -> Finding:
    """What a packing into the table says. ``stand``: there are nodes for it already, or for another one."""
    used = [laid.pools[at] for at in _used(nodes, lower, laid)]
    count = sum(nodes.values())
    pools = names(used)
    return Finding(
        outcome=Outcome.FITS if stand else Outcome.FITS_AFTER_SCALE_UP,
        statement=f"gang needs {count} node(s) of {pools} (max {lower.nodes})",
        pool=pools,
        flavor=flavor,
        needs=count,
        limit=lower.nodes,
        source=used[0].max_source if used else None,
        tight=tight,
    )


def _used(packed: Mapping[int, int], lower: Table, laid: Floor) -> list[int]:
    """The pools that the nodes of a packing are of; of several alike, the first."""
    found = []
    for at, nodes in packed.items():
        for pool in lower.pools[at]:
            if nodes > 0:
                found.append(pool)
                nodes -= laid.lower[pool].nodes or 0
    return sorted(found)


def table(seated: Sequence[Seated], laid: Floor, which: Which, hearing: Hearing) -> Table:
    """Raises OverBudget."""
    kept: dict[Hashable, tuple[int, Table]] = hearing.sort("tables")
    shapes = tuple((seat.shape, tuple(choice.flavors for choice in choices)) for seat, choices in seated)
    key = laid, which, shapes, any(seat.rescaled for seat, _ in seated)
    return hearing.budget.recall(kept, key, lambda: _set(seated, laid, which, hearing))


def _set(seated: Sequence[Seated], laid: Floor, which: Which, hearing: Hearing) -> Table:
    hearing.budget.spend(1 + len(seated) * len(laid.pools) // 8)
    surely = which != "upper"
    bins = {"upper": laid.upper, "lower": laid.lower, "ready": laid.ready}[which]
    open_to = [_open_to(seat, choices, laid, surely=surely) for seat, choices in seated]
    groups: dict[Hashable, list[int]] = {}
    for at, one in enumerate(bins):
        who = tuple(index for index, some in enumerate(open_to) if at in some)
        if who:
            groups.setdefault((who, one.nodes is None, *sorted(one.offers.items())), []).append(at)
    merged, whose = [], [set[int]() for _ in seated]
    for number, (key, members) in enumerate(groups.items()):
        nodes = [bins[at].nodes for at in members]
        merged.append(Bin(bins[members[0]].key, bins[members[0]].offers, _sum(nodes)))
        for index in key[0]:  # type: ignore[index]
            whose[index].add(number)
    open_bins = tuple(map(frozenset, whose))
    scaled = any(seat.rescaled for seat, _ in seated)
    return Table(
        bins=tuple(merged),
        pools=tuple(map(tuple, groups.values())),
        standing=tuple(sum(laid.ready[at].nodes or 0 for at in members) for members in groups.values()),
        open_to=open_bins,
        nodes=sum(one.nodes or 0 for one in merged),
        layout=None if scaled else Layout(_parts(seated, open_bins, surely=surely), merged, hearing.sort("layouts")),
    )


def _sum(nodes: Sequence[int | None]) -> int | None:
    return None if None in nodes else sum(one for one in nodes if one is not None)


def _pack(seated: Sequence[Seated], on: Table, hearing: Hearing, *, surely: bool) -> Packing:
    return pack(_parts(seated, on.open_to, surely=surely), on.bins, hearing.budget, on.layout)


def _parts(seated: Sequence[Seated], open_to: Sequence[frozenset[int]], *, surely: bool) -> list[Part]:
    """By the index of the podset: names may be anything."""
    return [
        _packable(f"{index:03}", seat, bins, surely=surely)
        for index, ((seat, _), bins) in enumerate(zip(seated, open_to, strict=True))
    ]


def proof(seated: Sequence[Seated], hearing: Hearing) -> Finding | None:
    """That there is no room for all of them at once; None if that is not proven. Raises OverBudget."""
    laid = floor(seated, hearing, wide=True)
    upper = table(seated, laid, "upper", hearing)
    packing = _pack(seated, upper, hearing, surely=False)
    if packing.fate is not Fate.NEVER:
        return None
    about = [seated[int(name)] for name in packing.parts] or list(seated)
    pools = [laid.pools[pool] for at in sorted(packing.bins) for pool in upper.pools[at]]
    found = _worded(packing, about, pools)
    for seat, choices in about:
        found = seat.unless_unsure(found)
        for choice in choices:
            if found.outcome is Outcome.NEVER_FITS:
                found = choice.blocked or qualified(found, choice)
    return found


def _worded(packing: Packing, about: Sequence[Seated], pools: Sequence[Pool]) -> Finding:
    fewer = any(seat.podset.fewest < seat.podset.count for seat, _ in about)
    if packing.binding == "pod-size" and packing.resource is not None and pools:
        resource, who = packing.resource, about[0][0].podset.name
        needs, limit = show_amount(resource, packing.needs or 0), show_amount(resource, packing.limit or 0)
        return Finding(
            outcome=Outcome.NEVER_FITS,
            statement=f"each pod of {who} needs {needs} {resource}, a node of {names(pools)} has {limit}",
            binding="pod-size",
            pool=names(pools),
            resource=resource,
            needs=format_amount(resource, packing.needs or 0),
            limit=format_amount(resource, packing.limit or 0),
            source=pools[0].source,
            advice=f"request at most {limit} {resource} a pod" if packing.limit else "use a queue whose nodes have it",
        )
    least = "at least " if fewer else ""
    limit_nodes = packing.limit if packing.limit is not None else sum(pool.max_nodes or 0 for pool in pools)
    needs_nodes = packing.needs if packing.needs is not None else limit_nodes + 1
    return Finding(
        outcome=Outcome.NEVER_FITS,
        statement=f"gang needs {least}{needs_nodes} node(s) of {names(pools)} (max {limit_nodes})",
        binding="nodes",
        pool=names(pools),
        resource=packing.resource,
        needs=needs_nodes,
        limit=limit_nodes,
        source=pools[0].max_source if pools else None,
        advice=f"request less or raise {'the' if len(pools) == 1 else 'a'} pool's maximum",
    )


def part(seat: Seat, choices: Iterable[Choice], laid: Floor, *, surely: bool) -> Part:
    """The podset to be packed into the bins of the floor: ``surely`` all of it where it can, else the least of it where
    it may."""
    return _packable(seat.podset.name, seat, _open_to(seat, choices, laid, surely=surely), surely=surely)


def _open_to(seat: Seat, choices: Iterable[Choice], laid: Floor, *, surely: bool) -> frozenset[int]:
    return frozenset(
        at
        for at, one in enumerate(rooms_on(seat, choices, laid))
        if one is not None and (one.usable and at in laid.apart if surely else one.match is not NO)
    )


def _packable(name: str, seat: Seat, bins: frozenset[int], *, surely: bool) -> Part:
    reading, podset = seat.reading, seat.podset
    return Part(
        name=name,
        count=podset.count if surely else podset.fewest,
        requests=reading.requests_at_most if surely else reading.requests,
        bins=bins,
        alone=reading.alone,
        ports=reading.ports_maybe if surely else reading.ports,
    )


def rooms_on(seat: Seat, choices: Iterable[Choice], laid: Floor) -> list[Room | None]:
    """For each pool of the floor how the podset sees it, by whichever choice is kinder; None: by none of them."""
    found: list[Room | None] = [None] * len(laid.pools)
    for choice in choices:
        if choice.blocked is None:
            for one in seat.rooms(choice, wide=laid.wide).rooms:
                at = laid.index[id(one.pool)]
                before = found[at]
                found[at] = one if before is None or one.match > before.match else before
    return found


def undecided(seated: Sequence[Seated]) -> Finding:
    several = ", ".join(seat.podset.name for seat, _ in seated[:3])
    return unknown(f"whether {several}{' and others' if len(seated) > 3 else ''} find room together is not known")
