"""Rule 4: held by dispatch (reference/classification.md §C4). The marker alone stops nothing: both are needed."""

from classifier.state.facts import Facts
from classifier.state.observation import State
from classifier.state.since import stopped
from classifier.state.verdict import Verdict


def is_stopped(facts: Facts) -> bool:
    """Whether the object that a hold stops is stopped."""
    if facts.kueue:
        return facts.workload is not None and not facts.workload.active
    return facts.view.suspended(facts.job)


def held(facts: Facts) -> Verdict | None:
    return Verdict(state=State.HELD, since=stopped(facts)) if facts.hold and is_stopped(facts) else None


def unheld(facts: Facts) -> str:
    """The situation's word about a hold that holds nothing."""
    if not facts.hold or is_stopped(facts):
        return ""
    what = "Workload is active" if facts.kueue else f"{facts.kind} is not suspended"
    return f"hold {facts.hold} is set but the {what}"
