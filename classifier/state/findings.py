"""What the pods say: up to two findings each, live and captured read alike (reference/classification.md §C8)."""

from typing import NamedTuple

from classifier.state.container import container
from classifier.state.disruption import disruption
from classifier.state.facts import Facts
from classifier.state.observation import CauseKind


class Finding(NamedTuple):
    at: int | None
    pod: str
    uid: str
    kind: CauseKind
    text: str
    source: str  # pod, container or node


def findings(facts: Facts) -> list[Finding]:
    """Of the evidence set. A pod that succeeded reports none: the disruption did not hurt."""
    steps = facts.view.steps
    found: list[Finding] = []
    for pod in facts.evidence:
        status = pod.status
        if status is None or status.phase == "Succeeded":
            continue
        if seen := disruption(pod, status):
            found.append(Finding(seen[0], pod.name, pod.uid, seen[1], seen[2], "pod"))
        if seen := container(pod, status, steps):
            found.append(Finding(seen[0], pod.name, pod.uid, seen[1], seen[2], "container"))
    return found
