"""One judgement: the queue, the world, what may still be spent, and what was worked out about them before.

What a shape of podset comes to in this world is kept for the next gang, and costs it as many steps as it took: the
verdict never depends on who came before.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from classifier import api
from classifier.fit.budget import Budget, effort_of
from classifier.fit.gang import Podset
from classifier.fit.judging.choice import Choice, Ground, choose, grounds, speaking
from classifier.fit.judging.reading import WHO, Reading, read
from classifier.fit.judging.weigh import Rooms, ToldApart, see_rooms
from classifier.fit.matching.eligible import Refusal, refusal
from classifier.fit.quota import QuotaTree
from classifier.fit.requests import KueueConfig, parse
from classifier.fit.supplied.supply import Kept
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


class _OfQueue:
    """What is kept about one queue: who speaks for it, and what was worked out, by sort."""

    def __init__(self, queue: ClusterQueue, world: World, kept: Kept) -> None:
        self.queue = queue
        self.spoken = speaking(queue, world)
        #: Whether any flavor of the queue has a topology, and whether every one has (None: not known).
        self.tas = _topology_aware(queue, world)
        self.tas_only = tas_only(queue, world.flavors)
        self._kept = kept
        self._sorts: dict[str, dict[Any, Any]] = {}
        self.choices: dict[tuple[str, ...], Choice] = self.sort("choices")
        self.readings: dict[object, tuple[int, Reading]] = self.sort("readings")
        self.options: dict[Hashable, tuple[int, Options]] = self.sort("options")
        self.grounds: dict[Hashable, tuple[int, list[Ground]]] = self.sort("grounds")
        self.borrowed: dict[tuple[str, ...], tuple[int, list[Ground]]] = self.sort("borrowed")
        self.rooms: dict[Hashable, tuple[int, Rooms]] = self.sort("rooms")
        self.told_apart = ToldApart()

    def sort(self, name: str) -> dict[Any, Any]:
        found = self._sorts.get(name)
        if found is None:
            found = self._sorts[name] = self._kept.of((name, self.queue.name))
        return found


class Hearing:
    def __init__(self, queue: ClusterQueue, world: World, now: int, budget: Budget, kept: Kept) -> None:
        """``kept``: what is known of this state of the world."""
        self.queue, self.world, self.now, self.budget, self.kept = queue, world, now, budget, kept
        queues: dict[str, _OfQueue] = kept.of("queues")
        known = queues.get(queue.name)
        if known is None or known.queue is not queue:
            known = queues[queue.name] = _OfQueue(queue, world, kept)
        self._known = known
        self.spoken = known.spoken
        #: Label keys that any podset of the gang asks for: live nodes outside of pools are told apart by them.
        self.keys: frozenset[str] = frozenset()

    @property
    def topology_aware(self) -> bool | None:
        """Whether Kueue places by topology at all; None: its configuration is not known."""
        config = parse(self.world.kueue_config) if self.world.kueue_config is not None else None
        return config.topology_aware if isinstance(config, KueueConfig) else None

    @cached_property
    def tree(self) -> QuotaTree:
        return self.world.quota

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
        if found is None or not (self._known.tas or (request is not None and request.asked)):
            return None
        if api.TOPOLOGIES in self.world.unread or self.topology_aware is False:
            return None
        overlaps = not resources.isdisjoint(reading.requests)
        return topology_refusal(request, found, self.world.topologies, only=self._known.tas_only, overlaps=overlaps)

    def sort(self, name: str) -> dict[Any, Any]:
        """What is kept about this queue under a name of its own."""
        return self._known.sort(name)

    def reading(self, podset: Podset, shape: object) -> Reading:
        """Raises OverBudget."""
        kept = self._known.readings.get(shape)
        cost = kept[0] if kept else _PASSES * effort_of(podset.spec).reading
        self.budget.spend(cost)
        reading = kept[1] if kept else read(podset, self.queue, self.world)
        self._known.readings[shape] = (cost, reading)
        if reading.scalable < podset.count:
            reading = read(podset, self.queue, self.world, podset.count)
        return reading

    def options(self, podset: Podset, shape: object, reading: Reading) -> Options:
        """Which flavors Kueue may give the podset. Raises OverBudget."""
        key = shape, podset.topology
        return self.budget.recall(self._known.options, key, lambda: self._sort_out(podset, reading))

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
        found = self._known.choices.get(names)
        if found is None:
            found = self._known.choices[names] = choose(names, self.queue, self.spoken, self.world, self.now)
        return found

    def ground(self, choice: Choice, *, wide: bool = False) -> list[Ground]:
        """``wide``: with the pools of other flavors whose nodes the pods may use too, which only a proof asks for."""
        others = self._borrowed(choice) if wide else []

        def look() -> list[Ground]:
            beside = [place.pool for place in others]
            self.budget.glance(sum(len(pool.lives) for pool in beside))
            return [*grounds(choice, self.keys, self.budget, beside), *others]

        return self.budget.recall(self._known.grounds, (choice.flavors, self.keys, bool(others)), look)

    def borrows(self, choice: Choice) -> bool:
        """Whether there is any ground that only a proof asks for. Raises OverBudget."""
        return bool(self._borrowed(choice))

    def _borrowed(self, choice: Choice) -> list[Ground]:
        def look() -> list[Ground]:
            pools = self.world.elsewhere(choice.labels, choice.flavors, self.now)
            self.budget.glance(len(pools))
            return [Ground(pool, choice.labels, pool.flavor) for pool in pools]

        return self.budget.recall(self._known.borrowed, choice.flavors, look)

    def rooms(self, shape: object, reading: Reading, choice: Choice, *, wide: bool = False) -> Rooms:
        """Raises OverBudget."""
        wide = wide and self.borrows(choice)

        def look() -> Rooms:
            ground = self.ground(choice, wide=wide)
            return see_rooms(reading, choice, ground, self.world.nodes_recent, self._known.told_apart, self.budget)

        return self.budget.recall(self._known.rooms, (shape, choice.flavors, self.keys, wide), look)

    def potential(self, flavor: str, resource: str) -> int:
        return self.tree.potential(self.queue.name, flavor, resource)


def _topology_aware(queue: ClusterQueue, world: World) -> bool:
    flavors = (world.flavors.get(name) for name in queue.flavors)
    return any(flavor is not None and flavor.spec is not None and flavor.spec.topology_name for flavor in flavors)
