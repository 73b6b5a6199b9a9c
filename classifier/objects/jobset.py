"""JobSet ``jobset.x-k8s.io/v1alpha2`` (JobSet: api/jobset/v1alpha2/jobset_types.go)."""

from classifier.objects.meta import Conditioned, Meta, Obj


class JobSetSpec(Obj):
    suspend: bool | None = None
    managed_by: str | None = None


class JobSet(Meta):
    spec: JobSetSpec | None = None
    status: Conditioned | None = None
