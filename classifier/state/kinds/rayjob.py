"""``RayJob`` of ``ray.io``: RayJob → RayCluster → pods, and a Job of its name that submits (K8sJobMode).

It has no conditions: ``jobDeploymentStatus`` says how far the operator is, ``jobStatus`` what Ray says of the run
(KubeRay: ray-operator/apis/ray/v1/rayjob_types.go, controllers/ray/rayjob_controller.go).
"""

from collections.abc import Sequence
from typing import Final

from classifier import api
from classifier.objects import Condition, RayJob, RayJobStatus
from classifier.state.kinds import job as batch
from classifier.state.kinds.fields import controller_uid, managed_by, never, suspended
from classifier.state.kinds.raycluster import CLUSTER, OPERATOR
from classifier.state.kinds.view import FIRST, Ending, KindView, Labels, Selection
from classifier.state.observation import CauseKind
from classifier.state.settings import Settings

#: By reason; any other is unknown.
FAILURES: Final[dict[str, CauseKind | None]] = {
    "DeadlineExceeded": CauseKind.TIMEOUT,
    "PreRunningDeadlineExceeded": CauseKind.TIMEOUT,
    "AppFailed": None,
    "SubmissionFailed": None,
    # Ray and the operator disagreed for too long: the pods may show why.
    "JobDeploymentStatusTransitionGracePeriodExceeded": None,
    # Of operators before reasons were written, which ended a failed run with Complete.
    "FAILED": None,
}


def paused(job: RayJob) -> bool:
    """Suspending is not undone: whatever ``spec.suspend`` says by then, the cluster goes first."""
    return _deployment(job) in ("Suspending", "Suspended")


def ending(job: RayJob) -> Ending | None:
    status = job.status
    if status is None:
        return None
    match _deployment(job), status.job_status:
        case "Complete", "SUCCEEDED":
            return Ending(CauseKind.COMPLETED, _words(status))
        case "Complete", "STOPPED":
            # Somebody stopped the run in Ray: neither success nor a crash, whatever reason is given.
            return Ending(CauseKind.UNKNOWN, _words(status))
        case "ValidationFailed", _:
            # On hold for Kueue, since a mended spec would go on. This spec will not.
            return Ending(CauseKind.REJECTED, _words(status))
        case "Complete" | "Failed", _:
            words = _words(status)
            return Ending(FAILURES.get(words.reason or "", CauseKind.UNKNOWN), words)
    return None


def _deployment(job: RayJob) -> str:
    return (job.status.job_deployment_status if job.status else None) or ""


def _words(status: RayJobStatus) -> Condition:
    """The end as a condition would state it: without a reason, Ray's own word for it is the reason."""
    ended = status.job_status in ("SUCCEEDED", "STOPPED", "FAILED")
    return Condition(
        type=status.job_deployment_status or "",
        status="True",
        reason=status.reason or (status.job_status if ended else status.job_deployment_status),
        message=status.message,
        last_transition_time=status.end_time,
    )


def conditions(job: RayJob) -> Sequence[Condition]:
    return ()


def children(job: RayJob) -> tuple[Selection, ...]:
    """Its RayCluster, unless ``clusterSelector`` sent it to somebody else's, and the Job that submits."""
    cluster, submitter = _cluster(job), Selection(api.JOBS, name=job.name)
    if _is_guest(job):
        return (submitter,)
    originated = {"ray.io/originated-from-cr-name": job.name, "ray.io/originated-from-crd": api.RAY_JOBS.kind}
    own = Selection(api.RAY_CLUSTERS, name=cluster) if cluster else Selection(api.RAY_CLUSTERS, labels=originated)
    return own, submitter


def pods(job: RayJob, settings: Settings) -> tuple[Labels, ...]:
    """The submitter's, and those of its own RayCluster."""
    submitter: Labels = {batch.JOB_NAME: job.name}
    cluster = _cluster(job)
    return ({CLUSTER: cluster}, submitter) if cluster and not _is_guest(job) else (submitter,)


def _is_guest(job: RayJob) -> bool:
    return job.spec is not None and bool(job.spec.cluster_selector)


def _cluster(job: RayJob) -> str | None:
    """Each retry and each resumption makes a RayCluster of another name."""
    return (job.status.ray_cluster_name if job.status else None) or None


VIEW = KindView(
    resource=api.RAY_JOBS,
    type_=RayJob,
    suspended=suspended,
    foreign=managed_by(OPERATOR),
    paused=paused,
    ending=ending,
    conditions=conditions,
    known=frozenset(),
    children=children,
    middle=api.RAY_CLUSTERS,
    pods=pods,
    part_of=controller_uid,
    # In SidecarMode the submitter stands beside the head's own container.
    steps=(FIRST, "ray-job-submitter"),
    # Retries are counted in ``status.failed`` alone, and a retry's pods are those of another RayCluster.
    restart=never,
)
