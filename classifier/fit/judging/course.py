"""The short way: a gang of shapes that were judged before in this world, and fitted, needs only its counts looked at.

Most gangs fit where Kueue's first flavors put them, and hear nothing else that hangs on how large they are. What their
shapes come to beside each other is worked out once, from a gang that went the long way (``assign.py``), and is a
*course* for the next. It is kept by queue and shapes, with all else that is known of this state of the world, and
forgotten with it. A course says what the long way would, for as many steps; whatever is not plain goes that way.
"""

from collections.abc import Hashable, Sequence
from operator import gt, mul
from typing import Final, NamedTuple

from msgspec.structs import replace

from classifier.fit import advice
from classifier.fit.budget import Budget, OverBudget
from classifier.fit.finding import GOOD, Finding
from classifier.fit.gang import Podset
from classifier.fit.judging import domain
from classifier.fit.judging.choice import Choice
from classifier.fit.judging.found import Told, adding_up, tell_one
from classifier.fit.judging.hearing import Hearing
from classifier.fit.judging.joint import Floor, Seated, Table, by_number, floor, promised_in, table
from classifier.fit.judging.room import nodes_in_order
from classifier.fit.judging.seat import Seat, resting_on
from classifier.fit.judging.weigh import Rooms, promised_to, some_promised
from classifier.fit.pack.exact import MAX_STEPS
from classifier.fit.pack.greedy import greedy
from classifier.fit.supplied.pools import Pool
from classifier.fit.verdict import Outcome

#: Laying a course is no job's to pay for.
_ENDLESS: Final = 1 << 40

FITS: Final = Outcome.FITS
GROWS: Final = Outcome.FITS_AFTER_SCALE_UP

#: The outcome, and how often nodes were packed: what the long way takes hangs on that.
Way = tuple[Outcome, int]
#: Instead of that, where the long way searches for a third packing: nobody knows how long.
_SEARCHED: Final = 3


class Courses:
    """Those of one queue, by the shapes of a gang."""

    def __init__(self, hearing: Hearing) -> None:
        self._hearing = hearing
        #: None for shapes that came once: the world may be another before they come again.
        self._kept: dict[Hashable, Course | None] = hearing.sort("courses")

    def run(self, key: Hashable, podsets: Sequence[Podset]) -> Told | None:
        """What the long way would find; None where nobody knows without going it."""
        course = self._kept.get(key)
        if course is None:
            return None
        try:
            return course.run(podsets, Budget(self._hearing.budget.left))
        except OverBudget:
            return None

    def learn(self, key: Hashable, seats: Sequence[Seat], found: Told, spent: int) -> None:
        """From a gang that went the long way, and what it spent there."""
        if found.gang.outcome not in GOOD or found.gang.tight or found.notes:
            return
        if key not in self._kept:
            self._kept[key] = None
            return
        hearing = self._hearing
        hearing.budget = Budget(_ENDLESS)
        course = self._kept[key] or lay(seats, found, hearing)
        if course is not None and course.learn([seat.podset for seat in seats], found, spent):
            self._kept[key] = course


class Place(NamedTuple):
    """Where a podset stands, and what is promised to any number of its pods. Holds for up to ``most``."""

    rooms: Rooms
    some: Finding
    most: int


class Quota(NamedTuple):
    """What a pod of each podset takes of some resource of a flavor, and what the queue may use of that."""

    amounts: tuple[int, ...]
    limit: int


class Beside(NamedTuple):
    """The places of all podsets at once: nodes that are surely there, and those of them that stand, if any do."""

    laid: Floor
    lower: Table
    ready: Table | None


