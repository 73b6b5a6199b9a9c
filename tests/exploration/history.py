"""What a step changed, for people."""

from classifier import api
from classifier.instant import instant_or_none
from tests.builders import T0
from tests.exploration.decisions import TICK
from tests.exploration.server import PENDING, Content, Owner, ledger_of, marker_of, note
from tests.exploration.world import Server, World


def described(world: World, before: Server, after: Server) -> str:
    """The objects a step changed, and the time."""
    said = []
    if after.now != before.now:
        said.append(f"now {ticks(after.now)}")
    if after.workload != before.workload:
        said.append(f"Workload {workload_words(world.content(after))}")
    if after.owner != before.owner:
        said.append(f"job {job_words(world.job(after))}")
    return f"  [{'; '.join(said)}]" if said else ""


def ticks(at: int | None) -> str:
    return "-" if at is None else f"t{at / TICK:g}"


def _shown(text: str | None) -> str:
    at = instant_or_none(text)
    return ticks(None if at is None else at - T0)


def workload_words(content: Content | None) -> str:
    if content is None:
        return "gone"
    words = [f"uid {content.uid}", "active" if content.active else f"inactive by {content.by}"]
    if content.phase != PENDING:
        words.append(content.phase)
    words += [word for word, holds in (("evicted", content.evicted), ("admitted before", content.traced)) if holds]
    deadline = note(content.notes, api.ADMISSION_DEADLINE)
    if deadline:
        words.append(f"deadline {_shown(deadline)}")
    marker = marker_of(content)
    if marker is not None:
        words.append(f"committed {ticks(marker.at)} attempt {marker.attempt}")
    if note(content.notes, api.CLEANUP_COMMITTED):
        words.append(f"cleanup committed {_shown(note(content.notes, api.CLEANUP_COMMITTED))}")
    return ", ".join(words)


def job_words(job: Owner | None) -> str:
    if job is None:
        return "gone"
    words = ["suspended" if job.suspended else "runs"]
    ledger = ledger_of(job)
    if ledger is not None:
        words.append(f"attempt {ledger.attempt} since {ticks(ledger.origin - T0)}")
        if ledger.started is not None:
            words.append("started")
        if ledger.paused is not None:
            words.append("paused")
    deadline = note(job.notes, api.ADMISSION_DEADLINE)
    if deadline:
        words.append(f"deadline {_shown(deadline)}")
    mirror = note(job.notes, api.ADMISSION_OUTCOME_OF)
    if mirror:
        words.append(f"mirror of {mirror}")
    after = note(job.notes, api.DELETE_AFTER)
    if after:
        words.append(f"delete after {_shown(after)}")
    return ", ".join(words)
