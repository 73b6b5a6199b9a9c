"""CapacityProfile, ``muster.dev/v1alpha1`` (design §5)."""

import msgspec

from classifier.objects.kueue import ClusterQueue
from classifier.objects.meta import Conditioned, Meta, Obj, Quantity
from classifier.objects.pods import Taint


class NodeShape(Obj):
    """One empty node of a pool."""

    allocatable: dict[str, Quantity] | None = None
    labels: dict[str, str] | None = None
    labels_complete: bool | None = None
    allocatable_complete: bool | None = None
    taints: list[Taint] | None = None
    daemon_set_reserve: dict[str, Quantity] | None = None


class Domain(Obj):
    name: str = ""
    max_nodes: int | None = None


class Pool(Obj):
    name: str = ""
    node_labels: dict[str, str] | None = None
    max_nodes: int | None = None
    node: NodeShape | None = None
    domains: list[Domain] | None = None
    node_groups: list[str] | None = None


class AdmissionPolicySpec(Obj):
    timeout: str | None = None
    max_timeout: str | None = None
    requeue: str | None = None
    ttl_after_timeout: str | None = None
    count_on_pods: bool | None = None
    scheduled_by: str | None = None


class WorkloadLabel(Obj):
    key: str = ""
    value: str = ""


class TopologySpec(Obj):
    node_label: str | None = None
    workload_label: WorkloadLabel | None = None


class ProvisioningRetry(Obj):
    limit: int | None = None
    base_seconds: int | None = None
    max_seconds: int | None = None


class ProvisioningSpec(Obj):
    admission_check: str | None = None
    config: str | None = None
    class_name: str | None = None
    managed_resources: list[str] | None = None
    retry: ProvisioningRetry | None = None
    parameters: dict[str, str] | None = None
    max_nodes_per_scale_up: int | None = None


class CapacityProfileSpec(Obj):
    flavor: str = ""
    cluster_queues: list[str] | None = None
    closed: bool | None = None
    preflight: str | None = None
    pools: list[Pool] | None = None
    admission: AdmissionPolicySpec | None = None
    topology: TopologySpec | None = None
    management: str | None = None
    provisioning: ProvisioningSpec | None = None
    deletion_policy: str | None = None


class PoolStatus(Obj):
    name: str = ""
    nodes: int | None = None
    ready_nodes: int | None = None
    target_nodes: int | None = None
    max_nodes: int | None = None
    backoff_since: str | None = None
    backoff_until: str | None = None
    source: str | None = None
    observed_at: str | None = None


class CapacityProfileStatus(Conditioned):
    pools: list[PoolStatus] | None = None


class CapacityProfile(Meta):
    spec: CapacityProfileSpec = msgspec.field(default_factory=CapacityProfileSpec)
    status: CapacityProfileStatus | None = None

    def applies_to(self, queue: ClusterQueue) -> bool:
        """Whether it speaks for this queue: named (or no queue is), and it offers the flavor."""
        return self.names(queue) and self.spec.flavor in queue.flavors

    def names(self, queue: ClusterQueue) -> bool:
        """Whether the queue is among those it is for, offered the flavor or not."""
        named = self.spec.cluster_queues
        return not named or queue.name in named
