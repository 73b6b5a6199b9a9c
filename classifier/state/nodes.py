"""Rule 6, row 2: a live pod of the run is on a Node that is gone or not well (reference/classification.md §C6, §B6).

Nodes tell it five minutes before the pods do. Skipped where Nodes may not be read.
"""

from collections import defaultdict
from typing import Final

from classifier.numbers import moment
from classifier.objects import Node, Pod
from classifier.state.facts import Facts
from classifier.state.finding import Finding
from classifier.state.observation import CauseKind, Evidence, State
from classifier.state.verdict import Verdict, seen
from classifier.state.winner import ordered, told
from classifier.state.words import listed, titled, words

FINISHED: Final = ("Succeeded", "Failed")


def bound(pod: Pod) -> str:
    """The Node it is bound to, "" if none."""
    return (pod.spec.node_name if pod.spec else None) or ""


def on_lost_nodes(facts: Facts) -> Verdict | None:
    nodes = facts.case.nodes
    if nodes is None:
        return None
    on: dict[str, list[Pod]] = defaultdict(list)
    for pod in facts.live:
        if (name := bound(pod)) and (pod.status is None or pod.status.phase not in FINISHED):
            on[name].append(pod)
    found: list[Finding] = []
    evidence: dict[str, Evidence] = {}
    for name, pods in on.items():
        if (trouble := _trouble(nodes.get(name))) is None:
            continue
        said, at = trouble
        text = f"node {name} {said}"
        found += [Finding(at, pod.name, pod.uid, CauseKind.NODE_LOST, text, "node") for pod in pods]
        under = listed([f"pod {pod.name}" for pod in pods], 1)
        evidence[text] = seen(at, f"node {name}", CauseKind.NODE_LOST, f"{said} ({under})")
    if not found:
        return None
    found = ordered(found)
    return Verdict(
        state=State.RUNNING,
        cause=CauseKind.NODE_LOST,
        source="node",
        detail=told(found, facts.settings),
        since=found[0].at,
        evidence=tuple(evidence[text] for text in dict.fromkeys(finding.text for finding in found)),
    )


def _trouble(node: Node | None) -> tuple[str, int | None] | None:
    """What is wrong with a Node, and since when."""
    if node is None:
        return "not found", None
    ready = node.status.condition("Ready") if node.status else None
    if ready is None:
        return "has no Ready condition", None
    if ready.true:
        return None
    return titled(f"Ready={ready.status}", words(ready)), moment(ready.last_transition_time)
