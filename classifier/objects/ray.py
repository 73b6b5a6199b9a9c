"""KubeRay ``ray.io/v1`` (KubeRay: ray-operator/apis/ray/v1/rayjob_types.go, raycluster_types.go)."""

from classifier.objects.meta import Conditioned, Meta, Obj


class RayJobSpec(Obj):
    suspend: bool | None = None
    managed_by: str | None = None
    cluster_selector: dict[str, str] | None = None


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


class RayClusterSpec(Obj):
    suspend: bool | None = None
    managed_by: str | None = None


class RayClusterStatus(Conditioned):
    state: str | None = None


class RayCluster(Meta):
    spec: RayClusterSpec | None = None
    status: RayClusterStatus | None = None
