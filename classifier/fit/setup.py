"""What is wrong with how profiles, queues and flavors are set up: for the administrator, whatever jobs there are.

The faults of one job's queue (a namespace that is not selected, a stopped queue) come with its verdict; these stand by
themselves, and no job is ever denied for them (design §4).
"""

from collections.abc import Iterator, Sequence
from typing import Final

from classifier import api
from classifier.fit.facts import Sources, refined_max
from classifier.fit.quota.chain import no_quota
from classifier.fit.supplied.faults import faults, legible
from classifier.fit.world import World
from classifier.objects import CapacityProfile, ClusterQueue, ResourceFlavor

#: Of one profile this many are told; a profile without any sense at all would fill its status.
MOST: Final = 8


def setup_faults(world: World, now: int, sources: Sources | None = None) -> dict[str, list[str]]:
    """By profile, those without a fault left out. Each text names the object to change. ``now`` in ms. Pure.

    What is missing counts as a fault only where its kind may be read. ``sources`` are the world's, where they are read.
    """
    sources = sources or Sources(world)
    found: dict[str, list[str]] = {}
    by_flavor: dict[str, list[CapacityProfile]] = {}
    for profile in world.profiles:
        by_flavor.setdefault(profile.spec.flavor, []).append(profile)
    for profile in world.profiles:
        texts = [
            *_contradictions(profile, by_flavor[profile.spec.flavor], world),
            *_queue_faults(profile, world),
            *_without_quota(profile, world, sources, now),
            *_without_domains(profile, world),
        ]
        if texts:
            found[profile.name] = list(dict.fromkeys(texts))[:MOST]
    return found


def _contradictions(profile: CapacityProfile, siblings: Sequence[CapacityProfile], world: World) -> Iterator[str]:
    """The profile against itself, its flavor, and the other profiles of that flavor."""
    flavor = world.flavors.get(profile.spec.flavor)
    if flavor is None:
        yield f"ResourceFlavor {profile.spec.flavor or '(none)'} does not exist; create it or correct spec.flavor"
    # Without pools it is there for the sake of its admission policy, which is no fault unless it claims more.
    if profile.spec.pools or profile.spec.closed:
        for text in faults(flavor or ResourceFlavor(), [profile]):
            yield text.removeprefix(f"CapacityProfile {profile.name}: ")
    closed = sorted(one.name for one in siblings if one.spec.closed)
    if profile.name in closed and len(closed) > 1:
        yield f"CapacityProfiles {', '.join(closed)} each say that flavor {profile.spec.flavor} is closed"
    named = flavor.spec.topology_name if flavor is not None and flavor.spec else None
    if flavor is not None and named and named not in world.topologies and api.TOPOLOGIES not in world.unread:
        yield f"ResourceFlavor {flavor.name} has topologyName {named}; no such Topology exists"


def _queue_faults(profile: CapacityProfile, world: World) -> Iterator[str]:
    for name in profile.spec.cluster_queues or ():
        queue = world.cluster_queues.get(name)
        if queue is None:
            yield f"ClusterQueue {name} does not exist; create it or correct spec.clusterQueues"
        elif profile.spec.flavor not in queue.flavors:
            missing = f"ClusterQueue {name} does not offer flavor {profile.spec.flavor}"
            yield f"{missing}; add it or correct spec.clusterQueues"


def _without_quota(profile: CapacityProfile, world: World, sources: Sources, now: int) -> Iterator[str]:
    """A queue that may use nothing of a flavor whose pool could grow: nothing of it will ever start."""
    offered = sorted(_offered(profile, sources, now))
    for queue in sorted(world.cluster_queues.values(), key=lambda one: one.name):
        if not profile.applies_to(queue):
            continue
        covered = _covered(queue, profile.spec.flavor)
        for resource in offered:
            if resource in covered and world.quota.potential(queue.name, profile.spec.flavor, resource) == 0:
                yield no_quota(queue, profile.spec.flavor, resource)


def _without_domains(profile: CapacityProfile, world: World) -> Iterator[str]:
    """Kueue places by topology on nodes that stand, or on those a ProvisioningRequest has brought: here on none."""
    flavor = world.flavors.get(profile.spec.flavor)
    spec = flavor.spec if flavor is not None else None
    if spec is None or not spec.topology_name or world.nodes is None or world.nodes_awaited:
        return
    labels = (spec.node_labels or {}).items()
    if any(labels <= (node.metadata.labels or {}).items() for node in world.nodes):
        return
    for queue in sorted(world.cluster_queues.values(), key=lambda one: one.name):
        if profile.applies_to(queue) and not any(_may_provision(name, world) for name in queue.check_names):
            yield (
                f"ResourceFlavor {profile.spec.flavor} is topology-aware and has no node; "
                f"give ClusterQueue {queue.name} an AdmissionCheck that asks for nodes"
            )


def _may_provision(check: str, world: World) -> bool:
    """Whether the check asks an autoscaler for nodes; one that is not known may."""
    found = world.admission_checks.get(check)
    return found is None or found.spec is None or found.spec.controller_name == api.PROVISIONING_CONTROLLER


def _offered(profile: CapacityProfile, sources: Sources, now: int) -> set[str]:
    """The resources that a pool which may have nodes has some of."""
    found: set[str] = set()
    for pool in profile.spec.pools or ():
        if refined_max(pool.max_nodes, "", sources.of(pool), now).nodes == 0:
            continue
        shape = legible(pool.node.allocatable if pool.node else None)
        found.update(resource for resource, amount in shape.items() if amount > 0)
    return found


def _covered(queue: ClusterQueue, flavor: str) -> set[str]:
    """What the queue counts of the flavor; of anything else it wants no quota."""
    groups = (queue.spec.resource_groups if queue.spec else None) or ()
    return {
        resource
        for group in groups
        if any(one.name == flavor for one in group.flavors or ())
        for resource in group.covered_resources or ()
    }
