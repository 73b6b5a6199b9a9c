"""The training operator's kinds and MPIJob: one podset a replica type that is there, named by it, in Kueue's order.

Kueue: pkg/controller/jobs/kubeflow/kubeflowjob/kubeflowjob_controller.go, .../jobs/mpijob/mpijob_controller.go.
A count that is absent is 1; other types than these are not counted.
"""

from classifier.fit.gang import Podset, Runtimes
from classifier.fit.kinds.common import count_of, gang, podset
from classifier.objects import KubeflowJob, KubeflowSpec, ReplicaSpec, ReplicaSpecs


def pytorch_job_podsets(job: KubeflowJob, runtimes: Runtimes) -> list[Podset]:
    spec = job.spec or KubeflowSpec()
    return _podsets(job, "pytorchReplicaSpecs", spec.pytorch_replica_specs, ("Master", "Worker"))


def tf_job_podsets(job: KubeflowJob, runtimes: Runtimes) -> list[Podset]:
    spec = job.spec or KubeflowSpec()
    return _podsets(job, "tfReplicaSpecs", spec.tf_replica_specs, ("Chief", "Master", "PS", "Worker", "Evaluator"))


def xgboost_job_podsets(job: KubeflowJob, runtimes: Runtimes) -> list[Podset]:
    spec = job.spec or KubeflowSpec()
    return _podsets(job, "xgbReplicaSpecs", spec.xgb_replica_specs, ("Master", "Worker"))


def paddle_job_podsets(job: KubeflowJob, runtimes: Runtimes) -> list[Podset]:
    spec = job.spec or KubeflowSpec()
    return _podsets(job, "paddleReplicaSpecs", spec.paddle_replica_specs, ("Master", "Worker"))


def jax_job_podsets(job: KubeflowJob, runtimes: Runtimes) -> list[Podset]:
    spec = job.spec or KubeflowSpec()
    return _podsets(job, "jaxReplicaSpecs", spec.jax_replica_specs, ("Worker",))


def mpi_job_podsets(job: KubeflowJob, runtimes: Runtimes) -> list[Podset]:
    """Workers whose number is absent count 1 for Kueue and are 0 for the operator (MPI operator: default.go)."""
    spec = job.spec or KubeflowSpec()
    return _podsets(job, "mpiReplicaSpecs", spec.mpi_replica_specs, ("Launcher", "Worker"), absent_workers=0)


def _podsets(
    job: KubeflowJob, field: str, specs: ReplicaSpecs | None, types: tuple[str, ...], absent_workers: int = 1
) -> list[Podset]:
    found = []
    for type_ in types:
        replica = (specs or {}).get(type_)
        if replica is None:
            continue
        count = count_of(replica.replicas, f"spec.{field}.{type_}.replicas")
        least = _least(job, replica, absent_workers) if type_ == "Worker" else count
        path = f"/spec/{field}/{type_}/template"
        made = podset(type_, count, replica.template, job.namespace, path, least=least if least < count else None)
        found.append(made)
    return gang(found, f"spec.{field}")


def _least(job: KubeflowJob, replica: ReplicaSpec, absent: int) -> int:
    """Workers an elastic job starts with; without a policy all of them. Only PyTorch and Paddle have one."""
    policy = job.spec.elastic_policy if job.spec else None
    workers = absent if replica.replicas is None else replica.replicas
    if policy is None or policy.min_replicas is None:
        return workers
    return min(workers, count_of(policy.min_replicas, "spec.elasticPolicy.minReplicas"))
