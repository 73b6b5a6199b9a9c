"""Live nodes as preflight sees them: one by one, and what those of one pool show together."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from classifier.fit.supplied.faults import legible
from classifier.objects import Node, Quantity, Taint
from classifier.quantity import is_extended

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


@dataclass(frozen=True, slots=True)
class Live:
    """One node. Nodes of one ``kind`` differ in labels, and in amounts by a few per cent at most."""

    name: str
    labels: Mapping[str, str]
    taints: list[Taint]
    offer: dict[str, int]
    ready: bool
    kind: Hashable


@dataclass(frozen=True, slots=True)
class Shown:
    """``most`` and ``least`` any of the nodes has of each resource, where one shows it."""

    lives: Sequence[Live]
    most: dict[str, Figure]
    least: dict[str, int]
    ready: int
    #: Every label that one of them carries.
    keys: frozenset[str]


def see(node: Node) -> Live:
    taints = lasting(node.spec.taints if node.spec else None)
    offer = legible(_offer_of(node))
    sizes = frozenset((resource, _about(resource, value)) for resource, value in offer.items())
    kind = (tuple((taint.key, taint.value, taint.effect) for taint in taints), sizes)
    return Live(node.name, node.metadata.labels or {}, taints, offer, _is_ready(node), kind)


def tell_the_same(one: Node, other: Node) -> bool:
    """Whether :func:`see` sees the same in two copies of one node: most of what a kubelet reports is no news."""
    return (
        one.name == other.name
        and one.metadata.labels == other.metadata.labels
        and one.spec == other.spec
        and _offer_of(one) == _offer_of(other)
        and _is_ready(one) == _is_ready(other)
    )


def show(lives: Sequence[Live]) -> Shown:
    most: dict[str, Figure] = {}
    least: dict[str, int] = {}
    for live in lives:
        for resource, value in live.offer.items():
            if resource not in most or value > most[resource].amount:
                most[resource] = Figure(value, f"Node/{live.name}")
            if resource not in least or value < least[resource]:
                least[resource] = value
    keys = frozenset[str]().union(*(live.labels for live in lives))
    return Shown(lives, most, least, sum(live.ready for live in lives), keys)


def by_kind(lives: Iterable[Live]) -> list[Shown]:
    """The nodes apart by kind."""
    kinds: dict[Hashable, list[Live]] = {}
    for live in lives:
        kinds.setdefault(live.kind, []).append(live)
    return [show(some) for some in kinds.values()]


def by_labels(lives: Iterable[Live], keys: Sequence[str]) -> list[list[Live]]:
    """The nodes apart by the values of these labels: who asks for no other cannot tell those of one group apart."""
    groups: dict[Hashable, list[Live]] = {}
    for live in lives:
        groups.setdefault(tuple(map(live.labels.get, keys)), []).append(live)
    return list(groups.values())


def one_each(lives: Iterable[Live], keys: Sequence[str]) -> list[Live]:
    """The first of each of these groups."""
    found: dict[Hashable, Live] = {}
    for live in lives:
        found.setdefault(tuple(map(live.labels.get, keys)), live)
    return list(found.values())


def lasting(taints: Iterable[Taint] | None) -> list[Taint]:
    return [taint for taint in taints or () if not taint.key.startswith(_LIFECYCLE)]


def _about(resource: str, value: int) -> Hashable:
    """Devices are counted; of cpu and memory no two machines have the same, so what is within a sixteenth is alike."""
    if is_extended(resource):
        return value
    magnitude = max(0, value.bit_length() - 5)
    return magnitude, value >> magnitude


def _offer_of(node: Node) -> Mapping[str, Quantity] | None:
    """Allocatable, or capacity where that is all a node tells."""
    return (node.status.allocatable or node.status.capacity) if node.status else None


def _is_ready(node: Node) -> bool:
    return (
        node.status is not None
        and node.status.is_true("Ready")
        and not (node.spec is not None and node.spec.unschedulable)
        and node.metadata.deletion_timestamp is None
    )
