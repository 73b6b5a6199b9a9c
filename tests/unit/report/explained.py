"""Explanations as the tests of the report tell them."""

from typing import Any

from classifier.instant import MINUTE, SECOND, parse_instant
from classifier.report.explain import explain_lines
from classifier.state.observation import Cause, CauseKind, Evidence, Explanation, Observation, Ref, State

T0 = parse_instant("2026-11-29T10:00:00Z")
NOW = T0 + 34 * MINUTE
WORKLOAD = "trainjob-train-3-ab12c"


def explained(
    state: str,
    cause: str = "none",
    detail: str = "",
    *,
    by: str = "",
    kind: str = "TrainJob",
    name: str = "train-3",
    since: int | None = T0,
    evidence: tuple[Evidence, ...] = (),
    workload: str = WORKLOAD,
    queue: str | None = "gpu",
    **fields: Any,
) -> Explanation:
    observation = Observation(
        ref=Ref(kind, "team-a", name, "tj-1"),
        state=State(state),
        cause=Cause(CauseKind(cause), by, detail),
        seen_at=NOW,
        **fields,
    )
    return Explanation(observation=observation, since=since, evidence=evidence, workload=workload, queue=queue)


def found(pod: str, kind: str, text: str, seconds: int | None = 0) -> Evidence:
    return Evidence(None if seconds is None else T0 + seconds * SECOND, f"pod {pod}", CauseKind(kind), text)


def screen(explanation: Explanation, **options: Any) -> str:
    return "\n".join(explain_lines(explanation, NOW, **options))


REACTIVATE = (
    f"kubectl patch workloads.kueue.x-k8s.io {WORKLOAD} -n team-a --type=merge -p " + """'{"spec":{"active":true}}'"""
)
DESCRIBE = "kubectl describe trainjob train-3 -n team-a"
LOOK = f"kubectl describe workloads.kueue.x-k8s.io {WORKLOAD} -n team-a"
CRASHING = "pod p0: exit code 1; pod p0 container node waiting: CrashLoopBackOff: back-off 20s"
INITIALIZER = "pod pi: container dataset-initializer exit code 1"
LOST = "pod p1: node n2 Ready=Unknown: NodeStatusUnknown: Kubelet stopped posting node status."
GONE = "FailedJobs: jobset failed; no pod evidence was captured"
