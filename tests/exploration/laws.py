"""What must hold whenever somebody writes. Each answers with what is broken, or None.

They judge by the server's objects and by what happened (``Past``), never by what ``decide`` says.
"""

from classifier import api
from classifier.instant import SECOND, instant_or_none
from tests.builders import T0
from tests.exploration.decisions import TICK, Plan
from tests.exploration.server import ADMITTED, PENDING, Content, Owner, decision_of, ledger_of, note, uid_of
from tests.exploration.world import Doing, Server, World


def live(content: Content | None, doing: Doing) -> bool:
    """Whether the decision a step speaks of is live."""
    marker = decision_of(content)
    return marker is not None and (marker.uid, marker.attempt, marker.at) == (
        uid_of(doing.uid),
        doing.attempt,
        doing.at,
    )


def cleaned(content: Content | None, doing: Doing) -> bool:
    """Whether the cleanup that a step carries out stands, on a decision that is live."""
    return live(content, doing) and content is not None and note(content.notes, api.CLEANUP_COMMITTED) == doing.cleanup


def ran(job: Owner | None, since: int) -> bool:
    """Whether the job itself tells that it was let go after an instant; its times are whole seconds, cut off."""
    return job is not None and (not job.suspended or job.stopped + SECOND > since)


def reserved(before: Content, after: Content) -> str | None:
    """Quota reserved, or an admission, that turns up on a decision: what the fence forbids."""
    newly = after.phase != PENDING and before.phase != after.phase
    if newly and decision_of(after) is not None:
        return f"a committed Workload is {after.phase}"
    return None


def committed(world: World, state: Server, doing: Doing) -> str | None:
    """A decision falls only on what waits, has waited for its whole bound, and has seen its deadline pass."""
    content, past = world.content(state), world.past(state)
    assert content is not None
    shown = instant_or_none(note(content.notes, api.ADMISSION_DEADLINE))
    least = min((bound for bound in world.setting.settings.policies if bound is not None), default=None)
    slack = world.setting.behind
    if content.phase == ADMITTED:
        return "an admitted Workload is ended"
    if not content.active:
        return "an inactive Workload is ended"
    if doing.attempt < past.floor:
        return f"a decision of attempt {doing.attempt} ends attempt {past.floor}"
    if shown is None or doing.at < shown - T0:
        return "a wait is ended before the deadline shown"
    if least is None or doing.at + slack < past.since + least * TICK:
        return "a wait is ended before its bound"
    if any(uid == content.uid and attempt >= doing.attempt for uid, attempt, _ in past.commits):
        return "a reactivated Workload is ended without a new attempt"
    return None


def announced(world: World, state: Server, plan: Plan, copy: Content | None) -> str | None:
    """A deadline on the job is never earlier than the one before it in this attempt, or it leaves the notice.

    ``copy`` is the Workload as it was decided on, which may be gone by now.
    """
    deadline = instant_or_none(dict(plan.patch).get(api.ADMISSION_DEADLINE))
    job, notice = world.job(state), world.setting.settings.notice
    if deadline is None or job is None or notice is None:
        return None
    before = instant_or_none(note(job.notes, api.ADMISSION_DEADLINE))
    for content in (world.content(state), copy):
        if before is None and content is not None:
            # One that the Workload still shows, or showed until somebody deleted it, has been announced, too.
            before = instant_or_none(note(content.notes, api.ADMISSION_DEADLINE))
    known, told = ledger_of(job), dict(plan.patch).get(api.ADMISSION_CLOCK)
    after = ledger_of(job._replace(notes=((api.ADMISSION_CLOCK, told),))) if told else known
    same = known is not None and after is not None and known.attempt == after.attempt
    if same and before is not None and deadline >= before:
        return None
    if deadline - T0 < plan.at + notice * TICK:
        return "a deadline is announced without notice"
    return None


def mirrored(world: World, state: Server, doing: Doing) -> str | None:
    """A mirror copies a decision that was made, was live since its writing began, and it tells no running job so."""
    job, past = world.job(state), world.past(state)
    assert job is not None
    if (doing.uid, doing.attempt, doing.at) not in past.commits:
        return "a mirror of a decision that was never made"
    if not doing.seen:
        return "a mirror of a decision that was not live"
    if not job.suspended:
        return "a mirror on a job that runs"
    return None


def told(world: World, state: Server, doing: Doing) -> str | None:
    """One event for a decision, and none without."""
    decision, past = (doing.uid, doing.attempt, doing.at), world.past(state)
    if decision not in past.commits:
        return "an event of a decision that was never made"
    if not doing.seen:
        return "an event of a decision that was not live"
    if any(other != decision and other[:2] == decision[:2] for other in past.told):
        return "two events of one decision"
    return None


def cleanup_committed(world: World, state: Server) -> str | None:
    """The second decision stands on the first."""
    content = world.content(state)
    if decision_of(content) is None:
        return "a cleanup without a live decision"
    assert content is not None
    return "a cleanup of what holds quota" if content.phase != PENDING else None


def deleted(world: World, state: Server, doing: Doing) -> str | None:
    """Nothing is deleted without a committed cleanup that stood since the step began, and nothing that runs or ran."""
    job, past = world.job(state), world.past(state)
    assert job is not None
    if not job.suspended:
        return "a job that runs is deleted"
    if not doing.seen:
        return "a job is deleted without a committed cleanup"
    if past.ran:
        return "a job that ran since the decision is deleted"
    return None
