"""Rows of reference/classification.md §C3 to §C5 that no vector reaches: gates, holds, and who suspended it."""

import pytest

from classifier import api
from classifier.state.settings import Mode
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

GATED_BY = api.ADMISSION_GATED_BY
COMMITTED = "muster.dev/admission-timeout-committed"
MARKER = "2026-11-29T10:00:00Z attempt=2 uid=wl-1"
DEACTIVATED = "Evicted=True/Deactivated: The workload is deactivated"
DEACTIVATED_SAID = "Workload Evicted: Deactivated: The workload is deactivated"
BIGGEST = str(2**63 - 1)
RESET = "Reset to Pending after eviction. Previously: "

GATES = [
    vector(
        "C3 our gate among others: the others are said",
        kueue(TJ().suspend().ann(GATED_BY, "example.com/budget,P/open"), WL("QuotaReserved=False/AdmissionGated")),
        gated(detail="gated by example.com/budget"),
    ),
    vector(
        "C3 the Workload alone carries our gate",
        kueue(TJ().suspend(), WL("QuotaReserved=False/Pending").ann(GATED_BY, "P/open")),
        pending(detail="Workload QuotaReserved: Pending"),
    ),
    vector(
        "C3 a name that only begins like ours",
        kueue(TJ().suspend().ann(GATED_BY, "P/open-later"), WL("QuotaReserved=False/Pending")),
        pending(detail="gated by P/open-later; Workload QuotaReserved: Pending"),
    ),
    vector(
        "C3 gated even when the Workload is inactive and nobody holds it",
        kueue(TJ().suspend().ann(GATED_BY, "P/open"), WL(DEACTIVATED).inactive()),
        gated(detail=DEACTIVATED_SAID),
    ),
    vector(
        "C3 the gate is read from the job even where Kueue does not honour it (F14)",
        kueue(TJ().ann(GATED_BY, "P/open"), JS(), WL().admitted()),
        gated(),
    ),
    vector(
        "C3 gated before Kueue made a Workload",
        kueue(TJ().suspend().ann(GATED_BY, "P/open")),
        gated(detail="no Workload"),
    ),
    vector("C3 plain: an empty gate is none", plain(TJ().suspend().ann("P/gate", ""), JS()), suspended(admin=True)),
    vector(
        "C3 plain: a gate without suspend is none", plain(TJ().ann("P/gate", "closed"), JS(), pod("p0")), running(R=1)
    ),
    vector(
        "C3 kueue: plain mode's gate is none",
        kueue(TJ().suspend().ann("P/gate", "closed"), WL("QuotaReserved=False/Pending")),
        pending(detail="Workload QuotaReserved: Pending"),
    ),
    vector(
        "C3 plain: gated before held",
        plain(TJ().suspend().ann("P/gate", "closed").ann("P/hold-instance", "2"), JS()),
        gated(hold=2),
    ),
]

HOLDS = [
    vector(
        "C4 kueue: held, nothing more to say",
        kueue(TJ().suspend(), WL().inactive().ann("P/hold-instance", "12")),
        held(hold=12),
    ),
    vector(
        "C4 the largest number",
        kueue(TJ().suspend(), WL().inactive().ann("P/hold-instance", BIGGEST)),
        held(hold=2**63 - 1),
    ),
    vector(
        "C4 one more than the largest",
        kueue(TJ().suspend(), WL().inactive().ann("P/hold-instance", str(2**63))),
        suspended(admin=True),
    ),
    *(
        vector(
            f"C4 no hold: {value.encode('unicode_escape').decode()!r}",
            plain(TJ().suspend().ann("P/hold-instance", value), JS()),
            suspended(admin=True),
        )
        for value in ("1\n", "\n1", "１", "0x1", "1_0", "1,0", "٣", "²", "9" * 5000)
    ),
    vector(
        "C4 kueue: the marker alone stops nothing",
        kueue(TJ().suspend(), WL("QuotaReserved=False/Pending").ann("P/hold-instance", "5")),
        pending(detail="Workload QuotaReserved: Pending; hold 5 is set but the Workload is active", hold=5),
    ),
    vector(
        "C4 kueue: nor does it stop a running job",
        kueue(TJ(), JS(), WL().admitted().ann("P/hold-instance", "5"), pod("p0")),
        running(detail="hold 5 is set but the Workload is active", hold=5, R=1),
    ),
    vector(
        "C4 kueue: the job's annotation is no hold",
        kueue(TJ().suspend().ann("P/hold-instance", "5"), WL().inactive()),
        suspended(admin=True),
    ),
    vector(
        "C4 plain: the Workload's annotation is no hold",
        plain(TJ().suspend(), JS(), WL().inactive().ann("P/hold-instance", "5")),
        suspended(admin=True),
    ),
    vector(
        "C4 held before our own deadline",
        kueue(TJ().suspend(), WL().inactive().ann("P/hold-instance", "5").ann(COMMITTED, MARKER)),
        held(hold=5),
    ),
]


