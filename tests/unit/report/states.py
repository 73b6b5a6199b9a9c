"""Moments in the life of a job, and the form in which a test says what is expected of one."""

from typing import Any, NamedTuple

from classifier.objects import Job
from classifier.report import Picture, Result
from tests.unit.report.builders import (
    ACCEPTED,
    ADMITTED,
    PENDING,
    RESERVED,
    condition,
    deadline,
    job,
    ledger,
    marker,
    node,
    observe,
    pod,
    request,
    workload,
)

S, Q, C, P, R = range(5)
DUE = deadline(1800)
REACTIVATE = (
    "kubectl patch workloads.kueue.x-k8s.io job-train-1a2b3 -n team-a --type=merge "
    """-p '{"spec":{"active":true}}'"""
)
NO_QUOTA = f"Kueue: {PENDING['message']}"
READY = {"state": "Ready", "lastTransitionTime": PENDING["lastTransitionTime"]}
PROVISIONED = condition("Provisioned", "True", "CapacityIsProvisioned", "Capacity is provisioned", 20)
STARTED = job(suspend=False, status={"active": 2, "ready": 0}, annotations=ledger())
EVICTED = condition("Evicted", "True", "Deactivated", "The workload is deactivated", 1800)
REQUEUED = condition("Requeued", "False", "Deactivated", "The workload is deactivated", 1801)
RELEASED = condition("QuotaReserved", "False", "Pending", "The workload is deactivated", 1801)


class Case(NamedTuple):
    name: str
    seconds: float
    picture: Picture
    result: Result
    #: phase -> (state, text); phases that are left out may say anything.
    phases: dict[int, tuple[str, str]]


def waiting_for_capacity(*conditions: dict[str, Any], **check: Any) -> Picture:
    states = {"state": "Pending", "message": "", **check}
    return observe(
        job(annotations=ledger()),
        workload=workload(RESERVED, annotations=DUE, check=states),
        requests=(request(*conditions),),
    )


def admitted(owner: Job, *, ready: int, **fields: Any) -> Picture:
    return observe(
        owner,
        workload=workload(RESERVED, ADMITTED, annotations=DUE, check=READY),
        requests=(request(ACCEPTED, PROVISIONED),),
        nodes=tuple(node(f"gpu-{i}", ready=i < ready, seconds=50 + i) for i in range(2)),
        **fields,
    )


def ended(*conditions: dict[str, Any], owner: Job | None = None, **fields: Any) -> Picture:
    stopped = workload(*conditions, active=False, annotations=DUE | marker(1800), check={"state": "Pending"})
    return observe(owner or job(annotations=ledger()), workload=stopped, **fields)


PODS = (
    pod("train-0", on="gpu-0", phase="Running", seconds=70),
    pod("train-1", on="gpu-1", phase="Running", seconds=70),
)
