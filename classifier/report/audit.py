"""Which pending Workload needs somebody's attention, and why (design §8, ``muster audit``). Pure."""

from enum import StrEnum

import msgspec

from classifier import api
from classifier.clock import Standing, committed, shown_deadline
from classifier.fit import Outcome, Verdict
from classifier.instant import format_duration, format_instant, instant_or_none
from classifier.objects import Workload
from classifier.policy import RESTART
from classifier.report.deadline import Deadline, capped, deadline_of
from classifier.report.fence import FenceState
from classifier.report.message import reactivate_command
from classifier.report.phase import age
from classifier.report.picture import Picture


class Problem(StrEnum):
    """In the order of their weight: a Workload is listed once, under the first that holds."""

    NEVER_FITS = "never-fits"
    DEADLINE_PASSED = "deadline-passed"
    DEADLINE_NEAR = "deadline-near"
    UNBOUNDED = "unbounded"
    UNKNOWN = "unknown"


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """``workload`` is ``namespace/name``, ``owner`` ``Kind/name``; instants in milliseconds."""

    workload: str
    owner: str
    queue: str
    problem: Problem
    since: int | None
    until: int | None
    why: str
    advice: str | None


def pending(workload: Workload) -> bool:
    """Not finished, not admitted: it waits, or its wait was ended."""
    return not (
        workload.is_true(api.FINISHED) or workload.is_true(api.ADMITTED) or workload.metadata.deletion_timestamp
    )


def audit_job(picture: Picture, verdict: Verdict | None, now: int) -> Finding | None:
    """The weightiest finding about one job's Workload; None if it is well or does not wait."""
    workload = picture.workload
    if workload is None or not pending(workload):
        return None
    deadline = deadline_of(picture.owner.meta, workload, picture.policies, now)
    if deadline.standing is Standing.DEACTIVATED:
        return None  # somebody's decision, not a wait
    found = _problem(picture, workload, deadline, verdict, now)
    if found is None:
        return None
    problem, why, advice = found
    return Finding(
        workload=workload.key,
        owner=f"{picture.owner.kind}/{picture.owner.name}",
        queue=workload.queue_name,
        problem=problem,
        since=deadline.started_at,
        until=deadline.at,
        why=why,
        advice=advice,
    )


def audit_foreign(workload: Workload, owner: str, verdict: Verdict, now: int) -> Finding | None:
    """A pending Workload whose owner is of a kind Muster does not bound: what it asks for is all that can be judged."""
    if not pending(workload) or not workload.active:
        return None
    problem, why, advice = _never(verdict) or (
        Problem.UNBOUNDED,
        f"Muster does not bound what {owner or 'nobody'} waits for",
        None,
    )
    return _alone(workload, owner, problem, why, advice)


def audit_unseen(workload: Workload, owner: str, why: str, verdict: Verdict, now: int) -> Finding | None:
    """A pending Workload whose job is not at hand (``why``): only what the Workload itself shows can be judged."""
    marker, deadline = committed(workload), Deadline(at=shown_deadline(workload))
    if not pending(workload) or (marker is None and not workload.active):
        return None
    never = _never(verdict)
    advice = None
    if marker is not None:
        problem, said = Problem.DEADLINE_PASSED, f"admission timed out at {format_instant(marker.at)}"
        advice = reactivate_advice(workload)
    elif never is not None:
        problem, said, advice = never
    elif deadline.passed(now):
        problem, said = Problem.DEADLINE_PASSED, f"deadline passed {age(deadline.at or now, now)} ago; {why}"
    elif deadline.near(now):
        left = format_duration((deadline.at or now) - now)
        problem, said = Problem.DEADLINE_NEAR, f"deadline in {left}; {_why_waiting(workload)}"
    else:
        problem, said = Problem.UNKNOWN, why
    return _alone(workload, owner, problem, said, advice, deadline.at)


