"""JobSet: one podset a replicated Job (Kueue: pkg/controller/jobs/jobset/jobset_controller.go PodSets)."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from classifier.fit.gang import Podset, Runtimes
from classifier.fit.kinds.common import count_of, few_enough, gang, pods_of_job, podset, product
from classifier.objects import JobSet, JobSetSpec, JobSetStatus, JobSpec, JobTemplate, ReplicatedJob

#: Of a JobSet, or of one replicated Job: each Job has a domain to itself (JobSet: jobset_types.go ExclusiveKey).
_EXCLUSIVE: Final = "alpha.jobset.sigs.k8s.io/exclusive-topology"


def jobset_podsets(jobset: JobSet, runtimes: Runtimes) -> list[Podset]:
    jobs = (jobset.spec or JobSetSpec()).replicated_jobs or []
    found = gang(replicated_podsets(jobs, jobset.namespace, "/spec/replicatedJobs"), "spec.replicatedJobs")
    if level := jobset.annotation(_EXCLUSIVE):
        found = [replace(podset, exclusive=level) for podset in found]
    statuses = (jobset.status or JobSetStatus()).replicated_jobs_status or ()
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
    for index, (job, stage) in enumerate(zip(jobs, _stages(jobs), strict=True)):
        field = f"spec.replicatedJobs[{index}]"
        spec = (job.template or JobTemplate()).spec or JobSpec()
        each = pods_of_job(spec.parallelism, spec.completions, f"{field}.template.spec")
        count = product(count_of(job.replicas, f"{field}.replicas"), each, f"the number of pods of {field}")
        path = None if at is None else f"{at}/{index}/template/spec/template"
        made = podset(job.name, count, spec.template, namespace, path, stage=stage)
        metadata = job.template.metadata if job.template else None
        exclusive = ((metadata.annotations if metadata else None) or {}).get(_EXCLUSIVE)
        found.append(replace(made, exclusive=exclusive) if exclusive else made)
    return found


def _stages(jobs: Iterable[ReplicatedJob]) -> list[int]:
    """Jobs that start when the same others have completed run together; of no two others is that sure.

    What starts with the set is stage 0, though it may wait for another to be ready. Jobs depend on earlier ones only.
    """
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
