"""One podset of the gang that is judged: which flavors it may get, and what each choice of them comes to by itself."""

from collections.abc import Hashable, Iterator, Sequence
from itertools import product
from math import prod
from typing import Final

import msgspec

from classifier.fit.finding import GOOD, Finding, skipped, unknown
from classifier.fit.gang import Podset
from classifier.fit.judging.choice import Choice
from classifier.fit.judging.hearing import Hearing, Options
from classifier.fit.judging.reading import WHO, Group, Reading
from classifier.fit.judging.weigh import Rooms, weigh
from classifier.fit.mode import profile_mode, weakest
from classifier.fit.quota import Demand
from classifier.fit.verdict import Outcome

#: Choices of flavors of one podset that are looked at one by one; where there are more, its nodes prove nothing.
MOST_CHOICES: Final = 512


class Seat:
    def __init__(self, podset: Podset, shape: Hashable, hearing: Hearing) -> None:
        self.podset = podset
        self.hearing = hearing
        self.shape = shape
        self.reading: Reading
        self._options = Options()
        #: By resource group, the flavors that Kueue may give.
        self.options: tuple[tuple[str, ...], ...] = ()
        self._weighed: dict[tuple[str, ...], Finding] = {}

    def read(self) -> Finding | None:
        """A finding if the template cannot be read. Raises OverBudget."""
        self.reading = self.hearing.reading(self.podset, self.shape)
        return unknown(self.named(self.reading.error), "quantity") if self.reading.error is not None else None

    @property
    def asked(self) -> frozenset[str]:
        return self.reading.asked

    def settle(self) -> Finding | None:
        """What is found without looking at nodes or quota, and leaves nothing to ask them. Raises OverBudget."""
        podset, reading, hearing = self.podset, self.reading, self.hearing
        if not hearing.spoken:
            return skipped(f"no CapacityProfile speaks for ClusterQueue {hearing.queue.name}")
        if not reading.groups and podset.count == 0:
            return Finding(outcome=Outcome.FITS, statement="gang has no pods")
        if not reading.groups:
            return unknown(f"ClusterQueue {hearing.queue.name} covers nothing that {podset.name} requests")
        offered = [name for group in reading.groups for name in group.flavors]
        if not any(profile.spec.flavor in offered for profile in hearing.spoken):
            return skipped(f"no CapacityProfile speaks for flavor {', '.join(dict.fromkeys(offered)) or '(none)'}")
        if reading.fraction is not None and podset.fewest:
            part = reading.fraction
            proof = Finding(
                outcome=Outcome.NEVER_FITS,
                statement=f"each pod of {podset.name} asks for {part.quantity} {part.resource}, not a whole number",
                binding="quantity",
                resource=part.resource,
                needs=part.quantity,
                advice=f"request whole {part.resource}",
            )
            return self.resting_on(proof, offered)
        self._options = hearing.options(podset, self.shape, reading)
        self.options = self._options.flavors
        if podset.count == 0:
            # Kueue looks for its flavors all the same.
            empty = next((group for group, names in zip(reading.groups, self.options, strict=True) if not names), None)
            if empty is not None:
                return unknown(f"{podset.name} has no pods, and Kueue gives it no flavor all the same")
            return Finding(outcome=Outcome.FITS, statement="gang has no pods")
        for group, names in zip(reading.groups, self.options, strict=True):
            if not names:
                allowed = [name for name in group.flavors if name not in self._options.refusals]
                return self.resting_on(self._misfit(), allowed) if allowed else self.unless_unsure(self._refused(group))
        return None

    def _misfit(self) -> Finding:
        return Finding(outcome=Outcome.MISCONFIGURED, statement=self._options.withheld or "", binding="topology")

    def _refused(self, group: Group) -> Finding:
        if not group.flavors:
            return unknown(f"ClusterQueue {self.hearing.queue.name} offers {self.podset.name} no flavor")
        first = group.flavors[0]
        refused = self._options.refusals[first]
        proof = Finding(
            outcome=Outcome.NEVER_FITS,
            statement=self.named(refused.statement),
            binding=refused.binding,
            flavor=first,
            needs=refused.needs or None,
            limit=refused.limit,
            source=f"ResourceFlavor/{first}",
            advice=refused.advice,
        )
        return self.resting_on(proof, group.flavors)

    @property
    def choices(self) -> Iterator[tuple[str, ...]]:
        """One flavor of each group, in Kueue's order; there may be very many."""
        return product(*self.options)

    @property
    def countable(self) -> bool:
        return prod(map(len, self.options)) <= MOST_CHOICES

    def proof(self) -> Finding | None:
        """That the podset by itself finds no place on any choice; the one with the most room speaks. Raises
        OverBudget."""
        if not self.countable:
            return None
        found = []
        for names in self.choices:
            one = self.weighed(names)
            if one.outcome is not Outcome.NEVER_FITS:
                return None
            found.append(one)
        nearest = max(found, key=lambda one: one.most)
        return self.resting_on(nearest, [name for names in self.options for name in names])

    def weighed(self, names: tuple[str, ...]) -> Finding:
        """What the choice comes to. Raises OverBudget."""
        found = self._weighed.get(names)
        if found is None:
            found = self._weighed[names] = self._weigh(self.hearing.choice(names))
        return found

    def _weigh(self, choice: Choice) -> Finding:
        if choice.blocked is not None:
            return choice.blocked
        recent = self.hearing.world.nodes_recent
        seen = self.rooms(choice)
        if seen.most is not None and seen.most < self.podset.fewest and self.hearing.borrows(choice):
            seen = self.rooms(choice, wide=True)
        found = self.unless_unsure(weigh(self.podset, self.reading, choice, seen, recent))
        if choice.fault is not None and found.outcome not in GOOD:
            found = Finding(outcome=Outcome.MISCONFIGURED, statement=choice.fault)
        if choice.starved is not None and found.outcome is not Outcome.NEVER_FITS:
            found = Finding(outcome=Outcome.MISCONFIGURED, statement=choice.starved, binding="topology")
        if found.flavor is None:
            found = msgspec.structs.replace(
                found,
                flavor=choice.name,
                profiles=choice.profiles,
                mode=choice.mode,
                licensed=choice.licensed,
            )
        return found

    def rooms(self, choice: Choice, *, wide: bool = False) -> Rooms:
        """``wide``: on nodes of other flavors too, for a proof. Raises OverBudget."""
        return self.hearing.rooms(self.shape, self.reading, choice, wide=wide)

    def unless_withheld(self, found: Finding) -> Finding:
        """Kueue gives a flavor that it withholds for its topology too, if its feature gate for topologies is off."""
        if found.outcome is not Outcome.NEVER_FITS or self._options.withheld is None:
            return found
        return unknown(f"{found.statement}, and {self._options.withheld}", found.binding)

    def unless_unsure(self, found: Finding) -> Finding:
        """Where Kueue may count less than is known, the podset may get fewer flavors and then more nodes."""
        found = self.unless_withheld(found)
        if found.outcome is not Outcome.NEVER_FITS or self.reading.sure:
            return found
        return unknown(f"{found.statement}, but how Kueue counts {self.podset.name} is not known", found.binding)

    def resting_on(self, found: Finding, flavors: Sequence[str]) -> Finding:
        """With the profiles that speak for these flavors. A flavor without any takes the licence to deny."""
        return resting_on(found, flavors, self.hearing)

    def demand(self, *, whole: bool) -> Demand:
        """What it takes of quota: as few pods as Kueue may start, and nothing it may not count; or the ``whole``."""
        podset, reading = self.podset, self.reading
        return Demand(
            name=podset.name,
            count=podset.count if whole else podset.min_count,
            group=podset.topology.group if podset.topology else None,
            amounts=reading.quota if whole else reading.quota_surely,
            options=self.options,
            resources=reading.resources,
            alike=(self.shape, podset.count, podset.min_count, podset.least, podset.stage, podset.topology),
        )

    @property
    def rescaled(self) -> bool:
        """Whether there are so many pods that each counts as less than in gangs of other counts."""
        return self.reading.scalable < self.podset.count

    @property
    def counts_less(self) -> bool:
        """Whether quota may be asked for less than the whole podset."""
        return self.podset.min_count < self.podset.count or self.reading.quota != self.reading.quota_surely

    def named(self, text: str) -> str:
        return text.replace(WHO, self.podset.name)


def resting_on(found: Finding, flavors: Sequence[str], hearing: Hearing) -> Finding:
    names = dict.fromkeys(flavors)
    own = [profile for profile in hearing.spoken if profile.spec.flavor in names]
    spoken_for = {profile.spec.flavor for profile in own}
    every = (profile for name in names for profile in hearing.world.profiles_of(name))
    return msgspec.structs.replace(
        found,
        profiles=tuple(dict.fromkeys(profile.name for profile in own)),
        mode=weakest([profile_mode(profile) for profile in own]) if own else None,
        licensed=all(name in spoken_for for name in names) and all(one.spec.closed is True for one in every),
    )
