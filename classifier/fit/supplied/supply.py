"""What stands behind each flavor, worked out once for a state of the world and not once for a job.

The containers of a world are its version: whoever changes one makes a new one, and the same containers mean the same
answer. What hangs on one pool or flavor alone outlives a change elsewhere.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import is_
from typing import TYPE_CHECKING, Any, Final

from classifier import api
from classifier.fit.facts import PoolFacts, Sources
from classifier.fit.quota.tree import QuotaTree
from classifier.fit.supplied.devices import NO_DEVICES, Devices
from classifier.fit.supplied.elsewhere import Declared, borrowed
from classifier.fit.supplied.faults import faults
from classifier.fit.supplied.live import Live, Shown, by_kind
from classifier.fit.supplied.nodes import Nodes
from classifier.fit.supplied.pools import Pool, declared_pool
from classifier.objects import CapacityProfile, Metadata, Node, ResourceFlavor
from classifier.objects import Pool as DeclaredPool

if TYPE_CHECKING:
    from classifier.fit.world import World

#: Answers kept of one state of the world; past it they are worked out anew. One is a few kilobytes at most.
_KEPT: Final = 1 << 14
#: Judgements after which they are counted: each adds a few dozen at most.
_COUNTED: Final = 64
#: Bytes of what gangs say of themselves that are held on to with the answers about them; in memory they are four times
#: as long. Most say a few hundred, but an author may write megabytes into a selector, and be refused only later.
_HEAVIEST: Final = 8 << 20


@dataclass(frozen=True, slots=True)
class Backing:
    """``profiles`` of the flavor, whatever queues they name; their ``pools``; live nodes in none of them, by kind.

    Such a stray node is capacity the profiles do not know; that they are closed does not make it vanish.
    """

    profiles: Sequence[CapacityProfile]
    pools: Sequence[Pool]
    strays: Sequence[Shown]
    fault: str | None
    devices: Devices = NO_DEVICES

    @property
    def open(self) -> tuple[str, ...]:
        """Names of the profiles that do not say that their pools are all there is."""
        return tuple(profile.name for profile in self.profiles if profile.spec.closed is not True)


class Kept:
    """Answers about one state of the world, by sort and by whatever key their author chose.

    Answers hold on to each other (a floor to the rooms on it), so they are forgotten all at once or not at all, and
    only between two judgements: see :meth:`Supply.follow`.
    """

    def __init__(self) -> None:
        self._sorts: dict[Hashable, dict[Any, Any]] = {}
        self._judged = 0
        self._weight = 0

    def of(self, sort: Hashable) -> dict[Any, Any]:
        """The answers of one sort."""
        return self._sorts.setdefault(sort, {})

    def weigh(self, size: int) -> None:
        """Answers hold on to so many bytes of a gang's own words."""
        self._weight += size

    def forget(self) -> None:
        """At once: they hold on to each other, and would wait for the garbage collector."""
        for answers in self._sorts.values():
            answers.clear()

    def full(self) -> bool:
        """To be asked once a judgement: whether there are more, or longer ones, than should be kept."""
        self._judged += 1
        many = self._judged % _COUNTED == 0 and sum(map(len, self._sorts.values())) > _KEPT
        return many or self._weight > _HEAVIEST


@dataclass(slots=True)
class _Footing:
    """A backing and all it was made of: while that stands, so does the backing."""

    rests_on: tuple[object, ...]
    backing: Backing


