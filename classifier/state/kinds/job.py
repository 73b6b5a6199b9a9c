"""``batch/v1 Job``."""

from classifier import api
from classifier.objects import Job, Pod
from classifier.state.kinds.fields import condition, conditions, never
from classifier.state.kinds.view import Ending, KindView, Labels, Selection
from classifier.state.observation import CauseKind
from classifier.state.settings import Settings

#: Reasons of ``Failed`` behind which a pod's end stands (Kubernetes: pkg/apis/batch/types.go).
_BY_PODS = ("BackoffLimitExceeded", "PodFailurePolicy", "FailedIndexes", "MaxFailedIndexesExceeded")


def suspended(job: Job) -> bool:
    return job.spec is not None and job.spec.suspend is True


def foreign(job: Job) -> str | None:
    manager = job.spec.managed_by if job.spec else None
    return manager if manager and manager != api.JOB_CONTROLLER else None


def paused(job: Job) -> bool:
    return condition(job, "Suspended") is not None


def ending(job: Job) -> Ending | None:
    if complete := condition(job, "Complete"):
        return Ending(CauseKind.COMPLETED, complete)
    if failed := condition(job, "Failed"):
        if failed.reason == "DeadlineExceeded":
            return Ending(CauseKind.TIMEOUT, failed)
        return Ending(None if failed.reason in _BY_PODS else CauseKind.UNKNOWN, failed)
    return None


def pods(job: Job, settings: Settings) -> tuple[Labels, ...]:
    return ({"batch.kubernetes.io/job-name": job.name},)


def part_of(pod: Pod) -> str | None:
    return pod.label("batch.kubernetes.io/controller-uid")


def children(job: Job) -> tuple[Selection, ...]:
    return ()


VIEW = KindView(
    resource=api.JOBS,
    type_=Job,
    suspended=suspended,
    foreign=foreign,
    paused=paused,
    ending=ending,
    conditions=conditions,
    # Both come before the terminal condition and stay beside it: a finishing Job must not flash "unknown".
    known=frozenset({"Suspended", "Complete", "Failed", "FailureTarget", "SuccessCriteriaMet"}),
    children=children,
    pods=pods,
    part_of=part_of,
    restart=never,
)
