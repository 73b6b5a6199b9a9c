"""One podset against one choice of flavors, by itself: match its pools, divide, and say what binds."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from classifier.fit.budget import Budget
from classifier.fit.finding import Finding, unknown
from classifier.fit.gang import Podset
from classifier.fit.judging.apart import apart
from classifier.fit.judging.choice import Choice, Ground
from classifier.fit.judging.reading import WHO, Reading
from classifier.fit.judging.room import Room, by_scarcity, capacity, nodes_in_order, nodes_needed, room
from classifier.fit.matching.match import NO, UNKNOWN, YES, Labels, Match, match_pod, show_taint, untolerated
from classifier.fit.requests import Amounts
from classifier.fit.supplied.live import Live, one_each
from classifier.fit.supplied.pools import Pool
from classifier.fit.verdict import Outcome
from classifier.objects import Toleration
from classifier.quantity import format_amount, is_extended

#: Pools and labels for which nodes are kept told apart: a list of nodes each.
_TOLD_APART: Final = 512


class ToldApart:
    """The live nodes of a pool, one for all that have the same values of some labels: who asks for no others cannot
    tell them apart. Kept by pool and labels, and forgotten when there are many, or the world is another."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, tuple[Pool, list[Live | None]]] = {}

    def of(self, pool: Pool, keys: Sequence[str]) -> list[Live | None]:
        """None stands for no node at all."""
        key = id(pool), *keys
        found = self._kept.get(key)
        if found is None:
            if len(self._kept) >= _TOLD_APART:
                self._kept.clear()
            some: list[Live | None] = [*one_each(pool.lives, keys)] if keys else [next(iter(pool.lives), None)]
            found = self._kept[key] = pool, some
        return found[1]


@dataclass(frozen=True, slots=True, eq=False)
class Rooms:
    """The pools of one choice as one shape of podset sees them. ``most``: pods they take at most (None: no bound).

    ``held`` and ``ready``: pods that may be promised, on all nodes and on those that stand.
    """

    rooms: tuple[Room, ...]
    most: int | None
    held: int
    ready: int
    #: The pools that may be promised: pods per node and nodes of each, their names, and all their nodes.
    offers: tuple[tuple[int, int], ...]
    pools: str
    limit: int
    source: str
    #: Those of them of which autoscalers tell something.
    told: tuple[Pool, ...]


def see_rooms(
    reading: Reading, choice: Choice, ground: Sequence[Ground], recent: bool, told_apart: ToldApart, budget: Budget
) -> Rooms:
    """``recent``: whether live nodes count as there. Raises OverBudget."""
    budget.spend(reading.effort.reading)
    order = by_scarcity(reading.requests)
    held = [*(reading.spec.tolerations or ()), *choice.tolerations]
    rooms = []
    at_most, effort = reading.requests_at_most, reading.effort
    each = 2 + len(reading.requests) + effort.selecting
    for place in ground:
        pool = place.pool
        budget.spend(each + effort.tolerating * len(pool.taints))
        match, why, foreign = _match(reading, place, held)
        if match is NO and _refuted(reading, place, told_apart, budget):
            match, why = UNKNOWN, f"nodes of pool {pool.name} differ in labels from its profile"
        foreign = foreign and match is NO
        rooms.append(room(order, at_most, reading.alone, pool, match, why, foreign=foreign))
    usable = [one for one in rooms if one.usable]
    if len(choice.flavors) > 1 and len(usable) > 1:
        places = [place for place, one in zip(ground, rooms, strict=True) if one.usable]
        usable = [usable[at] for at in apart(places, budget)]
    offers = tuple((one.usable, promised(one.pool, recent)) for one in usable)
    return Rooms(
        tuple(rooms),
        capacity(rooms),
        held=sum(pods * nodes for pods, nodes in offers),
        ready=sum(one.usable * one.pool.ready for one in usable) if recent else 0,
        offers=tuple(sorted(offers, key=lambda offer: -offer[0])),
        pools=names(one.pool for one in usable),
        limit=sum(nodes for _, nodes in offers),
        source=usable[0].pool.max_source if usable else "",
        told=tuple(one.pool for one in usable if one.pool.facts),
    )


def promised(pool: Pool, recent: bool) -> int:
    """Nodes of the pool that a fit may rest on: those declared, else those that stand."""
    if not recent:
        return pool.declared_nodes or 0
    return pool.ready if pool.sure_nodes is None else pool.sure_nodes


