"""``batch/v1 Job``."""

from classifier import api
from classifier.objects import Job
from classifier.state.kinds.view import KindView


def suspended(job: Job) -> bool:
    return job.spec is not None and job.spec.suspend is True


def managed_elsewhere(job: Job) -> bool:
    managed_by = job.spec.managed_by if job.spec else None
    return managed_by is not None and managed_by != api.JOB_CONTROLLER


VIEW = KindView(api.JOBS, Job, suspended, managed_elsewhere)
