"""The rules in their order, and the joining of what they say (reference/classification.md §C)."""

from classifier import api
from classifier.state.case import Case
from classifier.state.complete import complete
from classifier.state.facts import Facts, read
from classifier.state.failed import failed
from classifier.state.foreign import foreign
from classifier.state.gated import gated
from classifier.state.held import held
from classifier.state.names import submission_of
from classifier.state.observation import Cause, Explanation, Observation, Ref, State
from classifier.state.running import running
from classifier.state.settings import Settings
from classifier.state.situation import situation
from classifier.state.suspended import suspended
from classifier.state.unknown import unknown
from classifier.state.verdict import Verdict
from classifier.state.words import joined


def explain(case: Case, settings: Settings, seen_at: int) -> Explanation:
    """Pure: equal cases give equal explanations, whatever the order of their lists."""
    facts = read(case, settings)
    verdict = unknown(facts, _verdict(facts))
    over = verdict.state is State.ENDED or case.job.metadata.deletion_timestamp is not None
    notes = foreign(facts, over=over)
    detail = joined((verdict.detail, *notes, *situation(facts, verdict)))
    meta = case.job.metadata
    observation = Observation(
        ref=Ref(facts.kind, meta.namespace or "", meta.name, meta.uid),
        state=verdict.state,
        admin_held=verdict.admin_held,
        hold_instance=facts.hold,
        cause=Cause(verdict.cause, verdict.provenance, detail),
        execution=facts.execution,
        foreign=bool(notes),
        submission=submission_of(case.job, settings),
        seen_at=seen_at,
    )
    return Explanation(
        observation=observation,
        since=verdict.since,
        evidence=verdict.evidence,
        workload=facts.workload.name if facts.workload else "",
        queue=_queue(facts),
    )


def classify(case: Case, settings: Settings, seen_at: int) -> Observation:
    return explain(case, settings, seen_at).observation


def _queue(facts: Facts) -> str | None:
    """Plain mode asks for none."""
    if not facts.kueue:
        return None
    return (facts.workload.queue_name if facts.workload else "") or facts.job.label(api.QUEUE_NAME) or ""


def _verdict(facts: Facts) -> Verdict:
    """The first rule that applies."""
    ending = facts.view.ending(facts.job)
    return (
        complete(facts, ending)
        or failed(facts, ending)
        or gated(facts)
        or held(facts)
        or suspended(facts)
        or running(facts)
    )