class Course:
    """``rests_on``: the profiles of all its flavors. Gangs of more than ``most_nodes`` hear more."""

    def __init__(
        self,
        places: Sequence[Place],
        quotas: Sequence[Quota],
        beside: Beside | None,
        rests_on: Finding,
        most_nodes: int | None,
        pools: tuple[Pool, ...],
    ) -> None:
        self._places, self._quotas, self._beside = places, quotas, beside
        self._rests_on, self._most_nodes, self._pools = rests_on, most_nodes, pools
        #: Of each place, what is asked of it for every gang.
        self._most = [place.most for place in places]
        self._offers = [(*_fullest(place.rooms.offers), place.rooms.offers) for place in places]
        self._told = [(tell_one("", 0, place.some), place.rooms.ready) for place in places]
        self._profiles = [place.some.profiles for place in places]
        #: What the long way takes, without the packing; never less than that.
        self._steps: dict[Way, int] = {}

    def run(self, podsets: Sequence[Podset], budget: Budget) -> Told | None:
        """Raises OverBudget."""
        found, way = self._go(podsets, budget)
        if found is None or way not in self._steps:
            return None
        budget.spend(self._steps[way] + (MAX_STEPS if way[1] == _SEARCHED else 0))
        return found

    def learn(self, podsets: Sequence[Podset], found: Told, spent: int) -> bool:
        """Whether the course leads where the long way did, for what that ``spent``."""
        budget = Budget(_ENDLESS)
        own, way = self._go(podsets, budget)
        if own != found:
            return False
        self._steps[way] = spent - (_ENDLESS - budget.left)
        return True

    def _go(self, podsets: Sequence[Podset], budget: Budget) -> tuple[Told | None, Way]:
        counts = [podset.count for podset in podsets]
        if min(counts) <= 0 or any(map(gt, counts, self._most)):
            return _NOT_HERE
        if any(map(gt, counts, [podset.min_count for podset in podsets])):
            return _NOT_HERE
        for amounts, limit in self._quotas:
            if sum(map(mul, counts, amounts)) > limit:
                return _NOT_HERE
        needs = [
            -(-count // pods) if count <= first else nodes_in_order(count, offers)
            for count, (pods, first, offers) in zip(counts, self._offers, strict=True)
        ]
        if self._beside is None:
            gang, packed = promised_to(counts[0], self._places[0].rooms, self._places[0].some), 0
        else:
            largest = self._places[needs.index(max(needs))].some.flavor
            together, packed = _together(self._beside, largest, counts, budget)
            if together is None:
                return _NOT_HERE
            gang = together
        nodes, own = gang.needs, self._rests_on
        if not isinstance(nodes, int) or (self._most_nodes is not None and nodes > self._most_nodes):
            return _NOT_HERE
        each = [
            replace(one, name=podset.name, count=count, verdict=FITS if ready >= count else GROWS, needs=adds)
            for podset, count, adds, (one, ready) in zip(
                podsets, counts, adding_up(needs, nodes), self._told, strict=True
            )
        ]
        gang = replace(gang, profiles=own.profiles, mode=own.mode, licensed=own.licensed)
        return Told(gang, each, self._profiles, (), self._pools), (gang.outcome, packed)


def _fullest(offers: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Pods of a node of the pool whose nodes take most, and of all its nodes: most gangs need no other."""
    pods, nodes = offers[0] if offers else (1, 0)
    return pods, pods * nodes


_NOT_HERE: Final[tuple[None, Way]] = None, (Outcome.UNKNOWN, 0)


def _together(beside: Beside, largest: str | None, counts: Sequence[int], budget: Budget) -> tuple[Finding | None, int]:
    """As ``joint.promise`` says it, as far as greedy placement finds it; and how many packings that took. ``largest``:
    the flavor of the podset that needs the most nodes."""
    laid, lower, ready = beside
    if lower.layout is None:
        return None, 0
    nodes = greedy(lower.layout, counts, budget).nodes
    if nodes is None:
        return None, 1
    stand, packed = laid.any_ready and by_number(nodes, lower), 1
    if laid.any_ready and not stand:
        if ready is None or ready.layout is None:
            return None, 1
        other, packed = greedy(ready.layout, counts, budget), 2
        if other.nodes is None and other.misfit is None:
            if ready.layout.fewest(counts) <= ready.nodes:
                return None, _SEARCHED  # and might find room
            packed = _SEARCHED
        stand = other.nodes is not None
    return promised_in(nodes, lower, laid, largest, stand=stand), packed


def lay(seats: Sequence[Seat], found: Told, hearing: Hearing) -> Course | None:
    """The course of these shapes; None where something else than counts decides. Raises OverBudget."""
    if not all(seat.options and seat.podset.count for seat in seats):
        return None
    firsts = [tuple(names[0] for names in seat.options) for seat in seats]
    choices = [hearing.choice(names) for names in firsts]
    seated: list[Seated] = [(seat, (choice,)) for seat, choice in zip(seats, choices, strict=True)]
    if [one.flavor for one in found.podsets] != [choice.name for choice in choices]:
        return None
    if len({seat.podset.stage for seat in seats}) > 1 or domain.bound(seated, hearing):
        return None
    if not all(_plain(seat) for seat in seats) or any(one.topology or one.starved or one.blocked for one in choices):
        return None
    groups = advice.most_in_one_group(seated, hearing)
    places = [_place(seat, choice, groups) for seat, choice in zip(seats, choices, strict=True)]
    beside = None
    if len(seats) > 1:
        laid = floor(seated, hearing)
        ready = table(seated, laid, "ready", hearing) if laid.any_ready else None
        beside = Beside(laid, table(seated, laid, "lower", hearing), ready)
    return Course(
        places,
        _quotas(seats, firsts, hearing),
        beside,
        resting_on(found.gang, [name for names in firsts for name in names], hearing),
        advice.most_nodes_at_once(hearing),
        advice.told_pools([seated]),
    )


def _plain(seat: Seat) -> bool:
    """Whether nothing but its count can keep it from the places it is given, or make more to say of it."""
    reading, topology = seat.reading, seat.podset.topology
    return (
        not (seat.rescaled or seat.counts_less or (topology is not None and topology.group))
        and not reading.uncovered
        and reading.doubt is None
        and reading.fraction is None
        and reading.content_fault is None
        and reading.lacks is None
    )


def _place(seat: Seat, choice: Choice, groups: dict[Seat, int]) -> Place:
    rooms = seat.rooms(choice)
    limits = (rooms.held, rooms.most, seat.reading.scalable, groups.get(seat))
    return Place(rooms, some_promised(choice, rooms), min(limit for limit in limits if limit is not None))


def _quotas(seats: Sequence[Seat], firsts: Sequence[tuple[str, ...]], hearing: Hearing) -> list[Quota]:
    asked: dict[tuple[str, str], list[int]] = {}
    for at, (seat, names) in enumerate(zip(seats, firsts, strict=True)):
        for name, amounts in zip(names, seat.reading.quota_by_group, strict=True):
            for resource, amount in amounts:
                asked.setdefault((name, resource), [0] * len(seats))[at] += amount
    return [Quota(tuple(amounts), hearing.potential(*key)) for key, amounts in asked.items()]
