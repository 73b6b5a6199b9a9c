"""The world a gang is judged in: one snapshot of what an administrator declared and what stands in the cluster."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from classifier import api
from classifier.fit.gang import Runtimes
from classifier.fit.quota.tree import QuotaTree
from classifier.fit.supplied.pools import Pool
from classifier.fit.supplied.supply import Backing, Kept, Supply
from classifier.objects import (
    AdmissionCheck,
    CapacityProfile,
    ClusterQueue,
    Cohort,
    ConfigMap,
    DeviceClass,
    LimitRange,
    LocalQueue,
    MachineGroup,
    Namespace,
    Node,
    NodePool,
    ProvisioningRequestConfig,
    ResourceFlavor,
    RuntimeClass,
    Topology,
)


@dataclass(slots=True)
class World:
    """Read, never written, by the judgement. An object that is missing here leads to ``unknown``, never to a denial.

    Namespaced kinds are keyed by ``namespace/name``, all others by name. ``nodes`` is None where nodes may not be
    read: the declared figures then stand alone. ``admission_checks`` tells a MultiKueue queue from others: name every
    check of the queues that are judged, or nothing there is ever denied.

    Every container but ``local_queues`` and ``namespaces`` is also a version: whoever changes one makes a new one, for
    what was worked out about the old one is kept by its identity.
    """

    profiles: list[CapacityProfile] = field(default_factory=list)
    cluster_queues: dict[str, ClusterQueue] = field(default_factory=dict)
    local_queues: dict[str, LocalQueue] = field(default_factory=dict)
    flavors: dict[str, ResourceFlavor] = field(default_factory=dict)
    admission_checks: dict[str, AdmissionCheck] = field(default_factory=dict)
    namespaces: dict[str, Namespace] = field(default_factory=dict)
    cohorts: dict[str, Cohort] = field(default_factory=dict)
    topologies: dict[str, Topology] = field(default_factory=dict)
    limit_ranges: dict[str, LimitRange] = field(default_factory=dict)
    runtime_classes: dict[str, RuntimeClass] = field(default_factory=dict)
    device_classes: dict[str, DeviceClass] = field(default_factory=dict)
    runtimes: Runtimes = field(default_factory=Runtimes)
    #: Kueue's own configuration (``kueue-manager-config``); None: not known, so what it may change proves nothing.
    kueue_config: ConfigMap | None = None
    #: What autoscalers tell of their pools; each may be missing.
    autoscaler_status: ConfigMap | None = None
    node_pools: dict[str, NodePool] = field(default_factory=dict)
    machine_groups: dict[str, MachineGroup] = field(default_factory=dict)
    #: By name; only warnings come from them.
    provisioning_configs: dict[str, ProvisioningRequestConfig] = field(default_factory=dict)
    #: Kinds that may not be read here (or not yet): what is missing of them may exist all the same.
    unread: frozenset[api.Resource] = frozenset()
    nodes: list[Node] | None = None
    #: Whether the nodes were seen lately. Older ones still raise every bound, but none of them counts as there.
    nodes_recent: bool = True
    #: Nodes may be read and were not listed yet: they could refute any proof.
    nodes_awaited: bool = False
    #: When this snapshot was last known to be current, in ms; None: made for this judgement, so of age 0.
    observed_at: int | None = None
    #: The installation allows every namespace to skip preflight (else only those that carry ``preflight-optional``).
    preflight_optional: bool = False
    #: What was worked out about flavors so far; may be handed on to the next world.
    supply: Supply = field(default_factory=Supply, compare=False, repr=False)

    @property
    def version(self) -> tuple[object, ...]:
        """What a judgement may rest on, to be compared by identity; who judges a namespace adds that itself."""
        return (
            self.profiles,
            self.nodes,
            self.cluster_queues,
            self.flavors,
            self.admission_checks,
            self.cohorts,
            self.topologies,
            self.limit_ranges,
            self.runtime_classes,
            self.device_classes,
            self.runtimes,
            self.kueue_config,
            self.autoscaler_status,
            self.node_pools,
            self.machine_groups,
            self.provisioning_configs,
            self.unread,
            self.nodes_recent,
        )

    def profiles_of(self, flavor: str) -> Sequence[CapacityProfile]:
        """Every profile of a flavor, whatever queues it names. Once :meth:`at` has been called."""
        return self.supply.profiles_of(flavor)

    def behind(self, flavor: ResourceFlavor, now: int) -> Backing:
        """What stands behind the flavor. Once :meth:`at` has been called."""
        return self.supply.behind(flavor, self, now)

    def elsewhere(self, labels: Mapping[str, str], flavors: Sequence[str], now: int) -> list[Pool]:
        """Pools of other flavors than these that surely have the labels. Once :meth:`at` has been called."""
        return self.supply.elsewhere(labels, flavors, self, now)

    @property
    def quota(self) -> QuotaTree:
        """What each ClusterQueue may use at most."""
        return self.supply.quota(self)

    def at(self, now: int) -> Kept:
        """What was worked out about this very world so far. ``now`` in ms."""
        return self.supply.follow(self, now)
