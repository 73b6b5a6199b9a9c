"""Objects that are not judged at all (design §4, reference/capacity.md §3.2): whose gang it is, or who runs it."""

from classifier import api
from classifier.fit.kinds import Kind, is_gang_owner
from classifier.objects import ClusterQueue, Meta


def why_not_judged(obj: Meta, kind: Kind) -> str | None:
    """The reason in the object itself, or None if it is judged."""
    if obj.metadata.deletion_timestamp is not None:
        return "is being deleted"
    owner = obj.controller
    if owner is not None and is_gang_owner(owner):
        return f"is part of {owner.kind}/{owner.name}"
    if obj.label(api.MULTIKUEUE_ORIGIN) is not None:
        return "is MultiKueue's copy of a job of another cluster"
    manager = kind.foreign(obj)
    if manager is not None:
        return f"is managed by {manager}"
    if obj.label(api.PREBUILT_WORKLOAD) or obj.annotation(api.PREBUILT_WORKLOAD):
        return "runs a prebuilt Workload, which is judged instead"
    if not obj.label(api.QUEUE_NAME):
        return f"has no {api.QUEUE_NAME} label"
    return None


def multikueue_check(queue: ClusterQueue, controllers: dict[str, str]) -> str | None:
    """The check by which the queue sends its jobs to other clusters, whose capacity is not known here."""
    return next((name for name in queue.check_names if controllers.get(name) == api.MULTIKUEUE_CONTROLLER), None)
