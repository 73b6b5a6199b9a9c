"""One judgement: the queue, the world, what may still be spent, and what was worked out about them before.

What a shape of podset comes to in this world is kept for the next gang, and costs it as many steps as it took: the
verdict never depends on who came before.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from classifier import api
from classifier.fit.budget import Budget, effort_of
from classifier.fit.gang import Podset
from classifier.fit.judging.choice import Choice, Ground, choose, grounds, speaking
from classifier.fit.judging.reading import WHO, Reading, read
from classifier.fit.judging.weigh import Rooms, see_rooms
from classifier.fit.matching.eligible import Refusal, refusal
from classifier.fit.requests import KueueConfig, parse
from classifier.fit.topology import refusal as topology_refusal
from classifier.fit.topology import tas_only
from classifier.fit.world import World
from classifier.objects import ClusterQueue

#: How often a template is read through.
_PASSES: Final = 4


@dataclass(frozen=True, slots=True, eq=False)
class Options:
    """By resource group the ``flavors`` that Kueue may give; why it never gives others, and why it ``withheld`` the
    first that it withholds for its topology."""

    flavors: tuple[tuple[str, ...], ...] = ()
    refusals: Mapping[str, Refusal] = field(default_factory=dict)
    withheld: str | None = None


class Hearing:
    def __init__(self, queue: ClusterQueue, world: World, now: int, budget: Budget) -> None:
        self.queue, self.world, self.now, self.budget = queue, world, now, budget
        self._kept = kept = world.at(now)
        of_queue = kept.of(("queue", queue.name))
        if of_queue.get("is") is not queue:
            of_queue.clear()
            of_queue["is"] = queue
            of_queue["spoken"] = speaking(queue, world)
            of_queue["tas"] = _topology_aware(queue, world)
            of_queue["only"] = tas_only(queue, world.flavors)
        self.spoken = of_queue["spoken"]
        self._choices: dict[tuple[str, ...], Choice] = kept.of(("choices", queue.name))
        #: Whether any flavor of the queue has a topology, and whether every one has (None: not known).
        self.tas: bool = of_queue["tas"]
        self.tas_only: bool | None = of_queue["only"]
        #: Whether Kueue places by topology at all; None: its configuration is not known.
        config = parse(world.kueue_config) if world.kueue_config is not None else None
        self.topology_aware = config.topology_aware if isinstance(config, KueueConfig) else None
        self.tree = world.quota
        self._readings = kept.of(("readings", queue.name))
        self._options: dict[Hashable, tuple[int, Options]] = kept.of(("options", queue.name))
        self._grounds = kept.of(("grounds", queue.name))
        self._rooms: dict[Hashable, tuple[int, Rooms]] = kept.of(("rooms", queue.name))
        #: Label keys that any podset of the gang asks for: live nodes outside of pools are told apart by them.
        self.keys: frozenset[str] = frozenset()

    def levels(self, flavor: str) -> tuple[str, ...]:
        """Levels of the flavor's Topology, widest first; none where it is not known."""
        found = self.world.flavors.get(flavor)
        name = found.spec.topology_name if found is not None and found.spec is not None else None
        topology = self.world.topologies.get(name or "")
        return tuple(topology.levels) if topology is not None else ()

    def _withheld(self, podset: Podset, reading: Reading, flavor: str, resources: frozenset[str]) -> str | None:
        """Why topology-aware scheduling does not give the podset this flavor, of a group that covers ``resources``."""
        request = podset.topology
        found = self.world.flavors.get(flavor)
        if found is None or not (self.tas or (request is not None and request.asked)):
            return None
        if api.TOPOLOGIES in self.world.unread or self.topology_aware is False:
            return None
        overlaps = not resources.isdisjoint(reading.requests)
        return topology_refusal(request, found, self.world.topologies, only=self.tas_only, overlaps=overlaps)

    def sort(self, name: str) -> dict[Any, Any]:
        """What is kept about this queue under a name of its own."""
        return self._kept.of((name, self.queue.name))

    def reading(self, podset: Podset, shape: object) -> Reading:
        """Raises OverBudget."""
        kept: tuple[int, Reading] | None = self._readings.get(shape)
        cost = kept[0] if kept else _PASSES * effort_of(podset.spec).reading
        self.budget.spend(cost)
        reading = kept[1] if kept else read(podset, self.queue, self.world)
        self._readings[shape] = (cost, reading)
        if reading.scalable < podset.count:
            reading = read(podset, self.queue, self.world, podset.count)
        return reading

    def options(self, podset: Podset, shape: object, reading: Reading) -> Options:
        """Which flavors Kueue may give the podset. Raises OverBudget."""
        key = shape, podset.topology
        return self.budget.recall(self._options, key, lambda: self._sort_out(podset, reading))

    def _sort_out(self, podset: Podset, reading: Reading) -> Options:
        refusals = self._refuse(reading)
        found, withheld = [], None
        for group in reading.groups:
            given = []
            for name in group.flavors:
                if name not in refusals:
                    text = self._withheld(podset, reading, name, group.resources)
                    withheld = withheld or text
                    given += [name] if text is None else []
            found.append(tuple(given))
        return Options(tuple(found), refusals, withheld)

    def _refuse(self, reading: Reading) -> dict[str, Refusal]:
        found = {}
        for name in dict.fromkeys(name for group in reading.groups for name in group.flavors):
            flavor = self.world.flavors.get(name)
            if flavor is None:
                continue
            taints = len((flavor.spec.node_taints if flavor.spec else None) or ())
            self.budget.spend(1 + reading.effort.selecting + reading.effort.tolerating * taints)
            refused = refusal(WHO, reading.template, flavor)
            if refused is not None:
                found[name] = refused
        return found

    def choice(self, names: tuple[str, ...]) -> Choice:
        found = self._choices.get(names)
        if found is None:
            found = self._choices[names] = choose(names, self.queue, self.spoken, self.world, self.now)
        return found

    def ground(self, choice: Choice) -> list[Ground]:
        key = (choice.flavors, self.keys)
        return self.budget.recall(self._grounds, key, lambda: grounds(choice, self.keys, self.budget))

    def rooms(self, shape: object, reading: Reading, choice: Choice) -> Rooms:
        def look() -> Rooms:
            return see_rooms(reading, choice, self.ground(choice), self.world.nodes_recent, self.budget)

        return self.budget.recall(self._rooms, (shape, choice.flavors, self.keys), look)

    def potential(self, flavor: str, resource: str) -> int:
        return self.tree.potential(self.queue.name, flavor, resource)


def _topology_aware(queue: ClusterQueue, world: World) -> bool:
    flavors = (world.flavors.get(name) for name in queue.flavors)
    return any(flavor is not None and flavor.spec is not None and flavor.spec.topology_name for flavor in flavors)
