"""Rule 6: pending or running, and why it is not well (reference/classification.md §C6).

An eviction is asked before the pods, for it makes them exit; a lost node before the pods' ends, for its peers exit
minutes before the pod on it is marked. A pending object has no run, and its last pods only echo the suspension.
"""

import msgspec

from classifier import api
from classifier.numbers import moment
from classifier.state.eviction import evicted
from classifier.state.facts import Facts
from classifier.state.findings import findings, until
from classifier.state.nodes import on_lost_nodes
from classifier.state.observation import State
from classifier.state.since import started, waiting
from classifier.state.verdict import Verdict
from classifier.state.winner import by_pods


def is_running(facts: Facts) -> bool:
    """Admitted and not suspended, by spec and by status."""
    admitted = not facts.queued or (facts.workload is not None and facts.workload.is_true(api.ADMITTED))
    return admitted and not facts.view.suspended(facts.job) and not facts.view.paused(facts.job)


def _decided(facts: Facts) -> int | None:
    """When it was decided how the job ends, if it was: from then on its controller deletes what still runs."""
    said = (c for c in facts.view.conditions(facts.job) if c.true and c.type in facts.view.interim)
    return min((at for c in said if (at := moment(c.last_transition_time)) is not None), default=None)


def running(facts: Facts) -> Verdict:
    state = State.RUNNING if is_running(facts) else State.PENDING
    if verdict := evicted(facts, state):
        return verdict
    if state is State.PENDING:
        return Verdict(state=state, since=waiting(facts))
    pods = by_pods(state, until(findings(facts), _decided(facts)), facts.settings)
    if lost := on_lost_nodes(facts):
        return msgspec.structs.replace(lost, evidence=lost.evidence + (pods.evidence if pods else ()))
    return pods or Verdict(state=state, since=started(facts))
