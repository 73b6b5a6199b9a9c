"""JobSet ``jobset.x-k8s.io/v1alpha2`` (JobSet: api/jobset/v1alpha2/jobset_types.go)."""

from classifier.objects.jobs import JobTemplate
from classifier.objects.meta import Conditioned, Meta, Obj


class DependsOn(Obj):
    """What an earlier replicated Job must have reached: ``Ready`` or ``Complete``."""

    name: str = ""
    status: str = ""


class ReplicatedJob(Obj):
    name: str = ""
    replicas: int | None = None
    template: JobTemplate | None = None
    depends_on: list[DependsOn] | None = None


class JobSetSpec(Obj):
    suspend: bool | None = None
    managed_by: str | None = None
    replicated_jobs: list[ReplicatedJob] | None = None


class ReplicatedJobStatus(Obj):
    name: str = ""
    succeeded: int = 0


class JobSetStatus(Conditioned):
    replicated_jobs_status: list[ReplicatedJobStatus] | None = None


class JobSet(Meta):
    spec: JobSetSpec | None = None
    status: JobSetStatus | None = None
