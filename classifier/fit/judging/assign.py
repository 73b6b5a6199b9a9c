"""The gang against everything at once: each podset by itself, then quota, then nodes for every assignment of flavors.

Kueue gives a podset one flavor of each resource group it touches (reference/kueue.md §6.6). A gang is impossible when
one of its podsets is by itself, when no assignment keeps within quota, or when none of those that do finds nodes; it
fits when one does both. Nothing here relies on which of them Kueue would find.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Final

import msgspec

from classifier.fit import advice
from classifier.fit.budget import OverBudget
from classifier.fit.finding import BEST_FIRST, GOOD, Finding, unknown, worst
from classifier.fit.gang import Podset
from classifier.fit.judging import domain
from classifier.fit.judging.course import Courses
from classifier.fit.judging.found import Found, Told, adding_up, tell
from classifier.fit.judging.hearing import Hearing
from classifier.fit.judging.joint import Seated, promise, proof, undecided
from classifier.fit.judging.seat import Seat, resting_on
from classifier.fit.judging.shape import length, shape_of_gang, shapes_in
from classifier.fit.judging.short import fewer_only, no_assignment, shortage, uncovered
from classifier.fit.quota import Assignment, Demand, assignments, impossible
from classifier.fit.verdict import Outcome

#: Assignments looked at one by one; past them only what holds for all of them at once is a proof.
MOST_ASSIGNMENTS: Final = 64


def assign(podsets: Sequence[Podset], hearing: Hearing, steps: int) -> Told:
    """``steps``: what the hearing's budget began with, for the sentence when it is spent."""
    shape = shape_of_gang(podsets)
    key = steps, shape, tuple([(one.name, one.count, one.min_count, one.least) for one in podsets])
    kept: dict[Hashable, Told] = hearing.sort("gangs")
    told = kept.get(key)
    if told is None:
        hearing.kept.weigh(length(shape) + sum([len(podset.name) for podset in podsets]))
        courses = Courses(hearing)
        told = courses.run(shape, podsets)
        if told is None:
            shapes = shapes_in(podsets, shape)
            hearing.kept.weigh(sum(length(one) for one in shapes if one is not shape))
            seats = [Seat(podset, one, hearing) for podset, one in zip(podsets, shapes, strict=True)]
            told = tell(_assign(seats, hearing, steps), podsets)
            courses.learn(shape, seats, told, steps - hearing.budget.left)
        kept[key] = told
    return told


def _assign(seats: Sequence[Seat], hearing: Hearing, steps: int) -> Found:
    own: list[Finding | None] = [_within(seat, seat.read, steps) for seat in seats]
    hearing.keys = frozenset().union(*(seat.asked for seat, found in zip(seats, own, strict=True) if found is None))
    for at, seat in enumerate(seats):
        own[at] = own[at] or _within(seat, seat.settle, steps) or _within(seat, seat.proof, steps)
    impossible_ones = [one for one in own if one is not None and one.outcome is Outcome.NEVER_FITS]
    active = [seat for seat, found in zip(seats, own, strict=True) if found is None]
    if impossible_ones:
        return Found(impossible_ones[0], [one or _first(seat, steps) for seat, one in zip(seats, own, strict=True)])
    found = _together(active, hearing, steps) if active else None
    by_seat = dict(zip(active, found.podsets, strict=True)) if found else {}
    each = [one or by_seat[seat] for seat, one in zip(seats, own, strict=True)]
    gang = _sum_up([*([found.gang] if found else []), *(one for one in own if one is not None)])
    notes = advice.of_pods(active)
    return Found(gang, each, (*notes, *found.notes) if found else (), found.pools if found else ())


def _within(seat: Seat, step: Callable[[], Finding | None], steps: int) -> Finding | None:
    try:
        return step()
    except OverBudget:
        return unknown(f"{seat.podset.name} asks too much of its nodes to be judged in time: over {steps} steps")


def _first(seat: Seat, steps: int) -> Finding:
    """What the choice of Kueue's first flavors comes to, to be shown beside what binds the gang."""
    found = _within(seat, lambda: seat.weighed(next(seat.choices)), steps)
    assert found is not None
    return found


def _sum_up(findings: Sequence[Finding]) -> Finding:
    """The worst. What nobody described says nothing as long as something else was judged."""
    return worst([one for one in findings if one.outcome is not Outcome.SKIPPED] or findings)


