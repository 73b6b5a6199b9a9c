"""Picks a job's objects out of a heap of objects. The same code for what a cluster answered and for files.

What is a job's is said by its view: children by name or labels, pods by labels. Whatever else lies in the heap does
not matter, so a cluster may answer as narrowly, and a dump hold as much, as it likes.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Protocol, TypeVar

import msgspec

from classifier import api
from classifier.api import Resource
from classifier.objects import (
    AdmissionCheck,
    JobSet,
    Meta,
    Node,
    OwnerReference,
    Pod,
    PodGroup,
    TrainingRuntime,
    TrainJob,
    Workload,
)
from classifier.state import explain, job_of, orphans, submission_of
from classifier.state.case import Case
from classifier.state.kinds import KINDS, KindView, view_for, view_of
from classifier.state.kinds.jobset import JOBSET_NAME
from classifier.state.kinds.podgroup import group_name
from classifier.state.kinds.view import Labels
from classifier.state.names import submission_in
from classifier.state.observation import Explanation
from classifier.state.settings import Mode, Settings

T = TypeVar("T", bound=Meta)


class Objects(Protocol):
    """Objects by kind; a namespaced key is ``namespace/name``."""

    def of(self, resource: Resource, type_: type[T]) -> Mapping[str, T]:
        """All of a kind that could be read."""
        ...

    def readable(self, resource: Resource, type_: type[T]) -> Mapping[str, T] | None:
        """All of a kind; None if part of it may not be read."""
        ...


#: The last states of the pods of a job that were deleted while somebody watched.
Captured = Callable[[Meta], Sequence[Pod]]


def nothing_captured(job: Meta) -> Sequence[Pod]:
    return ()


# --- one job --------------------------------------------------------------------------------------------------------


def case_of(job: Meta, objects: Objects, settings: Settings, captured: Sequence[Pod] = ()) -> Case:
    """What the rules take. Raises TypeError for an object of a kind without a view."""
    view = view_for(job)
    if view is None:
        raise TypeError(f"there is no view of a {type(job).__name__}")
    return Case(
        job=job,
        view=view,
        children=tuple(_children_of(job, view, objects)),
        workloads=tuple(_workloads_of(job, objects)) if settings.mode is Mode.KUEUE else (),
        pods=tuple(_pods_of(job, view, objects, settings)),
        captured=tuple(captured),
        nodes=objects.readable(api.NODES, Node),
    )


def _children_of(job: Meta, view: KindView, objects: Objects) -> Iterator[Meta]:
    for selection in view.children(job):
        child = _view_at(selection.resource)
        kind = objects.of(selection.resource, child.type_) if child is not None else {}
        if selection.name is not None:
            found = kind.get(f"{job.namespace}/{selection.name}")
            yield from () if found is None else (found,)
        else:
            yield from (o for o in kind.values() if o.namespace == job.namespace and has_labels(o, selection.labels))


def _workloads_of(job: Meta, objects: Objects) -> Iterator[Workload]:
    workloads = objects.of(api.WORKLOADS, Workload)
    if isinstance(job, PodGroup):
        # Its pods own it together and none controls it: its name is all that binds it to the group.
        found = workloads.get(f"{job.namespace}/{group_name(job)}")
        if found is not None:
            yield found
        return
    for workload in workloads.values():
        owner = workload.controller
        # By name as well: what people write by hand has no UIDs to tell it apart.
        controlled = owner is not None and (owner.uid, owner.name) == (job.uid, job.name)
        if (controlled or workload.label(api.JOB_UID) == job.uid) and workload.namespace == job.namespace:
            yield workload


def _pods_of(job: Meta, view: KindView, objects: Objects, settings: Settings) -> Iterable[Pod]:
    if isinstance(job, PodGroup):
        return job.pods
    if isinstance(job, Pod):
        return (job,)
    wanted = view.pods(job, settings)
    return (
        pod
        for pod in objects.of(api.PODS, Pod).values()
        if pod.namespace == job.namespace and any(has_labels(pod, labels) for labels in wanted)
    )


def has_labels(obj: Meta, labels: Labels) -> bool:
    """All of them; no labels at all select nothing."""
    return bool(labels) and all(obj.label(key) == value for key, value in labels.items())


# --- questions ------------------------------------------------------------------------------------------------------


def job_in(objects: Objects, resource: Resource, namespace: str, name: str) -> Meta | None:
    """The job that is asked for: a Workload stands for its job, a pod of a group for the group. None: not here."""
    if resource == api.WORKLOADS:
        workload = objects.of(api.WORKLOADS, Workload).get(f"{namespace}/{name}")
        return _job_behind(workload, objects) if workload is not None else None
    if resource == api.PODS:
        pod = objects.of(api.PODS, Pod).get(f"{namespace}/{name}")
        group = group_name(pod) if pod is not None else None
        return _group(group, namespace, objects) if group else pod
    view = _view_at(resource)
    return objects.of(resource, view.type_).get(f"{namespace}/{name}") if view is not None else None


def _job_behind(workload: Workload, objects: Objects) -> Meta | None:
    owner = owner_of(workload)
    if owner is None:
        return _group(workload.name, workload.namespace, objects)
    view = view_of(owner)
    if view is None:
        return None
    job = job_in(objects, view.resource, workload.namespace, owner.name)
    # Another object may have taken the name since.
    return job if job is not None and job.uid == owner.uid else None


def owner_of(workload: Workload) -> OwnerReference | None:
    """The job a Workload is made for; None for those of pod groups and for people's own.

    A LeaderWorkerSet owns its Workloads without controlling them; so does each pod of a group, which is no job.
    """
    owners = workload.metadata.owner_references or ()
    return workload.controller or next((o for o in owners if view_of(o) and o.kind != api.PODS.kind), None)


def why_no_job(workload: Workload) -> str:
    """Why a Workload that is there leads to no job."""
    owner = owner_of(workload)
    if owner is None:
        return f"Workload {workload.name} has no job for an owner, and no pod group has its name"
    if view_of(owner) is None:
        return f"Workload {workload.name} belongs to {owner.kind} {owner.name}, a kind that cannot be explained"
    return f"Workload {workload.name} belongs to {owner.kind} {owner.name}, which is gone"


def group_of(pods: Iterable[Pod]) -> PodGroup | None:
    """The pods of one group as one job."""
    members = sorted(pods, key=lambda p: (p.metadata.creation_timestamp or "~", p.name))
    if not members:
        return None
    metadata = members[0].metadata
    if any(pod.metadata.deletion_timestamp is None for pod in members):
        # The eldest alone may go, and be replaced.
        metadata = msgspec.structs.replace(metadata, deletion_timestamp=None)
    return PodGroup(metadata=metadata, pods=members)


def _group(name: str, namespace: str, objects: Objects) -> PodGroup | None:
    pods = objects.of(api.PODS, Pod).values()
    return group_of(p for p in pods if p.namespace == namespace and group_name(p) == name)


def inspect_in(
    objects: Objects,
    resource: Resource,
    namespace: str,
    name: str,
    settings: Settings,
    seen_at: int,
    captured: Captured = nothing_captured,
) -> Explanation | None:
    """One object explained; None if it is not here, or leads to no job (see :func:`why_no_job`)."""
    job = job_in(objects, resource, namespace, name)
    if job is None:
        return None
    told = _with_checks(settings, objects)
    return explain(case_of(job, objects, told, captured(job)), told, seen_at)


def trainjobs_of(objects: Objects, namespace: str, job: str, settings: Settings) -> list[TrainJob]:
    """The TrainJobs of dispatch's job, by submission; those without a number last, by name."""

    def order(trainjob: TrainJob) -> tuple[bool, int, str]:
        submission = submission_of(trainjob, settings)
        return submission is None, submission or 0, trainjob.name

    everyone = objects.of(api.TRAIN_JOBS, TrainJob).values()
    return sorted((t for t in everyone if t.namespace == namespace and job_of(t, settings) == job), key=order)


