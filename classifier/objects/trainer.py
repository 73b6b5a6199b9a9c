"""Kubeflow Trainer ``trainer.kubeflow.org/v1alpha1`` (Trainer: pkg/apis/trainer/v1alpha1/trainjob_types.go)."""

from classifier.objects.jobset import ReplicatedJobStatus
from classifier.objects.meta import Conditioned, Meta, Obj


class RuntimeRef(Obj):
    api_group: str | None = None
    kind: str | None = None
    name: str = ""


class TrainJobSpec(Obj):
    suspend: bool | None = None
    managed_by: str | None = None
    runtime_ref: RuntimeRef | None = None


class TrainJobStatus(Conditioned):
    jobs_status: list[ReplicatedJobStatus] | None = None


class TrainJob(Meta):
    spec: TrainJobSpec | None = None
    status: TrainJobStatus | None = None


class TrainingRuntime(Meta):
    """A namespaced runtime; only who owns it is read."""
