"""Every state in the life of a job: what each phase says, what the whole comes to."""

from typing import Any, NamedTuple

import pytest

from classifier.objects import Job
from classifier.report import Observation, Report, Result, report
from tests.unit.report.builders import (
    ACCEPTED,
    ADMITTED,
    MISSING,
    PENDING,
    RESERVED,
    SECOND,
    T0,
    admission_check,
    cluster_queue,
    condition,
    deadline,
    job,
    ledger,
    local_queue,
    marker,
    node,
    observe,
    pod,
    profile,
    request,
    verdict,
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
    obs: Observation
    result: Result
    #: phase -> (state, text); phases that are left out may say anything.
    phases: dict[int, tuple[str, str]]


def waiting_for_capacity(*conditions: dict[str, Any], **check: Any) -> Observation:
    states = {"state": "Pending", "message": "", **check}
    return observe(
        job(annotations=ledger()),
        workload=workload(RESERVED, annotations=DUE, check=states),
        requests=(request(*conditions),),
    )


def admitted(owner: Job, *, ready: int, **fields: Any) -> Observation:
    return observe(
        owner,
        workload=workload(RESERVED, ADMITTED, annotations=DUE, check=READY),
        requests=(request(ACCEPTED, PROVISIONED),),
        nodes=tuple(node(f"gpu-{i}", ready=i < ready, seconds=50 + i) for i in range(2)),
        **fields,
    )


def ended(*conditions: dict[str, Any], owner: Job | None = None, **fields: Any) -> Observation:
    stopped = workload(*conditions, active=False, annotations=DUE | marker(1800), check={"state": "Pending"})
    return observe(owner or job(annotations=ledger()), workload=stopped, **fields)


PODS = (
    pod("train-0", on="gpu-0", phase="Running", seconds=70),
    pod("train-1", on="gpu-1", phase="Running", seconds=70),
)

CASES = [
    Case(
        "submitted, no Workload yet",
        2,
        observe(job(annotations=deadline(1800))),
        Result.WAITING,
        {
            S: ("done", "Job applied (suspended)"),
            Q: ("active", "no Workload yet; deadline in 29m58s"),
            C: ("waiting", "-"),
        },
    ),
    Case(
        "no Workload for long",
        95,
        observe(),
        Result.WAITING,
        {
            Q: (
                "active",
                "no Workload after 1m35s; is Kueue running, and does it manage Jobs here?; "
                "no deadline announced yet (30m by CapacityProfile/gpu-a100-8)",
            )
        },
    ),
    Case(
        "its LocalQueue does not exist",
        95,
        observe(local_queue=None, cluster_queue=None, profiles=()),
        Result.WAITING,
        {
            Q: (
                "active",
                "LocalQueue gpu does not exist in namespace team-a; create it or correct the label; no deadline",
            )
        },
    ),
    Case(
        "no queue: Kueue has no say",
        3,
        observe(job(queue=None, suspend=False), local_queue=None, cluster_queue=None, profiles=()),
        Result.WAITING,
        {
            S: ("done", "Job applied"),
            Q: ("done", "not needed: the Job names no queue (label kueue.x-k8s.io/queue-name)"),
            C: ("done", "not needed: the queue has no capacity check"),
            P: ("active", "0/2; submitted 3s ago; 2 pod(s) not created yet"),
        },
    ),
    Case(
        "managed elsewhere",
        3,
        observe(job(managedBy="kueue.x-k8s.io/multikueue")),
        Result.WAITING,
        {Q: ("waiting", "not here: kueue.x-k8s.io/multikueue manages this Job (spec.managedBy)")},
    ),
    Case(
        "pending for quota",
        40,
        observe(job(annotations=ledger()), workload=workload(PENDING, annotations=DUE, check={"state": "Pending"})),
        Result.WAITING,
        {
            Q: (
                "active",
                f"waiting 40s in LocalQueue gpu of ClusterQueue gpu-a100; {NO_QUOTA}; deadline in 29m20s",
            ),
            C: ("waiting", "-"),
            P: ("waiting", "-"),
            R: ("waiting", "-"),
        },
    ),
    Case(
        "evicted and pending again",
        400,
        observe(
            job(annotations=ledger()),
            workload=workload(
                PENDING, condition("Evicted", "True", "Preempted", "by team-b/big", 300), annotations=DUE
            ),
        ),
        Result.WAITING,
        {
            Q: (
                "active",
                "waiting 1m40s in LocalQueue gpu of ClusterQueue gpu-a100; "
                f"{NO_QUOTA}; "
                "evicted before (Preempted: by team-b/big); deadline in 23m20s",
            )
        },
    ),
    Case(
        "the queue is paused",
        40,
        observe(workload=workload(PENDING, annotations=DUE), local_queue=local_queue(active=False, reason="Stopped")),
        Result.WAITING,
        {
            Q: (
                "active",
                "waiting 40s in LocalQueue gpu of ClusterQueue gpu-a100; "
                f"{NO_QUOTA}; "
                "the deadline's clock stands still: LocalQueue gpu is not active",
            )
        },
    ),
    Case(
        "unbounded",
        40,
        observe(workload=workload(RESERVED, check={"state": "Pending"}), profiles=(profile(admission=None),)),
        Result.WAITING,
        {C: ("active", "0/2 nodes of gpupool; not requested yet; no deadline")},
    ),
    Case(
        "requested, nobody accepted it",
        45,
        waiting_for_capacity(),
        Result.WAITING,
        {
            Q: ("done", "16 nvidia.com/gpu on ClusterQueue gpu-a100 (flavor a100-scale)"),
            C: (
                "active",
                "0/2 nodes of gpupool; requested 40s ago; no autoscaler has accepted ProvisioningRequest "
                "job-train-1a2b3-capacity-1 (class best-effort-atomic-scale-up.autoscaling.x-k8s.io); "
                "deadline in 29m15s",
            ),
        },
    ),
    Case(
        "requested and accepted",
        45,
        waiting_for_capacity(ACCEPTED),
        Result.WAITING,
        {C: ("active", "0/2 nodes of gpupool; requested 40s ago; deadline in 29m15s")},
    ),
    Case(
        "capacity not found yet",
        45,
        waiting_for_capacity(
            ACCEPTED,
            condition(
                "Provisioned", "False", "CapacityIsNotFound", "Capacity is not found, CA will try to find it later."
            ),
        ),
        Result.WAITING,
        {
            C: (
                "active",
                "0/2 nodes of gpupool; requested 40s ago; the autoscaler: CapacityIsNotFound: Capacity is not found, "
                "CA will try to find it later; deadline in 29m15s",
            )
        },
    ),
    Case(
        "the request failed, Kueue retries",
        45,
        waiting_for_capacity(
            ACCEPTED,
            condition("Failed", "True", "FailedToCreatePods", "no PodTemplate"),
            state="Retry",
            message="Retrying after failure: no PodTemplate",
        ),
        Result.WAITING,
        {
            C: (
                "active",
                "0/2 nodes of gpupool; requested 40s ago; ProvisioningRequest job-train-1a2b3-capacity-1 failed "
                "(FailedToCreatePods: no PodTemplate); "
                "AdmissionCheck capacity is Retry: Retrying after failure: no PodTemplate; deadline in 29m15s",
            )
        },
    ),
    Case(
        "the check is rejected",
        45,
        waiting_for_capacity(
            condition("Failed", "True", "Expired", "ProvisioningRequest is expired"),
            state="Rejected",
            message="expired",
        ),
        Result.WAITING,
        {C: ("failed", "AdmissionCheck capacity rejected the Workload: expired")},
    ),
    Case(
        "the check is not active",
        45,
        observe(
            workload=workload(RESERVED, annotations=DUE, check={"state": "Pending"}),
            checks={"capacity": admission_check(condition("Active", "False", "BadParametersRef", "no config"))},
        ),
        Result.WAITING,
        {
            C: (
                "active",
                "0/2 nodes of gpupool; not requested: AdmissionCheck capacity is not active "
                "(BadParametersRef: no config); deadline in 29m15s",
            )
        },
    ),
    Case(
        "no capacity check: no capacity phase is invented",
        45,
        observe(job(suspend=True), workload=workload(RESERVED, ADMITTED), cluster_queue=cluster_queue()),
        Result.WAITING,
        {C: ("done", "not needed: ClusterQueue gpu-a100 has no capacity check")},
    ),
    Case(
        "no capacity check, quota not reserved",
        45,
        observe(workload=workload(PENDING), cluster_queue=cluster_queue()),
        Result.WAITING,
        {C: ("waiting", "not needed: ClusterQueue gpu-a100 has no capacity check")},
    ),
    Case(
        "another check is pending",
        45,
        observe(
            workload=workload(
                RESERVED, check=READY, others=[{"name": "budget", "state": "Pending", "message": "asking finance"}]
            ),
            requests=(request(ACCEPTED, PROVISIONED),),
            nodes=(node("gpu-0"), node("gpu-1")),
        ),
        Result.WAITING,
        {
            C: ("done", "capacity booked on 2 node(s) of gpupool"),
            P: ("waiting", "AdmissionCheck budget is Pending: asking finance"),
        },
    ),
    Case(
        "scale-up accepted, nodes partly ready",
        70,
        admitted(STARTED, ready=1, pods=(pod("train-0"), pod("train-1"))),
        Result.WAITING,
        {
            C: ("active", "1/2 nodes of gpupool ready; scale-up accepted 1m9s ago (CapacityIsProvisioned)"),
            P: ("active", "0/2; admitted 10s ago; pod train-0 has no node yet"),
            R: ("waiting", "-"),
        },
    ),
    Case(
        "nodes may not be read",
        70,
        observe(
            STARTED,
            workload=workload(RESERVED, ADMITTED, check=READY),
            requests=(request(ACCEPTED, PROVISIONED),),
            nodes=None,
        ),
        Result.WAITING,
        {
            C: (
                "active",
                "2 node(s) of gpupool needed; scale-up accepted 1m9s ago (CapacityIsProvisioned); "
                "whether nodes are ready may not be read",
            )
        },
    ),
    Case(
        "checks and requests may not be read: no claim that there is none",
        45,
        observe(
            workload=workload(RESERVED, annotations=DUE, check={"state": "Pending", "message": "ETA 5m"}),
            checks=None,
            requests=None,
            profiles=(),
            cluster_queue=None,
        ),
        Result.WAITING,
        {
            C: (
                "active",
                "2 node(s) of gpupool needed; AdmissionCheck capacity is Pending: ETA 5m; "
                "what stands behind it may not be read; deadline in 29m15s",
            )
        },
    ),
    Case(
        "capacity found on nodes that exist",
        70,
        observe(
            STARTED,
            workload=workload(RESERVED, ADMITTED, check=READY),
            requests=(request(ACCEPTED, condition("Provisioned", "True", "CapacityIsFound")),),
        ),
        Result.WAITING,
        {C: ("done", "capacity booked on 2 node(s) of gpupool")},
    ),
    Case(
        "nodes ready, booking expired",
        70,
        observe(
            STARTED,
            workload=workload(RESERVED, ADMITTED, check=READY),
            requests=(request(ACCEPTED, PROVISIONED, condition("BookingExpired", "True", "CapacityBookingConsumed")),),
            nodes=(node("gpu-0"), node("gpu-1")),
        ),
        Result.WAITING,
        {C: ("done", "2/2 nodes of gpupool ready")},
    ),
    Case(
        "admitted, Kueue has not started it",
        62,
        admitted(job(annotations=ledger()), ready=2),
        Result.WAITING,
        {P: ("active", "admitted 2s ago; Kueue has not started the Job yet")},
    ),
    Case(
        "a pod cannot be scheduled",
        70,
        admitted(
            STARTED,
            ready=2,
            pods=(
                pod("train-0", on="gpu-0"),
                pod("train-1", why="0/2 nodes are available: 1 Insufficient nvidia.com/gpu"),
            ),
        ),
        Result.WAITING,
        {
            P: (
                "active",
                "1/2; admitted 10s ago; pod train-1: 0/2 nodes are available: 1 Insufficient nvidia.com/gpu",
            )
        },
    ),
    Case(
        "running",
        75,
        admitted(job(suspend=False, status={"ready": 1, "active": 2}), ready=2, pods=PODS),
        Result.STARTED,
        {
            S: ("done", "Job applied"),
            C: ("done", "capacity booked on 2 node(s) of gpupool"),
            P: ("done", "2/2 on gpu-0, gpu-1"),
            R: ("active", "1/2 pods ready"),
        },
    ),
    Case(
        "the pods are done, the Job does not say so yet",
        75,
        admitted(
            job(suspend=False, status={"succeeded": 2}),
            ready=2,
            pods=(pod("train-0", on="gpu-0", phase="Succeeded"), pod("train-1", on="gpu-1", phase="Succeeded")),
        ),
        Result.STARTED,
        {R: ("active", "0/2 pods ready; 2 of 2 completed")},
    ),
    Case(
        "succeeded, the nodes are gone again",
        200,
        observe(
            job(
                suspend=False,
                status={"succeeded": 2, "conditions": [condition("Complete", "True", "CompletionsReached", "", 190)]},
            ),
            workload=workload(RESERVED, ADMITTED, condition("Finished", "True", "Succeeded"), check=READY),
            pods=(pod("train-0", on="gpu-0", phase="Succeeded"), pod("train-1", on="gpu-1", phase="Succeeded")),
        ),
        Result.SUCCEEDED,
        {
            C: ("done", "the pods are on 2 node(s)"),
            P: ("done", "2/2 on gpu-0, gpu-1"),
            R: ("done", "Succeeded (2/2 completions)"),
        },
    ),
    Case(
        "succeeded, everything is gone",
        200,
        observe(
            job(
                suspend=False,
                status={"succeeded": 2, "conditions": [condition("Complete", "True", "CompletionsReached")]},
            )
        ),
        Result.SUCCEEDED,
        {
            Q: ("done", "the Workload is gone"),
            C: ("done", "over with the job"),
            P: ("done", "the pods are gone"),
            R: ("done", "Succeeded (2/2 completions)"),
        },
    ),
    Case(
        "failed",
        200,
        admitted(
            job(
                suspend=False, status={"conditions": [condition("Failed", "True", "BackoffLimitExceeded", "too many")]}
            ),
            ready=2,
            pods=(pod("train-0", on="gpu-0", phase="Failed"),),
        ),
        Result.FAILED,
        {R: ("failed", "Failed (BackoffLimitExceeded: too many)"), P: ("waiting", "0/2 when the job failed")},
    ),
    Case(
        "timed out while waiting for quota",
        1810,
        ended(PENDING, EVICTED),
        Result.TIMED_OUT,
        {
            Q: (
                "failed",
                "admission timed out at 2026-11-29T10:30:00Z, after 30m; delete and resubmit, "
                f"or ask a batch administrator to run: {REACTIVATE}",
            ),
            C: ("waiting", "-"),
        },
    ),
    Case(
        "timed out while waiting for capacity, not settled",
        1801,
        ended(RESERVED, EVICTED, requests=(request(ACCEPTED),)),
        Result.TIMED_OUT,
        {
            Q: ("done", "16 nvidia.com/gpu on ClusterQueue gpu-a100 (flavor a100-scale)"),
            C: (
                "failed",
                "0/2 nodes of gpupool; admission timed out at 2026-11-29T10:30:00Z, after 30m; delete and resubmit, "
                f"or ask a batch administrator to run: {REACTIVATE}; Kueue has not released the quota yet",
            ),
            P: ("waiting", "-"),
        },
    ),
    Case(
        "timed out while waiting for capacity, settled, a request stays",
        1900,
        ended(RELEASED, EVICTED, REQUEUED, requests=(request(ACCEPTED),)),
        Result.TIMED_OUT,
        {
            Q: ("done", "was reserved, is released"),
            C: (
                "failed",
                "0/2 nodes of gpupool; admission timed out at 2026-11-29T10:30:00Z, after 30m; "
                "still there, may buy nodes: ProvisioningRequest job-train-1a2b3-capacity-1; delete and resubmit, "
                f"or ask a batch administrator to run: {REACTIVATE}",
            ),
        },
    ),
    Case(
        "deadline passed, the controller has not acted",
        1803,
        waiting_for_capacity(ACCEPTED),
        Result.WAITING,
        {
            C: (
                "active",
                "0/2 nodes of gpupool; requested 29m58s ago; deadline passed 3s ago; "
                "the controller has not ended the wait yet",
            )
        },
    ),
    Case(
        "deadline passed, fence missing",
        1980,
        observe(
            job(annotations=ledger()),
            workload=workload(PENDING, annotations=DUE, check={"state": "Pending"}),
            fence=MISSING,
        ),
        Result.WAITING,
        {
            Q: (
                "active",
                "waiting 33m in LocalQueue gpu of ClusterQueue gpu-a100; "
                f"{NO_QUOTA}; deadline passed 3m ago; "
                "not enforced: the fence muster-fence is not in force "
                "(ValidatingAdmissionPolicy muster-fence does not exist)",
            )
        },
    ),
    Case(
        "reactivated: the marker is no decision any more",
        1900,
        observe(
            job(annotations=ledger(1850, attempt=2)),
            workload=workload(RELEASED, EVICTED, annotations=deadline(3650) | marker(1800), check={"state": "Pending"}),
        ),
        Result.WAITING,
        {
            Q: (
                "active",
                "waiting 1m40s in LocalQueue gpu of ClusterQueue gpu-a100; Kueue: The workload is deactivated; "
                "evicted before (Deactivated: The workload is deactivated); deadline in 29m10s",
            )
        },
    ),
    Case(
        "a marker with another uid is a copy, not a decision",
        1900,
        observe(
            job(),
            workload=workload(
                PENDING,
                active=False,
                annotations={
                    "muster.dev/admission-timeout-committed": "2026-11-29T10:30:00Z attempt=1 uid=somebody-else"
                },
            ),
        ),
        Result.WAITING,
        {
            Q: (
                "waiting",
                "Workload job-train-1a2b3 is deactivated (spec.active is false); "
                f"to let it wait again ask a batch administrator to run: {REACTIVATE}",
            )
        },
    ),
    Case(
        "Kueue gave up",
        1900,
        observe(
            workload=workload(
                RELEASED,
                condition("Evicted", "True", "DeactivatedDueToAdmissionCheck", "rejected by capacity"),
                REQUEUED,
                active=False,
                check={"state": "Pending"},
            )
        ),
        Result.FAILED,
        {
            Q: ("done", "was reserved, is released"),
            C: (
                "failed",
                "0/2 nodes of gpupool; Workload job-train-1a2b3 is deactivated (DeactivatedDueToAdmissionCheck: "
                f"rejected by capacity); to let it wait again ask a batch administrator to run: {REACTIVATE}",
            ),
        },
    ),
]


def _phases(made: Report) -> dict[int, tuple[str, str]]:
    return {i: (str(phase.state), phase.text) for i, phase in enumerate(made.phases)}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_each_phase_says(case: Case) -> None:
    made = report(case.obs, verdict(), T0 + int(case.seconds * SECOND))
    said = _phases(made)
    assert {i: said[i] for i in case.phases} == case.phases
    assert made.result == case.result


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_at_most_one_phase_waits_for_something_and_later_ones_are_not_ahead(case: Case) -> None:
    made = report(case.obs, verdict(), T0 + int(case.seconds * SECOND))
    states = [str(phase.state) for phase in made.phases]
    assert states[0] == "done"
    assert states.count("failed") <= 1
    if "failed" in states[:3]:
        assert set(states[states.index("failed") + 1 :]) <= {"waiting"}


def test_a_report_is_a_function_of_its_input() -> None:
    obs = waiting_for_capacity(ACCEPTED)
    assert report(obs, verdict(), T0 + 45_000) == report(obs, verdict(), T0 + 45_000)


@pytest.mark.parametrize("seconds", [0, 1, 59.5, 1799, 1800, 100_000])
def test_the_deadline_counts_down_to_the_second(seconds: float) -> None:
    made = report(waiting_for_capacity(ACCEPTED), verdict(), T0 + int(seconds * SECOND))
    assert made.deadline.at == T0 + 1_800_000
    assert ("deadline passed" in made.phases[C].text) == (seconds >= 1800)
