"""One podset in one queue: of each resource group it touches Kueue gives it one flavor (reference/kueue.md §6.6).

So a group is impossible when each of its flavors is, and the podset when any of its groups is. Within a group the best
flavor speaks, across groups the worst.

What stands behind a flavor is told by every profile of it, whatever queue they name: the nodes are the same. Who speaks
for the queue decides whether it is judged, and how strictly.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from classifier.fit.budget import Budget, Effort, effort_of
from classifier.fit.eligible import Refusal, refusal
from classifier.fit.finding import Finding, skipped, unknown, worst
from classifier.fit.flavor import Offer, weigh
from classifier.fit.gang import GangError, Podset
from classifier.fit.mode import profile_mode, weakest
from classifier.fit.requests import Amounts, fraction_in, pod_requests
from classifier.fit.verdict import Outcome
from classifier.fit.world import World
from classifier.objects import CapacityProfile, ClusterQueue, ResourceFlavor, ResourceGroup

_GOOD = (Outcome.FITS, Outcome.FITS_AFTER_SCALE_UP)


def assign(podset: Podset, queue: ClusterQueue, world: World, budget: Budget) -> Finding:
    """The finding for the podset, with the flavor, profiles and mode it rests on. Raises OverBudget."""
    effort = effort_of(podset.spec)
    budget.spend(2 * effort.reading)
    try:
        requests = pod_requests(podset.spec)
        fraction = fraction_in(podset.spec)
    except GangError as error:
        return unknown(f"{podset.name}: {error}", "quantity")
    offered = dict.fromkeys(queue.flavors)
    speaking = [profile for name in offered for profile in world.profiles_of(name) if profile.applies_to(queue)]
    if not speaking:
        return skipped(f"no CapacityProfile speaks for ClusterQueue {queue.name}")
    if podset.count == 0:
        return Finding(outcome=Outcome.FITS, statement="gang has no pods")
    groups = [_names(group) for group in _touched(queue, requests)]
    if not groups:
        return unknown(f"ClusterQueue {queue.name} covers nothing that {podset.name} requests")
    assignment = _Assignment(podset, requests, groups, speaking, world, effort, budget)
    if fraction is not None:
        proof = Finding(
            outcome=Outcome.NEVER_FITS,
            statement=f"each pod of {podset.name} asks for {fraction.quantity} {fraction.resource}, not a whole number",
            binding="quantity",
            resource=fraction.resource,
            needs=fraction.quantity,
            advice=f"request whole {fraction.resource}",
        )
        return assignment.resting_on(proof, [name for names in groups for name in names])
    # A group nobody described says nothing, as long as another one does.
    found = [assignment.group(names) for names in groups]
    return worst([one for one in found if one.outcome is not Outcome.SKIPPED] or found)


def _touched(queue: ClusterQueue, requests: Amounts) -> Iterator[ResourceGroup]:
    for group in (queue.spec.resource_groups if queue.spec else None) or ():
        if any(resource in requests for resource in group.covered_resources or ()):
            yield group


def _names(group: ResourceGroup) -> list[str]:
    return list(dict.fromkeys(flavor.name for flavor in group.flavors or ()))


@dataclass(frozen=True, slots=True)
class _Assignment:
    """One podset and the flavors, by resource group, of which it needs one each."""

    podset: Podset
    requests: Amounts
    groups: list[list[str]]
    speaking: list[CapacityProfile]
    world: World
    effort: Effort
    budget: Budget
    refusals: dict[str, Refusal | None] = field(default_factory=dict)

    def group(self, names: list[str]) -> Finding:
        """The best flavor of the group: a promise, else what keeps a proof from being one, else the proof."""
        if not any(profile.spec.flavor in names for profile in self.speaking):
            return skipped(f"no CapacityProfile speaks for flavor {', '.join(names) or '(none)'}")
        refused: list[Finding] = []
        weighed: list[Finding] = []
        beside = self._beside(names)
        for name in names:
            one, eligible = self._flavor(name, beside)
            (weighed if eligible else refused).append(one)
        if not weighed:
            return self.resting_on(refused[0], names)
        for outcome in (*_GOOD, Outcome.MISCONFIGURED, Outcome.UNKNOWN, Outcome.SKIPPED):
            for one in weighed:
                if one.outcome is outcome:
                    return one
        nearest = max(weighed, key=lambda one: one.most)
        return self.resting_on(nearest, [one.flavor for one in weighed if one.flavor is not None])

    def _beside(self, names: list[str]) -> Mapping[str, ResourceFlavor | None]:
        """The flavors that the podset may get of the other groups."""
        found: dict[str, ResourceFlavor | None] = {}
        for name in (name for group in self.groups if group is not names for name in group):
            flavor = self.world.flavors.get(name)
            if flavor is None or self._refusal(flavor) is None:
                found[name] = flavor
        return found

    def _refusal(self, flavor: ResourceFlavor) -> Refusal | None:
        if flavor.name not in self.refusals:
            taints = len((flavor.spec.node_taints if flavor.spec else None) or ())
            self.budget.spend(1 + self.effort.selecting + self.effort.tolerating * taints)
            self.refusals[flavor.name] = refusal(self.podset.name, self.podset.spec, flavor)
        return self.refusals[flavor.name]

    def _flavor(self, name: str, beside: Mapping[str, ResourceFlavor | None]) -> tuple[Finding, bool]:
        """The finding on one flavor, and whether Kueue may give the podset this flavor at all."""
        flavor = self.world.flavors.get(name)
        if flavor is None:
            return replace(unknown(f"ResourceFlavor {name} is not found"), flavor=name), True
        refused = self._refusal(flavor)
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
        own = [profile for profile in self.speaking if profile.spec.flavor == name]
        if not own:
            return replace(unknown(f"no CapacityProfile speaks for flavor {name}"), flavor=name), True
        if any(profile_mode(profile) == "Off" for profile in own):
            return replace(skipped(f"preflight is Off for flavor {name}"), flavor=name), True
        return self.resting_on(replace(self._weighed(flavor, beside), flavor=name), [name]), True

    def _weighed(self, flavor: ResourceFlavor, beside: Mapping[str, ResourceFlavor | None]) -> Finding:
        backing = self.world.behind(flavor)
        offer = Offer(flavor, backing, beside, self.world.nodes_recent)
        found = weigh(self.podset, self.requests, self.effort, offer, self.budget)
        if backing.fault is not None and found.outcome not in _GOOD:
            return Finding(outcome=Outcome.MISCONFIGURED, statement=backing.fault)
        if found.outcome is Outcome.NEVER_FITS and len(self.groups) > 1:
            # The pod's nodes must be of one flavor of each group, and any of those may be described by the others.
            return unknown(
                f"{found.statement}, but {self.podset.name} takes flavors of {len(self.groups)} resource groups, "
                "which are not judged together",
                found.binding,
            )
        return found

    def resting_on(self, found: Finding, flavors: list[str]) -> Finding:
        """With the profiles that speak for these flavors. A flavor without any takes the licence to deny."""
        own = [profile for profile in self.speaking if profile.spec.flavor in flavors]
        spoken_for = {profile.spec.flavor for profile in own}
        every = (profile for name in flavors for profile in self.world.profiles_of(name))
        return replace(
            found,
            profiles=tuple(dict.fromkeys(profile.name for profile in own)),
            mode=weakest([profile_mode(profile) for profile in own]) if own else None,
            licensed=all(name in spoken_for for name in flavors) and all(p.spec.closed is True for p in every),
        )
