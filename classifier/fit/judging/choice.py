"""One flavor of each resource group that a podset touches: what Kueue may give it, and which nodes that leaves.

Kueue puts the labels of every chosen flavor on the pod, so its nodes must carry all of them. Nodes of one flavor may
well be described only by a profile of another one: the pools of all of them are looked at, and a proof needs every one
of the flavors closed.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from classifier import api
from classifier.fit.budget import Budget
from classifier.fit.finding import Finding, skipped, unknown
from classifier.fit.mode import profile_mode, weakest
from classifier.fit.supplied.live import Live, by_kind
from classifier.fit.supplied.pools import Pool, stray_pools
from classifier.fit.supplied.supply import Backing
from classifier.fit.topology import starved
from classifier.fit.verdict import Mode, Outcome
from classifier.fit.world import World
from classifier.objects import CapacityProfile, ClusterQueue, ResourceFlavor, Toleration

_NO_LABELS: Final[dict[str, str]] = {}


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """``blocked``: what is found before any node is looked at; the rest is then of no use.

    ``profiles`` speak for the queue, ``mode`` is the weakest of theirs. ``open`` says why nothing is proven by the
    nodes that are known, ``fault`` which profile contradicts itself.
    """

    flavors: tuple[str, ...]
    name: str
    labels: Mapping[str, str]
    tolerations: tuple[Toleration, ...]
    backings: tuple[tuple[ResourceFlavor, Backing], ...]
    profiles: tuple[str, ...]
    mode: Mode | None
    licensed: bool
    open: str | None
    fault: str | None
    blocked: Finding | None
    #: Why a topology-aware flavor among them admits nothing as it is set up.
    starved: str | None
    #: The first of the flavors that has a topology, and whether a ProvisioningRequest brings nodes before Kueue looks.
    topology: str | None
    provisioned: bool


@dataclass(frozen=True, slots=True)
class Ground:
    """A pool, the labels of all chosen flavors, which its nodes must have, and the flavor it is declared for."""

    pool: Pool
    labels: Mapping[str, str]
    flavor: str


def speaking(queue: ClusterQueue, world: World) -> list[CapacityProfile]:
    """The profiles that speak for the queue, by the queue's order of flavors."""
    names = dict.fromkeys(queue.flavors)
    return [profile for name in names for profile in world.profiles_of(name) if profile.names(queue)]


def choose(
    names: tuple[str, ...], queue: ClusterQueue, spoken: Sequence[CapacityProfile], world: World, now: int
) -> Choice:
    own = [profile for profile in spoken if profile.spec.flavor in names]
    by_flavor = {name: [profile for profile in own if profile.spec.flavor == name] for name in names}
    every = [profile for name in names for profile in world.profiles_of(name)]
    found = [world.flavors.get(name) for name in names]
    flavors = [flavor for flavor in found if flavor is not None]
    backings = tuple((flavor, world.behind(flavor, now)) for flavor in flavors)
    labels: dict[str, str] = {}
    for flavor in flavors:
        labels |= _labels(flavor)
    placed = [flavor.name for flavor in flavors if flavor.spec is not None and flavor.spec.topology_name]
    return Choice(
        flavors=names,
        name=", ".join(names),
        labels=labels,
        tolerations=tuple(one for flavor in flavors for one in (flavor.spec and flavor.spec.tolerations) or ()),
        backings=backings,
        profiles=tuple(dict.fromkeys(profile.name for profile in own)),
        mode=weakest([profile_mode(profile) for profile in own]) if own else None,
        licensed=all(by_flavor.values()) and all(profile.spec.closed is True for profile in every),
        open=_open(names, by_flavor, backings),
        fault=next((backing.fault for _, backing in backings if backing.fault is not None), None),
        blocked=_blocked(names, found, own),
        topology=next(iter(placed), None),
        provisioned=all(_provisioned(name, queue, world) for name in placed),
        starved=next((text for flavor in flavors if (text := _starved(flavor, queue, world)) is not None), None),
    )


def _starved(flavor: ResourceFlavor, queue: ClusterQueue, world: World) -> str | None:
    topology = world.topologies.get((flavor.spec.topology_name if flavor.spec else None) or "")
    if topology is None:
        return None
    nodes = None
    if world.nodes is not None and world.nodes_recent and not world.nodes_awaited:
        nodes = (live.labels for live in world.supply.carrying(_labels(flavor)))
    return starved(flavor, topology, nodes, provisioned=_provisioned(flavor.name, queue, world))


def _provisioned(flavor: str, queue: ClusterQueue, world: World) -> bool:
    """Whether a ProvisioningRequest check stands before the flavor; one that is not found may be it."""
    strategy = queue.spec.admission_checks_strategy if queue.spec else None
    for rule in (strategy.admission_checks if strategy else None) or ():
        check = world.admission_checks.get(rule.name)
        controller = check.spec.controller_name if check is not None and check.spec is not None else None
        if (not rule.on_flavors or flavor in rule.on_flavors) and controller in (None, api.PROVISIONING_CONTROLLER):
            return True
    return False


