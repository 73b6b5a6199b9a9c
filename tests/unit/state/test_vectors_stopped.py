"""Vectors of reference/classification.md §D: gated, held, suspended, pending, and what Kueue does to running jobs."""

import pytest

from classifier import api
from tests.unit.state.builders import (
    JS,
    TJ,
    WL,
    Input,
    Said,
    gated,
    held,
    kueue,
    pending,
    plain,
    pod,
    running,
    said,
    suspended,
    vector,
)

EXCEEDED = "Evicted=True/DeactivatedDueToMaximumExecutionTimeExceeded: "
REQUEUED_OUT = "Evicted=True/DeactivatedDueToRequeuingLimitExceeded: "
TOO_LONG = "The workload is deactivated due to exceeding the maximum execution time"
TOO_OFTEN = "The workload is deactivated due to exceeding the maximum number of re-queuing retries"
PREEMPTOR = "Preempted to accommodate a workload (UID: w9, JobUID: j9) due to prioritization in the ClusterQueue"

NO_HOLDS = ("0", "01", "+1", "-1", " 1", "1 ", "1.0", "", "\u0661", "1e3", "99999999999999999999")

VECTORS = [
    vector(
        "T33 plain, gate annotation and spec.suspend",
        plain(TJ("Suspended=True/Suspended").suspend().ann("P/gate", "closed"), JS()),
        gated(),
    ),
    vector(
        "T34 Kueue, TrainJob annotation lists dispatch's gate",
        kueue(
            TJ().suspend().ann(api.ADMISSION_GATED_BY, "P/open"),
            WL("QuotaReserved=False/AdmissionGated").ann(api.ADMISSION_GATED_BY, "P/open"),
        ),
        gated(),
    ),
    vector(
        "T35 Kueue, only another controller's gate",
        kueue(
            TJ().suspend().ann(api.ADMISSION_GATED_BY, "example.com/budget"),
            WL("QuotaReserved=False/AdmissionGated: Admission is gated by: example.com/budget"),
        ),
        pending(detail="Workload QuotaReserved: AdmissionGated: Admission is gated by: example.com/budget"),
    ),
    vector(
        "T37 gated and held at once: gated, hold instance still reported",
        kueue(
            TJ().suspend().ann(api.ADMISSION_GATED_BY, "P/open"),
            WL().inactive().ann("P/hold-instance", "5"),
        ),
        gated(hold=5),
    ),
    vector(
        "T38 Kueue hold in force",
        kueue(
            TJ().suspend(),
            WL("Evicted=True/Deactivated: The workload is deactivated").inactive().ann("P/hold-instance", "1"),
        ),
        held(detail="Workload Evicted: Deactivated: The workload is deactivated", hold=1),
    ),
    *(
        vector(
            f"T39 no hold: {value.encode('unicode_escape').decode()!r}",
            kueue(TJ().suspend(), WL().inactive().ann("P/hold-instance", value)),
            suspended(admin=True, hold=0),
        )
        for value in NO_HOLDS
    ),
    vector(
        "T40 plain hold",
        plain(TJ().suspend().ann("P/hold-instance", "7"), JS()),
        held(hold=7),
    ),
    vector(
        "T41 plain: annotation present but TrainJob resumed by hand: not held",
        plain(TJ().ann("P/hold-instance", "7"), JS(), pod("p0")),
        running(detail="hold 7 is set but the TrainJob is not suspended", hold=7, R=1),
    ),
    vector(
        "T43 plain: somebody set spec.suspend",
        plain(TJ("Suspended=True/Suspended").suspend(), JS()),
        suspended(admin=True),
    ),
    vector(
        "T44 Kueue deactivated it: MaximumExecutionTimeExceeded",
        kueue(TJ().suspend(), WL(EXCEEDED + TOO_LONG).inactive()),
        suspended("timeout", "workload", f"Workload Evicted: DeactivatedDueToMaximumExecutionTimeExceeded: {TOO_LONG}"),
    ),
    vector(
        "T45 Kueue: requeuing limit",
        kueue(TJ().suspend(), WL(REQUEUED_OUT + TOO_OFTEN).inactive()),
        suspended("no-capacity", "workload", f"Workload Evicted: DeactivatedDueToRequeuingLimitExceeded: {TOO_OFTEN}"),
    ),
    vector(
        "T46 Kueue: between spec.active=false and Evicted: DeactivationTarget=True still there",
        kueue(
            TJ().suspend(),
            WL('DeactivationTarget=True/AdmissionCheck: AdmissionCheck in Rejected state: "prov" (no capacity)')
            .inactive()
            .check("prov", "Rejected", "no capacity"),
        ),
        suspended(
            "no-capacity",
            "workload",
            'Workload DeactivationTarget: AdmissionCheck: AdmissionCheck in Rejected state: "prov" (no capacity); '
            "admission check prov Rejected: no capacity",
        ),
    ),
    vector(
        "T47 ClusterQueue stopped (HoldAndDrain)",
        kueue(
            TJ().suspend(),
            WL("Evicted=True/ClusterQueueStopped: The ClusterQueue is stopped", "Requeued=False/ClusterQueueStopped"),
        ),
        suspended(detail="Workload Evicted: ClusterQueueStopped: The ClusterQueue is stopped", admin=True),
    ),
    vector(
        "T49 QuotaReserved=False/Suspended: a stopped or inactive queue, not proof of an administrator",
        kueue(TJ().suspend(), WL("QuotaReserved=False/Suspended: ClusterQueue gpu is inactive")),
        pending(detail="Workload QuotaReserved: Suspended: ClusterQueue gpu is inactive"),
    ),
    vector(
        "T50 our own admission timeout marker on the Workload",
        kueue(
            TJ().suspend(),
            WL("Evicted=True/Deactivated")
            .inactive()
            .ann("muster.dev/admission-timeout-committed", "2026-11-29T10:00:00Z attempt=1 uid=wl-1"),
        ),
        suspended("timeout", "workload", "admission deadline exceeded: 2026-11-29T10:00:00Z"),
    ),
    vector("T51 Kueue: no Workload yet", kueue(TJ().suspend()), pending(detail="no Workload")),
    vector(
        "T52 Kueue: waiting for quota",
        kueue(
            TJ("Suspended=True/Suspended").suspend(),
            JS(),
            WL("QuotaReserved=False/WaitingForQuota: couldn't assign flavors"),
        ),
        pending(detail="Workload QuotaReserved: WaitingForQuota: couldn't assign flavors"),
    ),
    vector(
        "T53 Kueue: quota reserved, provisioning check pending",
        kueue(
            TJ().suspend(),
            WL("QuotaReserved=True/QuotaReserved", "Admitted=False/UnsatisfiedAdmissionChecks")
            .check("prov", "Pending", "Waiting for 2 nodes")
            .check("budget", "Ready"),
        ),
        pending(detail="admission check prov Pending: Waiting for 2 nodes"),
    ),
    vector(
        "T54 Kueue: admitted, Trainer has not yet cleared Suspended=True",
        kueue(TJ("Suspended=True/Suspended"), JS(), WL().admitted()),
        pending(),
    ),
    vector(
        "T56 Kueue: being preempted, still admitted and unsuspended; Terminating pod already exited 143",
        kueue(
            TJ(),
            JS(),
            WL().admitted().has("Evicted=True/Preempted", f"Preempted=True/InClusterQueue: {PREEMPTOR}"),
            pod("p0").exit(143).deleting(),
        ),
        running("preempted", "workload", f"Workload Preempted: InClusterQueue: {PREEMPTOR}", R=1),
    ),
    vector(
        "T57 Kueue: preempted, requeued, waiting",
        kueue(
            TJ().suspend(),
            JS(),
            WL(
                "QuotaReserved=False/PendingEvaluation: by w9",
                "Evicted=True/Preempted: by w9",
                "Requeued=True/Preempted: by w9",
            ),
        ),
        pending(
            "preempted",
            "workload",
            "Workload Evicted: Preempted: by w9; Workload QuotaReserved: PendingEvaluation: by w9",
        ),
    ),
    vector(
        "T58 Kueue: re-admitted after preemption: Evicted is False again",
        kueue(
            TJ("Suspended=False/Resumed"),
            JS(),
            WL().admitted().has("Evicted=False/QuotaReserved", "Preempted=False/QuotaReserved"),
            pod("p0").run(2, 0),
        ),
        running(R=2),
    ),
    vector(
        "T59 Kueue TAS NodeFailures",
        kueue(TJ().suspend(), WL("Evicted=True/NodeFailures: no replacement for n2")),
        pending("node-lost", "workload", "Workload Evicted: NodeFailures: no replacement for n2"),
    ),
    vector(
        "T61 PodsReadyTimeout, pods unschedulable",
        kueue(
            TJ(),
            JS(),
            WL().admitted().has("Evicted=True/PodsReadyTimeout: Exceeded the PodsReady timeout ns/w"),
            pod("p0").unscheduled("0/3 nodes are available"),
        ),
        running(
            "no-capacity",
            "workload",
            "Workload Evicted: PodsReadyTimeout: Exceeded the PodsReady timeout ns/w; "
            "1 of 1 pods unscheduled: pod p0: Unschedulable: 0/3 nodes are available",
            R=1,
        ),
    ),
    vector(
        "T62 AdmissionCheck retry eviction, all checks are capacity checks",
        kueue(
            TJ().suspend(),
            WL(
                'Evicted=True/AdmissionCheck: Evicted due to AdmissionCheck in Retry state: "prov" (booking expired)'
            ).check("prov", "Pending"),
        ),
        pending(
            "no-capacity",
            "workload",
            'Workload Evicted: AdmissionCheck: Evicted due to AdmissionCheck in Retry state: "prov" (booking expired)',
        ),
    ),
    vector(
        "T73 foreign: Workload labelled with the UID but owned by something else",
        kueue(TJ().suspend(), WL("QuotaReserved=False/WaitingForQuota").owner("tj-0")),
        pending(
            detail="Workload trainjob-train-3-ab12c is not controlled by this TrainJob; "
            "Workload QuotaReserved: WaitingForQuota",
            foreign=True,
        ),
    ),
    vector(
        "T78 Workload Finished/FailedToStart while the TrainJob is not finished",
        kueue(TJ().suspend(), WL("Finished=True/FailedToStart: bad podset info")),
        pending(detail="Workload Finished: FailedToStart: bad podset info"),
    ),
    vector(
        "T82 two Workloads carry the UID label",
        kueue(TJ().suspend(), WL("QuotaReserved=False/WaitingForQuota"), WL(name="wl-copy", uid="wl-2")),
        pending(
            detail="more than one Workload: trainjob-train-3-ab12c, wl-copy; Workload QuotaReserved: WaitingForQuota",
            foreign=True,
        ),
    ),
    vector(
        "T84 Kueue moved it to a better flavor",
        kueue(TJ().suspend(), WL("Evicted=True/FlavorMigration: moved to reservation")),
        pending("preempted", "workload", "Workload Evicted: FlavorMigration: moved to reservation"),
    ),
    vector(
        "T86 pending object: pod findings of an older run are not asked",
        kueue(
            TJ().suspend(),
            JS(),
            WL("QuotaReserved=False/PendingEvaluation"),
            pod("p0").failed().exit(143).deleting(),
        ),
        pending(detail="Workload QuotaReserved: PendingEvaluation", R=1),
    ),
]


@pytest.mark.parametrize(("given", "want"), VECTORS)
def test_stopped_waiting_or_driven_by_kueue(given: Input, want: Said) -> None:
    assert said(given.observe()) == want
