"""Each part by itself: identical pods in empty nodes are a division (reference/capacity.md §3.6)."""

from collections.abc import Mapping, Sequence

from classifier.fit.pack.layout import Rooms
from classifier.fit.pack.packing import Bin, Fate, Packing, Part
from classifier.quantity import is_extended


def alone_on(count: int, rooms: Rooms, nodes: Sequence[int | None]) -> int | None:
    """The fewest of the ``nodes`` of each bin that hold so many pods if no others were there; None: there are not
    enough."""
    used, left = 0, count
    for index, pods in rooms:
        taken, there = -(-left // pods), nodes[index]
        if there is None or taken <= there:
            return used + taken
        used += there
        left -= there * pods
    return None


def stand_alone(count: int, rooms: Rooms, nodes: Sequence[int | None]) -> dict[int, int]:
    """Which those are, by bin, where there are enough."""
    used: dict[int, int] = {}
    left = count
    for index, pods in rooms:
        taken, there = -(-left // pods), nodes[index]
        used[index] = taken if there is None else min(taken, there)
        left -= used[index] * pods
        if left <= 0:
            break
    return used


def never_alone(part: Part, rooms: Rooms, bins: Sequence[Bin]) -> Packing:
    """Why :func:`alone_on` found no place: one pod is too large for every node, or the nodes are too few."""
    if not rooms:
        return _too_large(part, bins)
    limit = sum(bins[index].nodes or 0 for index, _ in rooms)
    missing = part.count - sum(pods * (bins[index].nodes or 0) for index, pods in rooms)
    index, pods = rooms[0]
    return Packing(
        Fate.NEVER,
        binding="nodes",
        part=part.name,
        resource=None if part.alone else _scarcest(part, bins[index].offers),
        needs=limit + -(-missing // pods),
        limit=limit,
        parts=(part.name,),
        bins=frozenset(index for index, _ in rooms),
    )


def _too_large(part: Part, bins: Sequence[Bin]) -> Packing:
    """The bin that comes nearest to one pod speaks for all; without a node at all there is nothing to compare."""
    nearest: tuple[bool, float, str, str, int] | None = None
    for index in part.bins:
        offers, there = bins[index].offers, bins[index].nodes != 0
        short = _scarcest(part, offers)
        if short is not None and offers[short] < part.requests[short]:
            found = (there, offers[short] / part.requests[short], bins[index].key, short, offers[short])
            nearest = found if nearest is None else max(nearest, found)
    if nearest is None:
        return Packing(
            Fate.NEVER, binding="nodes", part=part.name, needs=1, limit=0, parts=(part.name,), bins=part.bins
        )
    resource = nearest[3]
    return Packing(
        Fate.NEVER,
        binding="pod-size",
        part=part.name,
        resource=resource,
        needs=part.requests[resource],
        limit=max(0, nearest[4]),
        parts=(part.name,),
        bins=part.bins,
    )


def _scarcest(part: Part, offers: Mapping[str, int]) -> str | None:
    """What binds the number of pods on one node. Of resources that bind alike, a device's rather than cpu or memory."""
    told = [resource for resource in part.requests if resource in offers]
    if not told:
        return None
    return min(
        told, key=lambda name: (offers[name] // part.requests[name], not is_extended(name), name == "pods", name)
    )