class Supply:
    """Keeps the answers for the world it was last asked about, and what it has read of each node until that changes."""

    def __init__(self) -> None:
        self._version: tuple[object, ...] = ()
        self._profiles: list[CapacityProfile] | None = None
        self._by_flavor: dict[str, list[CapacityProfile]] = {}
        self._nodes = Nodes()
        self._sources: Sources | None = None
        self._footings: dict[str, _Footing] = {}
        self._backings: dict[str, Backing] = {}
        #: By flavor, where there are any: facts that are a bound as long as they are fresh, and whether they were.
        self._timed: dict[str, list[tuple[PoolFacts, bool]]] = {}
        self._kept = Kept()
        self._devices = NO_DEVICES
        self._devices_of: tuple[object, ...] = ()
        #: By labels, all pools that surely have them.
        self._borrowed: dict[frozenset[tuple[str, str]], list[Pool]] = {}
        #: Of the profiles and flavors last seen, once somebody asked.
        self._declared: Declared | None = None
        self._declared_of: tuple[object, ...] = ()
        self._tree_of: tuple[object, ...] = ()
        self._tree = QuotaTree({}, {})

    def look(self, node: Node) -> Live:
        """The node as preflight sees it. Looked at as they come, thousands of nodes keep no judgement waiting."""
        return self._nodes.look(node)

    def follow(self, world: World, now: int) -> Kept:
        """From now on this is the world that is asked about; what is kept about it. ``now`` in ms."""
        version = world.version
        if self._timed and any(fact.fresh(now) is not was for some in self._timed.values() for fact, was in some):
            self._footings, self._timed, self._version = {}, {}, ()
        if not _all_the_same(version, self._version):
            self._version = version
            self._exchange(world)
        elif self._kept.full():
            self._kept.forget()
            self._kept = Kept()
        return self._kept

    def profiles_of(self, flavor: str) -> Sequence[CapacityProfile]:
        """Every profile of a flavor, whatever queues it names."""
        return self._by_flavor.get(flavor, ())

    def behind(self, flavor: ResourceFlavor, world: World, now: int) -> Backing:
        """Of the world last followed."""
        found = self._backings.get(flavor.name)
        if found is None:
            found = self._backings[flavor.name] = self._work_out(flavor, world, now)
        return found

    def quota(self, world: World) -> QuotaTree:
        """Kept while queues and cohorts stand, whatever happens to nodes: a thousand queues take long to add up."""
        known = not {api.COHORTS, api.CLUSTER_QUEUES} & world.unread
        tree_of = (world.cluster_queues, world.cohorts, known)
        if not _all_the_same(tree_of, self._tree_of):
            self._tree = QuotaTree(world.cluster_queues, world.cohorts, cohorts_known=known)
            self._tree_of = tree_of
        return self._tree

    def elsewhere(self, labels: Mapping[str, str], flavors: Sequence[str], world: World, now: int) -> list[Pool]:
        """Pools of profiles of other flavors than these whose nodes surely have all the ``labels``. Of the world last
        followed."""
        key = frozenset(labels.items())
        found = self._borrowed.get(key)
        if found is None:
            found = self._borrowed[key] = list(self._find_elsewhere(labels, world, now))
        if not any(pool.flavor not in flavors for pool in found):
            return []
        behind = [self.behind(_flavor(name, world), world, now).pools for name in flavors]
        words = {pool.words for pools in behind for pool in pools if pool.words}
        return [pool for pool in found if pool.flavor not in flavors and pool.words not in words]

    def _find_elsewhere(self, labels: Mapping[str, str], world: World, now: int) -> Iterator[Pool]:
        if self._declared is None:
            self._declared = Declared(world.profiles, world.flavors)
        for name in self._declared.flavors_with(labels):
            for pool in self.behind(_flavor(name, world), world, now).pools:
                if pool.max_nodes != 0 and labels.items() <= pool.labels.known.items():
                    yield borrowed(pool, name)

    def carrying(self, labels: Mapping[str, str]) -> Sequence[Live]:
        """The live nodes with all these labels."""
        return self._nodes.carrying(labels)

    def _exchange(self, world: World) -> None:
        if world.profiles is not self._profiles:
            self._profiles, self._by_flavor = world.profiles, {}
            for profile in world.profiles:
                self._by_flavor.setdefault(profile.spec.flavor, []).append(profile)
        if self._sources is None or not self._sources.current(world):
            self._sources = Sources(world)
        devices_of = (world.device_classes, api.DEVICE_CLASSES in world.unread)
        if not _all_the_same(devices_of, self._devices_of):
            self._devices_of = devices_of
            self._devices = Devices(world.device_classes.values(), known=not devices_of[1])
        declared_of = (world.profiles, world.flavors)
        if not _all_the_same(declared_of, self._declared_of):
            self._declared, self._declared_of = None, declared_of
        self._nodes.follow(world.nodes)
        self._kept.forget()
        self._backings, self._borrowed, self._kept = {}, {}, Kept()

    def _work_out(self, flavor: ResourceFlavor, world: World, now: int) -> Backing:
        labels = (flavor.spec.node_labels if flavor.spec else None) or {}
        profiles = self._by_flavor.get(flavor.name, ())
        topology = world.topologies.get((flavor.spec.topology_name if flavor.spec else None) or "")
        declared = [(profile, pool) for profile in profiles for pool in profile.spec.pools or ()]
        shown = [self._nodes.shown(pool.node_labels or labels) for _, pool in declared]
        carrying = self._nodes.carrying(labels)
        rests_on = (flavor, self._profiles, self._sources, self._devices, topology, carrying, *shown)
        footing = self._footings.get(flavor.name)
        if footing is not None and _all_the_same(rests_on, footing.rests_on):
            return footing.backing
        varying = frozenset(topology.levels if topology else ())
        pools = [
            declared_pool(
                profile, pool, labels, seen, self._told(pool), varying=varying, now=now, devices=self._devices
            )
            for (profile, pool), seen in zip(declared, shown, strict=True)
        ]
        members = {id(pool.lives): pool.lives for pool in pools}  # pools of the same labels share one list
        known = {live.name for lives in members.values() for live in lives}
        strays = by_kind(live for live in carrying if live.name not in known)
        backing = Backing(profiles, pools, strays, next(iter(faults(flavor, profiles)), None), self._devices)
        bounds = [fact for _, pool in declared if pool.max_nodes is None for fact in self._told(pool) if fact.binds]
        self._timed.pop(flavor.name, None)
        if bounds:
            self._timed[flavor.name] = [(fact, fact.fresh(now)) for fact in bounds]
        self._footings[flavor.name] = _Footing(rests_on, backing)
        return backing

    def _told(self, pool: DeclaredPool) -> tuple[PoolFacts, ...]:
        return self._sources.of(pool) if self._sources is not None else ()


def _flavor(name: str, world: World) -> ResourceFlavor:
    """A profile may be of a flavor that is not there."""
    return world.flavors.get(name) or ResourceFlavor(metadata=Metadata(name=name))


def _all_the_same(some: tuple[object, ...], others: tuple[object, ...]) -> bool:
    return len(some) == len(others) and all(map(is_, some, others))
