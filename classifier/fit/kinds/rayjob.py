"""RayJob: the podsets of its RayCluster, and who submits (Kueue: pkg/controller/jobs/rayjob/rayjob_controller.go)."""

from typing import Final

from msgspec.structs import replace

from classifier.fit.gang import GangError, Podset, Runtimes, Unresolved
from classifier.fit.kinds.common import gang, podset
from classifier.fit.kinds.raycluster import cluster_podsets, with_container
from classifier.objects import Container, PodSpec, PodTemplate, RayJob, RayJobSpec, ResourceRequirements

_CONTAINER: Final = "ray-job-submitter"
#: KubeRay's own figures (KubeRay: ray-operator/controllers/ray/common/job.go).
_RESOURCES: Final = ResourceRequirements(
    requests={"cpu": "500m", "memory": "200Mi"}, limits={"cpu": "1", "memory": "1Gi"}
)


def ray_job_podsets(job: RayJob, runtimes: Runtimes) -> list[Podset]:
    """Raises Unresolved for a job in somebody else's RayCluster: Kueue leaves it alone."""
    spec = job.spec or RayJobSpec()
    if spec.cluster_selector:
        raise Unresolved(
            "it runs in a RayCluster that is there already (spec.clusterSelector): Kueue does not queue it"
        )
    if spec.ray_cluster_spec is None:
        raise GangError("spec.rayClusterSpec is missing")
    notes = job.metadata.annotations or {}
    head, *workers = cluster_podsets(spec.ray_cluster_spec, notes, job.namespace, "/spec/rayClusterSpec")
    mode = "K8sJobMode" if spec.submission_mode is None else spec.submission_mode
    if mode == "SidecarMode":
        counted = with_container(head.counted, _CONTAINER, _RESOURCES) if head.counted is not None else None
        # Kueue before 0.17.7 and 0.18.3 does not count it.
        before = head.counted_before or head.template
        template = with_container(head.template, _CONTAINER, _RESOURCES)
        head = replace(head, template=template, counted=counted, counted_before=before)
    submitter = [_submitter(spec, head, job.namespace)] if mode == "K8sJobMode" else []
    return gang([head, *workers, *submitter], "spec.rayClusterSpec")


def _submitter(spec: RayJobSpec, head: Podset, namespace: str) -> Podset:
    """The pod of the Job that submits: the user's template, or KubeRay's with the head's image."""
    template, path = spec.submitter_pod_template, "/spec/submitterPodTemplate"
    if template is not None:
        return podset("submitter", 1, template, namespace, path)
    if not head.spec.containers:
        raise GangError("the head of spec.rayClusterSpec has no container")
    made = PodTemplate(spec=PodSpec(containers=[Container(name=_CONTAINER, resources=_RESOURCES)]))
    return replace(podset("submitter", 1, made, namespace, path), path=None)
