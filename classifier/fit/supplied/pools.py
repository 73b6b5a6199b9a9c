"""Pools behind a flavor: what profiles declare, raised by what live nodes show (reference/capacity.md §3.1).

Two figures for every resource. ``upper`` is the larger of declared and observed: nothing a node of the pool ever offers
exceeds it, so it may enter a proof of impossibility. ``lower`` is what may be promised: the declared figure, else the
least a live node shows. A resource in neither is unknown.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec

from classifier.fit.budget import Budget
from classifier.fit.facts import PoolFacts, refined_max
from classifier.fit.matching.match import Labels
from classifier.fit.supplied.devices import NO_DEVICES, Devices
from classifier.fit.supplied.faults import legible, readable
from classifier.fit.supplied.live import Figure, Live, Shown, by_labels, lasting
from classifier.objects import CapacityProfile, NodeShape, Taint
from classifier.objects import Pool as DeclaredPool

#: kubelet's default; stands for a pool's undeclared ``pods`` where a fit is promised, never in a proof.
DEFAULT_PODS: Final = 110


@dataclass(frozen=True, slots=True)
class Pool:
    """Nodes of one shape. ``max_nodes`` None: no limit is known. ``declared_nodes``: how many a profile says may be;
    ``sure_nodes``: how many may be promised while live nodes count, declared or there (None: those that are ready)."""

    name: str
    source: str
    labels: Labels
    taints: list[Taint]
    upper: dict[str, Figure]
    lower: dict[str, int]
    complete: bool
    max_nodes: int | None
    declared_nodes: int | None
    sure_nodes: int | None
    max_source: str
    ready: int
    #: Live nodes, and all the labels they have: one that takes a pod refutes any declaration that it cannot.
    lives: Sequence[Live] = ()
    #: No profile declares it: it is made of live nodes, and of nothing more.
    stray: bool = False
    live_keys: frozenset[str] = frozenset()
    #: What autoscalers tell of it; the greater figures are in the bounds above already.
    facts: tuple[PoolFacts, ...] = ()
    #: The domains declared, by name, with the most nodes of each; of the level named by the profile's ``nodeLabel``.
    domains: tuple[tuple[str, int | None], ...] = ()
    level: str | None = None
    #: Labels by which live nodes are known as this pool's.
    members: Mapping[str, str] = field(default_factory=dict)
    #: The whole declaration, where it says by labels of its own which nodes are meant: the same words, the same nodes.
    words: str | None = None
    #: Where it is another flavor's, seen by pods that may use its nodes too: the pool itself, and the flavor.
    borrowed_of: "Pool | None" = None
    devices: Devices = NO_DEVICES
    flavor: str = ""

    def says_all_of(self, resource: str) -> bool:
        """Whether a node has 0 of it where no figure is known. Every kubelet takes pods, so a list without them is no
        statement about them; nor does any list name the devices of a DeviceClass."""
        return self.complete and resource != "pods" and not self.devices.may_serve(resource)


def declared_pool(
    profile: CapacityProfile,
    declared: DeclaredPool,
    flavor_labels: Mapping[str, str],
    shown: Shown,
    facts: tuple[PoolFacts, ...] = (),
    *,
    varying: frozenset[str] = frozenset(),
    now: int | None = None,
    devices: Devices = NO_DEVICES,
) -> Pool:
    """A pool of a profile, with the live nodes that carry its labels and what autoscalers tell of it.

    ``varying``: label keys of which each node has its own value.
    """
    shape = declared.node or NodeShape()
    source = f"CapacityProfile/{profile.name}"
    figures = legible(shape.allocatable)
    complete = shape.allocatable_complete is True and readable(shape.allocatable)
    lower = dict(figures)
    upper = {resource: Figure(value, source) for resource, value in figures.items()}
    lower.setdefault("pods", DEFAULT_PODS)
    told = ((resource, Figure(value, fact.source)) for fact in facts for resource, value in fact.upper.items())
    for resource, figure in (*shown.most.items(), *told):
        listed = resource in upper or (complete and resource != "pods")
        if listed and figure.amount > upper.get(resource, Figure(0, source)).amount:
            upper[resource] = figure
    for resource, value in shown.least.items():
        if resource not in figures and (not complete or resource == "pods"):
            lower[resource] = min(value, lower.get(resource, value))
    for resource, value in legible(shape.daemon_set_reserve).items():
        if resource in upper:
            upper[resource] = Figure(max(0, upper[resource].amount - value), upper[resource].source)
        if resource in lower:
            lower[resource] = max(0, lower[resource] - value)
    maximum = declared.max_nodes if declared.max_nodes is not None and declared.max_nodes >= 0 else None
    most = refined_max(maximum, source, facts, now)
    count = len(shown.lives)
    grown = most.nodes is not None and count > most.nodes
    level = profile.spec.topology.node_label if profile.spec.topology else None
    return Pool(
        name=declared.name or "(unnamed)",
        source=source,
        labels=Labels(
            labels_of(declared, flavor_labels),
            shape.labels_complete is True,
            varying | {level} if level else varying,
        ),
        taints=lasting(shape.taints),
        upper=_listed(upper, devices),
        lower=lower,
        complete=complete,
        devices=devices,
        max_nodes=count if grown else most.nodes,
        declared_nodes=maximum,
        sure_nodes=most.nodes if maximum is None else max(maximum, count),
        max_source=f"Node/{shown.lives[-1].name}" if grown else most.source or source,
        ready=shown.ready,
        lives=shown.lives,
        live_keys=shown.keys,
        facts=facts,
        domains=tuple((domain.name, domain.max_nodes) for domain in declared.domains or ()),
        level=level or None,
        members=declared.node_labels or flavor_labels,
        words=_words(declared),
    )


def _listed(upper: dict[str, Figure], devices: Devices) -> dict[str, Figure]:
    """Without the zeros that say nothing."""
    served = [name for name, figure in upper.items() if figure.amount == 0 and devices.may_serve(name)]
    return {name: figure for name, figure in upper.items() if name not in served} if served else upper


def labels_of(declared: DeclaredPool, flavor_labels: Mapping[str, str]) -> dict[str, str]:
    """What every node of the pool surely carries, by its profile and its flavor."""
    shape = declared.node or NodeShape()
    return {**flavor_labels, **(shape.labels or {}), **(declared.node_labels or {})}


def _words(declared: DeclaredPool) -> str | None:
    if not declared.node_labels:
        return None
    try:
        return msgspec.json.encode(declared, order="sorted").decode()
    except (ValueError, TypeError, OverflowError):
        return None  # nothing that JSON carries


def stray_pools(
    kinds: Iterable[Shown], keys: Iterable[str], budget: Budget, devices: Devices = NO_DEVICES
) -> list[Pool]:
    """Live nodes of a flavor that belong to no declared pool, for a pod that asks for no labels but ``keys``."""
    pools = []
    for kind in kinds:
        carried = [key for key in keys if key in kind.keys]
        budget.glance(len(kind.lives) * len(carried))
        groups = by_labels(kind.lives, carried) if carried else [kind.lives]
        budget.spend(2 * len(groups))
        pools += [_stray(kind, lives, devices) for lives in groups]
    return pools


def _stray(kind: Shown, lives: Sequence[Live], devices: Devices) -> Pool:
    """What they visibly offer is all that counts: the closed profiles speak against anything more."""
    source = f"Node/{lives[0].name}"
    return Pool(
        name=source if len(lives) == 1 else f"{source} and {len(lives) - 1} more",
        source=source,
        labels=Labels(lives[0].labels, complete=True),
        taints=lives[0].taints,
        upper=_listed(kind.most, devices),
        lower=kind.least,
        complete=True,
        devices=devices,
        max_nodes=len(lives),
        declared_nodes=0,
        sure_nodes=len(lives),
        max_source=source,
        ready=kind.ready if lives is kind.lives else sum(live.ready for live in lives),
        lives=lives,
        stray=True,
    )
