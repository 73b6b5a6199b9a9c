"""Rule 2: the job has failed (reference/classification.md §C2, §F24). Nodes are not consulted."""

import msgspec

from classifier.numbers import moment
from classifier.objects import Condition, Job, Meta
from classifier.state.complete import by_job
from classifier.state.facts import Facts
from classifier.state.findings import findings
from classifier.state.kinds.view import Ending
from classifier.state.observation import CauseKind, State
from classifier.state.verdict import Verdict, condition_text, seen
from classifier.state.winner import by_pods
from classifier.state.words import joined, words


def failed(facts: Facts, ending: Ending | None) -> Verdict | None:
    """By its own reason; where only its pods know why, by a child Job's deadline, else by the winning finding."""
    if ending is None:
        return None
    if ending.kind is not None and not ending.pods_first:
        return by_job(facts, ending, ending.kind)
    at = moment(ending.words.last_transition_time)
    found = findings(facts)
    pods = by_pods(State.ENDED, found, facts.settings)
    if late := _late_child(facts):
        child, condition = late
        text = condition_text(condition)
        decided = moment(condition.last_transition_time)
        evidence = (seen(decided, f"Job {child.name}", CauseKind.TIMEOUT, text), *(pods.evidence if pods else ()))
        return Verdict(
            state=State.ENDED,
            cause=CauseKind.TIMEOUT,
            source="job",
            detail=f"Job {child.name} {text}",
            since=at,
            evidence=evidence,
        )
    if pods is not None:
        return pods if at is None else msgspec.structs.replace(pods, since=at)
    if ending.kind is not None:
        return by_job(facts, ending, ending.kind)
    verdict = by_job(facts, ending, CauseKind.UNKNOWN)
    return msgspec.structs.replace(verdict, detail=joined((words(ending.words), "no pod evidence was captured")))


def _late_child(facts: Facts) -> tuple[Meta, Condition] | None:
    """A JobSet tells only which Job failed first, not why: its deadline is read on the Job (§A3)."""
    for child in sorted(facts.case.children, key=lambda child: (child.name, child.uid)):
        if isinstance(child, Job) and child.uid in facts.own_uids:
            for condition in (child.status.conditions if child.status else None) or ():
                if condition.type == "Failed" and condition.true and condition.reason == "DeadlineExceeded":
                    return child, condition
    return None
