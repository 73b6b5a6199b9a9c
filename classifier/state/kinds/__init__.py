"""The job kinds, one small file each. A new kind is a file with a ``VIEW`` and a line in ``_VIEWS``."""

from classifier.api import Resource
from classifier.objects import Meta, OwnerReference
from classifier.state.kinds import (
    appwrapper,
    jaxjob,
    job,
    jobset,
    leaderworkerset,
    mpijob,
    paddlejob,
    pod,
    podgroup,
    pytorchjob,
    raycluster,
    rayjob,
    tfjob,
    trainjob,
    xgboostjob,
)
from classifier.state.kinds.view import KindView

_VIEWS = (
    job.VIEW,
    trainjob.VIEW,
    jobset.VIEW,
    rayjob.VIEW,
    raycluster.VIEW,
    mpijob.VIEW,
    pytorchjob.VIEW,
    tfjob.VIEW,
    xgboostjob.VIEW,
    paddlejob.VIEW,
    jaxjob.VIEW,
    leaderworkerset.VIEW,
    appwrapper.VIEW,
    pod.VIEW,
)

#: By group and kind, as owner references name them (their version is not part of the identity).
KINDS: dict[tuple[str, str], KindView] = {(v.resource.group, v.resource.kind): v for v in _VIEWS}

#: What stands between jobs of some kind and their pods, and nothing of theirs can run without.
MIDDLES: frozenset[Resource] = frozenset(view.middle for view in KINDS.values() if view.middle)

#: Kinds that Kueue queues as a whole: a job one of these controls is a child, with no wait and no capacity of its own
#: (Kueue: pkg/controller/jobframework, FindAncestorJobManagedByKueue; reference/kueue.md §4.2). Kinds, and no groups:
#: Katib's Trials share theirs with the jobs that they make, and Kueue knows nothing of them.
_PARENTS = frozenset(KINDS) - {(pod.VIEW.resource.group, pod.VIEW.resource.kind)} | {
    ("ray.io", "RayService"),
    ("sparkoperator.k8s.io", "SparkApplication"),
}


def view_of(owner: OwnerReference | None) -> KindView | None:
    """The view for the kind an owner reference names, if Muster has one."""
    return KINDS.get((owner.group, owner.kind)) if owner else None


def view_for(obj: Meta) -> KindView | None:
    """The view for an object. Items of a decoded list carry no kind: their type tells."""
    if isinstance(obj, podgroup.VIEW.type_):
        return podgroup.VIEW  # no API object: whatever kind it bears is that of its pods
    if obj.kind is None or obj.api_version is None:
        return next((view for view in _VIEWS if isinstance(obj, view.type_)), None)
    found = KINDS.get(((obj.api_version or "").rpartition("/")[0], obj.kind))
    return found if found is not None and isinstance(obj, found.type_) else None


def parent_of(job: Meta) -> OwnerReference | None:
    """The job of another kind that this one is a child of."""
    parent = job.controller
    return parent if parent is not None and queued_whole(parent) else None


def queued_whole(owner: OwnerReference) -> bool:
    """Whether Kueue queues what is of that kind as a whole, with all that it makes."""
    return (owner.group, owner.kind) in _PARENTS


__all__ = ["KINDS", "MIDDLES", "KindView", "parent_of", "queued_whole", "view_for", "view_of"]
