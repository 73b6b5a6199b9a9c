"""Kueue v1beta2 and the ProvisioningRequest its check makes."""

from collections.abc import Iterator

from classifier.objects.meta import Condition, Conditioned, Meta, Obj, Quantity
from classifier.objects.pods import LabelSelector, PodTemplate, Taint, Toleration


class PodSetAssignment(Obj):
    name: str = ""
    flavors: dict[str, str] | None = None
    resource_usage: dict[str, Quantity] | None = None
    count: int | None = None


class Admission(Obj):
    cluster_queue: str = ""
    pod_set_assignments: list[PodSetAssignment] | None = None


class AdmissionCheckState(Obj):
    name: str = ""
    state: str = ""
    message: str | None = None
    last_transition_time: str | None = None


class Eviction(Obj):
    reason: str = ""
    underlying_cause: str | None = None
    count: int | None = None


class SchedulingStats(Obj):
    evictions: list[Eviction] | None = None


class TopologyLayer(Obj):
    """Slices of ``size`` pods, each within one domain of the level."""

    topology: str = ""
    size: int = 0


class PodSetTopologyRequest(Obj):
    required: str | None = None
    preferred: str | None = None
    unconstrained: bool | None = None
    pod_set_group_name: str | None = None
    pod_set_slice_required_topology: str | None = None
    pod_set_slice_size: int | None = None
    #: Slices within slices, from the outermost; instead of the two fields before.
    podset_slice_required_topology_constraints: list[TopologyLayer] | None = None


class PodSet(Obj):
    name: str = "main"
    count: int | None = None
    min_count: int | None = None
    template: PodTemplate | None = None
    topology_request: PodSetTopologyRequest | None = None


class WorkloadSpec(Obj):
    active: bool | None = None
    queue_name: str | None = None
    pod_sets: list[PodSet] | None = None


class RequeueState(Obj):
    """The backoff after an eviction: Kueue does not consider the Workload before ``requeue_at``."""

    count: int | None = None
    requeue_at: str | None = None


class ReclaimablePod(Obj):
    """``count`` pods of the podset have ended and are not needed again."""

    name: str = ""
    count: int = 0


class WorkloadStatus(Conditioned):
    admission: Admission | None = None
    requeue_state: RequeueState | None = None
    admission_checks: list[AdmissionCheckState] | None = None
    scheduling_stats: SchedulingStats | None = None
    reclaimable_pods: list[ReclaimablePod] | None = None


class Workload(Meta):
    spec: WorkloadSpec | None = None
    status: WorkloadStatus | None = None

    @property
    def active(self) -> bool:
        """Absent means true (Kueue: pkg/workload/workload.go IsActive)."""
        return self.spec is None or self.spec.active is not False

    @property
    def queue_name(self) -> str:
        return (self.spec.queue_name if self.spec else None) or ""

    def condition(self, type_: str) -> Condition | None:
        return self.status.condition(type_) if self.status else None

    def is_true(self, type_: str) -> bool:
        return self.status is not None and self.status.is_true(type_)


class LocalQueueSpec(Obj):
    cluster_queue: str | None = None
    stop_policy: str | None = None


class LocalQueue(Meta):
    spec: LocalQueueSpec | None = None
    status: Conditioned | None = None

    @property
    def cluster_queue(self) -> str:
        return (self.spec.cluster_queue if self.spec else None) or ""


class ResourceQuota(Obj):
    name: str = ""
    nominal_quota: Quantity | None = None
    borrowing_limit: Quantity | None = None
    lending_limit: Quantity | None = None


class FlavorQuotas(Obj):
    name: str = ""
    resources: list[ResourceQuota] | None = None


class ResourceGroup(Obj):
    covered_resources: list[str] | None = None
    flavors: list[FlavorQuotas] | None = None


class CheckStrategyRule(Obj):
    name: str = ""
    on_flavors: list[str] | None = None


class ChecksStrategy(Obj):
    admission_checks: list[CheckStrategyRule] | None = None


class ClusterQueueSpec(Obj):
    resource_groups: list[ResourceGroup] | None = None
    cohort_name: str | None = None
    namespace_selector: LabelSelector | None = None
    stop_policy: str | None = None
    admission_checks_strategy: ChecksStrategy | None = None


class ClusterQueue(Meta):
    spec: ClusterQueueSpec | None = None
    status: Conditioned | None = None

    @property
    def flavors(self) -> Iterator[str]:
        """Names of the flavors it offers, in order, across its resource groups."""
        for group in (self.spec.resource_groups if self.spec else None) or ():
            for flavor in group.flavors or ():
                yield flavor.name

    @property
    def check_names(self) -> Iterator[str]:
        """Names of its admission checks (v1beta2 has only the strategy form)."""
        strategy = self.spec.admission_checks_strategy if self.spec else None
        for rule in (strategy.admission_checks if strategy else None) or ():
            yield rule.name


class CohortSpec(Obj):
    parent_name: str | None = None
    resource_groups: list[ResourceGroup] | None = None


class Cohort(Meta):
    spec: CohortSpec | None = None


class TopologyLevel(Obj):
    node_label: str = ""


class TopologyLevels(Obj):
    levels: list[TopologyLevel] | None = None


class Topology(Meta):
    """Levels from the widest to the narrowest."""

    spec: TopologyLevels | None = None

    @property
    def levels(self) -> list[str]:
        return [level.node_label for level in (self.spec.levels if self.spec else None) or ()]


class ResourceFlavorSpec(Obj):
    node_labels: dict[str, str] | None = None
    node_taints: list[Taint] | None = None
    tolerations: list[Toleration] | None = None
    topology_name: str | None = None


class ResourceFlavor(Meta):
    spec: ResourceFlavorSpec | None = None


class ParametersRef(Obj):
    api_group: str = ""
    kind: str = ""
    name: str = ""


class AdmissionCheckSpec(Obj):
    controller_name: str = ""
    parameters: ParametersRef | None = None


class AdmissionCheck(Meta):
    spec: AdmissionCheckSpec | None = None
    status: Conditioned | None = None


class RetryStrategy(Obj):
    backoff_limit_count: int | None = None
    backoff_base_seconds: int | None = None
    backoff_max_seconds: int | None = None


class ProvisioningRequestConfigSpec(Obj):
    provisioning_class_name: str = ""
    parameters: dict[str, str] | None = None
    managed_resources: list[str] | None = None
    retry_strategy: RetryStrategy | None = None


class ProvisioningRequestConfig(Meta):
    spec: ProvisioningRequestConfigSpec | None = None


class PodTemplateRef(Obj):
    name: str = ""


class ProvisioningPodSet(Obj):
    pod_template_ref: PodTemplateRef | None = None
    count: int | None = None


class ProvisioningRequestSpec(Obj):
    provisioning_class_name: str = ""
    pod_sets: list[ProvisioningPodSet] | None = None
    parameters: dict[str, str] | None = None


class ProvisioningRequest(Meta):
    spec: ProvisioningRequestSpec | None = None
    status: Conditioned | None = None
