"""Rule 1: the job is complete (reference/classification.md §C1)."""

from classifier.numbers import moment
from classifier.state.facts import Facts
from classifier.state.kinds.view import Ending
from classifier.state.observation import CauseKind, State
from classifier.state.verdict import Verdict, condition_text, seen
from classifier.state.words import words


def complete(facts: Facts, ending: Ending | None) -> Verdict | None:
    if ending is None or ending.kind is not CauseKind.COMPLETED:
        return None
    return by_job(facts, ending, ending.kind)


def by_job(facts: Facts, ending: Ending, cause: CauseKind) -> Verdict:
    """The job's own condition decided."""
    at = moment(ending.words.last_transition_time)
    return Verdict(
        state=State.ENDED,
        cause=cause,
        source=facts.view.provenance,
        detail=words(ending.words),
        since=at,
        evidence=(seen(at, f"{facts.kind} {facts.job.name}", cause, condition_text(ending.words)),),
    )
