"""From submit to the wait for capacity."""

from classifier.report import Result
from tests.unit.report.builders import (
    ACCEPTED,
    PENDING,
    RESERVED,
    admission_check,
    condition,
    deadline,
    job,
    ledger,
    local_queue,
    observe,
    profile,
    workload,
)
from tests.unit.report.states import DUE, NO_QUOTA, C, Case, P, Q, R, S, waiting_for_capacity

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
    *(
        Case(
            f"a capacity check asked to try again: {now} s of a backoff until 460 s",
            now,
            observe(
                job(annotations=ledger()),
                workload=workload(
                    PENDING,
                    condition("Evicted", "True", "AdmissionCheck", "try again", 300),
                    again=460,
                    annotations=DUE,
                ),
            ),
            Result.WAITING,
            {
                Q: (
                    "active",
                    f"waiting {waited} in LocalQueue gpu of ClusterQueue gpu-a100; {NO_QUOTA}; "
                    f"evicted before (AdmissionCheck: try again); {again}deadline in {left}",
                )
            },
        )
        for now, waited, again, left in (
            (400, "1m40s", "Kueue tries again in 1m; ", "23m20s"),
            (460, "2m40s", "", "22m20s"),
        )
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
]
