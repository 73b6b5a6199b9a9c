"""Each part by itself: identical pods in empty nodes are a division (reference/capacity.md §3.6)."""

from collections.abc import Mapping, Sequence

from classifier.fit.pack.packing import Bin, Fate, Packing, Part
from classifier.quantity import is_extended

#: The bins that hold at least one pod of a part, with how many a node holds: fullest first, then by key.
Rooms = list[tuple[int, int]]


def per_node(part: Part, offers: Mapping[str, int]) -> int:
    """Pods of the part that a node with this much room takes; no more than there are."""
    most = 1 if part.alone and part.count > 1 else part.count
    for resource, needs in part.requests.items():
        room = offers.get(resource)
        if room is not None and room < most * needs:
            most = room // needs
    return max(0, most)


def rooms_of(part: Part, bins: Sequence[Bin]) -> Rooms:
    rooms = []
    for index in part.bins:
        one = bins[index]
        if one.nodes != 0:
            pods = per_node(part, one.offers)
            if pods:
                rooms.append((index, pods))
    if len(rooms) > 1:
        rooms.sort(key=lambda room: (-room[1], bins[room[0]].key))
    return rooms


def stand_alone(part: Part, rooms: Rooms, bins: Sequence[Bin]) -> dict[int, int] | None:
    """The fewest nodes that hold the part if no other were there; None: there are not enough."""
    nodes: dict[int, int] = {}
    left = part.count
    for index, pods in rooms:
        there = bins[index].nodes
        taken = -(-left // pods)
        if there is not None and there < taken:
            taken = there
        nodes[index] = taken
        left -= taken * pods
        if left <= 0:
            return nodes
    return None


def never_alone(part: Part, rooms: Rooms, bins: Sequence[Bin]) -> Packing:
    """Why :func:`stand_alone` found no place: one pod is too large for every node, or the nodes are too few."""
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