def _match(reading: Reading, place: Ground, held: Sequence[Toleration]) -> tuple[Match, str, bool]:
    """Whether its nodes take the pod, why not or what is not known, and whether that is for a flavor's labels."""
    pool = place.pool
    match, why = match_pod(reading.spec, pool.labels)
    if match is NO:
        return match, f"{WHO} selects {why}, which pool {pool.name} does not have", False
    if match is UNKNOWN:
        return match, f"pool {pool.name} does not say whether its nodes meet {why}", False
    for key, value in place.labels.items():
        if pool.labels.known.get(key) != value:
            # Kueue puts the labels of every flavor it gives on the pod.
            if pool.labels.may_have(key):
                return UNKNOWN, f"pool {pool.name} does not say whether its nodes have {key}={value}", True
            return NO, f"pool {pool.name} of flavor {place.flavor} lacks {key}={value} of a flavor", True
    taint = untolerated(pool.taints, held)
    if taint is not None:
        # A toleration can still be added when the pod is created, so this is no proof (capacity.md §3.12b).
        return UNKNOWN, f"{WHO} does not tolerate {show_taint(taint)} of pool {pool.name}", False
    return YES, "", False


def _refuted(reading: Reading, place: Ground, told_apart: ToldApart, budget: Budget) -> bool:
    """Whether a live node may take the pod although its pool, as declared, does not."""
    pool = place.pool
    if pool.stray:
        return False
    asked = reading.asked.union(place.labels)
    budget.glance(len(asked))
    if not pool.lives:
        budget.spend(reading.effort.selecting)
        return False
    carried = sorted(asked & pool.live_keys)
    budget.glance(len(pool.lives) * len(carried))
    for one in told_apart.of(pool, carried):
        budget.spend(reading.effort.selecting)
        if one is not None:
            labels = Labels(one.labels, complete=True)
            if match_pod(reading.spec, labels)[0] is not NO and _may_be(place.labels, labels):
                return True
    return False


def _may_be(foreign: Mapping[str, str], labels: Labels) -> bool:
    return all(labels.known.get(key) == value or labels.may_have(key) for key, value in foreign.items())


def weigh(podset: Podset, reading: Reading, choice: Choice, seen: Rooms, recent: bool) -> Finding:
    """The outcome by itself: a proof that it never fits, a promise that it does, or why neither can be said.

    ``recent``: whether live nodes count as there.
    """
    if not seen.rooms:
        return unknown(f"flavor {choice.name} has no pool")
    if seen.most is not None and seen.most < podset.fewest:
        proof = _proof(podset, reading.requests, seen.rooms, seen.most)
        return qualified(proof, choice)
    return _promise(podset, reading, choice, seen, recent)


def qualified(proof: Finding, choice: Choice) -> Finding:
    """The proof, unless the profiles contradict themselves or leave open what else there is: then the same numbers
    and no verdict."""
    if choice.fault is not None:
        return Finding(outcome=Outcome.MISCONFIGURED, statement=choice.fault)
    if choice.open is not None:
        return unknown(f"{proof.statement}, and {choice.open}", proof.binding)
    return proof


def _proof(podset: Podset, requests: Amounts, rooms: Sequence[Room], most: int) -> Finding:
    """Why no more than ``most`` pods ever find a place: labels, the size of one pod, or the number of nodes."""
    reachable = [one for one in rooms if one.match is not NO]
    if not reachable and all(one.foreign for one in rooms):
        return Finding(
            outcome=Outcome.MISCONFIGURED, statement=rooms[0].why.replace(WHO, podset.name), binding="selector"
        )
    if not reachable:
        return Finding(
            outcome=Outcome.NEVER_FITS,
            statement=rooms[0].why.replace(WHO, podset.name),
            binding="selector",
            pool=rooms[0].pool.name,
            source=rooms[0].pool.source,
            advice="change the node selector or affinity, or use another queue",
        )
    open_to = [one for one in reachable if one.most != 0]
    if not open_to:
        return _too_big(podset, reachable)
    needed = nodes_needed(podset.fewest, [(one.most or podset.fewest, one.pool.max_nodes) for one in open_to])
    limit = sum(one.pool.max_nodes or 0 for one in open_to)
    least = "at least " if podset.fewest < podset.count else ""
    largest = max(open_to, key=lambda one: one.most or podset.fewest)
    resource = largest.limit.resource if largest.limit else None
    ask = f"request at most {_show_total(most, resource, requests)} or " if most else ""
    return Finding(
        outcome=Outcome.NEVER_FITS,
        statement=f"gang needs {least}{needed} node(s) of {names(one.pool for one in open_to)} (max {limit})",
        binding="nodes",
        pool=names(one.pool for one in open_to),
        resource=resource,
        needs=needed,
        limit=limit,
        source=largest.pool.max_source,
        advice=f"{ask}raise {'the' if len(open_to) == 1 else 'a'} pool's maximum",
        most=most,
    )


