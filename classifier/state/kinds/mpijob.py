"""``MPIJob`` of ``kubeflow.org/v2beta1``: workers are its own pods, the launcher's are those of a Job."""

from typing import Final

from classifier import api
from classifier.objects import MPIJob
from classifier.state.kinds import job as batch
from classifier.state.kinds.fields import condition, conditions, controller_uid, never, paused
from classifier.state.kinds.kubeflow import KNOWN, labelled, managed_by, suspended
from classifier.state.kinds.view import Ending, KindView, Selection
from classifier.state.observation import CauseKind

#: The kubelet evicted workers. What the node ran short of, if anything, their pods say.
_EVICTED: Final = "MPIJobEvicted"
#: Of ``Failed``: the launcher Job's own reason is copied, and one that is evidence itself (MPI operator:
#: pkg/controller/mpi_job_controller.go, updateMPIJobFailedStatus and updateMPIJobStatus).
FAILURES: Final[dict[str, CauseKind | None]] = {
    **batch.FAILURES,
    "MPIJobFailed": None,
    _EVICTED: CauseKind.PREEMPTED,
}


def ending(job: MPIJob) -> Ending | None:
    if good := condition(job, "Succeeded"):
        return Ending(CauseKind.COMPLETED, good)
    if bad := condition(job, "Failed"):
        # "BackoffLimitExceeded/<the last pod's reason>".
        reason = (bad.reason or "").partition("/")[0]
        return Ending(FAILURES.get(reason, CauseKind.UNKNOWN), bad, pods_first=reason == _EVICTED)
    return None


def children(job: MPIJob) -> tuple[Selection, ...]:
    return (Selection(api.JOBS, name=f"{job.name}-launcher"),)


VIEW = KindView(
    resource=api.MPI_JOBS,
    type_=MPIJob,
    suspended=suspended,
    foreign=managed_by("kubeflow.org/mpi-operator"),
    paused=paused,
    ending=ending,
    conditions=conditions,
    known=KNOWN,
    # No middle: with ``launcherCreationPolicy: WaitForWorkersReady`` the workers run before there is a launcher.
    children=children,
    pods=labelled("mpi-operator"),
    part_of=controller_uid,
    restart=never,
)
