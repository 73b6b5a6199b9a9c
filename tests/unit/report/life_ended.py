"""Waits that were ended, that ought to be, and that began anew."""

from classifier.report import Result
from tests.unit.report.builders import (
    ACCEPTED,
    MISSING,
    PENDING,
    RESERVED,
    WORKLOAD_UID,
    condition,
    deadline,
    job,
    ledger,
    marker,
    observe,
    request,
    workload,
)
from tests.unit.report.states import (
    DUE,
    EVICTED,
    NO_QUOTA,
    REACTIVATE,
    RELEASED,
    REQUEUED,
    C,
    Case,
    P,
    Q,
    ended,
    waiting_for_capacity,
)


def leaving(decision: str) -> dict[str, str]:
    """The mirror of a decision after which the job is deleted."""
    return {"muster.dev/admission-outcome-of": decision, "muster.dev/delete-after": "2026-11-29T11:30:00Z"}


CASES = [
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
        "timed out, and to be deleted",
        1900,
        ended(PENDING, EVICTED, owner=job(annotations=ledger() | leaving(f"{WORKLOAD_UID}/1"))),
        Result.TIMED_OUT,
        {
            Q: (
                "failed",
                "admission timed out at 2026-11-29T10:30:00Z, after 30m; to be deleted at 2026-11-29T11:30:00Z unless "
                f"reactivated before; delete and resubmit, or ask a batch administrator to run: {REACTIVATE}",
            ),
        },
    ),
    Case(
        "timed out, and another decision's deletion is still told",
        1900,
        ended(PENDING, EVICTED, owner=job(annotations=ledger() | leaving("another/1"))),
        Result.TIMED_OUT,
        {
            Q: (
                "failed",
                "admission timed out at 2026-11-29T10:30:00Z, after 30m; delete and resubmit, "
                f"or ask a batch administrator to run: {REACTIVATE}",
            ),
        },
    ),
    Case(
        "timed out in the backoff between two attempts: it had no quota then",
        1810,
        ended(
            PENDING,
            condition("Evicted", "True", "AdmissionCheck", "capacity: Retry", 1700),
            condition("Requeued", "False", "AdmissionCheck", "", 1700),
        ),
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
