"""Podsets that must stand in one domain of a topology level, or slice by slice, with the flavors of one assignment.

Which domains the pools have is ``fit/topology``'s; here its answers become findings, with ``binding`` topology.
"""

from collections.abc import Sequence

from classifier.fit.finding import GOOD, Finding, unknown
from classifier.fit.gang import TopologyRequest
from classifier.fit.judging.choice import Choice
from classifier.fit.judging.hearing import Hearing
from classifier.fit.judging.joint import Floor, Seated, floor, part, rooms_on
from classifier.fit.judging.seat import Seat
from classifier.fit.judging.weigh import names, promised, qualified
from classifier.fit.matching.match import NO
from classifier.fit.pack import Fate
from classifier.fit.topology import (
    Survey,
    beside,
    certain,
    companies,
    possible,
    scattered,
    slices_at_most,
    slices_surely,
    slices_wanted,
    survey,
    together,
)
from classifier.fit.verdict import Outcome


def bound(seated: Sequence[Seated], hearing: Hearing) -> bool:
    """Whether any of them must stand together."""
    return hearing.topology_aware is not False and any(_levels(seat.podset.topology) for seat, _ in seated)


def _levels(request: TopologyRequest | None) -> tuple[str, ...]:
    return tuple(level for level in (request.required, request.slice_level) if level) if request else ()


def proof(seated: Sequence[Seated], hearing: Hearing) -> Finding | None:
    """That no domain ever takes those that must share one; None if that is not proven. Raises OverBudget."""
    laid = floor(seated, hearing, wide=True)
    for level, some in companies([seat.podset for seat, _ in seated]):
        inside = {podset.name for podset in some}
        members = [one for one in seated if one[0].podset.name in inside]
        parts = [part(seat, choices, laid, surely=False) for seat, choices in members]
        placed = together(parts, laid.upper, possible(_surveys(level, laid, hearing)), hearing.budget)
        if placed.packing.fate is Fate.NEVER:
            where = f"one domain of {level}"
            needs, limit = placed.packing.needs or 1, placed.packing.limit or 0
            nodes = placed.packing.binding != "pod-size"
            found = _never(
                f"gang needs {needs} node(s) in {where} (max {limit})" if nodes else f"no node in {where} takes a pod",
                laid,
                placed.packing.bins,
                needs if nodes else None,
                limit if nodes else None,
            )
            return _checked(found, members, hearing)
    for seat, choices in seated:
        found_of = _slices_never(seat, choices, laid, hearing)
        if found_of is not None:
            return _checked(found_of, [(seat, choices)], hearing)
    return None


def _never(statement: str, laid: Floor, bins: frozenset[int], needs: int | None, limit: int | None) -> Finding:
    pools = [laid.pools[at] for at in sorted(bins)]
    return Finding(
        outcome=Outcome.NEVER_FITS,
        statement=statement,
        binding="topology",
        pool=names(pools) or None,
        needs=needs,
        limit=limit,
        source=pools[0].source if pools else None,
        advice="request less in one domain, or ask for a wider level",
    )


def _slices_never(seat: Seat, choices: Sequence[Choice], laid: Floor, hearing: Hearing) -> Finding | None:
    request = seat.podset.topology
    if request is None or request.slice_level is None or not request.slice_size:
        return None
    per_node = [0 if one is None or one.match is NO else one.most for one in rooms_on(seat, choices, laid)]
    most = slices_at_most(_surveys(request.slice_level, laid, hearing), per_node, request.slice_size)
    wanted = slices_wanted(seat.podset.fewest, request.slice_size)
    if most is None or wanted <= most:
        return None
    each = f"{request.slice_size} pods, each in one domain of {request.slice_level}"
    statement = f"{seat.podset.name} needs {wanted} slice(s) of {each} (max {most})"
    open_to = frozenset(at for at, pods in enumerate(per_node) if pods != 0)
    return _never(statement, laid, open_to, wanted, most)


