"""When the webhook may deny at all, besides what a verdict says: only where Kueue holds the object back, and only what
has not begun. Pure.

Kueue's webhook has been asked before ours, and suspends or gates what it queues. An object that it left alone (its
integration is off, its namespace is not managed) starts at once, whatever quota says: nothing is proven then.
"""

from typing import Any

from classifier import api
from classifier.fit.gang import GangError, Podset, Runtimes, Unresolved
from classifier.fit.kinds import PODSETS
from classifier.objects import LeaderWorkerSet, Pod, Workload
from classifier.scope import queue_of
from classifier.state.kinds import KINDS
from classifier.state.kinds.podgroup import SUSPENDING_PARENT, group_name
from webhook.subject import Subject


def changes_the_gang(asked: Subject) -> bool:
    """Whether an update makes another gang, or sends it to another queue, of a job that is held before and after.

    Anything else passes unjudged: letting a job go and stopping it, metadata, finalizers, deletion.
    """
    if (
        asked.old is None
        or isinstance(asked.obj, Pod | LeaderWorkerSet)
        or not (_held(asked, asked.old) and _held(asked, asked.obj))
    ):
        return False
    return queue_of(asked.old) != queue_of(asked.obj) or _gang(asked, asked.old) != _gang(asked, asked.obj)


def held(asked: Subject) -> bool:
    """Whether Kueue holds it back, as far as the object shows."""
    return _held(asked, asked.obj)


def group_of(asked: Subject) -> str | None:
    """The pod group that a pod joins. Each pod of a group comes alone, a replacement of one that failed as well: a
    group that was let in once is never stopped half-way."""
    return group_name(asked.obj) if isinstance(asked.obj, Pod) else None


def _held(asked: Subject, obj: Any) -> bool:
    if isinstance(obj, Workload):
        return not obj.is_true(api.QUOTA_RESERVED)
    if isinstance(obj, LeaderWorkerSet):
        # Its pods will be gated, by what Kueue puts on their template (Kueue: leaderworkerset_webhook.go).
        group = obj.spec.leader_worker_template if obj.spec else None
        template = group.worker_template if group else None
        return SUSPENDING_PARENT in ((template.metadata.annotations if template and template.metadata else None) or {})
    return KINDS[asked.resource.group, asked.resource.kind].suspended(obj)


def _gang(asked: Subject, obj: Any) -> list[Podset] | Any:
    """Its podsets; where the object alone does not tell them (a TrainJob), what it says itself."""
    podsets_of = PODSETS.get(asked.resource)
    try:
        return podsets_of(obj, Runtimes()) if podsets_of else None
    except (GangError, Unresolved):
        return obj.spec
