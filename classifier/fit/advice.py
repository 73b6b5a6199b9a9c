"""What a user should hear beside the verdict: things that will not stop the gang for ever, and may stop it for long."""

from collections.abc import Iterable, Sequence

from classifier.fit.facts import backoff_of
from classifier.fit.finding import Finding
from classifier.fit.judging import domain
from classifier.fit.judging.choice import Choice
from classifier.fit.judging.hearing import Hearing
from classifier.fit.judging.joint import Seated
from classifier.fit.judging.seat import Seat
from classifier.fit.judging.weigh import promised
from classifier.fit.provisioning import ATOMIC, Requests, requests_of
from classifier.fit.supplied.pools import Pool
from classifier.fit.verdict import Outcome
from classifier.instant import format_instant


def of_pods(seats: Iterable[Seat]) -> list[str]:
    """Pods that will be refused when they are made, or a Workload that Kueue will not queue."""
    found = []
    for seat in seats:
        if seat.reading.lacks is not None:
            missing = f"RuntimeClass {seat.reading.lacks} of {seat.podset.name} is not found"
            found.append(f"{missing}: its pods will be refused after quota is reserved")
        if seat.reading.content_fault is not None:
            found.append(f"Kueue will not queue it: {seat.named(seat.reading.content_fault)}")
    return found


def of_promise(stages: Sequence[Sequence[Seated]], gang: Finding, hearing: Hearing) -> list[str]:
    """What may keep a gang that fits from starting. Raises OverBudget."""
    found = []
    requests = requests_of(hearing.queue, hearing.spoken, hearing.world)
    if gang.outcome is Outcome.FITS_AFTER_SCALE_UP:
        found += _at_once(gang, hearing)
        seated = [one for stage in stages for one in stage]
        found += [text for one in requests if (text := _one_group(seated, one, hearing)) is not None]
    for stage in stages:
        if domain.bound(stage, hearing):
            text = domain.scatters(stage, gang, hearing)
            found += [text] if text is not None else []
    apart = (seat.reading.alone or seat.reading.ports for stage in stages for seat, some in stage if _by_topology(some))
    if any(apart):
        found.append("placement by topology is blind to host ports and anti-affinity: pods may be put side by side")
    if gang.tight:
        found.append("tight packing: kube-scheduler or the autoscaler, which place greedily, may not find it")
    return found


def _at_once(gang: Finding, hearing: Hearing) -> list[str]:
    """The autoscaler never adds more nodes than this in one go, and for one request it takes no second
    (reference/capacity.md §1.6). Nodes that stand already may make up the rest."""
    most = most_nodes_at_once(hearing)
    if most is None or not isinstance(gang.needs, int) or gang.needs <= most:
        return []
    return [f"gang needs {gang.needs} nodes, the autoscaler adds at most {most} at once (--max-nodes-per-scaleup)"]


def most_nodes_at_once(hearing: Hearing) -> int | None:
    """Of gangs that need no more nodes the autoscaler's largest step says nothing."""
    told = [profile.spec.provisioning for profile in hearing.spoken if profile.spec.provisioning is not None]
    return min((one.max_nodes_per_scale_up for one in told if one.max_nodes_per_scale_up is not None), default=None)


def _by_topology(choices: Iterable[Choice]) -> bool:
    return any(choice.topology is not None for choice in choices)


def _one_group(seated: Sequence[Seated], requests: Requests, hearing: Hearing) -> str | None:
    """One atomic request grows one node group (reference/capacity.md §3.8)."""
    members = _members(seated, requests)
    open_to = [{id(pool) for pool, _ in pools} for _, pools in members]
    if len(members) > 1 and open_to and not set.intersection(*open_to):
        names = " and ".join(seat.podset.name for seat, _ in members[:2])
        return f"one ProvisioningRequest grows one node group, {names} need two; see managedResources"
    for seat, pools in members:
        largest = _largest(pools, hearing)
        if largest is not None and largest < seat.podset.count:
            return f"one ProvisioningRequest grows one node group, and none holds all pods of {seat.podset.name}"
    return None


def most_in_one_group(seated: Sequence[Seated], hearing: Hearing) -> dict[Seat, int]:
    """Of podsets with no more pods than these, whichever has an entry, no request says that they need several groups.
    Raises OverBudget."""
    found: dict[Seat, int] = {}
    for requests in requests_of(hearing.queue, hearing.spoken, hearing.world):
        for seat, pools in _members(seated, requests):
            largest = _largest(pools, hearing)
            if largest is not None:
                found[seat] = min(largest, found.get(seat, largest))
    return found


def _members(seated: Sequence[Seated], requests: Requests) -> list[tuple[Seat, list[tuple[Pool, int]]]]:
    """The podsets of an atomic request, with the pools that they may use."""
    if requests.class_name != ATOMIC:
        return []
    found = []
    for seat, choices in seated:
        managed = not requests.managed or not requests.managed.isdisjoint(seat.reading.requests)
        if managed and any(requests.applies_to(name) for choice in choices for name in choice.flavors):
            found.append((seat, _usable(seat, choices)))
    return found


def _largest(pools: Iterable[tuple[Pool, int]], hearing: Hearing) -> int | None:
    """Pods that the largest of the groups holds."""
    recent = hearing.world.nodes_recent
    return max((most * promised(pool, recent) for pool, most in pools), default=None)


def _usable(seat: Seat, choices: Iterable[Choice]) -> list[tuple[Pool, int]]:
    """The pools that may be promised to the podset, with how many of its pods a node takes."""
    return [
        (one.pool, one.usable)
        for choice in choices
        if choice.blocked is None
        for one in seat.rooms(choice).rooms
        if one.usable
    ]


def told_pools(stages: Sequence[Sequence[Seated]]) -> tuple[Pool, ...]:
    found = {
        id(pool): pool
        for stage in stages
        for seat, choices in stage
        for choice in choices
        if choice.blocked is None
        for pool in seat.rooms(choice).told
    }
    return tuple(found.values())


def of_backoff(pools: Iterable[Pool], gang: Finding, now: int) -> list[str]:
    """The autoscaler does not try one of the gang's node groups for a while. Passing, so no reason to deny."""
    if gang.outcome is not Outcome.FITS_AFTER_SCALE_UP:
        return []
    for pool in pools:
        backoff = backoff_of(pool.facts, now)
        if backoff is not None:
            since = f" since {format_instant(backoff.since)}" if backoff.since is not None else ""
            return [f"preflight: fits; node group {backoff.group} in backoff{since}; expect a wait"]
    return []