def _together(seats: Sequence[Seat], hearing: Hearing, steps: int) -> Found:
    """Of seats that each may find a place: in quota, and in the nodes beside each other."""
    faults = [one for seat in seats if (one := uncovered(seat, hearing)) is not None]
    faults += [
        unknown(f"Kueue does not queue it: {seat.named(seat.reading.content_fault)}", "quota")
        for seat in seats
        if seat.reading.content_fault is not None
    ]
    best = _Best(seats, hearing)
    try:
        first = best.first()
    except OverBudget:
        first = best.found = None
    if first is not None:
        return first._replace(gang=worst([first.gang, *faults]))
    demands = [seat.demand(whole=False) for seat in seats]
    short = impossible(demands, hearing.potential)
    if short is not None:
        found = shortage(short, seats, hearing)
        named = set((short.podset or "").split(", "))
        each = [found if seat.podset.name in named else _first(seat, steps) for seat in seats]
        return Found(worst([found, *faults]), each)
    try:
        best.search(demands)
    except OverBudget:
        who = seats[0].podset.name if len(seats) == 1 else "gang"
        over = unknown(f"{who} asks too much of its nodes to be judged in time: over {steps} steps")
        return Found(worst([over, *faults]), [_first(seat, steps) for seat in seats])
    assert best.found is not None
    return best.found._replace(gang=worst([best.found.gang, *faults]))


class _Best:
    """The best of the assignments that keep within quota."""

    def __init__(self, seats: Sequence[Seat], hearing: Hearing) -> None:
        self._seats = seats
        self._hearing = hearing
        self.found: Found | None = None

    def first(self) -> Found | None:
        """Without a search, Kueue's first flavors for all: most gangs fit there. Raises OverBudget."""
        if any(seat.counts_less or (seat.podset.topology and seat.podset.topology.group) for seat in self._seats):
            return None
        used: dict[tuple[str, str], int] = {}
        for seat in self._seats:
            for names, asked in zip(seat.options, seat.reading.quota_by_group, strict=True):
                for resource, amount in asked:
                    key = names[0], resource
                    used[key] = used.get(key, 0) + seat.podset.count * amount
        if any(amount > self._hearing.potential(*key) for key, amount in used.items()):
            return None
        assignment = tuple(tuple(names[0] for names in seat.options) for seat in self._seats)
        self._take(self._try(assignment, None))
        if self._outcome not in GOOD:
            self.found = None
            return None
        self._advise(assignment)
        return self.found

    def search(self, demands: Sequence[Demand]) -> None:
        """Raises OverBudget."""
        less = any(seat.counts_less for seat in self._seats)
        whole = [seat.demand(whole=True) for seat in self._seats] if less else None
        several = any(len(names) > 1 for seat in self._seats for names in seat.options)
        for count, assignment in enumerate(assignments(demands, self._hearing.potential, self._hearing.budget)):
            self._take(self._try(assignment, whole))
            if self._outcome in GOOD:
                self._advise(assignment)
                return
            if count == 0 and several and self._none_at_all():
                return
            if count + 1 == MOST_ASSIGNMENTS:
                self._give_up()
                return
        if self.found is None:
            gang = no_assignment(self._seats, self._hearing)
            self.found = Found(gang, [gang for _ in self._seats])
        elif self._outcome is Outcome.NEVER_FITS:
            self._rest()

    def _advise(self, assignment: Assignment) -> None:
        assert self.found is not None
        stages = _stages((seat, (self._hearing.choice(n),)) for seat, n in zip(self._seats, assignment, strict=True))
        gang, each = self.found.gang, self.found.podsets
        notes = advice.of_promise(stages, gang, self._hearing)
        if len(stages) == 1 and isinstance(gang.needs, int):
            adds = adding_up([one.needs if isinstance(one.needs, int) else 0 for one in each], gang.needs)
            each = [
                msgspec.structs.replace(one, needs=add) if isinstance(one.needs, int) else one
                for one, add in zip(each, adds, strict=True)
            ]
        self.found = Found(gang, each, tuple(notes), advice.told_pools(stages))

    @property
    def _outcome(self) -> Outcome | None:
        return self.found.gang.outcome if self.found else None

    def _take(self, other: Found) -> None:
        if self.found is None or _rank(other.gang) < _rank(self.found.gang):
            self.found = other

    def _none_at_all(self) -> bool:
        """Whether there is no room even if each podset could use the nodes of all its flavors."""
        if len(self._seats) == 1 or not all(seat.countable for seat in self._seats):
            return False
        seated = [(seat, tuple(map(self._hearing.choice, seat.choices))) for seat in self._seats]
        for stage in _stages(seated):
            gang = proof(stage, self._hearing) if len(stage) > 1 else None
            if gang is not None and gang.outcome is Outcome.NEVER_FITS:
                self.found = Found(gang, self.found.podsets if self.found else [])
                self._rest()
                return True
        return False

    def _give_up(self) -> None:
        """There are more assignments than were looked at."""
        if self._outcome is Outcome.NEVER_FITS:
            assert self.found is not None
            self.found = Found(unknown("gang may get its flavors in more ways than are judged"), self.found.podsets)

    def _rest(self) -> None:
        """The proof rests on every flavor that any podset may get."""
        assert self.found is not None
        flavors = [name for seat in self._seats for names in seat.options for name in names]
        self.found = Found(resting_on(self.found.gang, flavors, self._hearing), self.found.podsets)

    def _try(self, assignment: Assignment, whole: Sequence[Demand] | None) -> Found:
        each = [seat.weighed(names) for seat, names in zip(self._seats, assignment, strict=True)]
        gang = worst(each)
        if gang.outcome is not Outcome.NEVER_FITS:
            seated = [
                (seat, (self._hearing.choice(names),))
                for seat, names, found in zip(self._seats, assignment, each, strict=True)
                if found.outcome is not Outcome.SKIPPED
            ]
            by_seat = dict(zip(self._seats, each, strict=True))
            stages = _stages(seated)
            gang = _of_stages([self._stage(stage, by_seat) for stage in stages], gang)
            if gang.outcome in GOOD and len(stages) > 1:
                gang = self._at_once(seated, by_seat, gang)
        if gang.outcome in GOOD and whole is not None and not _within_quota(assignment, whole, self._hearing):
            gang = fewer_only(self._seats)
        return Found(gang, each)

    def _at_once(self, seated: Sequence[Seated], by_seat: dict[Seat, Finding], good: Finding) -> Finding:
        """A promise stage by stage, if Kueue keeps it: where it places by topology it gives nodes to the pods of every
        stage when it admits the gang (Kueue: tas_flavor_snapshot.go FindTopologyAssignmentsForFlavor)."""
        placed = [(seat, choices) for seat, choices in seated if any(choice.topology for choice in choices)]
        stages = _stages(placed)
        if self._hearing.topology_aware is False or len(stages) < 2:
            return good
        if self._stage(placed, by_seat).outcome in GOOD:
            return good
        return unknown(
            "Kueue places all podsets by topology at once, though some start when others have ended", "topology"
        )

    def _stage(self, seated: Sequence[Seated], by_seat: dict[Seat, Finding]) -> Finding:
        """Podsets that run at the same time."""
        each = [by_seat[seat] for seat, _ in seated]
        bad = worst(each)
        near = domain.bound(seated, self._hearing)
        good: Finding | None = None
        if bad.outcome in GOOD:
            good = each[0] if len(each) == 1 else promise(seated, each, self._hearing)
            if good is not None and near:
                good = domain.promise(seated, good, self._hearing)
            good = domain.by_topology(seated, good) if good is not None else None
            if good is not None and good.outcome in GOOD:
                return resting_on(good, _flavors(seated), self._hearing)
        never = proof(seated, self._hearing) if len(each) > 1 else None
        if never is None and near:
            never = domain.proof(seated, self._hearing)
        if never is not None:
            return resting_on(never, _flavors(seated), self._hearing)
        return good or (undecided(seated) if bad.outcome in GOOD else bad)


