"""Never two leaders: two candidates, a person and time, on a small model of the API server.

Driven is the candidate itself. Both may stop at any point for any time, requests and answers take any time or are
lost, a process dies and comes back, somebody deletes the Lease or writes to it. Time comes in steps of one second, and
what is older than matters is not told apart: with short terms all states can be visited, with longer ones many are.
"""

import random
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import pytest

from classifier.instant import format_micro, instant_or_none
from classifier.objects.meta import Metadata
from controller.lease import Candidate, Lease, Record, Terms

SHORT = Terms(lease=2, renew=1, retry=1)
LONGER = Terms(lease=5, renew=3, retry=1)
#: What fits into a few seconds.
WALKS, STEPS = 40, 100


class Stored(NamedTuple):
    """The Lease at one moment: its holder, the number of its last renewal, and of its last write."""

    holder: str
    renewal: int
    version: int


class Request(NamedTuple):
    """On its way to the API server, or served: then ``answer`` is on its way back. ``write`` None is a GET."""

    age: int
    write: tuple[str, int] | None = None
    guard: int = 0
    served: bool = False
    #: None: there is no Lease, or the write was refused.
    answer: Stored | None = None


class Process(NamedTuple):
    name: str
    holder: str = ""
    renewal: int = 0
    version: int = 0
    holds: bool = False
    #: Seconds since it saw the record first, and for which it goes on leading.
    age: int = 0
    left: int = 0
    request: Request | None = None


class World(NamedTuple):
    a: Process
    b: Process
    lease: Stored | None = None
    #: A write whose sender has given it up; it may be carried out all the same.
    stray: Request | None = None
    deaths: int = 0
    meddling: int = 0


class Bounds(NamedTuple):
    """How often a process dies, somebody writes to the Lease, and whether somebody may delete it instead."""

    deaths: int = 0
    meddling: int = 0
    deletes: bool = False
    #: Whether what was given up may be carried out later.
    strays: bool = True


@lru_cache(maxsize=1000)
def record(holder: str, renewal: int) -> Record:
    return Record(holder_identity=holder or None, renew_time=format_micro(renewal))


def candidate(process: Process, terms: Terms) -> Candidate:
    """The real thing, in that state, at the instant 0."""
    made = Candidate(process.name, terms)
    made.record = record(process.holder, process.renewal) if process.renewal else None
    made.version = str(process.version or "")
    made.holds = process.holds
    made._seen = -process.age
    made._until = process.left
    return made


def state(made: Candidate, request: Request | None) -> Process:
    holder, renewal = "", 0
    if made.record is not None:
        holder, renewal = made.record.holder_identity or "", made.record.renewed or 0
    age = min(-made._seen, made.terms.lease) if renewal else 0
    return Process(
        made.identity,
        holder,
        renewal,
        int(made.version or 0),
        made.holds,
        int(age),
        int(max(0, made._until)),
        request,
    )


def lease_of(stored: Stored) -> Lease:
    return Lease(metadata=Metadata(resource_version=str(stored.version)), spec=record(stored.holder, stored.renewal))


def served(request: Request, lease: Stored | None) -> tuple[Request, Stored | None]:
    """The API server gets to it."""
    if request.write is None:
        return request._replace(served=True, answer=lease), lease
    if request.guard != (lease.version if lease else 0):
        return request._replace(served=True, answer=None), lease
    holder, renewal = request.write
    written = Stored(holder, renewal, renewal)
    return request._replace(served=True, answer=written), written


def acted(process: Process, terms: Terms, number: int) -> Iterator[Process]:
    """What the process may do next: ask, write, or take in an answer; or the answer never comes."""
    made, request = candidate(process, terms), process.request
    if request is None:
        # As ``Election._claim`` does: look unless it holds the lease, and take it if it may.
        if not made.holds:
            yield process._replace(request=Request(0))
        if made.may_take(0):
            claim = made.claim(number)
            renewal = instant_or_none(claim.renew_time)
            assert claim.holder_identity is not None
            assert renewal is not None
            write = claim.holder_identity, renewal
            yield process._replace(request=Request(0, write, process.version))
        if process.left and made.holds:
            # It ends: it stops its work, and gives the lease up.
            made.resign()
            yield state(made, Request(0, ("", number), process.version))
        return
    if request.served:
        if request.write is None and request.answer is None:
            made.missed()
        elif request.write is None and request.answer is not None:
            made.saw(lease_of(request.answer), 0)
        elif request.answer is None:
            made.doubt()
        elif request.answer.holder:
            made.won(lease_of(request.answer), -request.age, 0)
        yield state(made, None)
    if request.write is not None:
        made = candidate(process, terms)
        made.doubt()
        yield state(made, None)


