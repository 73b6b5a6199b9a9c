"""Job kinds. The next kind goes here, beside its view in ``state/kinds`` and its gang in ``fit/kinds``."""

from classifier.objects.meta import Conditioned, Meta, Metadata, Obj
from classifier.objects.pods import PodTemplate


class JobSpec(Obj):
    suspend: bool | None = None
    parallelism: int | None = None
    completions: int | None = None
    managed_by: str | None = None
    template: PodTemplate | None = None


class JobTemplate(Obj):
    """A Job inside another object."""

    metadata: Metadata | None = None
    spec: JobSpec | None = None


class JobStatus(Conditioned):
    active: int | None = None
    ready: int | None = None
    succeeded: int | None = None
    failed: int | None = None
    #: Of an Indexed Job, the indexes that are not tried again: ``1,3-5``.
    failed_indexes: str | None = None
    terminating: int | None = None
    start_time: str | None = None
    completion_time: str | None = None


class Job(Meta):
    spec: JobSpec | None = None
    status: JobStatus | None = None
