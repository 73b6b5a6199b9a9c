"""The training operator's kinds ``kubeflow.org/v1`` and MPIJob ``v2beta1``: one shape for all.

Training operator: pkg/apis/kubeflow.org/v1/common_types.go; MPI operator: pkg/apis/kubeflow/v2beta1/types.go.
"""

from classifier.objects.meta import Conditioned, Meta, Obj


class RunPolicy(Obj):
    suspend: bool | None = None
    managed_by: str | None = None


class KubeflowSpec(Obj):
    run_policy: RunPolicy | None = None


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
