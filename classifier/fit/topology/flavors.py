"""Which flavors topology-aware scheduling lets a podset have, and what is wrong with them (reference/kueue.md §6.4).

Kueue: pkg/scheduler/flavorassigner/tas_flavorassigner.go checkPodSetAndFlavorMatchForTAS,
pkg/cache/scheduler/tas_flavor_snapshot.go HasLevel and findTopologyAssignment.
"""

from collections.abc import Iterable, Mapping, Sequence

from classifier.fit.gang import TopologyRequest
from classifier.fit.topology.survey import HOSTNAME, Survey
from classifier.objects import ClusterQueue, ResourceFlavor, Topology


def topology_name(flavor: ResourceFlavor) -> str | None:
    return (flavor.spec.topology_name if flavor.spec else None) or None


def tas_only(queue: ClusterQueue, flavors: Mapping[str, ResourceFlavor]) -> bool | None:
    """Whether every flavor of the queue has a topology: then every podset is placed by it, asked or not. None where a
    flavor is not known."""
    found: bool | None = True
    for name in queue.flavors:
        flavor = flavors.get(name)
        if flavor is None:
            found = None
        elif topology_name(flavor) is None:
            return False
    return found


def refusal(
    request: TopologyRequest | None,
    flavor: ResourceFlavor,
    topologies: Mapping[str, Topology],
    *,
    only: bool | None,
    overlaps: bool = True,
) -> str | None:
    """Why Kueue does not give the podset this flavor, in words that name the object to change; None: no such reason.

    ``only``: :func:`tas_only` of the queue. ``overlaps``: whether the podset's own requests touch what the flavor's
    group covers; a group that counts nothing but transformed resources needs no topology. A Topology that is not found
    is a reason too: where Topologies may not be read, ask nothing.
    """
    named = topology_name(flavor)
    if request is None or not request.asked:
        if named is None or only is not False:
            return None
        return f"flavor {flavor.name} is for podsets that ask for a topology: it has topologyName {named}"
    if named is None:
        if not overlaps:
            return None
        level = request.required or request.slice_level
        asked = f"topology level {level}" if level else "a topology"
        return f"{asked} is asked for and flavor {flavor.name} has no topologyName"
    topology = topologies.get(named)
    if topology is None:
        return f"Topology {named} of flavor {flavor.name} is not found"
    for level in (request.required, request.slice_level):
        if level is not None and level not in topology.levels:
            return f"Topology {named} of flavor {flavor.name} has no level {level}"
    if request.required is not None and request.slice_level is not None:
        levels = topology.levels
        if levels.index(request.slice_level) < levels.index(request.required):
            return f"slices of {request.slice_level} are wider than {request.required}, of which all pods share one"
    return None


def starved(
    flavor: ResourceFlavor, topology: Topology | None, nodes: Iterable[Mapping[str, str]] | None, *, provisioned: bool
) -> str | None:
    """Why a topology-aware flavor admits nothing until someone adds a node (reference/capacity.md §3.12b).

    ``nodes``: labels of the live nodes that carry the flavor's labels; None where nodes may not be read.
    ``provisioned``: a ProvisioningRequest check of the queue applies to the flavor, and topology waits for its nodes.
    """
    named = topology_name(flavor)
    if named is None or topology is None or provisioned or nodes is None:
        return None
    levels = [level for level in topology.levels if level != HOSTNAME]
    if any(all(level in labels for level in levels) for labels in nodes):
        return None
    return (
        f"flavor {flavor.name} has topologyName {named}, no node with its levels and no ProvisioningRequest check: "
        "Kueue admits nothing to it"
    )


def scattered(level: str, surveys: Sequence[Survey], nodes: int) -> str | None:
    """A warning where a gang of this many nodes needs one domain, and a pool may grow in several."""
    if level == HOSTNAME or nodes < 2:
        return None
    several = [one.pool for one in surveys if one.most != 0 and (one.possible is None or len(one.possible) > 1)]
    if not several:
        return None
    return f"all pods need one domain of {level}; the autoscaler may place nodes of {several[0]} in several domains"
