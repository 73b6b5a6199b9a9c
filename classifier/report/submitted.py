"""The first two phases: the job was taken, its quota is reserved."""

from collections import defaultdict

from classifier import api
from classifier.clock import committed
from classifier.instant import SECOND, format_duration, instant_or_none
from classifier.objects import Condition, Quantity, Workload
from classifier.quantity import QuantityError, amount_of, format_amount, parse
from classifier.report.deadline import Deadline, clause
from classifier.report.message import reactivate_command, timed_out_message
from classifier.report.phase import QUOTA, SUBMITTED, Phase, State, age, joined
from classifier.report.picture import Picture

#: Kueue makes a Workload within a second; after this long without one something is wrong.
PATIENCE = 10 * SECOND


def submitted(picture: Picture) -> Phase:
    owner = picture.owner
    text = f"{owner.kind} applied (suspended)" if owner.suspended else f"{owner.kind} applied"
    if owner.deleting:
        text = f"{text}; it is being deleted"
    return Phase(SUBMITTED, State.DONE, text, owner.created)


def words(condition: Condition | None) -> str:
    """``<reason>: <message>``, or the reason alone (reference/classification.md, "words")."""
    if condition is None:
        return ""
    return f"{condition.reason}: {condition.message}" if condition.message else condition.reason or ""


def ended_here(picture: Picture, deadline: Deadline) -> str | None:
    """The text of a wait that the deadline ended; None if none did."""
    workload = picture.workload
    marker = committed(workload) if workload is not None else None
    if workload is None or marker is None or deadline.committed_at is None:
        return None
    told = picture.owner.annotations
    mirrored = told.get(api.ADMISSION_OUTCOME_OF) == f"{marker.uid}/{marker.attempt}"
    unsettled = workload.is_true(api.QUOTA_RESERVED) or workload.is_true(api.ADMITTED) or not picture.owner.suspended
    message = timed_out_message(
        workload=workload.name,
        namespace=workload.namespace,
        at=deadline.committed_at,
        waited=deadline.waited,
        leftovers=[] if unsettled else [r.name for r in picture.requests or ()],
        delete_after=instant_or_none(told.get(api.DELETE_AFTER)) if mirrored else None,
    )
    return f"{message}; Kueue has not released the quota yet" if unsettled else message


def lost_quota(workload: Workload) -> bool:
    """Whether a deactivated Workload had quota when that happened: Kueue writes Requeued only where it had to clear it.

    (reference/kueue.md §2.1, §2.2)
    """
    requeued = workload.condition("Requeued")
    return requeued is not None and not requeued.true and (requeued.reason or "").startswith("Deactivated")


def deactivated(picture: Picture) -> tuple[State, str] | None:
    """An inactive Workload without a decision of ours: Kueue gave up (failed) or a person paused it (waiting)."""
    workload = picture.workload
    if workload is None or workload.active or committed(workload) is not None or workload.is_true(api.FINISHED):
        return None
    evicted = workload.condition(api.EVICTED)
    by_kueue = evicted is not None and evicted.true and (evicted.reason or "").startswith("DeactivatedDueTo")
    why = words(evicted) if evicted is not None and evicted.true else "spec.active is false"
    resume = reactivate_command(workload.name, workload.namespace)
    text = joined(
        f"Workload {workload.name} is deactivated ({why})",
        f"to let it wait again ask a batch administrator to run: {resume}",
    )
    return (State.FAILED if by_kueue else State.WAITING), text


def quota(picture: Picture, deadline: Deadline, now: int) -> Phase:
    workload = picture.workload
    if workload is None:
        return _no_workload(picture, deadline, now)
    reserved = workload.condition(api.QUOTA_RESERVED)
    since = instant_or_none(reserved.last_transition_time) if reserved else None
    ended, stopped = ended_here(picture, deadline), deactivated(picture)
    if (ended or stopped) and lost_quota(workload):
        return Phase(QUOTA, State.DONE, "was reserved, is released", since)
    if reserved is not None and reserved.true:
        return Phase(QUOTA, State.DONE, _assigned(workload), since)
    if ended:
        return Phase(QUOTA, State.FAILED, ended, deadline.committed_at)
    if stopped:
        return Phase(QUOTA, stopped[0], stopped[1], since)
    if picture.owner.finish is not None:
        return Phase(QUOTA, State.DONE, "quota released", since)
    begin = instant_or_none(workload.metadata.creation_timestamp)
    evicted = workload.condition(api.EVICTED)
    before = None
    if evicted is not None and evicted.true:
        begin = instant_or_none(evicted.last_transition_time) or begin
        before = f"evicted before ({words(evicted)})"
    waiting = f"waiting {age(begin, now)}" if begin is not None else "waiting"
    text = joined(
        f"{waiting} in {_queues(picture)}",
        f"Kueue: {reserved.message or reserved.reason}" if reserved is not None else None,
        before,
        _again(workload, now),
        clause(deadline, picture.fence, now, known=not picture.hidden_policies),
    )
    return Phase(QUOTA, State.ACTIVE, text, begin)


