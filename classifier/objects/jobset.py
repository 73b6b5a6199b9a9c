"""JobSet ``jobset.x-k8s.io/v1alpha2`` (JobSet: api/jobset/v1alpha2/jobset_types.go)."""

from classifier.objects.meta import Conditioned, Meta, Obj


class JobSetSpec(Obj):
    suspend: bool | None = None
    managed_by: str | None = None


class ReplicatedJobStatus(Obj):
    """Counts of child Jobs, not of pods."""

    name: str = ""
    ready: int | None = None
    succeeded: int | None = None
    failed: int | None = None
    active: int | None = None
    suspended: int | None = None


class JobSetStatus(Conditioned):
    restarts: int | None = None
    replicated_jobs_status: list[ReplicatedJobStatus] | None = None


class JobSet(Meta):
    spec: JobSetSpec | None = None
    status: JobSetStatus | None = None
