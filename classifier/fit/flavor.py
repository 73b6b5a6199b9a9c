"""One podset against one flavor: match its pools, pack, and say what binds."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from classifier.fit.budget import Budget, Effort
from classifier.fit.eligible import tolerations
from classifier.fit.finding import Finding, unknown
from classifier.fit.gang import Podset
from classifier.fit.live import by_labels
from classifier.fit.match import Labels, Match, asked_labels, match_pod, show_taint, untolerated
from classifier.fit.placement import doubt, one_per_node
from classifier.fit.pools import Pool, stray_pools
from classifier.fit.requests import Amounts
from classifier.fit.room import Room, capacity, nodes_needed, room
from classifier.fit.supply import Backing
from classifier.fit.verdict import Outcome
from classifier.objects import PodSpec, ResourceFlavor, Toleration
from classifier.quantity import format_amount, is_extended


@dataclass(frozen=True, slots=True)
class Offer:
    """A flavor as the queue offers it, and what stands behind it.

    ``beside``: the flavors, by name, that other resource groups may add; None for one that is not found. ``recent``:
    whether live nodes count as there.
    """

    flavor: ResourceFlavor
    backing: Backing
    beside: Mapping[str, ResourceFlavor | None]
    recent: bool

    def promised(self, pool: Pool) -> int:
        """Nodes of the pool that a fit may rest on: those declared, else those that stand."""
        if not self.recent:
            return pool.declared_nodes or 0
        return pool.ready if pool.max_nodes is None else pool.max_nodes


def weigh(podset: Podset, requests: Amounts, effort: Effort, offer: Offer, budget: Budget) -> Finding:
    """The outcome on this flavor: a proof that it never fits, a promise that it does, or why neither can be said.

    Raises OverBudget.
    """
    budget.spend(effort.reading)
    asked = asked_labels(podset.spec)
    besides = {key for other in offer.beside.values() if other and other.spec for key in other.spec.node_labels or ()}
    backing = offer.backing
    pools = [*backing.pools, *stray_pools(backing.strays, [*asked | besides], budget)]
    if not pools:
        return unknown(f"flavor {offer.flavor.name} has no pool")
    held = tolerations(podset.spec, offer.flavor)
    alone = one_per_node(podset)
    rooms = []
    for pool in pools:
        budget.spend(2 + len(requests) + effort.selecting + effort.tolerating * len(pool.taints) + len(offer.beside))
        match, why = _match(podset, pool, held, offer)
        if match is Match.NO and _refuted(podset.spec, pool, asked, effort, budget):
            match, why = Match.UNKNOWN, f"nodes of pool {pool.name} differ in labels from its profile"
        rooms.append(room(requests, alone, pool, match, why))
    most = capacity(rooms)
    if most is not None and most < podset.min_count:
        proof = _proof(podset, requests, rooms, most)
        return _open(proof, backing.open) if backing.open else proof
    return _promise(podset, rooms, most, offer)


def _match(podset: Podset, pool: Pool, held: list[Toleration], offer: Offer) -> tuple[Match, str]:
    match, why = match_pod(podset.spec, pool.labels)
    if match is Match.NO:
        return match, f"{podset.name} selects {why}, which pool {pool.name} does not have"
    if match is Match.UNKNOWN:
        return match, f"pool {pool.name} does not say whether its nodes meet {why}"
    taint = untolerated(pool.taints, held)
    if taint is not None:
        # A toleration can still be added when the pod is created, so this is no proof (capacity.md §3.12b).
        return Match.UNKNOWN, f"{podset.name} does not tolerate {show_taint(taint)} of pool {pool.name}"
    for name, other in offer.beside.items():
        labels = (other.spec.node_labels if other and other.spec else None) or {}
        if other is None or not labels.items() <= pool.labels.known.items():
            # Kueue puts the labels of every flavor it gives on the pod.
            return Match.UNKNOWN, f"pool {pool.name} does not say whether its nodes are those of flavor {name}"
    return Match.YES, ""


def _refuted(spec: PodSpec, pool: Pool, asked: set[str], effort: Effort, budget: Budget) -> bool:
    """Whether a live node may take the pod although its pool, as declared, does not."""
    budget.glance(len(asked))
    carried = [key for key in asked if key in pool.live_keys]
    budget.glance(len(pool.lives) * len(carried))
    for lives in by_labels(pool.lives, carried) if carried else [pool.lives[:1]]:
        budget.spend(effort.selecting)
        if any(match_pod(spec, Labels(live.labels, complete=True))[0] is not Match.NO for live in lives[:1]):
            return True
    return False


def _proof(podset: Podset, requests: Amounts, rooms: list[Room], most: int) -> Finding:
    """Why no more than ``most`` pods ever find a place: labels, the size of one pod, or the number of nodes."""
    reachable = [one for one in rooms if one.match is not Match.NO]
    if not reachable:
        return Finding(
            outcome=Outcome.NEVER_FITS,
            statement=rooms[0].why,
            binding="selector",
            pool=rooms[0].pool.name,
            source=rooms[0].pool.source,
            advice="change the node selector or affinity, or use another queue",
        )
    open_to = [one for one in reachable if one.most != 0]
    if not open_to:
        return _too_big(podset, reachable)
    needed = nodes_needed(podset.min_count, [(one.most or podset.min_count, one.pool.max_nodes) for one in open_to])
    limit = sum(one.pool.max_nodes or 0 for one in open_to)
    least = "at least " if podset.min_count < podset.count else ""
    largest = max(open_to, key=lambda one: one.most or podset.min_count)
    resource = largest.limit.resource if largest.limit else None
    ask = f"request at most {_show_total(most, resource, requests)} or " if most else ""
    return Finding(
        outcome=Outcome.NEVER_FITS,
        statement=f"gang needs {least}{needed} node(s) of {_names(open_to)} (max {limit})",
        binding="nodes",
        pool=_names(open_to),
        resource=resource,
        needs=needed,
        limit=limit,
        source=largest.pool.max_source,
        advice=f"{ask}raise {'the' if len(open_to) == 1 else 'a'} pool's maximum",
        most=most,
    )


def _too_big(podset: Podset, rooms: list[Room]) -> Finding:
    """The pool that comes nearest to one pod speaks for all."""
    nearest, limit = max(
        ((one, one.limit) for one in rooms if one.limit is not None), key=lambda pair: pair[1].offers / pair[1].needs
    )
    resource = limit.resource or "pods"
    needs, offers = _show(resource, limit.needs), _show(resource, limit.offers)
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


def _promise(podset: Podset, rooms: list[Room], most: int | None, offer: Offer) -> Finding:
    """``fits`` on figures that are sure; else the first reason why it cannot be said."""
    usable = [one for one in rooms if one.usable]
    held = sum(one.usable * offer.promised(one.pool) for one in usable)
    hidden = doubt(podset)
    if hidden is not None:
        return unknown(f"{podset.name} {hidden}")
    if held >= podset.count:
        needed = nodes_needed(podset.count, [(one.usable, offer.promised(one.pool)) for one in usable])
        ready = offer.recent and sum(one.usable * one.pool.ready for one in usable) >= podset.count
        limit = sum(offer.promised(one.pool) for one in usable)
        return Finding(
            outcome=Outcome.FITS if ready else Outcome.FITS_AFTER_SCALE_UP,
            statement=f"gang needs {needed} node(s) of {_names(usable)} (max {limit})",
            pool=_names(usable),
            needs=needed,
            limit=limit,
            source=usable[0].pool.max_source if usable else None,
            most=most or held,
        )
    return unknown(_why_not_sure(podset, rooms, most, held, offer))


def _why_not_sure(podset: Podset, rooms: list[Room], most: int | None, held: int, offer: Offer) -> str:
    if most is not None and most < podset.count:
        return f"room for {most} of {podset.count} pods; the queue may start as few as {podset.min_count}"
    for one in rooms:
        if one.match is not Match.NO and one.why:
            return one.why
    for one in rooms:
        if one.match is not Match.NO and one.pool.max_nodes is None:
            return f"pool {one.pool.name} does not say its maximum"
    if not offer.recent and any(one.usable and one.pool.max_nodes != one.pool.declared_nodes for one in rooms):
        return "gang fits only with nodes that were not seen lately"
    return f"live nodes of flavor {offer.flavor.name} are larger than declared, which has room for {held} pods"


def _open(proof: Finding, open_profiles: tuple[str, ...]) -> Finding:
    """In an open world other pools may exist: the same numbers, no verdict."""
    return replace(
        proof,
        outcome=Outcome.UNKNOWN,
        statement=f"{proof.statement}, and {', '.join(open_profiles)} is not closed: there may be other pools",
        advice=None,
    )


def _names(rooms: list[Room]) -> str:
    names = list(dict.fromkeys(one.pool.name for one in rooms))
    return ", ".join(names) if len(names) <= 3 else f"{', '.join(names[:2])} and {len(names) - 2} more"


def _show_total(pods: int, resource: str | None, requests: Amounts) -> str:
    if resource is None or resource == "pods":
        return f"{pods} pod(s)"
    return f"{_show(resource, pods * requests[resource])} {resource}"


def _show(resource: str, value: int) -> str:
    """For a sentence: ``2000 nvidia.com/gpu`` reads better than ``2k``."""
    return str(value) if is_extended(resource) or resource == "pods" else format_amount(resource, value)
