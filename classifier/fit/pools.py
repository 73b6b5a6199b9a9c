"""Pools behind a flavor: what profiles declare, raised by what live nodes show (reference/capacity.md §3.1).

Two figures for every resource. ``upper`` is the larger of declared and observed: nothing a node of the pool ever offers
exceeds it, so it may enter a proof of impossibility. ``lower`` is what may be promised: the declared figure, else the
least a live node shows. A resource in neither is unknown.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from classifier.fit.faults import legible, readable
from classifier.fit.match import Labels
from classifier.objects import CapacityProfile, Node, NodeShape, Quantity, ResourceFlavor, Taint
from classifier.objects import Pool as DeclaredPool

#: kubelet's default; stands for a pool's undeclared ``pods`` where a fit is promised, never in a proof.
DEFAULT_PODS: Final = 110

#: Taints of a node's life cycle: gone from a node that is up (reference/capacity.md §1.7).
_LIFECYCLE: Final = (
    "node.kubernetes.io/",
    "node.cloudprovider.kubernetes.io/",
    "ToBeDeletedByClusterAutoscaler",
    "DeletionCandidateOfClusterAutoscaler",
    "startup-taint.cluster-autoscaler.kubernetes.io/",
    "ignore-taint.cluster-autoscaler.kubernetes.io/",
)


class Figure(NamedTuple):
    amount: int
    #: ``CapacityProfile/gpu-a100-8`` or ``Node/gpu-1``.
    source: str


@dataclass(slots=True)
class Pool:
    """Nodes of one shape. ``max_nodes`` None: no limit is known. ``declared_nodes``: how many a profile says may be."""

    name: str
    source: str
    labels: Labels
    taints: list[Taint]
    upper: dict[str, Figure]
    lower: dict[str, int]
    complete: bool
    max_nodes: int | None
    declared_nodes: int | None
    max_source: str
    ready: int
    #: Labels of the live nodes: a live node that takes a pod refutes any declaration that it cannot.
    live_labels: list[Mapping[str, str]] = field(default_factory=list)

    def says_all_of(self, resource: str) -> bool:
        """Whether a node has 0 of it where no figure is known. Every kubelet takes pods, so a list without them is no
        statement about them."""
        return self.complete and resource != "pods"


def pools_behind(flavor: ResourceFlavor, profiles: list[CapacityProfile], nodes: list[Node] | None) -> list[Pool]:
    """Every pool the profiles list for the flavor, then each live node of the flavor that belongs to none of them.

    Such a stray node is capacity the profiles do not know; that they are closed does not make it vanish.
    """
    flavor_labels = (flavor.spec.node_labels if flavor.spec else None) or {}
    strays = {node.name: node for node in nodes or () if _carries(node, flavor_labels)}
    pools = []
    for profile in profiles:
        for declared in profile.spec.pools or ():
            labels = declared.node_labels or flavor_labels
            members = [node for node in nodes or () if _carries(node, labels)]
            for node in members:
                strays.pop(node.name, None)
            pools.append(_pool(profile, declared, flavor_labels, members))
    return pools + [_stray(node) for node in strays.values()]


def _pool(
    profile: CapacityProfile, declared: DeclaredPool, flavor_labels: Mapping[str, str], members: list[Node]
) -> Pool:
    shape = declared.node or NodeShape()
    source = f"CapacityProfile/{profile.name}"
    figures = legible(shape.allocatable)
    lower = dict(figures)
    upper = {resource: Figure(value, source) for resource, value in figures.items()}
    complete = shape.allocatable_complete is True and readable(shape.allocatable)
    lower.setdefault("pods", DEFAULT_PODS)
    for node in members:
        for resource, value in _offer(node).items():
            listed = resource in upper or (complete and resource != "pods")
            if listed and value > upper.get(resource, Figure(0, source)).amount:
                upper[resource] = Figure(value, f"Node/{node.name}")
            if resource not in figures and (not complete or resource == "pods"):
                lower[resource] = min(value, lower.get(resource, value))
    for resource, value in legible(shape.daemon_set_reserve).items():
        if resource in upper:
            upper[resource] = Figure(max(0, upper[resource].amount - value), upper[resource].source)
        if resource in lower:
            lower[resource] = max(0, lower[resource] - value)
    maximum = declared.max_nodes if declared.max_nodes is not None and declared.max_nodes >= 0 else None
    grown = maximum is not None and len(members) > maximum
    return Pool(
        name=declared.name or "(unnamed)",
        source=source,
        labels=Labels(
            {**flavor_labels, **(shape.labels or {}), **(declared.node_labels or {})}, shape.labels_complete is True
        ),
        taints=_lasting(shape.taints),
        upper=upper,
        lower=lower,
        complete=complete,
        max_nodes=len(members) if grown else maximum,
        declared_nodes=maximum,
        max_source=f"Node/{members[-1].name}" if grown else source,
        ready=sum(1 for node in members if _is_ready(node)),
        live_labels=[node.metadata.labels or {} for node in members],
    )


def _stray(node: Node) -> Pool:
    """What it visibly offers is all that counts: the closed profiles speak against anything more."""
    offer, source = _offer(node), f"Node/{node.name}"
    labels = node.metadata.labels or {}
    return Pool(
        name=source,
        source=source,
        labels=Labels(labels, complete=True),
        taints=_lasting(node.spec.taints if node.spec else None),
        upper={resource: Figure(value, source) for resource, value in offer.items()},
        lower=offer,
        complete=True,
        max_nodes=1,
        declared_nodes=0,
        max_source=source,
        ready=int(_is_ready(node)),
        live_labels=[labels],
    )


def _offer(node: Node) -> dict[str, int]:
    """Allocatable, or capacity where that is all a node tells."""
    status = node.status
    quantities: Mapping[str, Quantity] | None = (status.allocatable or status.capacity) if status else None
    return legible(quantities)


def _is_ready(node: Node) -> bool:
    return (
        node.status is not None
        and node.status.is_true("Ready")
        and not (node.spec is not None and node.spec.unschedulable)
        and node.metadata.deletion_timestamp is None
    )


def _carries(node: Node, labels: Mapping[str, str]) -> bool:
    return labels.items() <= (node.metadata.labels or {}).items()


def _lasting(taints: Iterable[Taint] | None) -> list[Taint]:
    return [taint for taint in taints or () if not taint.key.startswith(_LIFECYCLE)]