def deactivated_by(cause: str, kind: str, provenance: str) -> list[object]:
    """Both forms in which Kueue says that it deactivated a Workload."""
    return [
        vector(
            f"C5 Evicted for {cause}: {kind}",
            kueue(TJ().suspend(), WL(f"Evicted=True/DeactivatedDueTo{cause}: why").inactive()),
            suspended(kind, provenance, f"Workload Evicted: DeactivatedDueTo{cause}: why"),
        ),
        vector(
            f"C5 DeactivationTarget for {cause}: {kind}",
            kueue(TJ().suspend(), WL(f"DeactivationTarget=True/{cause}: why").inactive()),
            suspended(kind, provenance, f"Workload DeactivationTarget: {cause}: why"),
        ),
    ]


def rejected(name: str, kind: str, provenance: str, *checks: tuple[str, str, str], said: str = "") -> object:
    workload = WL("Evicted=True/DeactivatedDueToAdmissionCheck: why").inactive()
    for check in checks:
        workload.check(*check)
    detail = "Workload Evicted: DeactivatedDueToAdmissionCheck: why"
    return vector(
        f"C5 {name}: {kind}",
        kueue(TJ().suspend(), workload, capacity_checks=frozenset({"prov", "spare"})),
        suspended(kind, provenance, f"{detail}; {said}" if said else detail),
    )


