"""What may explain a stall, in a fixed order: the last part of the detail (reference/classification.md §C12)."""

from collections.abc import Iterator
from typing import Final

from classifier import api
from classifier.objects import ContainerStatus, Pod, Waiting, Workload
from classifier.state.eviction import unscheduled
from classifier.state.facts import Facts
from classifier.state.gated import gates
from classifier.state.held import unheld
from classifier.state.nodes import bound
from classifier.state.observation import CauseKind, State
from classifier.state.verdict import Verdict, workload_text
from classifier.state.words import listed, one_line, titled, words
from classifier.state.workload import ADMISSION_GATED, READY, REJECTED, RETRY, checks

#: A container that waits for these is on its way (table B4).
_NORMAL: Final = ("", "ContainerCreating", "PodInitializing")
#: Taints that announce a Node's end, or say it (table B7). An autoscaler's mere candidate is none.
_TAINTS: Final = (
    "node.kubernetes.io/out-of-service",
    "ToBeDeletedByClusterAutoscaler",
    "karpenter.sh/disrupted",
    "karpenter.sh/disruption",
    "cloud.google.com/impending-node-termination",
    "aws-node-termination-handler/",
)


def situation(facts: Facts, verdict: Verdict) -> Iterator[str]:
    """An object that has ended has only the first part."""
    yield _deleting(facts)
    if verdict.state is State.ENDED:
        return
    yield from _gate(facts, verdict)
    if manager := facts.view.foreign(facts.job):
        yield f"managed by {manager}"
    if facts.queued:
        yield from _queue(facts.workload, verdict) if facts.workload else ("no Workload",)
    yield unheld(facts)
    if verdict.state is State.RUNNING:
        yield from _children(facts)
        yield from _pods(facts)
        if verdict.cause in (CauseKind.NODE_LOST, CauseKind.PREEMPTED):
            yield from _taints(facts)


def _deleting(facts: Facts) -> str:
    meta = facts.job.metadata
    if meta.deletion_timestamp is None:
        return ""
    finalizers = f", finalizers {', '.join(sorted(meta.finalizers))}" if meta.finalizers else ""
    return f"{facts.kind} deleting since {one_line(meta.deletion_timestamp)}{finalizers}"


def _gate(facts: Facts, verdict: Verdict) -> Iterator[str]:
    """Gates of others, unless QuotaReserved lists them already."""
    others = [one_line(name) for name in gates(facts.job) if name != facts.settings.gate]
    reserved = facts.workload.condition(api.QUOTA_RESERVED) if facts.workload else None
    told = reserved is not None and not reserved.true and reserved.reason == ADMISSION_GATED
    if others and (not told or verdict.state is State.GATED):
        yield f"gated by {', '.join(others)}"


def _queue(workload: Workload, verdict: Verdict) -> Iterator[str]:
    """What Kueue says of it. The job has not ended."""
    finished, reserved = workload.condition(api.FINISHED), workload.condition(api.QUOTA_RESERVED)
    if finished is not None and finished.true:
        yield workload_text(finished)
    if reserved is not None and not reserved.true:
        own = verdict.state is State.GATED and reserved.reason == ADMISSION_GATED
        yield "" if own else workload_text(reserved)
    found = checks(workload)
    if (reserved is not None and reserved.true) or any(check.state in (RETRY, REJECTED) for check in found):
        for check in found:
            if check.state != READY:
                yield titled(f"admission check {check.name} {check.state}".rstrip(), one_line(check.message))
    evicted = workload.condition(api.EVICTED)
    if evicted is not None and evicted.true and verdict.provenance != "workload":
        text = workload_text(evicted)
        yield "" if text in verdict.detail else text
    requeue = workload.status.requeue_state if workload.status else None
    if requeue is not None and requeue.requeue_at:
        yield f"requeued at {one_line(requeue.requeue_at)}"


def _children(facts: Facts) -> Iterator[str]:
    if facts.view.middle is not None and facts.lacks_middle:
        yield f"no {facts.view.middle.kind}"
    jobset = facts.job if facts.view.resource == api.JOBSETS else facts.middle
    if jobset is None or api.JOBSETS not in (facts.view.resource, facts.view.middle):
        return
    status = getattr(jobset, "status", None)
    restarting = status.condition("RestartingJobSet") if status is not None else None
    if jobset.uid in facts.own_uids and restarting is not None and restarting.true:
        yield titled("JobSet restarting", words(restarting))


def _pods(facts: Facts) -> Iterator[str]:
    """Of the live pods of the current run, which are sorted by name."""
    live = facts.live
    off = [(pod, condition) for pod in live if (condition := unscheduled(pod)) is not None]
    if off:
        pod, condition = off[0]
        yield titled(f"{len(off)} of {len(live)} pods unscheduled: pod {pod.name}", words(condition))
    for pod in live:
        if waiting := _waiting(pod):
            name, why = waiting
            yield titled(f"pod {pod.name} container {name} waiting", words(why))
            break
    if facts.case.nodes is None and any(map(bound, live)):
        yield "Nodes could not be read"


def _waiting(pod: Pod) -> tuple[str, Waiting] | None:
    """The first container, init containers before the others, that waits for something uncommon."""
    if pod.status is None:
        return None
    for statuses in (pod.status.init_container_statuses, pod.status.container_statuses):
        stuck = [(one.name, why) for one in statuses or () if (why := _why(one)) is not None]
        if stuck:
            return min(stuck, key=lambda pair: (pair[0], words(pair[1])))
    return None


def _why(one: ContainerStatus) -> Waiting | None:
    waiting = one.state.waiting if one.state else None
    return waiting if waiting is not None and one_line(waiting.reason) not in _NORMAL else None


def _taints(facts: Facts) -> Iterator[str]:
    """They tell a spot reclaim from a dead machine. Which Nodes the run is on, captured pods included."""
    nodes = facts.case.nodes or {}
    for key in _TAINTS:
        tainted: dict[str, list[str]] = {}
        for name in sorted({bound(pod) for pod in facts.evidence} & nodes.keys()):
            spec = nodes[name].spec
            for taint in (spec.taints if spec else None) or ():
                if taint.key == key or (key.endswith("/") and taint.key.startswith(key)):
                    tainted.setdefault(taint.key, []).append(name)
        for taint_key in sorted(tainted):
            names = tainted[taint_key]
            yield f"node {listed(names)} tainted {taint_key}"