def _blocked(
    names: tuple[str, ...], found: Sequence[ResourceFlavor | None], own: Sequence[CapacityProfile]
) -> Finding | None:
    for name, flavor in zip(names, found, strict=True):
        if flavor is None:
            return unknown(f"ResourceFlavor {name} is not found", flavor=name)
    if not own:
        return unknown(f"no CapacityProfile speaks for flavor {' or '.join(names)}", flavor=names[0])
    for profile in own:
        if profile_mode(profile) == "Off":
            return skipped(f"preflight is Off for flavor {profile.spec.flavor}", flavor=profile.spec.flavor)
    return _contradiction([flavor for flavor in found if flavor is not None])


def _contradiction(flavors: Sequence[ResourceFlavor]) -> Finding | None:
    """Kueue gives both flavors all the same, and then no node has the labels of both (capacity.md §3.12b)."""
    of: dict[str, ResourceFlavor] = {}
    for flavor in flavors:
        for key, value in _labels(flavor).items():
            other = of.setdefault(key, flavor)
            if _labels(other)[key] != value:
                text = f"{key}={_labels(other)[key]}, {flavor.name} has {key}={value}"
                return Finding(
                    outcome=Outcome.MISCONFIGURED,
                    statement=f"ResourceFlavor {other.name} has {text}: no node is of both",
                    binding="selector",
                    flavor=flavor.name,
                    source=f"ResourceFlavor/{flavor.name}",
                )
    return None


def _open(
    names: tuple[str, ...],
    by_flavor: Mapping[str, Sequence[CapacityProfile]],
    backings: Sequence[tuple[ResourceFlavor, Backing]],
) -> str | None:
    """Why there may be other nodes, to be read after a sentence."""
    unclosed = list(dict.fromkeys(name for _, backing in backings for name in backing.open))
    if unclosed:
        return f"{', '.join(unclosed)} is not closed: there may be other pools"
    for flavor, backing in backings:
        if not backing.profiles:
            return f"no CapacityProfile describes flavor {flavor.name}: there may be other pools"
    for name in names:
        if not by_flavor[name]:
            return f"no CapacityProfile speaks for flavor {name}"
    return None


def grounds(choice: Choice, keys: Iterable[str], budget: Budget, beside: Sequence[Pool] = ()) -> list[Ground]:
    """Every pool that may hold pods of this choice, live nodes outside of all of them told apart by ``keys``; so much
    as is not in the pools ``beside``."""
    asked = sorted({*keys, *choice.labels} if len(choice.flavors) > 1 else set(keys))
    found = _declared(choice)
    # What stands in a pool of one flavor is no stray of another.
    known = {live.name for pool in beside for live in pool.lives}
    if len(choice.backings) > 1:
        known |= {live.name for one in found for live in one.pool.lives}
    for flavor, backing in choice.backings:
        strays = backing.strays
        if known and any(live.name in known for kind in strays for live in kind.lives):
            strays = by_kind(_others(strays_of(backing), known))
        found += [
            Ground(pool, choice.labels, flavor.name) for pool in stray_pools(strays, asked, budget, backing.devices)
        ]
        if len(choice.backings) > 1:
            known |= {live.name for kind in strays for live in kind.lives}
    return found


def _declared(choice: Choice) -> list[Ground]:
    """The pools of all its flavors. One that the profiles of several describe in the same words is one pool: a node
    that is of both flavors is among its nodes, whichever profile counts them. The one that says most of the labels
    speaks."""
    found: list[Ground] = []
    where: dict[str, int] = {}
    for flavor, backing in choice.backings:
        for pool in backing.pools:
            place = Ground(pool, choice.labels, flavor.name)
            at = where.get(pool.words, -1) if pool.words else -1
            if at < 0 or found[at].flavor == flavor.name:
                where[pool.words or ""] = len(found)
                found.append(place)
            elif _says(pool, choice) > _says(found[at].pool, choice):
                found[at] = place
    return found


def _says(pool: Pool, choice: Choice) -> int:
    return sum(pool.labels.known.get(key) == value for key, value in choice.labels.items())


def strays_of(backing: Backing) -> Iterable[Live]:
    return (live for kind in backing.strays for live in kind.lives)


def _others(lives: Iterable[Live], known: set[str]) -> Iterable[Live]:
    return (live for live in lives if live.name not in known)


def _labels(flavor: ResourceFlavor) -> Mapping[str, str]:
    return (flavor.spec.node_labels if flavor.spec else None) or _NO_LABELS
