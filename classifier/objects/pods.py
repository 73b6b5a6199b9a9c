"""Pods and their templates: what preflight needs to place them, and how they ended."""

from typing import Any

import msgspec

from classifier.objects.meta import Conditioned, Meta, Metadata, Obj, Quantity


class ResourceRequirements(Obj):
    requests: dict[str, Quantity] | None = None
    limits: dict[str, Quantity] | None = None
    claims: list[dict[str, Any]] | None = None


class ContainerPort(Obj):
    name: str | None = None
    container_port: int | None = None
    host_port: int | None = None
    host_ip: str | None = msgspec.field(default=None, name="hostIP")
    protocol: str | None = None


class Container(Obj):
    name: str = ""
    resources: ResourceRequirements | None = None
    restart_policy: str | None = None
    ports: list[ContainerPort] | None = None


class Expression(Obj):
    """A selector requirement: of labels (In, NotIn, Exists, DoesNotExist) or of nodes (also Gt, Lt)."""

    key: str = ""
    operator: str = ""
    values: list[str] | None = None


class LabelSelector(Obj):
    match_labels: dict[str, str] | None = None
    match_expressions: list[Expression] | None = None


class NodeSelectorTerm(Obj):
    match_expressions: list[Expression] | None = None
    match_fields: list[Expression] | None = None


class NodeSelector(Obj):
    node_selector_terms: list[NodeSelectorTerm] | None = None


class PreferredTerm(Obj):
    weight: int = 0
    preference: NodeSelectorTerm | None = None


class NodeAffinity(Obj):
    required: NodeSelector | None = msgspec.field(default=None, name="requiredDuringSchedulingIgnoredDuringExecution")
    preferred: list[PreferredTerm] | None = msgspec.field(
        default=None, name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class PodAffinityTerm(Obj):
    topology_key: str = ""
    label_selector: LabelSelector | None = None
    namespace_selector: LabelSelector | None = None
    namespaces: list[str] | None = None
    match_label_keys: list[str] | None = None
    mismatch_label_keys: list[str] | None = None


class PreferredPodTerm(Obj):
    weight: int = 0
    pod_affinity_term: PodAffinityTerm | None = None


class PodAffinity(Obj):
    required: list[PodAffinityTerm] | None = msgspec.field(
        default=None, name="requiredDuringSchedulingIgnoredDuringExecution"
    )
    preferred: list[PreferredPodTerm] | None = msgspec.field(
        default=None, name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class Affinity(Obj):
    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class Toleration(Obj):
    key: str | None = None
    operator: str | None = None
    value: str | None = None
    effect: str | None = None
    toleration_seconds: int | None = None


class Taint(Obj):
    key: str = ""
    value: str | None = None
    effect: str = ""


class Volume(Obj):
    name: str = ""
    persistent_volume_claim: dict[str, Any] | None = None
    ephemeral: dict[str, Any] | None = None


class PodSpec(Obj):
    containers: list[Container] | None = None
    init_containers: list[Container] | None = None
    resources: ResourceRequirements | None = None
    overhead: dict[str, Quantity] | None = None
    node_selector: dict[str, str] | None = None
    node_name: str | None = None
    affinity: Affinity | None = None
    tolerations: list[Toleration] | None = None
    volumes: list[Volume] | None = None
    host_network: bool | None = None
    runtime_class_name: str | None = None
    priority: int | None = None
    resource_claims: list[dict[str, Any]] | None = None
    scheduling_gates: list[dict[str, Any]] | None = None
    topology_spread_constraints: list[dict[str, Any]] | None = None


class PodTemplate(Obj):
    metadata: Metadata | None = None
    spec: PodSpec | None = None


class Terminated(Obj):
    """How a container ended."""

    exit_code: int = 0
    reason: str | None = None
    message: str | None = None
    finished_at: str | None = None


class Waiting(Obj):
    """Why a container does not run."""

    reason: str | None = None
    message: str | None = None


class ContainerState(Obj):
    """At most one of them is set; a running container is of no interest here."""

    terminated: Terminated | None = None
    waiting: Waiting | None = None


class ContainerStatus(Obj):
    name: str = ""
    state: ContainerState | None = None
    last_state: ContainerState | None = None


class PodStatus(Conditioned):
    phase: str | None = None
    reason: str | None = None
    message: str | None = None
    start_time: str | None = None
    init_container_statuses: list[ContainerStatus] | None = None
    container_statuses: list[ContainerStatus] | None = None


class Pod(Meta):
    spec: PodSpec | None = None
    status: PodStatus | None = None
