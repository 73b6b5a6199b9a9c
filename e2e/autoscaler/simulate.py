"""Does a set of pods fit, and how many nodes must be added? Pure; Cluster Autoscaler's rules of
reference/capacity.md §1.6: existing nodes first, then new nodes of **one** group, all pods or none.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from classifier.objects import PodSpec, Taint
from e2e.autoscaler.model import NodeGroup
from e2e.autoscaler.shapes import Amounts, admits, amounts, covers, minus, requests

AT_MAXIMUM = "max node group size reached"
NOT_ALL = "not all pods would fit and scale-up is using all-or-nothing strategy"


@dataclass(frozen=True)
class Gang:
    """``count`` pods of one shape."""

    spec: PodSpec
    count: int


@dataclass(frozen=True)
class Place:
    """A node, real or still to come; ``free`` is what no pod and no booking has taken."""

    name: str
    labels: Mapping[str, str]
    taints: Sequence[Taint]
    free: Amounts


@dataclass(frozen=True)
class Outcome:
    """``group`` and ``new_nodes`` say what to add; a group of None with ``fits`` means that nothing need be."""

    fits: bool
    group: str | None = None
    new_nodes: int = 0
    #: Why each group was passed over.
    skipped: Mapping[str, str] = field(default_factory=dict)


def template(group: NodeGroup, name: str) -> Place:
    """An empty node of the group. The hostname of a node that does not exist cannot be known."""
    return Place(name, dict(group.labels), list(group.taints), amounts(group.allocatable))


def place(gangs: Sequence[Gang], places: Sequence[Place]) -> tuple[list[Place], list[Gang]]:
    """Put pods on places, first fit: the places as they are then, and the pods that found none."""
    left = list(places)
    homeless: list[Gang] = []
    for gang in gangs:
        wanted, missing = requests(gang.spec), gang.count
        for index, node in enumerate(left):
            while missing and covers(node.free, wanted) and admits(node.labels, node.taints, gang.spec):
                node = replace(node, free=minus(node.free, wanted))
                missing -= 1
            left[index] = node
        if missing:
            homeless.append(replace(gang, count=missing))
    return left, homeless


def simulate(
    gangs: Sequence[Gang], places: Sequence[Place], groups: Sequence[NodeGroup], target: Mapping[str, int]
) -> Outcome:
    """Whether all ``gangs`` fit on ``places`` plus new nodes of one of ``groups``.

    ``target`` is how many nodes each group has or has asked for. Of several groups the first that fits is taken.
    No groups: existing nodes only, as the check-capacity class has it.
    """
    _, homeless = place(gangs, places)
    if not homeless:
        return Outcome(True)
    skipped: dict[str, str] = {}
    for group in groups:
        room = group.max_nodes - target.get(group.name, 0)
        if room <= 0:
            skipped[group.name] = AT_MAXIMUM
            continue
        needed = _estimate(homeless, group, room)
        if needed is not None:
            return Outcome(True, group.name, needed, skipped)
        skipped[group.name] = NOT_ALL
    return Outcome(False, skipped=skipped)


def _estimate(gangs: Sequence[Gang], group: NodeGroup, room: int) -> int | None:
    """New nodes that hold all ``gangs``, at most ``room``; None if they do not. First fit, largest pods first."""
    shape = amounts(group.allocatable)

    def share(gang: Gang) -> float:
        wanted = requests(gang.spec)
        return sum(wanted.get(name, 0) / shape[name] for name in ("cpu", "memory") if shape.get(name))

    nodes: list[Place] = []
    homeless: Sequence[Gang] = sorted(gangs, key=share, reverse=True)
    while homeless:
        if len(nodes) == room:
            return None
        before = sum(gang.count for gang in homeless)
        filled, homeless = place(homeless, [template(group, f"new-{len(nodes)}")])
        if sum(gang.count for gang in homeless) == before:
            return None
        nodes += filled
    return len(nodes)
