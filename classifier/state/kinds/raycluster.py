"""``RayCluster`` of ``ray.io``: runs until it is deleted (Kueue: pkg/controller/jobs/raycluster)."""

from typing import Final

from classifier import api
from classifier.objects import RayCluster
from classifier.state.kinds.fields import (
    condition,
    conditions,
    controller_uid,
    direct,
    endless,
    managed_by,
    never,
    suspended,
)
from classifier.state.kinds.view import KindView, Labels
from classifier.state.settings import Settings

# KubeRay: ray-operator/controllers/ray/utils/constant.go.
CLUSTER: Final = "ray.io/cluster"
OPERATOR: Final = "ray.io/kuberay-operator"


def paused(job: RayCluster) -> bool:
    """By condition; operators without them (a feature gate) say it in ``state``."""
    stopping = condition(job, "RayClusterSuspending") or condition(job, "RayClusterSuspended")
    return stopping is not None or (job.status is not None and job.status.state == "suspended")


def pods(job: RayCluster, settings: Settings) -> tuple[Labels, ...]:
    """Those of a Redis clean-up Job carry the label too; they are part of that Job, and so not of this cluster."""
    return ({CLUSTER: job.name},)


VIEW = KindView(
    resource=api.RAY_CLUSTERS,
    type_=RayCluster,
    suspended=suspended,
    foreign=managed_by(OPERATOR),
    paused=paused,
    ending=endless,
    conditions=conditions,
    # ReplicaFailure is left out: that pods cannot be made or removed is worth a word.
    known=frozenset({"HeadPodReady", "RayClusterProvisioned", "RayClusterSuspending", "RayClusterSuspended"}),
    children=direct,
    pods=pods,
    part_of=controller_uid,
    restart=never,
)
