"""What a Workload's conditions tell of its gang's starts, and of its way back to the queue (design §3, "Clock").

Kueue dates its conditions in whole seconds, and by its own clock. All instants are milliseconds.
"""

from typing import Final

from classifier import api
from classifier.instant import instant_or_none
from classifier.objects import Condition, Eviction, Workload

#: Why Kueue puts a Workload back at a later moment than it stopped it, and the word for that moment
#: (Kueue: pkg/controller/core/workload_controller.go). Until then nobody can be admitted.
_REQUEUED: Final = {
    "Deactivated": "Reactivated",
    "ClusterQueueStopped": "ClusterQueueRestarted",
    "LocalQueueStopped": "LocalQueueRestarted",
}
#: Its own deactivations Kueue does not date the end of: the condition stays as it is.
_UNDATED: Final = "DeactivatedDueTo"


def has_started(workload: Workload) -> bool:
    """Whether the gang has started, now or in a past that only traces tell of; in doubt it has."""
    return started_at(workload, 0) is not None


def started_at(workload: Workload, now: int, since: int | None = None) -> int | None:
    """When the gang started, in doubt; None if it has not. ``since``: in a wait that began then, and is not its first.

    With Kueue's waitForPodsReady the PodsReady condition exists even on pending Workloads, and only it counts.
    The Admitted condition is absent until the first admission (Kueue: pkg/workload/admissionchecks.go
    SyncAdmittedCondition), so a False one is the trace of an admission; it was no start only if every eviction since
    says that the pods never became ready.
    """
    born = instant_or_none(workload.metadata.creation_timestamp)
    if since is not None and (born is None or born < since):
        return _started_since(workload, now, since)
    admitted, ready = workload.condition(api.ADMITTED), workload.condition(api.PODS_READY)
    if ready is not None and _was_ready(ready):
        return _changed(ready, now)
    if admitted is None:
        return None
    evicted = _evictions(workload)
    if admitted.true and ready is None:
        return _changed(admitted, now)
    if admitted.true and not evicted:
        return None
    never_ready = bool(evicted) and all(
        e.reason == api.PODS_READY_TIMEOUT and e.underlying_cause == api.WAIT_FOR_START for e in evicted
    )
    return None if never_ready else _changed(admitted, now) - 1


def _started_since(workload: Workload, now: int, since: int) -> int | None:
    """The same, where conditions and evictions tell of earlier waits, too: only changes after ``since`` count.

    PodsReady changes twice in a run whose pods became ready, and not at all in one whose pods did not.
    """
    admitted, ready = workload.condition(api.ADMITTED), workload.condition(api.PODS_READY)
    if admitted is None:
        return None
    if admitted.true:
        if ready is None:
            return _changed(admitted, now)
        changed = _changed(ready, now)
        return changed if changed > since or (_was_ready(ready) and changed == since) else None
    left = _changed(admitted, now)
    news = left > since and (ready is None or _changed(ready, now) > since)
    return left - 1 if news else None


def back_since(workload: Workload, started: int, now: int) -> int | None:
    """Since when a gang that had ``started`` waits in the queue again; None as long as it does not.

    That is when it left its admission, or when Kueue put it back after a deactivation or a stop of its queue; of a
    Workload made anew, its creation. While its pods still stop, it does not wait.
    """
    admitted, ready = workload.condition(api.ADMITTED), workload.condition(api.PODS_READY)
    if not workload.active:
        return None
    if admitted is None:
        born = instant_or_none(workload.metadata.creation_timestamp)
        return born if born is not None and born >= started else None  # an older one is a copy from before the start
    left = _changed(admitted, now)
    stopping = workload.is_true(api.EVICTED) and workload.is_true(api.QUOTA_RESERVED)
    if admitted.true or left < started or stopping or (ready is not None and _was_ready(ready)):
        return None
    requeued = workload.condition(api.REQUEUED)
    again = left
    if requeued is not None:
        reason = requeued.reason or ""
        if not requeued.true and reason in _REQUEUED:
            return None
        if requeued.true and reason in _REQUEUED.values():
            again = _changed(requeued, now)
        elif not requeued.true and reason.startswith(_UNDATED):
            again = now
    # Kueue resets PodsReady a moment after the admission: what changed until then is of the last run.
    reset = left if ready is None else _changed(ready, now)
    return max(left, again, reset)


def _was_ready(ready: Condition) -> bool:
    return ready.true or ready.reason == api.WAIT_FOR_RECOVERY


def _evictions(workload: Workload) -> list[Eviction]:
    stats = workload.status.scheduling_stats if workload.status else None
    return (stats.evictions if stats else None) or []


def _changed(condition: Condition, now: int) -> int:
    """When the condition changed last; one that does not say so changed just now."""
    at = instant_or_none(condition.last_transition_time)
    return now if at is None else at
