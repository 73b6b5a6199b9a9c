"""``batch/v1 Job``."""

from typing import Final

from classifier import api
from classifier.objects import Job, Pod
from classifier.state.kinds.fields import conditions, direct, ended, managed_by, never, paused, suspended
from classifier.state.kinds.view import KindView, Labels
from classifier.state.observation import CauseKind
from classifier.state.settings import Settings

#: Reasons of ``Failed`` (Kubernetes: pkg/apis/batch/types.go); behind all but the deadline stands a pod's end.
FAILURES: Final[dict[str, CauseKind | None]] = {
    "DeadlineExceeded": CauseKind.TIMEOUT,
    "BackoffLimitExceeded": None,
    "PodFailurePolicy": None,
    "FailedIndexes": None,
    "MaxFailedIndexesExceeded": None,
}

INTERIM: Final = frozenset({"FailureTarget", "SuccessCriteriaMet"})

JOB_NAME: Final = "batch.kubernetes.io/job-name"


def pods(job: Job, settings: Settings) -> tuple[Labels, ...]:
    return ({JOB_NAME: job.name},)


def part_of(pod: Pod) -> str | None:
    return pod.label("batch.kubernetes.io/controller-uid")


VIEW = KindView(
    resource=api.JOBS,
    type_=Job,
    suspended=suspended,
    foreign=managed_by(api.JOB_CONTROLLER),
    paused=paused,
    ending=ended("Complete", FAILURES),
    conditions=conditions,
    # Two come before the terminal condition and stay beside it: a finishing Job must not flash "unknown".
    known=frozenset({"Suspended", "Complete", "Failed"}) | INTERIM,
    interim=INTERIM,
    children=direct,
    pods=pods,
    part_of=part_of,
    restart=never,
)