def _flavors(seated: Sequence[Seated]) -> list[str]:
    return [name for _, choices in seated for choice in choices for name in choice.flavors]


def _stages(seated: Iterable[Seated]) -> list[list[Seated]]:
    stages: dict[int, list[Seated]] = {}
    for seat, choices in seated:
        stages.setdefault(seat.podset.stage, []).append((seat, choices))
    return list(stages.values())


def _of_stages(stages: Sequence[Finding], nothing: Finding) -> Finding:
    """The worst stage; of those that fit, the one that needs the most nodes."""
    if not stages:
        return nothing
    bad = worst(stages)
    if bad.outcome not in GOOD:
        return bad
    return max(
        (one for one in stages if one.outcome is bad.outcome),
        key=lambda one: one.needs if isinstance(one.needs, int) else 0,
    )


def _rank(gang: Finding) -> tuple[int, int]:
    return BEST_FIRST.index(gang.outcome), -gang.most


def _within_quota(assignment: Assignment, whole: Sequence[Demand], hearing: Hearing) -> bool:
    used: dict[tuple[str, str], int] = {}
    for demand, names in zip(whole, assignment, strict=True):
        for name, group in zip(names, demand.resources, strict=True):
            for resource, amount in demand.amounts.items():
                if resource in group:
                    used[name, resource] = used.get((name, resource), 0) + demand.count * amount
    return all(amount <= hearing.potential(*key) for key, amount in used.items() if amount > 0)
