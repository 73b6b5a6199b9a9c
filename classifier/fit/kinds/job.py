"""batch/v1 Job: one podset ``main`` (Kueue: ``pkg/controller/jobs/job/job_controller.go`` PodSets)."""

import re

from classifier import api
from classifier.fit.gang import GangError, Podset, Runtimes
from classifier.objects import Job, JobSpec, PodTemplate


def job_podsets(job: Job, runtimes: Runtimes) -> list[Podset]:
    """Parallelism (1 if absent), limited by completions. Raises GangError for a negative one."""
    spec = job.spec or JobSpec()
    parallelism = 1 if spec.parallelism is None else spec.parallelism
    completions = parallelism if spec.completions is None else spec.completions
    for field, value in (("parallelism", parallelism), ("completions", completions)):
        if value < 0:
            raise GangError(f"spec.{field} is {value}, less than 0")
    count = min(parallelism, completions)
    template = spec.template or PodTemplate()
    return [Podset("main", count, _min_count(job, count), template, job.namespace, "/spec/template")]


def _min_count(job: Job, count: int) -> int:
    """Partial admission starts as few as the annotation says, an elastic Job as few as one."""
    if job.annotation(api.ELASTIC_JOB) == "true":
        return min(1, count)
    text = job.annotation(api.MIN_PARALLELISM) or ""
    least = int(text) if re.fullmatch(r"\+?[0-9]{1,10}", text, re.ASCII) else 0
    return least if 0 < least < count else count