SUSPENDED = [
    *deactivated_by("MaximumExecutionTimeExceeded", "timeout", "workload"),
    *deactivated_by("RequeuingLimitExceeded", "no-capacity", "workload"),
    *deactivated_by("SomethingNew", "unknown", ""),
    rejected(
        "the capacity check rejected it, another is ready",
        "no-capacity",
        "workload",
        ("prov", "Rejected", "no capacity"),
        ("budget", "Ready", ""),
        said="admission check prov Rejected: no capacity",
    ),
    rejected(
        "another check rejected it",
        "rejected",
        "workload",
        ("prov", "Ready", ""),
        ("budget", "Rejected", "over budget"),
        said="admission check budget Rejected: over budget",
    ),
    rejected(
        "a capacity check and another rejected it",
        "rejected",
        "workload",
        ("prov", "Rejected", "none left"),
        ("budget", "Rejected", "over budget"),
        said="admission check budget Rejected: over budget; admission check prov Rejected: none left",
    ),
    rejected(
        "all that rejected it stand for capacity",
        "no-capacity",
        "workload",
        ("spare", "Rejected", "b"),
        ("prov", "Rejected", "a"),
        ("budget", "Pending", "c"),
        said="admission check budget Pending: c; admission check prov Rejected: a; admission check spare Rejected: b",
    ),
    rejected(
        "the reset tells who rejected it",
        "no-capacity",
        "workload",
        ("prov", "Pending", RESET + "Rejected"),
        ("budget", "Pending", RESET + "Ready"),
    ),
    rejected(
        "the reset tells that another rejected it",
        "rejected",
        "workload",
        ("prov", "Pending", RESET + "Ready"),
        ("budget", "Pending", RESET + "Rejected"),
    ),
    rejected(
        "nothing tells who rejected it, all stand for capacity", "no-capacity", "workload", ("prov", "Pending", "")
    ),
    rejected(
        "nothing tells who rejected it, some do not stand for capacity",
        "rejected",
        "workload",
        ("prov", "Pending", ""),
        ("budget", "Pending", ""),
    ),
    rejected("no check at all", "rejected", "workload"),
    rejected(
        "a check that asked for a retry did not reject",
        "no-capacity",
        "workload",
        ("prov", "Pending", RESET + "Rejected"),
        ("budget", "Pending", RESET + "Retry"),
    ),
    vector(
        "C5 a person: the eviction is only said",
        kueue(TJ().suspend(), WL(DEACTIVATED).inactive()),
        suspended(detail=DEACTIVATED_SAID, admin=True),
    ),
    vector(
        "C5 a person deactivated what was evicted for something else",
        kueue(TJ().suspend(), WL("Evicted=True/Preempted: by w9").inactive()),
        suspended(detail="Workload Evicted: Preempted: by w9", admin=True),
    ),
    vector(
        "C5 an eviction that is over says nothing of the deactivation",
        kueue(TJ().suspend(), WL("Evicted=False/DeactivatedDueToRequeuingLimitExceeded").inactive()),
        suspended(admin=True),
    ),
    vector(
        "C5 our deadline before Kueue's own reasons",
        kueue(
            TJ().suspend(),
            WL("Evicted=True/DeactivatedDueToRequeuingLimitExceeded: why").inactive().ann(COMMITTED, MARKER),
        ),
        suspended("timeout", "workload", "admission deadline exceeded: 2026-11-29T10:00:00Z"),
    ),
    *(
        vector(
            f"C5 no deadline of ours: {name}",
            kueue(TJ().suspend(), WL().inactive().ann(COMMITTED, marker)),
            suspended(admin=True),
        )
        for name, marker in (
            ("of another Workload", "2026-11-29T10:00:00Z attempt=1 uid=wl-0"),
            ("unreadable", "yesterday attempt=1 uid=wl-1"),
            ("without an attempt", "2026-11-29T10:00:00Z uid=wl-1"),
            ("empty", ""),
        )
    ),
    vector(
        "C5 a marker on an active Workload is no decision",
        kueue(TJ(), JS(), WL().admitted().ann(COMMITTED, MARKER), pod("p0")),
        running(R=1),
    ),
    vector(
        "C5 a marker on the job is never evidence",
        kueue(TJ().suspend().ann(COMMITTED, MARKER), WL().inactive()),
        suspended(admin=True),
    ),
    vector(
        "C5 the LocalQueue was stopped",
        kueue(TJ().suspend(), WL("Evicted=True/LocalQueueStopped: The LocalQueue is stopped")),
        suspended(detail="Workload Evicted: LocalQueueStopped: The LocalQueue is stopped", admin=True),
    ),
    vector(
        "C5 the queue was stopped and the pods still run",
        kueue(TJ(), JS(), WL().admitted().has("Evicted=True/ClusterQueueStopped: The ClusterQueue is stopped")),
        suspended(detail="Workload Evicted: ClusterQueueStopped: The ClusterQueue is stopped", admin=True),
    ),
    *(
        vector(
            f"C5 the {queue} runs again",
            kueue(TJ().suspend(), WL(f"Evicted=True/{queue}Stopped: stopped", f"Requeued=True/{queue}Restarted")),
            pending(detail=f"Workload Evicted: {queue}Stopped: stopped"),
        )
        for queue in ("ClusterQueue", "LocalQueue")
    ),
    vector(
        "C5 not yet requeued",
        kueue(
            TJ().suspend(),
            WL("Evicted=True/ClusterQueueStopped: stopped", "Requeued=False/ClusterQueueRestarted"),
        ),
        suspended(detail="Workload Evicted: ClusterQueueStopped: stopped", admin=True),
    ),
    vector(
        "C5 requeued for another reason, while the queue stands still",
        kueue(TJ().suspend(), WL("Evicted=True/ClusterQueueStopped: stopped", "Requeued=True/BackoffFinished")),
        suspended(detail="Workload Evicted: ClusterQueueStopped: stopped", admin=True),
    ),
    vector(
        "C5 a stop that is over",
        kueue(TJ().suspend(), WL("Evicted=False/ClusterQueueStopped")),
        pending(),
    ),
    vector(
        "C5 a DeactivationTarget that is over",
        kueue(TJ().suspend(), WL("DeactivationTarget=False/RequeuingLimitExceeded").inactive()),
        suspended(admin=True),
    ),
    vector(
        "C5 kueue: spec.suspend is Kueue's lever",
        kueue(TJ().suspend(), WL().admitted()),
        pending(),
    ),
    vector(
        "C5 plain: what the status says is not asked",
        plain(TJ("Suspended=True/Suspended"), JS()),
        pending(),
    ),
]


@pytest.mark.parametrize(("given", "want"), [*GATES, *HOLDS, *SUSPENDED])
def test_gates_holds_and_suspensions(given: Input, want: Said) -> None:
    assert said(given.observe()) == want


def test_C4_in_plain_mode_the_same_job_is_read_by_its_own_lever() -> None:
    given = kueue(TJ().suspend(), JS(), WL().inactive().ann("P/hold-instance", "5"))
    assert said(given.observe()) == held(hold=5)
    assert said(given.but(mode=Mode.PLAIN).observe()) == suspended(admin=True)


def test_the_prefix_is_configuration() -> None:
    given = kueue(
        TJ().suspend().annotate(GATED_BY, "example.org/open"),
        WL("QuotaReserved=False/AdmissionGated"),
        prefix="example.org/",
    )
    assert said(given.observe()).state == "gated"
    assert said(given.but(prefix="example.net/").observe()).state == "pending"
