"""Which of the pods are the job's own (reference/classification.md §C11 rows 8 and 9)."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import msgspec

from classifier import api
from classifier.numbers import count
from classifier.objects import Meta, Pod
from classifier.state.case import Case
from classifier.state.kinds.jobset import JOBSET_NAME
from classifier.state.kinds.view import KindView
from classifier.state.names import job_of, submission_of
from classifier.state.settings import Settings


class Attached(msgspec.Struct, frozen=True, gc=False):
    """Sorted by name."""

    pods: tuple[Pod, ...]
    strangers: tuple[str, ...]  # parts of another object of the same name
    mislabelled: tuple[str, ...]  # of this one, but labelled for another job or submission


def own_uids(job: Meta, children: Iterable[Meta]) -> set[str]:
    """The job's UID and its children's, controller references walked up at any number of hops."""
    below: dict[str, list[str]] = defaultdict(list)
    for child in children:
        if (owner := child.controller) is not None:
            below[owner.uid].append(child.uid)
    found: set[str] = set()
    todo = [job.uid]
    while todo:
        uid = todo.pop()
        if uid not in found:
            found.add(uid)
            todo += below[uid]
    return found


def jobset_name(view: KindView, job: Any) -> str | None:
    """The one JobSet whose pods a job can have, for the kinds that have one."""
    return job.name if api.JOBSETS in (view.resource, view.middle) else None


def attach(case: Case, settings: Settings, uids: set[str]) -> Attached:
    """A missing label contradicts nothing."""
    part_of, jobset = case.view.part_of, jobset_name(case.view, case.job)
    job, submission = job_of(case.job, settings), submission_of(case.job, settings)
    own: list[Pod] = []
    strangers: list[str] = []
    mislabelled: list[str] = []
    for pod in sorted(case.pods, key=lambda pod: (pod.metadata.name, pod.metadata.uid)):
        labels = pod.metadata.labels or {}
        uid = part_of(pod)
        if (uid and uid not in uids) or (jobset and labels.get(JOBSET_NAME, jobset) not in ("", jobset)):
            strangers.append(pod.name)
        elif contradicts(labels.get(settings.job_id), job) or other(labels.get(settings.submission), submission):
            mislabelled.append(pod.name)
        else:
            own.append(pod)
    return Attached(tuple(own), tuple(strangers), tuple(mislabelled))


def contradicts(label: str | None, want: str | None) -> bool:
    return bool(label) and want is not None and label != want


def other(label: str | None, submission: int | None) -> bool:
    """Whether a submission label is there and says something else."""
    return bool(label) and submission is not None and count(label) != submission
