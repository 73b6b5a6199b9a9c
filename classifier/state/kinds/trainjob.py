"""``TrainJob`` of ``trainer.kubeflow.org``: TrainJob → JobSet of its name → Jobs → pods."""

from typing import Final

from classifier import api
from classifier.objects import TrainJob
from classifier.state.kinds import jobset
from classifier.state.kinds.fields import conditions, ended, managed_by, paused, suspended
from classifier.state.kinds.view import KindView, Labels, Selection
from classifier.state.names import job_of, submission_of
from classifier.state.observation import CauseKind
from classifier.state.settings import Settings

#: Of ``Failed``: Trainer's own reasons, and the JobSet's, which are copied with the whole condition (Trainer:
#: pkg/apis/trainer/v1alpha1/trainjob_types.go).
FAILURES: Final[dict[str, CauseKind | None]] = {
    "DeadlineExceeded": CauseKind.TIMEOUT,
    "TrainingRuntimeNotSupported": CauseKind.REJECTED,
    **jobset.FAILURES,
}


def children(job: TrainJob) -> tuple[Selection, ...]:
    return Selection(api.JOBSETS, name=job.name), *jobset.VIEW.children(job)


def pods(job: TrainJob, settings: Settings) -> tuple[Labels, ...]:
    """Its JobSet's, and those that dispatch labelled with the submission: the JobSet's own labels may be lost."""
    own: Labels = {jobset.JOBSET_NAME: job.name}
    name, number = job_of(job, settings), submission_of(job, settings)
    if name is None or number is None:
        return (own,)
    return own, {settings.job_id: name, settings.submission: str(number)}


VIEW = KindView(
    resource=api.TRAIN_JOBS,
    type_=TrainJob,
    suspended=suspended,
    foreign=managed_by("trainer.kubeflow.org/trainjob-controller"),
    paused=paused,
    ending=ended("Complete", FAILURES),
    conditions=conditions,
    known=frozenset({"Suspended", "Complete", "Failed"}),
    children=children,
    middle=api.JOBSETS,
    pods=pods,
    part_of=jobset.part_of,
    # The constant names of Trainer (pkg/constants/constants.go); initializers run in Jobs of their own.
    steps=("node", "dataset-initializer", "model-initializer", "launcher"),
    restart=jobset.restart,
)
