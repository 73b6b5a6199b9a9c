"""Whose job Muster judges, stamps and bounds, and whose it never touches (design §3, "Whose wait is bounded"). Pure."""

from typing import Final

from classifier import api
from classifier.objects import Meta, OwnerReference, Pod, PodGroup, Workload
from classifier.state.kinds import KINDS, KindView, parent_of, view_for
from classifier.state.kinds.podgroup import SUSPENDING_PARENT

#: The kinds preflight judges and the webhook is asked about: all that can be explained, and people's own Workloads.
JUDGED: Final[dict[api.Resource, type[Meta]]] = {
    **{view.resource: view.type_ for view in KINDS.values()},
    api.WORKLOADS: Workload,
}

#: The kinds whose wait is bounded so far.
BOUNDED: Final = {key: KINDS[key] for key in (("batch", "Job"),)}


def bounded_view(owner: OwnerReference | None) -> KindView | None:
    """The view of the kind an owner reference names, if jobs of that kind are bounded."""
    return BOUNDED.get((owner.group, owner.kind)) if owner else None


def owner_of(workload: Workload) -> OwnerReference | None:
    """The one controller owner of a Workload; None if it has none (pod groups and people's own Workloads)."""
    return workload.controller


def why_not_ours(job: Meta) -> str | None:
    """Why a job is never judged, stamped or bounded, to be read after its name; None if nothing speaks against it."""
    if job.metadata.deletion_timestamp is not None:
        return "is being deleted"
    parent = _whole(job)
    if parent is not None:
        return f"is part of {parent.kind}/{parent.name}"
    kind = job.annotation(SUSPENDING_PARENT) if isinstance(job, Pod | PodGroup) else None
    if kind:
        return f"is part of a {kind}"
    if isinstance(job, Workload) and job.label(api.JOB_UID) is not None:
        return "is Kueue's own, made of a job"
    if job.label(api.MULTIKUEUE_ORIGIN) is not None:
        return "is MultiKueue's copy of a job of another cluster"
    view = view_for(job)
    foreign = view.foreign(job) if view else None
    return f"is managed by {foreign}" if foreign else None


def kind_of(obj: Meta) -> api.Resource | None:
    """The kind by which it is judged; None for one that is not."""
    view = view_for(obj)
    if view is not None:
        return view.resource
    return api.WORKLOADS if isinstance(obj, Workload) else None


def queue_of(obj: Meta) -> str:
    """The LocalQueue it asks for; "" where it asks for none."""
    return obj.queue_name if isinstance(obj, Workload) else obj.label(api.QUEUE_NAME) or ""


def _whole(job: Meta) -> OwnerReference | None:
    """What it is a part of. A pod is of whatever controls it, and a Workload of whatever owns it: a group's pods and
    a LeaderWorkerSet own theirs without controlling them (reference/kueue.md §4.2)."""
    if isinstance(job, Workload):
        return next(iter(job.metadata.owner_references or ()), None)
    return job.controller if isinstance(job, Pod | PodGroup) else parent_of(job)


def why_never(workload: Workload) -> str | None:
    """Why a Workload's wait is not bounded, as far as the Workload alone tells; None if nothing speaks against it."""
    if workload.label(api.MULTIKUEUE_ORIGIN) is not None:
        return "it is the copy of a Workload on a MultiKueue manager, which bounds it there"
    if workload.annotation(api.SLICE_REPLACEMENT_FOR) is not None:
        return "it is a scale-up slice of an elastic job that runs already"
    owner = owner_of(workload)
    if owner is None:
        return "it has no controller owner"
    if bounded_view(owner) is None:
        return f"Muster does not bound jobs of kind {owner.kind}"
    return None
