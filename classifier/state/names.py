"""Which job and which submission of it an object belongs to (reference/classification.md §C11, §C13, §F27)."""

import re
from typing import Final

from classifier.numbers import count
from classifier.objects import Meta, TrainJob
from classifier.state.settings import Settings

_NAMED: Final = re.compile("(.+)-([0-9]+)", re.DOTALL)


def stem(name: str) -> tuple[str, int] | None:
    """Job and submission of a name that is exactly ``<job>-<digits>``."""
    match = _NAMED.fullmatch(name)
    number = count(match[2]) if match else None
    return (match[1], number) if match is not None and number is not None else None


def submission_in(name: str, job: str) -> int | None:
    """The submission, where the name is exactly ``<job>-<digits>``: ``train`` does not claim ``train-big-3``."""
    return count(name.removeprefix(job + "-")) if name.startswith(job + "-") else None


def job_of(job: Meta, settings: Settings) -> str | None:
    """The job by the stem of a TrainJob's name, else by the label."""
    named = stem(job.name) if isinstance(job, TrainJob) else None
    return named[0] if named else job.label(settings.job_id) or None


def submission_of(obj: Meta, settings: Settings) -> int | None:
    """By the name, where it is one of dispatch's, else by the label.

    The names of other kinds mean nothing by themselves (``pi-2024``): theirs count only beside the job's label.
    """
    if isinstance(obj, TrainJob):
        named = stem(obj.name)
        number = named[1] if named else None
    else:
        job = obj.label(settings.job_id)
        number = submission_in(obj.name, job) if job else None
    return count(obj.label(settings.submission)) if number is None else number
