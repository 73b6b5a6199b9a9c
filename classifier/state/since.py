"""Since when, where no cause has a date of its own: the condition behind the state, else the object's creation."""

from classifier import api
from classifier.numbers import moment
from classifier.objects import Condition
from classifier.state.facts import Facts


def created(facts: Facts) -> int | None:
    return moment(facts.job.metadata.creation_timestamp)


def stopped(facts: Facts) -> int | None:
    """Since when a held or suspended object is stopped; None where nothing says.

    ``spec.active`` and ``spec.suspend`` bear no date: the eviction or the condition that follows has one. An older
    eviction keeps its reason and its date when the Workload is deactivated later (§A5, 3).
    """
    if not facts.kueue:
        return _at(_paused(facts), "True")
    evicted = facts.workload.condition(api.EVICTED) if facts.workload else None
    return _at(evicted, "True") if evicted and (evicted.reason or "").startswith("Deactivated") else None


def waiting(facts: Facts) -> int | None:
    """Since when a pending object waits as it does: for quota, or, once that is reserved, for its checks."""
    workload = facts.workload
    at = moment(_time(workload.condition(api.QUOTA_RESERVED))) if workload else None
    if not facts.kueue:
        at = _at(_paused(facts), "True")
    return created(facts) if at is None else at


def started(facts: Facts) -> int | None:
    """Since when a running object runs: its admission or its resumption, whichever came last."""
    admitted = _at(facts.workload.condition(api.ADMITTED), "True") if facts.workload else None
    known = [at for at in (admitted, _at(_paused(facts), "False")) if at is not None]
    return max(known) if known else created(facts)


def _paused(facts: Facts) -> Condition | None:
    return next((c for c in facts.view.conditions(facts.job) if c.type == "Suspended"), None)


def _time(condition: Condition | None) -> str | None:
    return condition.last_transition_time if condition else None


def _at(condition: Condition | None, status: str) -> int | None:
    return moment(condition.last_transition_time) if condition and condition.status == status else None