def _too_big(podset: Podset, rooms: Sequence[Room]) -> Finding:
    """The pool that comes nearest to one pod speaks for all."""
    nearest, limit = max(
        ((one, one.limit) for one in rooms if one.limit is not None), key=lambda pair: pair[1].offers / pair[1].needs
    )
    resource = limit.resource or "pods"
    needs, offers = show_amount(resource, limit.needs), show_amount(resource, limit.offers)
    has = f"has {offers}" if limit.offers else "has none"
    return Finding(
        outcome=Outcome.NEVER_FITS,
        statement=f"each pod of {podset.name} needs {needs} {resource}, a node of {nearest.pool.name} {has}",
        binding="pod-size",
        pool=nearest.pool.name,
        resource=resource,
        needs=format_amount(resource, limit.needs),
        limit=format_amount(resource, limit.offers),
        source=limit.source,
        advice=f"request at most {offers} {resource} a pod" if limit.offers else "use a queue whose nodes have it",
    )


def _promise(podset: Podset, reading: Reading, choice: Choice, seen: Rooms, recent: bool) -> Finding:
    """``fits`` on figures that are sure; else the first reason why it cannot be said."""
    if reading.doubt is not None:
        return unknown(f"{podset.name} {reading.doubt}")
    if seen.held < podset.count:
        return unknown(_why_not_sure(podset, reading, choice, seen, recent).replace(WHO, podset.name))
    return promised_to(podset.count, seen, some_promised(choice, seen))


def promised_to(count: int, seen: Rooms, some: Finding) -> Finding:
    """That so many pods fit, for there are nodes enough: as is said of ``some``, which are no matter."""
    needed = nodes_in_order(count, seen.offers)
    return msgspec.structs.replace(
        some,
        outcome=Outcome.FITS if seen.ready >= count else Outcome.FITS_AFTER_SCALE_UP,
        statement=f"gang needs {needed} node(s) of {seen.pools} (max {seen.limit})",
        needs=needed,
    )


def some_promised(choice: Choice, seen: Rooms) -> Finding:
    """A promise without its figures."""
    return Finding(
        outcome=Outcome.FITS,
        statement="",
        flavor=choice.name,
        pool=seen.pools,
        limit=seen.limit,
        source=seen.source,
        most=seen.most or seen.held,
        profiles=choice.profiles,
        mode=choice.mode,
        licensed=choice.licensed,
    )


def _why_not_sure(podset: Podset, reading: Reading, choice: Choice, seen: Rooms, recent: bool) -> str:
    if seen.most is not None and seen.most < podset.count:
        return f"room for {seen.most} of {podset.count} pods; the queue may start as few as {podset.fewest}"
    for one in seen.rooms:
        if one.match is not NO and one.why:
            return one.why
    for one in seen.rooms:
        if one.match is not NO and one.pool.max_nodes is None:
            return f"pool {one.pool.name} does not say its maximum"
    if not recent and any(one.usable and one.pool.max_nodes != one.pool.declared_nodes for one in seen.rooms):
        return "gang fits only with nodes that were not seen lately"
    if reading.requests_at_most is not reading.requests:
        return f"pods of {WHO} may take more than they request, by a LimitRange or as Kueue counts"
    if len(choice.flavors) > 1:
        return f"pools of flavors {choice.name} may be the same nodes, which have room for {seen.held} pods"
    return f"live nodes of flavor {choice.name} are larger than declared, which has room for {seen.held} pods"


def names(pools: Iterable[Pool]) -> str:
    found = list(dict.fromkeys(pool.name for pool in pools))
    return ", ".join(found) if len(found) <= 3 else f"{', '.join(found[:2])} and {len(found) - 2} more"


def _show_total(pods: int, resource: str | None, requests: Amounts) -> str:
    if resource is None or resource == "pods":
        return f"{pods} pod(s)"
    return f"{show_amount(resource, pods * requests[resource])} {resource}"


def show_amount(resource: str, value: int) -> str:
    """For a sentence: ``2000 nvidia.com/gpu`` reads better than ``2k``."""
    return str(value) if is_extended(resource) or resource == "pods" else format_amount(resource, value)
