"""batch/v1 Job: one podset ``main`` (Kueue: ``pkg/controller/jobs/job/job_controller.go`` PodSets)."""

import re

from classifier import api
from classifier.fit.gang import Podset, Runtimes
from classifier.fit.kinds.common import pods_of_job, podset
from classifier.objects import Job, JobSpec
from classifier.quantity import MAX_INT64


def job_podsets(job: Job, runtimes: Runtimes) -> list[Podset]:
    """Parallelism (1 if absent), limited by completions. Raises GangError for a negative one."""
    spec = job.spec or JobSpec()
    count = pods_of_job(spec.parallelism, spec.completions)
    least = min(_min_count(job, count), _left(job, count))
    return [podset("main", count, spec.template, job.namespace, "/spec/template", min_count=least)]


def _left(job: Job, count: int) -> int:
    """Pods it still needs, if it has run before: quota is asked for no others (Kueue: ReclaimablePods)."""
    status, completions = job.status, job.spec.completions if job.spec else None
    needed = count if completions is None else completions
    if status is None:
        return needed
    if status.failed_indexes:
        return 0  # each of these needs none, and they are not counted here
    return max(0, needed - max(0, status.succeeded or 0))


def _min_count(job: Job, count: int) -> int:
    """Partial admission starts as few as the annotation says, an elastic Job as few as one."""
    if job.annotation(api.ELASTIC_JOB) == "true":
        return min(1, count)
    match = re.fullmatch(r"\+?0*([0-9]{1,19})", job.annotation(api.MIN_PARALLELISM) or "", re.ASCII)
    least = int(match[1]) if match else 0
    # Kueue reads an int64, of which it keeps an int32.
    kept = least % 2**32 if least <= MAX_INT64 else 0
    return kept if 0 < kept < count else count
