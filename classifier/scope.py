"""Whose job Muster judges, stamps and bounds, and whose it never touches (design §3, "Whose wait is bounded"). Pure."""

from typing import Final, NamedTuple

import msgspec

from classifier import api
from classifier.objects import Meta, OwnerReference, Pod, PodGroup, Workload
from classifier.state.kinds import KINDS, KindView, alone, parent_of, podgroup, view_for
from classifier.state.kinds.podgroup import SUSPENDING_PARENT

#: The kinds preflight judges and the webhook is asked about: all that can be explained, and people's own Workloads.
JUDGED: Final[dict[api.Resource, type[Meta]]] = {
    **{view.resource: view.type_ for view in KINDS.values()},
    api.WORKLOADS: Workload,
}

#: Group and kind, as owner references name them.
GroupKind = tuple[str, str]
#: A group of pods, which is no object of its own: its Workload bears its name.
POD_GROUP: Final[GroupKind] = ("", "PodGroup")
#: A Workload that a person made, and no job owns.
ALONE: Final[GroupKind] = (api.KUEUE_GROUP, api.WORKLOADS.kind)
#: They cannot be stopped as a whole, or would make what was ended anew: judged and reported, never bounded.
REPORT_ONLY: Final[frozenset[GroupKind]] = frozenset({("leaderworkerset.x-k8s.io", "LeaderWorkerSet")})
#: What pods are queued as: alone, or as a group.
_OF_PODS: Final = (Pod, PodGroup)

#: The kinds whose wait is bounded.
BOUNDED: Final[dict[GroupKind, KindView]] = {
    **{kind: view for kind, view in KINDS.items() if kind not in REPORT_ONLY},
    POD_GROUP: msgspec.structs.replace(podgroup.VIEW, suspended=podgroup.at_rest),
}


class Holder(NamedTuple):
    """What a Workload stands for: the object that carries the ledger of its wait, and the mirror of its end.

    ``uid`` is empty for a group of pods.
    """

    kind: GroupKind
    name: str
    uid: str


def holder_of(workload: Workload) -> Holder | None:
    """What a Workload stands for, be it bounded or not; the Workload itself where nothing owns it."""
    owner = workload.controller
    if owner is not None:
        return Holder((owner.group, owner.kind), owner.name, owner.uid)
    shares = next((o for o in workload.metadata.owner_references or () if o.kind != api.PODS.kind), None)
    if shares is not None:
        # A LeaderWorkerSet, or a StatefulSet, has several, or pods between: it lists itself without controlling them.
        kind = shares.group, shares.kind
        return Holder(kind, shares.name, shares.uid) if kind not in BOUNDED else None
    if workload.annotation(api.GROUP_WORKLOAD) == "true":
        return Holder(POD_GROUP, workload.name, "")
    if not workload.metadata.owner_references and workload.label(api.JOB_UID) is None:
        # Kueue ends one that lost its job: only its label tells it from a person's own.
        return Holder(ALONE, workload.name, workload.uid)
    return None


def bounded_view(kind: GroupKind, *, ownerless: bool = False) -> KindView | None:
    """The view of a kind, if what is of it is bounded. ``ownerless``: people's own Workloads are."""
    return alone.VIEW if ownerless and kind == ALONE else BOUNDED.get(kind)


def owner_of(workload: Workload) -> OwnerReference | None:
    """The one controller owner of a Workload; None if it has none (pod groups and people's own Workloads)."""
    return workload.controller


def why_not_ours(job: Meta) -> str | None:
    """Why a job is never judged, stamped or bounded, to be read after its name; None if nothing speaks against it."""
    if job.metadata.deletion_timestamp is not None:
        return "is being deleted"
    for one in job.pods or (job,) if isinstance(job, PodGroup) else (job,):
        parent = _whole(one)
        if parent is not None:
            return f"is part of {parent.kind}/{parent.name}"
        kind = one.annotation(SUSPENDING_PARENT) if isinstance(one, _OF_PODS) else None
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
    return job.controller if isinstance(job, _OF_PODS) else parent_of(job)


def why_never(workload: Workload, *, ownerless: bool = False) -> str | None:
    """Why a Workload's wait is not bounded, as far as the Workload alone tells; None if nothing speaks against it.

    ``ownerless``: Workloads that people made are bounded too.
    """
    if workload.label(api.MULTIKUEUE_ORIGIN) is not None:
        return "it is the copy of a Workload on a MultiKueue manager, which bounds it there"
    if workload.annotation(api.SLICE_REPLACEMENT_FOR) is not None:
        return "it is a scale-up slice of an elastic job that runs already"
    holder = holder_of(workload)
    if holder is None or (holder.kind == ALONE and not ownerless):
        return "it has no controller owner"
    if bounded_view(holder.kind, ownerless=ownerless) is None:
        return f"Muster does not bound jobs of kind {holder.kind[1]}"
    return None