def jobsets_of(objects: Objects, namespace: str, job: str, settings: Settings) -> list[JobSet]:
    """The JobSets of dispatch's job, live or left over: of its TrainJobs' names, or by their own name or label."""
    names = {trainjob.name for trainjob in trainjobs_of(objects, namespace, job, settings)}
    everyone = objects.of(api.JOBSETS, JobSet).values()
    return [j for j in everyone if j.namespace == namespace and (j.name in names or may_be_of(j, job, settings))]


def may_be_of(obj: Meta, job: str, settings: Settings) -> bool:
    """By name or by label: the two may contradict each other."""
    return obj.label(settings.job_id) == job or submission_in(obj.name, job) is not None


def pods_of(objects: Objects, namespace: str, job: str, settings: Settings) -> tuple[Labels, ...]:
    """The labels by which a pod is of dispatch's job. Its name says nothing: a StatefulSet's are ``train-0``, too."""
    names = {t.name for t in trainjobs_of(objects, namespace, job, settings)}
    names |= {j.name for j in jobsets_of(objects, namespace, job, settings)}
    return {settings.job_id: job}, *({JOBSET_NAME: name} for name in sorted(names))


def find_in(
    objects: Objects,
    namespace: str,
    job: str,
    settings: Settings,
    seen_at: int,
    captured: Captured = nothing_captured,
) -> list[Explanation]:
    """Everything of dispatch's job: its TrainJobs by submission, then its orphans by kind and name."""
    told = _with_checks(settings, objects)
    live = [
        explain(case_of(trainjob, objects, told, captured(trainjob)), told, seen_at)
        for trainjob in trainjobs_of(objects, namespace, job, told)
    ]

    def here(resource: Resource, type_: type[T]) -> list[T]:
        return [obj for obj in objects.of(resource, type_).values() if obj.namespace == namespace]

    wanted = pods_of(objects, namespace, job, told)
    left = orphans(
        job,
        trainjobs=here(api.TRAIN_JOBS, TrainJob),
        jobsets=here(api.JOBSETS, JobSet),
        pods=[pod for pod in here(api.PODS, Pod) if any(has_labels(pod, labels) for labels in wanted)],
        runtimes=here(api.TRAINING_RUNTIMES, TrainingRuntime),
        settings=told,
        seen_at=seen_at,
    )
    return live + left


def capacity_checks_in(objects: Objects, more: frozenset[str]) -> frozenset[str]:
    """The AdmissionChecks that stand for capacity: those of Kueue's provisioning controller, and ``more``."""
    checks = objects.of(api.ADMISSION_CHECKS, AdmissionCheck).values()
    return more | {c.name for c in checks if c.spec and c.spec.controller_name == api.PROVISIONING_CONTROLLER}


def _with_checks(settings: Settings, objects: Objects) -> Settings:
    checks = capacity_checks_in(objects, settings.capacity_checks)
    return msgspec.structs.replace(settings, capacity_checks=checks)


def _view_at(resource: Resource) -> KindView | None:
    return next((view for view in KINDS.values() if view.resource == resource), None)
