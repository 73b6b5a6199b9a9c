"""One podset in one queue: of each resource group it touches Kueue gives it one flavor (reference/kueue.md §6.6).

So a group is impossible when each of its flavors is, and the podset when any of its groups is. Within a group the best
flavor speaks, across groups the worst.
"""

from collections.abc import Iterator
from dataclasses import replace

from classifier.fit.eligible import refusal
from classifier.fit.faults import faults
from classifier.fit.finding import Finding, skipped, unknown, worst
from classifier.fit.flavor import Offer, weigh
from classifier.fit.gang import GangError, Podset
from classifier.fit.mode import profile_mode, weakest
from classifier.fit.pools import pools_behind
from classifier.fit.requests import Amounts, fraction_in, pod_requests
from classifier.fit.verdict import Outcome
from classifier.fit.world import World
from classifier.objects import CapacityProfile, ClusterQueue, ResourceGroup

_GOOD = (Outcome.FITS, Outcome.FITS_AFTER_SCALE_UP)


def assign(podset: Podset, queue: ClusterQueue, world: World) -> Finding:
    """The finding for the podset, with the flavor, profiles and mode it rests on."""
    try:
        requests = pod_requests(podset.spec)
        fraction = fraction_in(podset.spec)
    except GangError as error:
        return unknown(f"{podset.name}: {error}", "quantity")
    speaking = [profile for profile in world.profiles if profile.applies_to(queue)]
    if not speaking:
        return skipped(f"no CapacityProfile speaks for ClusterQueue {queue.name}")
    if podset.count == 0:
        return Finding(outcome=Outcome.FITS, statement="gang has no pods")
    groups = [_names(group) for group in _touched(queue, requests)]
    if not groups:
        return unknown(f"ClusterQueue {queue.name} covers nothing that {podset.name} requests")
    if fraction is not None:
        proof = Finding(
            outcome=Outcome.NEVER_FITS,
            statement=f"each pod of {podset.name} asks for {fraction.quantity} {fraction.resource}, not a whole number",
            binding="quantity",
            resource=fraction.resource,
            needs=fraction.quantity,
            advice=f"request whole {fraction.resource}",
        )
        return _resting_on(proof, [name for names in groups for name in names], speaking)
    # A group nobody described says nothing, as long as another one does.
    found = [_group(podset, requests, names, speaking, world) for names in groups]
    return worst([one for one in found if one.outcome is not Outcome.SKIPPED] or found)


def _touched(queue: ClusterQueue, requests: Amounts) -> Iterator[ResourceGroup]:
    for group in (queue.spec.resource_groups if queue.spec else None) or ():
        if any(resource in requests for resource in group.covered_resources or ()):
            yield group


def _names(group: ResourceGroup) -> list[str]:
    return list(dict.fromkeys(flavor.name for flavor in group.flavors or ()))


def _group(
    podset: Podset, requests: Amounts, names: list[str], speaking: list[CapacityProfile], world: World
) -> Finding:
    """The best flavor of the group: a promise, else what keeps a proof from being one, else the proof."""
    if not any(profile.spec.flavor in names for profile in speaking):
        return skipped(f"no CapacityProfile speaks for flavor {', '.join(names) or '(none)'}")
    refused: list[Finding] = []
    weighed: list[Finding] = []
    for name in names:
        one, eligible = _flavor(podset, requests, name, speaking, world)
        (weighed if eligible else refused).append(one)
    if not weighed:
        return _resting_on(refused[0], names, speaking)
    for outcome in (*_GOOD, Outcome.MISCONFIGURED, Outcome.UNKNOWN, Outcome.SKIPPED):
        for one in weighed:
            if one.outcome is outcome:
                return one
    nearest = max(weighed, key=lambda one: one.most)
    usable = [one.flavor for one in weighed if one.flavor is not None]
    return _resting_on(nearest, usable, speaking)


def _flavor(
    podset: Podset, requests: Amounts, name: str, speaking: list[CapacityProfile], world: World
) -> tuple[Finding, bool]:
    """The finding on one flavor, and whether Kueue may give the podset this flavor at all."""
    flavor = world.flavors.get(name)
    if flavor is None:
        return replace(unknown(f"ResourceFlavor {name} is not found"), flavor=name), True
    refused = refusal(podset.name, podset.spec, flavor)
    if refused is not None:
        proof = Finding(
            outcome=Outcome.NEVER_FITS,
            statement=refused.statement,
            binding=refused.binding,
            flavor=name,
            needs=refused.needs or None,
            limit=refused.limit,
            source=f"ResourceFlavor/{name}",
            advice=refused.advice,
        )
        return proof, False
    own = [profile for profile in speaking if profile.spec.flavor == name]
    if not own:
        return replace(unknown(f"no CapacityProfile speaks for flavor {name}"), flavor=name), True
    if any(profile_mode(profile) == "Off" for profile in own):
        return replace(skipped(f"preflight is Off for flavor {name}"), flavor=name), True
    offer = Offer(
        flavor,
        pools_behind(flavor, own, world.nodes),
        all(profile.spec.closed is True for profile in own),
        tuple(profile.name for profile in own),
    )
    found = weigh(podset, requests, offer)
    fault = next(iter(faults(flavor, own)), None)
    if fault is not None and found.outcome not in _GOOD:
        found = Finding(outcome=Outcome.MISCONFIGURED, statement=fault)
    return _resting_on(replace(found, flavor=name), [name], speaking), True


def _resting_on(found: Finding, flavors: list[str], speaking: list[CapacityProfile]) -> Finding:
    """With the profiles that speak for these flavors. A flavor without any takes the licence to deny."""
    own = [profile for profile in speaking if profile.spec.flavor in flavors]
    spoken_for = {profile.spec.flavor for profile in own}
    return replace(
        found,
        profiles=tuple(dict.fromkeys(profile.name for profile in own)),
        mode=weakest([profile_mode(profile) for profile in own]) if own else None,
        licensed=all(name in spoken_for for name in flavors) and all(p.spec.closed is True for p in own),
    )
