"""KubeRay ``ray.io/v1`` (KubeRay: ray-operator/apis/ray/v1/rayjob_types.go, raycluster_types.go)."""

from typing import Any

from classifier.objects.meta import Conditioned, Meta, Obj
from classifier.objects.pods import PodTemplate, ResourceRequirements


class HeadGroup(Obj):
    template: PodTemplate | None = None


class WorkerGroup(Obj):
    group_name: str = ""
    suspend: bool | None = None
    replicas: int | None = None
    min_replicas: int | None = None
    max_replicas: int | None = None
    num_of_hosts: int | None = None
    template: PodTemplate | None = None


class AutoscalerOptions(Obj):
    resources: ResourceRequirements | None = None


class RayClusterSpec(Obj):
    suspend: bool | None = None
    managed_by: str | None = None
    head_group_spec: HeadGroup | None = None
    worker_group_specs: list[WorkerGroup] | None = None
    enable_in_tree_autoscaling: bool | None = None
    autoscaler_options: AutoscalerOptions | None = None
    #: Whether it is there is all that is read.
    gcs_fault_tolerance_options: dict[str, Any] | None = None


class RayJobSpec(Obj):
    suspend: bool | None = None
    managed_by: str | None = None
    cluster_selector: dict[str, str] | None = None
    ray_cluster_spec: RayClusterSpec | None = None
    submission_mode: str | None = None
    submitter_pod_template: PodTemplate | None = None


class RayJobStatus(Obj):
    """A RayJob has no conditions: two words say how far it is."""

    job_status: str | None = None
    job_deployment_status: str | None = None
    ray_cluster_name: str | None = None
    reason: str | None = None
    message: str | None = None
    end_time: str | None = None


class RayJob(Meta):
    spec: RayJobSpec | None = None
    status: RayJobStatus | None = None


class RayClusterStatus(Conditioned):
    state: str | None = None


class RayCluster(Meta):
    spec: RayClusterSpec | None = None
    status: RayClusterStatus | None = None
