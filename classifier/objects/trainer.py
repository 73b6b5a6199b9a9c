"""Kubeflow Trainer ``trainer.kubeflow.org/v1alpha1``.

Trainer: pkg/apis/trainer/v1alpha1/trainjob_types.go, trainingruntime_types.go.
"""

from typing import Any

from classifier.objects.jobs import JobTemplate
from classifier.objects.jobset import JobSetSpec, ReplicatedJobStatus
from classifier.objects.meta import Conditioned, Meta, Obj
from classifier.objects.pods import ResourceRequirements


class RuntimeRef(Obj):
    name: str = ""
    api_group: str | None = None
    kind: str | None = None


class Trainer(Obj):
    num_nodes: int | None = None
    resources_per_node: ResourceRequirements | None = None


class ReplicatedJobPatch(Obj):
    """A patch has fewer fields than what it patches, under the same names."""

    name: str = ""
    template: JobTemplate | None = None


class JobSetSpecPatch(Obj):
    replicated_jobs: list[ReplicatedJobPatch] | None = None


class JobSetTemplatePatch(Obj):
    spec: JobSetSpecPatch | None = None


class TrainingRuntimeSpecPatch(Obj):
    template: JobSetTemplatePatch | None = None


class RuntimePatch(Obj):
    manager: str = ""
    training_runtime_spec: TrainingRuntimeSpecPatch | None = None


class TrainJobSpec(Obj):
    suspend: bool | None = None
    managed_by: str | None = None
    runtime_ref: RuntimeRef | None = None
    trainer: Trainer | None = None
    runtime_patches: list[RuntimePatch] | None = None
    #: What patched the runtime before Trainer 2.2, which drops it.
    pod_template_overrides: list[dict[str, Any]] | None = None


class TrainJobStatus(Conditioned):
    #: By replicated Job, as its JobSet tells it.
    jobs_status: list[ReplicatedJobStatus] | None = None


class TrainJob(Meta):
    spec: TrainJobSpec | None = None
    status: TrainJobStatus | None = None


class MPIPolicy(Obj):
    run_launcher_as_node: bool | None = None


class MLPolicy(Obj):
    """At most one framework is set. Those that only set the environment of containers are not read."""

    num_nodes: int | None = None
    mpi: MPIPolicy | None = None
    flux: dict[str, Any] | None = None
    jax: dict[str, Any] | None = None


class PodGroupPolicy(Obj):
    coscheduling: dict[str, Any] | None = None


class JobSetTemplate(Obj):
    spec: JobSetSpec | None = None


class TrainingRuntimeSpec(Obj):
    ml_policy: MLPolicy | None = None
    pod_group_policy: PodGroupPolicy | None = None
    template: JobSetTemplate | None = None


class TrainingRuntime(Meta):
    """A namespaced runtime."""

    spec: TrainingRuntimeSpec | None = None


class ClusterTrainingRuntime(TrainingRuntime):
    """The same for the whole cluster."""
