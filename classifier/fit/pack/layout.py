"""Parts and bins as numbers, whatever the number of pods: what one node takes of each part, empty or begun.

Whoever packs the same shapes into the same bins again keeps the layout: what is left then are sums over counts. Nodes
fill up in few ways, each of which is worked out once.
"""

from collections.abc import Hashable, Sequence
from functools import cached_property
from operator import ge, mul
from typing import Any, Final

from classifier.fit.pack.packing import ENDLESS, Bin, Part

#: The bins that hold at least one pod of a part, with how many a node holds: fullest first, then by key.
Rooms = Sequence[tuple[int, int]]
#: Parts, by their number, each with its rooms.
Placed = Sequence[tuple[int, Rooms]]

_NOT_ASKED: Final = -1


class Node:
    """A node ``open`` to some of the parts, as the pods on it have left it. ``takes`` so many more pods of each part,
    where that was asked.

    ``after``: by part and number of pods put on it, what it is then; None where it takes no pod of any part.
    """

    __slots__ = ("after", "free", "open", "ports", "takes")

    def __init__(self, open_: frozenset[int], free: tuple[int, ...], ports: frozenset[str], parts: int) -> None:
        self.open, self.free, self.ports = open_, free, ports
        self.takes = [_NOT_ASKED] * parts
        self.after: dict[tuple[int, int], Node | None] = {}


