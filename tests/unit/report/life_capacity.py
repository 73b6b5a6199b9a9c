"""From capacity to the job's own end."""

from classifier.report import Result
from tests.unit.report.builders import (
    ACCEPTED,
    ADMITTED,
    PENDING,
    RESERVED,
    cluster_queue,
    condition,
    job,
    ledger,
    node,
    observe,
    pod,
    profile,
    request,
    workload,
)
from tests.unit.report.states import DUE, PODS, PROVISIONED, READY, STARTED, C, Case, P, Q, R, S, admitted

CASES = [
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
            C: ("active", "1/2 nodes of gpupool ready; scale-up accepted 50s ago (CapacityIsProvisioned)"),
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
                "2 node(s) of gpupool needed; scale-up accepted 50s ago (CapacityIsProvisioned); "
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
        "a pod has no node for longer than the profile allows",
        70,
        admitted(
            STARTED,
            ready=2,
            pods=(pod("train-0", on="gpu-0"), pod("train-1")),
            profiles=(profile(admission={"scheduledBy": "10s"}),),
        ),
        Result.WAITING,
        {
            P: (
                "active",
                "1/2; admitted 10s ago; pod train-1 has no node yet; longer than 10s (CapacityProfile/gpu-a100-8)",
            )
        },
    ),
    Case(
        "a pod has no node, and the profile allows it for a while",
        70,
        admitted(
            STARTED,
            ready=2,
            pods=(pod("train-0", on="gpu-0"), pod("train-1")),
            profiles=(profile(admission={"scheduledBy": "11s"}),),
        ),
        Result.WAITING,
        {P: ("active", "1/2; admitted 10s ago; pod train-1 has no node yet")},
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
            C: ("done", "the pods ran on 2 node(s)"),
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
]
