"""``JobSet`` of ``jobset.x-k8s.io``: JobSet → Jobs → pods."""

from typing import Final

from classifier import api
from classifier.objects import JobSet, Pod
from classifier.state.kinds.fields import conditions, ended, managed_by, paused, suspended
from classifier.state.kinds.view import KindView, Labels, Selection
from classifier.state.observation import CauseKind
from classifier.state.settings import Settings

# On every child Job and pod (JobSet: api/jobset/v1alpha2/jobset_types.go, pkg/constants/constants.go).
JOBSET_NAME: Final = "jobset.sigs.k8s.io/jobset-name"
JOBSET_UID: Final = "jobset.sigs.k8s.io/jobset-uid"
RESTART_ATTEMPT: Final = "jobset.sigs.k8s.io/restart-attempt"

#: Reasons of ``Failed``. They name the first failed Job at most: why it failed only its pods know.
FAILURES: Final[dict[str, CauseKind | None]] = {
    "FailedJobs": None,
    "ReachedMaxRestarts": None,
    "FailJobSetFailurePolicyAction": None,
}


def children(job: JobSet) -> tuple[Selection, ...]:
    return (Selection(api.JOBS, labels={JOBSET_NAME: job.name}),)


def pods(job: JobSet, settings: Settings) -> tuple[Labels, ...]:
    return ({JOBSET_NAME: job.name},)


def part_of(pod: Pod) -> str | None:
    return pod.label(JOBSET_UID)


def restart(pod: Pod) -> str | None:
    """Global restarts only: a Job or a container that restarts alone does not count (§A3)."""
    return pod.label(RESTART_ATTEMPT)


VIEW = KindView(
    resource=api.JOBSETS,
    type_=JobSet,
    suspended=suspended,
    foreign=managed_by("jobset.sigs.k8s.io/jobset-controller"),
    paused=paused,
    ending=ended("Completed", FAILURES),
    conditions=conditions,
    known=frozenset(
        {"Suspended", "Completed", "Failed", "RestartingJobSet", "StartupPolicyInProgress", "StartupPolicyCompleted"}
    ),
    children=children,
    pods=pods,
    part_of=part_of,
    restart=restart,
)
