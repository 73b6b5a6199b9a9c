"""Job kinds and their gangs: one small file a kind, entered in ``PODSETS``.

The next kind is a file beside ``job.py`` with a function from the object to its podsets, and one line here; its view is
in ``classifier/state/kinds``. Names and counts equal those of the Workload Kueue makes (reference/kueue.md §4.7).
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from classifier import api
from classifier.fit.gang import Podset, Runtimes
from classifier.fit.kinds.appwrapper import Kinds, app_wrapper_podsets
from classifier.fit.kinds.job import job_podsets
from classifier.fit.kinds.jobset import jobset_podsets
from classifier.fit.kinds.kubeflow import (
    jax_job_podsets,
    mpi_job_podsets,
    paddle_job_podsets,
    pytorch_job_podsets,
    tf_job_podsets,
    xgboost_job_podsets,
)
from classifier.fit.kinds.leaderworkerset import leader_worker_set_podsets
from classifier.fit.kinds.pod import pod_group_podsets, pod_podsets
from classifier.fit.kinds.raycluster import ray_cluster_podsets
from classifier.fit.kinds.rayjob import ray_job_podsets
from classifier.fit.kinds.trainjob import train_job_podsets
from classifier.fit.kinds.waiting import waiting_podsets
from classifier.fit.kinds.workload import workload_podsets
from classifier.state.kinds import KINDS, podgroup

PodsetsOf = Callable[[Any, Runtimes], list[Podset]]

_SINGLE: Final[dict[api.Resource, PodsetsOf]] = {
    api.JOBS: job_podsets,
    api.JOBSETS: jobset_podsets,
    api.RAY_JOBS: ray_job_podsets,
    api.RAY_CLUSTERS: ray_cluster_podsets,
    api.TRAIN_JOBS: train_job_podsets,
    api.PYTORCH_JOBS: pytorch_job_podsets,
    api.TF_JOBS: tf_job_podsets,
    api.XGBOOST_JOBS: xgboost_job_podsets,
    api.PADDLE_JOBS: paddle_job_podsets,
    api.JAX_JOBS: jax_job_podsets,
    api.MPI_JOBS: mpi_job_podsets,
    api.LEADER_WORKER_SETS: leader_worker_set_podsets,
}

#: What an AppWrapper may wrap and its own kind tells more of.
_WRAPPED: Final[Kinds] = {
    (resource.api_version, resource.kind): (KINDS[resource.group, resource.kind].type_, podsets_of)
    for resource, podsets_of in _SINGLE.items()
}

#: Each raises GangError on what the API server would refuse, and Unresolved where the object alone does not tell.
PODSETS: Final[dict[api.Resource, PodsetsOf]] = {
    **_SINGLE,
    api.APP_WRAPPERS: partial(app_wrapper_podsets, kinds=_WRAPPED),
    api.PODS: pod_podsets,
    podgroup.VIEW.resource: pod_group_podsets,
    api.WORKLOADS: workload_podsets,
}

__all__ = ["PODSETS", "PodsetsOf", "waiting_podsets"]