def following(world: World, terms: Terms, bounds: Bounds) -> Iterator[tuple[str, World]]:
    number = 1 + max(
        each
        for process in (world.a, world.b)
        for each in (process.renewal, process.version, *_numbers(process.request), *(world.lease or (0, 0, 0))[1:])
    )
    number = max(number, 1 + max(_numbers(world.stray)))
    yield "a second passes", world._replace(a=_older(world.a, terms), b=_older(world.b, terms))
    for which in ("a", "b"):
        mine: Process = getattr(world, which)
        for after in acted(mine, terms, number):
            yield f"{which} {_what(mine, after)}", _put(world, which, after)
            request = mine.request
            if request is not None and request.write and not request.served and bounds.strays and world.stray is None:
                yield f"{which} gives its write up", _put(world, which, after)._replace(stray=request)
        if mine.request is not None and not mine.request.served:
            request, lease = served(mine.request, world.lease)
            yield (
                f"the server gets to {which}'s {'write' if request.write else 'look'}",
                _put(world, which, mine._replace(request=request))._replace(lease=lease),
            )
        if world.deaths < bounds.deaths and len(mine.name) == 1:
            reborn = Process(mine.name + "'")
            yield f"{which} dies and comes back", _put(world, which, reborn)._replace(deaths=world.deaths + 1)
    if world.stray is not None:
        yield "the server gets to a stray write", world._replace(stray=None, lease=served(world.stray, world.lease)[1])
    if world.lease is not None and world.meddling < bounds.meddling:
        meddled = None if bounds.deletes else world.lease._replace(version=number)
        yield "somebody meddles", world._replace(lease=meddled, meddling=world.meddling + 1)


def _put(world: World, which: str, process: Process) -> World:
    return world._replace(a=process) if which == "a" else world._replace(b=process)


def _numbers(request: Request | None) -> tuple[int, ...]:
    if request is None:
        return (0,)
    return (request.guard, *(request.write or ("", 0))[1:], *(request.answer or ("", 0, 0))[1:])


def _older(process: Process, terms: Terms) -> Process:
    request = process.request
    if request is not None:
        request = request._replace(age=min(request.age + 1, int(terms.renew)))
    age = min(process.age + 1, int(terms.lease)) if process.renewal else 0
    return process._replace(age=age, left=max(0, process.left - 1), request=request)


def _what(before: Process, after: Process) -> str:
    if after.request is not None:
        return f"sends {after.request.write or 'a look'}"
    return "takes the answer in" if before.request and before.request.served else "gets no answer"


def renamed(world: World) -> World:
    """Numbers by their order alone."""
    found = {0}
    for process in (world.a, world.b):
        found |= {process.renewal, process.version, *_numbers(process.request)}
    found |= {*(world.lease or (0, 0, 0))[1:], *_numbers(world.stray)}
    rank = {number: place for place, number in enumerate(sorted(found))}

    def stored(lease: Stored | None) -> Stored | None:
        return lease and Stored(lease.holder, rank[lease.renewal], rank[lease.version])

    def request(each: Request | None) -> Request | None:
        if each is None:
            return None
        write = each.write and (each.write[0], rank[each.write[1]])
        return each._replace(write=write, guard=rank[each.guard], answer=stored(each.answer))

    def one(each: Process) -> Process:
        return each._replace(renewal=rank[each.renewal], version=rank[each.version], request=request(each.request))

    return World(one(world.a), one(world.b), stored(world.lease), request(world.stray), world.deaths, world.meddling)


def explore(terms: Terms, bounds: Bounds) -> tuple[int, list[str]]:
    """How many states there are, and how two came to lead at once; empty if they never do."""
    first = World(Process("a"), Process("b"))
    came: dict[World, tuple[World, str] | None] = {first: None}
    layer = [first]
    while layer:
        ahead = []
        for world in layer:
            for what, after in following(world, terms, bounds):
                after = renamed(after)
                if after in came:
                    continue
                came[after] = world, what
                ahead.append(after)
                if after.a.left and after.b.left:
                    return len(came), _history(after, came)
        layer = ahead
    return len(came), []


def _history(world: World, came: dict[World, tuple[World, str] | None]) -> list[str]:
    told = []
    step = came[world]
    while step is not None:
        told.append(step[1])
        step = came[step[0]]
    return told[::-1]


def test_two_candidates_never_lead_at_once() -> None:
    """All states there are with these terms."""
    states, history = explore(SHORT, Bounds(strays=False))
    assert not history, "\n".join(history)
    assert states > 1000


@pytest.mark.parametrize(
    "bounds",
    [Bounds(deaths=2), Bounds(meddling=3), Bounds(meddling=1, deletes=True)],
    ids=["both die", "somebody writes to the lease", "somebody deletes it"],
)
def test_they_do_not_either_when_others_interfere(bounds: Bounds) -> None:
    """A part of the states, with longer terms."""
    chance = random.Random(20261201)
    led = 0
    for _ in range(WALKS):
        # Whoever has not seen a Lease yet, and finds none, cannot know that there was one: both have looked.
        world = World(Process("a", "", 1, 1), Process("b", "", 1, 1), Stored("", 1, 1))
        told = []
        for _ in range(STEPS):
            what, world = chance.choice(list(following(world, LONGER, bounds)))
            world = renamed(world)
            told.append(what)
            assert not (world.a.left and world.b.left), "\n".join(told)
            led += bool(world.a.left or world.b.left)
    assert led > WALKS


def test_a_lease_that_ends_before_its_holder_must_stop_is_found_out() -> None:
    """The model can tell: with terms that make no sense two do lead."""
    _, history = explore(Terms(lease=1, renew=2, retry=1), Bounds(strays=False))
    assert history
