"""``batch/v1 Job``."""

from classifier import api
from classifier.objects import Job
from classifier.state.kinds.view import KindView


def suspended(job: Job) -> bool:
    return job.spec is not None and job.spec.suspend is True


def foreign(job: Job) -> str | None:
    manager = job.spec.managed_by if job.spec else None
    return manager if manager and manager != api.JOB_CONTROLLER else None


VIEW = KindView(api.JOBS, Job, suspended, foreign)