def _alone(
    workload: Workload, owner: str, problem: Problem, why: str, advice: str | None, until: int | None = None
) -> Finding:
    """What is found of a Workload without its job."""
    return Finding(
        workload=workload.key,
        owner=owner,
        queue=workload.queue_name,
        problem=problem,
        since=instant_or_none(workload.metadata.creation_timestamp),
        until=until,
        why=why,
        advice=advice,
    )


def _never(verdict: Verdict | None) -> tuple[Problem, str, str] | None:
    if verdict is None or verdict.outcome is not Outcome.NEVER_FITS:
        return None
    return Problem.NEVER_FITS, verdict.reason, verdict.advice or "delete it, or change what it asks for"


def reactivate_advice(workload: Workload) -> str:
    return f"delete and resubmit, or run: {reactivate_command(workload.name, workload.namespace)}"


def _problem(
    picture: Picture, workload: Workload, deadline: Deadline, verdict: Verdict | None, now: int
) -> tuple[Problem, str, str | None] | None:
    marker = committed(workload)
    if marker is not None:
        waited = f" after {format_duration(deadline.waited)}" if deadline.waited is not None else ""
        why = f"admission timed out at {format_instant(marker.at)}{waited}"
        if verdict is not None and verdict.outcome is Outcome.NEVER_FITS:
            return Problem.NEVER_FITS, f"{verdict.reason}; {why}", verdict.advice
        return Problem.DEADLINE_PASSED, why, reactivate_advice(workload)
    never = _never(verdict)
    if never is not None:
        return never
    if deadline.passed(now):
        ago = age(deadline.at or now, now)
        if picture.fence.state is FenceState.NOT_IN_FORCE:
            why = f"deadline passed {ago} ago; not enforced: {picture.fence.why}"
            return Problem.DEADLINE_PASSED, why, f"put the fence {picture.fence.name} in force: reinstall the chart"
        unsure = (
            "" if picture.fence.state is FenceState.IN_FORCE else f"; the fence {picture.fence.name} may not be read"
        )
        return (
            Problem.DEADLINE_PASSED,
            f"deadline passed {ago} ago and nobody ended the wait{unsure}",
            "see whether muster-controller is running and what it logs",
        )
    if deadline.near(now) and deadline.standing is Standing.WAITING:
        left = format_duration((deadline.at or now) - now)
        return Problem.DEADLINE_NEAR, f"deadline in {left}{capped(deadline.timeout)}; {_why_waiting(workload)}", None
    if (deadline.at is None and deadline.timeout is None) or deadline.lapsed:
        if picture.hidden_policies and not deadline.exempt:
            hidden = ", ".join(picture.hidden_policies)
            return Problem.UNKNOWN, f"no deadline shown; what may give one may not be read: {hidden}", None
        if picture.local_queue is None and not deadline.exempt:
            missing = f"LocalQueue {workload.namespace}/{workload.queue_name} does not exist"
            advice = "make that LocalQueue, or have the job name one that exists"
            return Problem.UNBOUNDED, f"no bound on its wait: {missing}", advice
        why = f"no bound on its wait: {deadline.exempt or 'no policy gives one'}"
        advice = f"annotate its LocalQueue or ClusterQueue with {api.ADMISSION_TIMEOUT}"
        again = f"set spec.admission.requeue: {RESTART} in the CapacityProfile of its queue"
        return Problem.UNBOUNDED, why, again if deadline.lapsed else advice
    if verdict is not None and verdict.outcome in (Outcome.UNKNOWN, Outcome.MISCONFIGURED):
        prefix = "misconfigured: " if verdict.outcome is Outcome.MISCONFIGURED else ""
        return Problem.UNKNOWN, f"{prefix}{verdict.reason}", verdict.advice
    return None


def _why_waiting(workload: Workload) -> str:
    reserved = workload.condition(api.QUOTA_RESERVED)
    if reserved is None:
        return "not considered by Kueue yet"
    if not reserved.true:
        return reserved.message or reserved.reason or "no quota"
    checks = workload.status.admission_checks if workload.status else None
    waiting = [f"{c.name} is {c.state}" for c in checks or () if c.state != "Ready"]
    return f"quota reserved, AdmissionCheck {', '.join(waiting)}" if waiting else "quota reserved"
