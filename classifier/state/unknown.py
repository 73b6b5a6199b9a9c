"""A condition nobody here knows, on an object that nothing else explains (reference/classification.md §C7)."""

import msgspec

from classifier.numbers import moment
from classifier.state.facts import Facts
from classifier.state.observation import CauseKind
from classifier.state.verdict import Verdict, condition_text, seen
from classifier.state.words import joined


def unknown(facts: Facts, verdict: Verdict) -> Verdict:
    """The state stays as it is, and so does a detail that a cause of none has of its own."""
    if verdict.cause is not CauseKind.NONE:
        return verdict
    odd = [c for c in facts.view.conditions(facts.job) if c.true and c.type not in facts.view.known]
    if not odd:
        return verdict
    where = f"{facts.kind} {facts.job.name}"
    added = tuple(seen(moment(c.last_transition_time), where, CauseKind.UNKNOWN, condition_text(c)) for c in odd)
    dates = [e.at for e in added if e.at is not None]
    return msgspec.structs.replace(
        verdict,
        cause=CauseKind.UNKNOWN,
        detail=joined((verdict.detail, *(f"{facts.kind} {condition_text(c)}" for c in odd))),
        since=max(dates, default=verdict.since),
        evidence=added + verdict.evidence,
    )