def _checked(found: Finding, members: Sequence[Seated], hearing: Hearing) -> Finding:
    """No proof if profiles leave anything open, or Kueue may not look at topologies."""
    if hearing.topology_aware is not True:
        return unknown(f"{found.statement}, but whether Kueue places by topology is not known", "topology")
    for seat, choices in members:
        found = seat.unless_unsure(found)
        for choice in choices:
            if found.outcome is Outcome.NEVER_FITS:
                found = choice.blocked or qualified(found, choice)
    return found


def promise(seated: Sequence[Seated], gang: Finding, hearing: Hearing) -> Finding:
    """``gang`` (a promise that all of them find nodes), if they surely do so in the domains they need. Raises
    OverBudget."""
    laid = floor(seated, hearing)
    together_in = companies([seat.podset for seat, _ in seated])
    sliced = [seat for seat, _ in seated if seat.podset.topology is not None and seat.podset.topology.slice_level]
    levels = [level for seat, _ in seated for level in _levels(seat.podset.topology)]
    level = together_in[0][0] if together_in else levels[0]
    if len(together_in) == 1 and not sliced:
        inside = frozenset(podset.name for podset in together_in[0][1])
        parts = [part(seat, choices, laid, surely=True) for seat, choices in seated]
        domains = certain(_surveys(level, laid, hearing))
        if beside(parts, inside, laid.lower, domains, hearing.budget).packing.fate is Fate.FITS:
            return gang
    elif not together_in and len(seated) == 1 and _slices_fit(*seated[0], laid, hearing):
        return gang
    return unknown(f"whether a domain of {level} takes all pods that must share it is not known", "topology")


def by_topology(seated: Sequence[Seated], good: Finding) -> Finding:
    """A promise, as far as Kueue's own placement keeps it where a flavor has a topology: it counts only nodes that
    stand, unless a ProvisioningRequest brings more before it looks."""
    for _, choices in seated:
        for choice in choices:
            if choice.topology is None or good.outcome not in GOOD:
                continue
            if good.outcome is Outcome.FITS_AFTER_SCALE_UP and not choice.provisioned:
                return unknown(
                    f"flavor {choice.topology} is placed by topology on nodes that stand, and no ProvisioningRequest "
                    "brings more",
                    "topology",
                )
    return good


def _slices_fit(seat: Seat, choices: Sequence[Choice], laid: Floor, hearing: Hearing) -> bool:
    request = seat.podset.topology
    if request is None or request.slice_level is None or not request.slice_size:
        return False
    per_node = [one.usable if one is not None else 0 for one in rooms_on(seat, choices, laid)]
    surely = slices_surely(_surveys(request.slice_level, laid, hearing), per_node, request.slice_size)
    return surely >= slices_wanted(seat.podset.count, request.slice_size, surely=True)


def scatters(seated: Sequence[Seated], gang: Finding, hearing: Hearing) -> str | None:
    """A warning where an autoscaler that knows no domains may put the nodes of one into several."""
    if gang.outcome not in GOOD or not isinstance(gang.needs, int):
        return None
    laid = floor(seated, hearing)
    for level, _ in companies([seat.podset for seat, _ in seated]):
        text = scattered(level, _surveys(level, laid, hearing), gang.needs)
        if text is not None:
            return text
    return None


def _surveys(level: str, laid: Floor, hearing: Hearing) -> list[Survey]:
    def look() -> list[Survey]:
        recent = hearing.world.nodes_recent
        hearing.budget.glance(sum(len(pool.lives) for pool in laid.pools))
        return [
            survey(pool, level, laid.levels[at], promised(pool, recent), recent=recent)
            for at, pool in enumerate(laid.pools)
        ]

    kept: dict[tuple[Floor, str], tuple[int, list[Survey]]] = hearing.sort("surveys")
    return hearing.budget.recall(kept, (laid, level), look)