def _again(workload: Workload, now: int) -> str | None:
    """The end of a backoff that still runs (Kueue: status.requeueState; reference/kueue.md §1.3)."""
    state = workload.status.requeue_state if workload.status else None
    until = instant_or_none(state.requeue_at) if state else None
    return f"Kueue tries again in {format_duration(until - now)}" if until is not None and until > now else None


def _queues(picture: Picture) -> str:
    local = f"LocalQueue {picture.workload.queue_name if picture.workload else picture.owner.queue}"
    name = picture.local_queue.cluster_queue if picture.local_queue else ""
    return f"{local} of ClusterQueue {name}" if name else local


def _no_workload(picture: Picture, deadline: Deadline, now: int) -> Phase:
    owner = picture.owner
    if owner.managed_by:
        return Phase(QUOTA, State.WAITING, f"not here: {owner.managed_by} manages this {owner.kind} (spec.managedBy)")
    if not owner.queue:
        text = f"not needed: the {owner.kind} names no queue (label {api.QUEUE_NAME})"
        return Phase(QUOTA, State.DONE, text)
    if not picture.may_read(api.WORKLOADS):
        state = State.ACTIVE if owner.suspended and owner.finish is None else State.DONE
        ends = (
            clause(deadline, picture.fence, now, known=not picture.hidden_policies) if state is State.ACTIVE else None
        )
        return Phase(QUOTA, state, joined("workloads may not be read", ends), owner.created)
    if owner.finish is not None:
        return Phase(QUOTA, State.DONE, "the Workload is gone")
    if picture.local_queue is None and picture.may_read(api.LOCAL_QUEUES):
        text = f"LocalQueue {owner.queue} does not exist in namespace {owner.namespace}; create it or correct the label"
        return Phase(
            QUOTA,
            State.ACTIVE,
            joined(text, clause(deadline, picture.fence, now, known=not picture.hidden_policies)),
            owner.created,
        )
    if owner.created is None or now - owner.created < PATIENCE:
        text = "no Workload yet"
    else:
        waited = age(owner.created, now)
        text = f"no Workload after {waited}; is Kueue running, and does it manage {owner.kind}s here?"
    return Phase(
        QUOTA,
        State.ACTIVE,
        joined(text, clause(deadline, picture.fence, now, known=not picture.hidden_policies)),
        owner.created,
    )


def _nanos(quantity: Quantity) -> int:
    try:
        return parse(quantity)
    except QuantityError:
        return 0  # only a file written by hand can hold what no API server stores


def _assigned(workload: Workload) -> str:
    """``16 nvidia.com/gpu on ClusterQueue gpu-a100 (flavor a100-scale)``: devices where there are any."""
    admission = workload.status.admission if workload.status else None
    if admission is None:
        return "reserved"
    totals: dict[str, int] = defaultdict(int)
    flavors: dict[str, set[str]] = defaultdict(set)
    for assignment in admission.pod_set_assignments or ():
        for resource, quantity in (assignment.resource_usage or {}).items():
            totals[resource] += _nanos(quantity)
        for resource, flavor in (assignment.flavors or {}).items():
            flavors[resource].add(flavor)
    devices = [r for r in totals if "/" in r]
    shown = sorted(devices or totals)
    names = sorted({flavor for resource in shown for flavor in flavors[resource]})
    amount = ", ".join(f"{format_amount(r, amount_of(r, totals[r]))} {r}" for r in shown) or "quota"
    label = f" (flavor{'s' if len(names) > 1 else ''} {', '.join(names)})" if names else ""
    return f"{amount} on ClusterQueue {admission.cluster_queue}{label}"
