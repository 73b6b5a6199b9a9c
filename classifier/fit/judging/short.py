"""Quota that can never be enough, as a finding: whose, of which flavor, and what to ask for instead."""

from collections.abc import Iterable, Sequence

import msgspec

from classifier.fit.finding import Finding, unknown
from classifier.fit.judging.hearing import Hearing
from classifier.fit.judging.seat import Seat, resting_on
from classifier.fit.judging.weigh import show_amount
from classifier.fit.quota import Shortage, no_quota
from classifier.fit.verdict import Outcome
from classifier.quantity import format_amount


def shortage(short: Shortage, seats: Sequence[Seat], hearing: Hearing) -> Finding:
    """A proof needs no closed profile, but takes its mode from those that speak for every flavor in question."""
    if short.resource is None:
        return no_assignment(seats, hearing)
    involved = _involved(short, seats)
    flavors = list(dict.fromkeys(name for seat in involved for name in _flavors(seat, short.resource)))
    for name in flavors:
        if hearing.potential(name, short.resource) == 0 and _may_grow(name, hearing):
            return Finding(
                outcome=Outcome.MISCONFIGURED,
                statement=no_quota(hearing.queue, name, short.resource),
                binding="quota",
                flavor=name,
                resource=short.resource,
                needs=format_amount(short.resource, short.needs),
                limit="0",
                source=f"ClusterQueue/{hearing.queue.name}",
            )
    needs, limit = show_amount(short.resource, short.needs), show_amount(short.resource, short.limit)
    fewer = any(seat.podset.min_count < seat.podset.count for seat in involved)
    who = short.podset if short.podset is not None and len(seats) > 1 else "gang"
    where = f"flavor {short.flavor}" if short.flavor is not None else f"flavors {', '.join(flavors[:3])}"
    found = _licensed(
        Finding(
            outcome=Outcome.NEVER_FITS,
            statement=f"{who} needs {'at least ' if fewer else ''}{needs} {short.resource} of {where}, "
            f"quota of {hearing.queue.name} is {limit}",
            binding="quota",
            flavor=short.flavor,
            resource=short.resource,
            needs=format_amount(short.resource, short.needs),
            limit=format_amount(short.resource, short.limit),
            source=f"ClusterQueue/{hearing.queue.name}",
            advice=f"request at most {limit} {short.resource} or use another queue"
            if short.limit > 0
            else "use another queue",
        ),
        flavors,
        hearing,
    )
    for seat in involved:  # what is short is surely counted
        found = seat.unless_withheld(found)
    return found


def no_assignment(seats: Sequence[Seat], hearing: Hearing) -> Finding:
    """Each podset would find quota by itself, all of them do not, however flavors are given out."""
    flavors = [name for seat in seats for names in seat.options for name in names]
    found = _licensed(
        Finding(
            outcome=Outcome.NEVER_FITS,
            statement=f"no choice of flavors keeps all podsets within the quota of ClusterQueue {hearing.queue.name}",
            binding="quota",
            source=f"ClusterQueue/{hearing.queue.name}",
            advice="request less or use another queue",
        ),
        flavors,
        hearing,
    )
    for seat in seats:
        found = seat.unless_unsure(found)
    return found


def uncovered(seat: Seat, hearing: Hearing) -> Finding | None:
    """Kueue waits without end for a resource that no group of the queue covers."""
    resource = next(iter(seat.reading.uncovered), None)
    if resource is None:
        return None
    return Finding(
        outcome=Outcome.MISCONFIGURED,
        statement=f"ClusterQueue {hearing.queue.name} does not cover {resource}, which {seat.podset.name} requests",
        binding="quota",
        resource=resource,
        source=f"ClusterQueue/{hearing.queue.name}",
    )


def fewer_only(seats: Iterable[Seat]) -> Finding:
    """There is quota for as many pods as the queue may start, and not for all."""
    least = next((seat.podset for seat in seats if seat.podset.min_count < seat.podset.count), None)
    if least is None:
        return unknown("how Kueue counts the gang is not known", "quota")
    return unknown(
        f"quota is not enough for all {least.count} pods of {least.name}; the queue may start as few as "
        f"{least.min_count}",
        "quota",
    )


def _involved(short: Shortage, seats: Sequence[Seat]) -> list[Seat]:
    asking = [seat for seat in seats if any(short.resource in group.resources for group in seat.reading.groups)]
    if short.podset is None:
        return asking
    named = set(short.podset.split(", "))  # those of one podSetGroupName are named together
    return [seat for seat in asking if seat.podset.name in named] or asking


def _flavors(seat: Seat, resource: str) -> Iterable[str]:
    for group, names in zip(seat.reading.groups, seat.options, strict=True):
        if resource in group.resources:
            yield from names


def _may_grow(name: str, hearing: Hearing) -> bool:
    flavor = hearing.world.flavors.get(name)
    if flavor is None:
        return False
    return any(pool.max_nodes != 0 for pool in hearing.world.behind(flavor, hearing.now).pools)


def _licensed(found: Finding, flavors: Sequence[str], hearing: Hearing) -> Finding:
    rests = resting_on(found, flavors, hearing)
    spoken_for = {profile.spec.flavor for profile in hearing.spoken}
    return msgspec.structs.replace(rests, licensed=all(name in spoken_for for name in flavors))
