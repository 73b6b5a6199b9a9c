"""The training operator's kinds ``kubeflow.org/v1`` and MPIJob ``v2beta1``: one shape for all.

Training operator: pkg/apis/kubeflow.org/v1/common_types.go; MPI operator: pkg/apis/kubeflow/v2beta1/types.go.
"""

from classifier.objects.meta import Conditioned, Meta, Obj
from classifier.objects.pods import PodTemplate


class RunPolicy(Obj):
    suspend: bool | None = None
    managed_by: str | None = None


class ReplicaSpec(Obj):
    replicas: int | None = None
    template: PodTemplate | None = None


#: By replica type: ``Master``, ``Worker`` …
ReplicaSpecs = dict[str, ReplicaSpec | None]


class ElasticPolicy(Obj):
    min_replicas: int | None = None
    max_replicas: int | None = None


class KubeflowSpec(Obj):
    """Each kind has one of the maps."""

    run_policy: RunPolicy | None = None
    elastic_policy: ElasticPolicy | None = None
    pytorch_replica_specs: ReplicaSpecs | None = None
    tf_replica_specs: ReplicaSpecs | None = None
    xgb_replica_specs: ReplicaSpecs | None = None
    paddle_replica_specs: ReplicaSpecs | None = None
    jax_replica_specs: ReplicaSpecs | None = None
    mpi_replica_specs: ReplicaSpecs | None = None


class KubeflowJob(Meta):
    spec: KubeflowSpec | None = None
    status: Conditioned | None = None


class PyTorchJob(KubeflowJob):
    pass


class TFJob(KubeflowJob):
    pass


class XGBoostJob(KubeflowJob):
    pass


class PaddleJob(KubeflowJob):
    pass


class JAXJob(KubeflowJob):
    pass


class MPIJob(KubeflowJob):
    pass
