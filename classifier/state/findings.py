"""What the pods say: up to two findings each, live and captured read alike (reference/classification.md §C8)."""

from classifier.state.container import container
from classifier.state.disruption import disruption
from classifier.state.facts import Facts
from classifier.state.finding import Finding


def findings(facts: Facts) -> list[Finding]:
    """Of the evidence set. A pod that succeeded reports none: the disruption did not hurt."""
    steps = facts.view.steps
    found: list[Finding] = []
    for pod in facts.evidence:
        status = pod.status
        if status is None or status.phase == "Succeeded":
            continue
        if (finding := disruption(pod, status)) is not None:
            found.append(finding)
        if (finding := container(pod, status, steps)) is not None:
            found.append(finding)
    return found


def until(found: list[Finding], at: int | None) -> list[Finding]:
    """Without what came after: the ends that a decision of that moment brought do not explain it."""
    return found if at is None else [f for f in found if f.at is None or f.at <= at]
