"""Rule 3: held back by our own gate (reference/classification.md §C3). The job alone says so, never the Workload."""

from classifier import api
from classifier.objects import Meta
from classifier.state.facts import Facts
from classifier.state.observation import State
from classifier.state.since import created, stopped
from classifier.state.verdict import Verdict


def gates(job: Meta) -> list[str]:
    """The names in Kueue's annotation, in their order."""
    names = (job.annotation(api.ADMISSION_GATED_BY) or "").split(",")
    return [name for name in map(str.strip, names) if name]


def gated(facts: Facts) -> Verdict | None:
    if facts.kueue:
        # Set at creation or never (Kueue: pkg/util/webhook/validation_admissiongatedby.go).
        closed = facts.settings.gate in gates(facts.job)
        return Verdict(state=State.GATED, since=created(facts)) if closed else None
    # Plain mode has no lever but suspend: the marker tells gate, hold and outsider apart.
    closed = facts.view.suspended(facts.job) and bool(facts.job.annotation(facts.settings.plain_gate))
    return Verdict(state=State.GATED, since=stopped(facts)) if closed else None