class Layout:
    """Of parts in the order of their names; their counts mean nothing here.

    ``known`` has an entry for everything a layout comes to hold, for whoever bounds what is kept; others may share it.
    """

    def __init__(self, parts: Sequence[Part], bins: Sequence[Bin], known: dict[Hashable, Any] | None = None) -> None:
        self.parts, self.bins = parts, bins
        resources = sorted({resource for part in parts for resource in part.requests})
        self._needs = [
            tuple((at, part.requests[name]) for at, name in enumerate(resources) if name in part.requests)
            for part in parts
        ]
        self._columns = [[part.requests.get(name, 0) for part in parts] for name in resources]
        #: Who has less of anything than the least that any part needs is of no use to any.
        self._least = [min(column) for column in self._columns]
        self._offers = [tuple(one.offers.get(name, ENDLESS) for name in resources) for one in bins]
        self._rooms: list[Rooms | None] = [None] * len(parts)
        self._fewer: list[dict[int, Rooms]] = [{} for _ in parts]
        self._emptiest: list[dict[int, Rooms]] = [{} for _ in parts]
        self._empty: dict[int, Node] = {}
        self._known = known if known is not None else {}
        self._scarce: list[tuple[Sequence[int], int]] | None = None
        #: Of each bin; and whether of some there are nodes without end.
        self.nodes = [one.nodes for one in bins]
        self.endless = None in self.nodes
        #: Steps to look at every part and bin once.
        self.cost = 1 + sum(len(part.bins) for part in parts) // 4

    def rooms(self, which: int, count: int) -> Rooms:
        """A node holds no more of the part than there are."""
        rooms = self._rooms[which]
        if rooms is None:
            rooms = self._rooms[which] = self._known[self, which] = self._look(which)
        if not rooms or count >= rooms[0][1]:
            return rooms
        kept = self._fewer[which]
        fewer = kept.get(count)
        if fewer is None:
            some = sorted(rooms, key=lambda room: self.bins[room[0]].key)
            fewer = sorted(((at, min(pods, count)) for at, pods in some), key=lambda room: -room[1])
            kept[count] = self._known[self, which, count] = fewer
        return fewer

    def placed(self, counts: Sequence[int]) -> Placed:
        """The parts of which there are any. The very same as long as there are enough of each to fill a node."""
        if all(map(ge, counts, self.fullest)):
            return self.every
        return [(which, self.rooms(which, count)) for which, count in enumerate(counts) if count > 0]

    @cached_property
    def every(self) -> Placed:
        """All parts with all their rooms."""
        return [(which, self.rooms(which, ENDLESS)) for which in range(len(self.parts))]

    @cached_property
    def fullest(self) -> list[int]:
        """Pods of each part on the node that takes most of them, 1 where none takes any."""
        return [rooms[0][1] if rooms else 1 for _, rooms in self.every]

    @cached_property
    def even(self) -> list[int] | None:
        """Pods of each part that all nodes together take by themselves, where each that takes any takes the same."""
        if self.endless or any(not rooms or rooms[0][1] != rooms[-1][1] for _, rooms in self.every):
            return None
        return [sum((self.nodes[at] or 0) * pods for at, pods in rooms) for _, rooms in self.every]

    def largest_first(self, placed: Placed) -> Placed:
        """Fewest pods a node first: that is the largest share of one."""
        return self._largest_first if placed is self.every else _by_share(placed)

    @cached_property
    def _largest_first(self) -> Placed:
        return _by_share(self.every)

    def emptiest(self, which: int, rooms: Rooms) -> Rooms:
        """The same rooms, those of the fewest pods first. They differ by the most that one holds."""
        if rooms[0][1] == rooms[-1][1]:
            return rooms
        kept = self._emptiest[which]
        found = kept.get(rooms[0][1])
        if found is None:
            found = sorted(rooms, key=lambda room: (room[1], self.bins[room[0]].key))
            kept[rooms[0][1]] = self._known[self, which, -rooms[0][1]] = found
        return found

    def fewest(self, counts: Sequence[int]) -> int:
        """Fewer nodes never hold so many pods: they ask for so much of a resource in all, and no node has more than
        some. Parts of which there are 0 are not there."""
        scarce = self._scarce
        if scarce is None or 0 in counts:
            scarce = self._scarcest([which for which, count in enumerate(counts) if count])
            if 0 not in counts:
                self._scarce = scarce
        found = 0
        for column, offered in scarce:
            found = max(found, -(-sum(map(mul, counts, column)) // offered))
        return found

    def _scarcest(self, some: Sequence[int]) -> list[tuple[Sequence[int], int]]:
        """Of each resource what these parts need, and the most that a node open to any of them has of it; without
        those of which each part takes no larger a share of that than of another."""
        open_to = {at for which in some for at, _ in self.rooms(which, ENDLESS)}
        offers = [self._offers[at] for at in open_to]
        found: list[tuple[Sequence[int], int]] = []
        for at, column in enumerate(self._columns):
            offered = max((offer[at] for offer in offers), default=ENDLESS)
            if not 0 < offered < ENDLESS or any(_no_more(column, offered, *other) for other in found):
                continue
            found = [other for other in found if not _no_more(*other, column, offered)]
            found.append((column, offered))
        return found

    def empty(self, at: int) -> Node:
        """A node of the bin. Bins whose nodes fill up in the same ways have the same."""
        found = self._empty.get(at)
        if found is None:
            open_ = frozenset(which for which, part in enumerate(self.parts) if at in part.bins)
            found = self._empty[at] = self._node(open_, self._binding(self._offers[at]), frozenset())
        return found

    def _binding(self, offers: tuple[int, ...]) -> tuple[int, ...]:
        """Without what can never run out before something else does: of a node's share of that, every pod takes at
        least as much. Where no part is short of memory for its devices, nodes that differ in memory are the same."""
        left = list(offers)
        for at, offered in enumerate(offers):
            for other, scarce in enumerate(left):
                most, least = self._ratios[at][other]
                if other != at and 0 < scarce < ENDLESS and most * scarce <= offered * least:
                    left[at] = ENDLESS
                    break
        return tuple(left)

    @cached_property
    def _ratios(self) -> list[list[tuple[int, int]]]:
        """Of each two resources, what the part that takes most of the one for the other takes of both."""

        def most(one: list[int], other: list[int]) -> tuple[int, int]:
            found = 0, 1
            for more, less in zip(one, other, strict=True):
                if more * found[1] > found[0] * less:
                    found = more, less
            return found

        return [[most(one, other) for other in self._columns] for one in self._columns]

    def takes(self, node: Node, which: int) -> int:
        """Pods of the part that it takes beside those that it has."""
        found = node.takes[which]
        if found == _NOT_ASKED:
            part = self.parts[which]
            shut = which not in node.open or (part.ports and part.ports & node.ports)
            found = node.takes[which] = 0 if shut else self._holds(which, node.free)
        return found

    def put(self, node: Node, which: int, pods: int) -> Node | None:
        """The node with so many pods of the part; None where no other pod finds room on it then."""
        key = which, pods
        found = node.after.get(key, node)
        if found is not node:
            return found
        free = list(node.free)
        for at, need in self._needs[which]:
            free[at] -= pods * need
        found = None
        if all(have >= least for have, least in zip(free, self._least, strict=True)):
            found = self._node(node.open, tuple(free), node.ports | self.parts[which].ports)
        else:
            self._known[node, key] = None
        node.after[key] = found
        return found

    def _node(self, open_: frozenset[int], free: tuple[int, ...], ports: frozenset[str]) -> Node:
        key = self, open_, free, ports
        found: Node | None = self._known.get(key)
        if found is None:
            found = self._known[key] = Node(open_, free, ports, len(self.parts))
        return found

    def _look(self, which: int) -> Rooms:
        found = [
            (at, pods)
            for at in self.parts[which].bins
            if self.bins[at].nodes != 0 and (pods := self._holds(which, self._offers[at]))
        ]
        return sorted(found, key=lambda room: (-room[1], self.bins[room[0]].key))

    def _holds(self, which: int, free: Sequence[int]) -> int:
        """Pods of the part that fit into what is free; of a part whose pods stand alone one."""
        most = 1 if self.parts[which].alone else ENDLESS
        for at, need in self._needs[which]:
            room = free[at]
            if room < most * need:
                most = room // need
        return max(0, most)


def _by_share(placed: Placed) -> Placed:
    by_share = sorted([(rooms[0][1], len(rooms), which, rooms) for which, rooms in placed])
    return [(which, rooms) for _, _, which, rooms in by_share]


def _no_more(needs: Sequence[int], offered: int, others: Sequence[int], other: int) -> bool:
    """Whether no part's share of what is offered is larger than its share of the other."""
    return all(need * other <= more * offered for need, more in zip(needs, others, strict=True))
