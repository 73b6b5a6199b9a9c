"""Kubeflow Trainer ``trainer.kubeflow.org/v1alpha1`` (Trainer: pkg/apis/trainer/v1alpha1/trainjob_types.go)."""

from classifier.objects.meta import Conditioned, Meta, Obj


class RuntimeRef(Obj):
    name: str = ""


class TrainJobSpec(Obj):
    suspend: bool | None = None
    managed_by: str | None = None
    runtime_ref: RuntimeRef | None = None


class TrainJob(Meta):
    spec: TrainJobSpec | None = None
    status: Conditioned | None = None


class TrainingRuntime(Meta):
    """A namespaced runtime."""


class ClusterTrainingRuntime(TrainingRuntime):
    """The same for the whole cluster."""
