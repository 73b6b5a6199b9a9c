"""JobSet: one podset a replicated Job (Kueue: pkg/controller/jobs/jobset/jobset_controller.go PodSets)."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from msgspec.structs import replace

from classifier.fit.gang import Podset, Runtimes
from classifier.fit.kinds.common import MAX_PODSETS, count_of, few_enough, gang, pods_of_job, podset, product
from classifier.objects import (
    JobSet,
    JobSetSpec,
    JobSetStatus,
    JobSpec,
    JobTemplate,
    ReplicatedJob,
    ReplicatedJobStatus,
)

#: Of a JobSet, or of one replicated Job: each Job has a domain to itself (JobSet: jobset_types.go ExclusiveKey).
_EXCLUSIVE: Final = "alpha.jobset.sigs.k8s.io/exclusive-topology"


def jobset_podsets(jobset: JobSet, runtimes: Runtimes) -> list[Podset]:
    jobs = (jobset.spec or JobSetSpec()).replicated_jobs or []
    found = gang(replicated_podsets(jobs, jobset.namespace, "/spec/replicatedJobs"), "spec.replicatedJobs")
    if level := jobset.annotation(_EXCLUSIVE):
        found = [replace(podset, exclusive=level) for podset in found]
    return left(found, jobs, (jobset.status or JobSetStatus()).replicated_jobs_status)


def left(found: list[Podset], jobs: list[ReplicatedJob], statuses: list[ReplicatedJobStatus] | None) -> list[Podset]:
    """What is still needed, if the ``jobs`` whose podsets are ``found`` have run before."""
    if not statuses:
        return found
    succeeded = {one.name: one.succeeded for one in statuses}
    return [_left(podset, job, succeeded.get(job.name, 0)) for podset, job in zip(found, jobs, strict=True)]


def _left(podset: Podset, job: ReplicatedJob, succeeded: int) -> Podset:
    """Quota is not asked again for Jobs that have succeeded (Kueue: ReclaimablePods)."""
    replicas = 1 if job.replicas is None else job.replicas
    if succeeded <= 0 or replicas <= 0:
        return podset
    return replace(podset, min_count=max(0, replicas - succeeded) * (podset.count // replicas))


def replicated_podsets(jobs: list[ReplicatedJob], namespace: str, at: str | None) -> list[Podset]:
    """``replicas`` (1 if absent, JobSet's CRD) times the pods of one Job. ``at``: JSON Pointer of the list, if any."""
    few_enough(len(jobs), "spec.replicatedJobs")
    found = []
    for job, stage, names in zip(jobs, _stages(jobs), _names(at), strict=False):
        template = job.template or JobTemplate()
        spec = template.spec or JobSpec()
        count = pods_of_job(spec.parallelism, spec.completions, names.spec)
        if job.replicas is not None and job.replicas != 1:
            count = product(count_of(job.replicas, ".replicas", of=names.field), count, names.field)
        made = podset(job.name, count, spec.template, namespace, names.path, stage=stage)
        metadata = template.metadata
        exclusive = metadata.annotations.get(_EXCLUSIVE) if metadata and metadata.annotations else None
        found.append(replace(made, exclusive=exclusive) if exclusive else made)
    return found


class _Named(NamedTuple):
    """A replicated Job and its Job's spec as errors name them, and the path of its pod template."""

    field: str
    spec: str
    path: str | None


@lru_cache(maxsize=8)
def _names(at: str | None) -> list[_Named]:
    """Of as many as there may be: few lists are named again and again."""
    fields = [f"spec.replicatedJobs[{index}]" for index in range(MAX_PODSETS)]
    return [
        _Named(field, f"{field}.template.spec", None if at is None else f"{at}/{index}/template/spec/template")
        for index, field in enumerate(fields)
    ]


def _stages(jobs: Sequence[ReplicatedJob]) -> list[int]:
    """Jobs that start when the same others have completed run together; of no two others is that sure.

    What starts with the set is stage 0, though it may wait for another to be ready. Jobs depend on earlier ones only.
    """
    if not any(job.depends_on for job in jobs):
        return [0] * len(jobs)
    waits: dict[str, frozenset[str]] = {}
    numbers: dict[frozenset[str], int] = {frozenset(): 0}
    stages = []
    for job in jobs:
        before: frozenset[str] = frozenset()
        for needed in job.depends_on or ():
            before |= waits.get(needed.name, frozenset())
            before |= {needed.name} if needed.status == "Complete" else set()
        waits[job.name] = before
        stages.append(numbers.setdefault(before, len(numbers)))
    return stages
