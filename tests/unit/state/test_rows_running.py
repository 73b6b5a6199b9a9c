"""Rows of reference/classification.md §C6 and §C7 that no vector reaches."""

import pytest

from classifier.state.settings import Mode
from tests.unit.state.builders import (
    FORBIDDEN,
    JS,
    TJ,
    WL,
    Input,
    Said,
    captured,
    ended,
    kueue,
    node,
    pending,
    plain,
    pod,
    running,
    said,
    suspended,
    vector,
)

RESET = "Reset to Pending after eviction. Previously: "
ADMITTED = "Admitted=True/Admitted"

ADMISSION = [
    *(
        vector(
            f"C6 kueue: suspend={suspend}, Suspended={paused}, admitted={admitted}",
            kueue(
                (TJ(*paused_by).suspend() if suspend else TJ(*paused_by)),
                JS(),
                WL("QuotaReserved=True/QuotaReserved", f"Admitted={admitted}/Why"),
            ),
            running() if runs else pending(),
        )
        for suspend in (True, False)
        for paused, paused_by in ((True, ["Suspended=True/Suspended"]), (False, ["Suspended=False/Resumed"]))
        for admitted in ("True", "False", "Unknown")
        for runs in (not suspend and not paused and admitted == "True",)
    ),
    vector("C6 kueue: no Admitted condition", kueue(TJ(), JS(), WL()), pending()),
    vector("C6 kueue: no Workload", kueue(TJ(), JS(), pod("p0")), pending(detail="no Workload", R=1)),
    vector("C6 plain: always admitted", plain(TJ(), JS()), running()),
]


def evicted(name: str, reason: str, kind: str, provenance: str, *more: str) -> object:
    return vector(
        f"C6 {name}",
        kueue(TJ().suspend(), WL(f"Evicted=True/{reason}: why", *more)),
        pending(kind, provenance, f"Workload Evicted: {reason}: why"),
    )


def retried(name: str, kind: str, provenance: str, *checks: tuple[str, str, str], also: str = "") -> object:
    workload = WL("Evicted=True/AdmissionCheck: why")
    for check in checks:
        workload.check(*check)
    detail = "Workload Evicted: AdmissionCheck: why"
    return vector(
        f"C6 retry: {name}",
        kueue(TJ().suspend(), workload),
        pending(kind, provenance, f"{detail}; {also}" if also else detail),
    )


TIMEOUT = "Evicted=True/PodsReadyTimeout: too late"
TIMEOUT_SAID = "Workload Evicted: PodsReadyTimeout: too late"

EVICTIONS = [
    evicted("preempted, without the Preempted condition", "Preempted", "preempted", "workload"),
    evicted("preempted, with a Preempted that is over", "Preempted", "preempted", "workload", "Preempted=False/X: old"),
    vector(
        "C6 preempted and suspended: the Preempted condition says by whom, the eviction follows",
        kueue(TJ().suspend(), WL("Evicted=True/Preempted: why", "Preempted=True/InCohortReclamation: by w9")),
        pending("preempted", "workload", "Workload Preempted: InCohortReclamation: by w9"),
    ),
    vector(
        "C6 an earlier preemption is no cause of another eviction",
        kueue(TJ().suspend(), WL("Evicted=True/NodeFailures: why", "Preempted=True/InClusterQueue: by w9")),
        pending("node-lost", "workload", "Workload Evicted: NodeFailures: why"),
    ),
    *(
        vector(
            f"C6 checks that ask for a retry explain no other eviction: {reason}",
            kueue(TJ().suspend(), WL(f"Evicted=True/{reason}: why").check("prov", "Retry", "no")),
            pending(kind, provenance, f"Workload Evicted: {reason}: why; admission check prov Retry: no"),
        )
        for reason, kind, provenance in (("NodeFailures", "node-lost", "workload"), ("SomethingNew", "unknown", ""))
    ),
    evicted("node failures", "NodeFailures", "node-lost", "workload"),
    evicted("flavor migration", "FlavorMigration", "preempted", "workload"),
    *(
        evicted(f"another reason: {reason}", reason, "unknown", "")
        for reason in ("EvictedOnManagerCluster", "WorkloadSliceReplaced", "SomethingNew")
    ),
    *(
        vector(
            f"C6 {reason}, but active again: go on",
            kueue(TJ().suspend(), WL(f"Evicted=True/{reason}: why")),
            pending(detail=f"Workload Evicted: {reason}: why"),
        )
        for reason in ("Deactivated", "DeactivatedDueToRequeuingLimitExceeded", "DeactivatedDueToSomethingNew")
    ),
    vector(
        "C6 active again and running: the pods are asked",
        kueue(TJ(), JS(), WL().admitted().has("Evicted=True/Deactivated: why"), pod("p0").failed().exit(1)),
        running("non-zero-exit", "container", "pod p0: exit code 1; Workload Evicted: Deactivated: why", R=1),
    ),
    vector(
        "C6 the eviction comes before a lost node and what pods say",
        kueue(
            TJ(),
            JS(),
            WL().admitted().has("Evicted=True/NodeFailures: why"),
            pod("p0").failed().exit(143),
            pod("p1").on("n9"),
        ),
        running("node-lost", "workload", "Workload Evicted: NodeFailures: why", R=1),
    ),
    vector("C6 an eviction that is over", kueue(TJ(), JS(), WL(ADMITTED, "Evicted=False/Preempted")), running()),
    vector("C6 plain: no eviction is asked", plain(TJ(), JS(), WL("Evicted=True/Preempted")), running()),
    vector(
        "C6 pods not ready: the finding, though the job is pending",
        kueue(TJ().suspend(), JS(), WL(TIMEOUT), pod("p0").failed().exit(1)),
        pending("non-zero-exit", "container", f"pod p0: exit code 1; {TIMEOUT_SAID}", R=1),
    ),
    vector(
        "C6 pods not ready: the finding comes before an unschedulable pod",
        kueue(TJ(), JS(), WL().admitted().has(TIMEOUT), pod("p0").unscheduled("none"), pod("p1").failed().exit(1)),
        running(
            "non-zero-exit",
            "container",
            f"pod p1: exit code 1; {TIMEOUT_SAID}; 1 of 2 pods unscheduled: pod p0: Unschedulable: none",
            R=1,
        ),
    ),
    vector(
        "C6 pods not ready: the ranks that were ready exit of the eviction, pending",
        kueue(TJ().suspend(), JS(), WL(TIMEOUT), pod("p0").exit(143, at="10:00:01").deleting()),
        pending("unknown", "", TIMEOUT_SAID, R=1),
    ),
    vector(
        "C6 pods not ready: the ranks that were ready exit of the eviction, running and another unschedulable",
        kueue(
            TJ(),
            JS(),
            WL().admitted().has(TIMEOUT),
            pod("p0").exit(143, at="10:00:31").deleting(),
            pod("p1").unscheduled("none"),
        ),
        running(
            "no-capacity", "workload", f"{TIMEOUT_SAID}; 1 of 2 pods unscheduled: pod p1: Unschedulable: none", R=1
        ),
    ),
    vector(
        "C6 pods not ready: an eviction without a date hides no finding",
        kueue(TJ().suspend(), JS(), WL("Evicted=True/PodsReadyTimeout@-: too late"), pod("p0").failed().exit(1)),
        pending("non-zero-exit", "container", f"pod p0: exit code 1; {TIMEOUT_SAID}", R=1),
    ),
    vector(
        "C6 pods not ready: a finding of unknown kind",
        kueue(TJ(), JS(), WL().admitted().has(TIMEOUT), pod("p0").failed().exit(255, "Unknown")),
        running("unknown", "", f"pod p0: exit code 255 (Unknown); {TIMEOUT_SAID}", R=1),
    ),
    vector(
        "C6 pods not ready, pending and unschedulable",
        kueue(TJ().suspend(), JS(), WL(TIMEOUT), pod("p0").unscheduled("none")),
        pending("no-capacity", "workload", TIMEOUT_SAID, R=1),
    ),
    vector(
        "C6 pods not ready, none unschedulable",
        kueue(TJ().suspend(), JS(), WL(TIMEOUT), pod("p0")),
        pending("unknown", "", TIMEOUT_SAID, R=1),
    ),
    vector(
        "C6 pods not ready: gated pods are not unschedulable",
        kueue(TJ().suspend(), JS(), WL(TIMEOUT), pod("p0").unscheduled("gates", "SchedulingGated")),
        pending("unknown", "", TIMEOUT_SAID, R=1),
    ),
    retried(
        "a capacity check", "no-capacity", "workload", ("prov", "Retry", "no"), also="admission check prov Retry: no"
    ),
    retried("another check", "unknown", "", ("budget", "Retry", "no"), also="admission check budget Retry: no"),
    retried(
        "another check, while the capacity check is ready",
        "unknown",
        "",
        ("prov", "Ready", ""),
        ("budget", "Retry", "no"),
        also="admission check budget Retry: no",
    ),
    retried(
        "a capacity check, while another waits",
        "no-capacity",
        "workload",
        ("prov", "Retry", "no"),
        ("budget", "Pending", "x"),
        also="admission check budget Pending: x; admission check prov Retry: no",
    ),
    retried(
        "the reset tells which",
        "no-capacity",
        "workload",
        ("prov", "Pending", RESET + "Retry"),
        ("budget", "Pending", RESET + "Ready"),
    ),
    retried(
        "the reset tells of both",
        "unknown",
        "",
        ("prov", "Pending", RESET + "Retry"),
        ("budget", "Pending", RESET + "Retry"),
    ),
    retried("no check at all", "unknown", ""),
    retried("nothing tells which", "unknown", "", ("prov", "Pending", ""), ("budget", "Pending", "")),
]

LOST = "Ready=Unknown/NodeStatusUnknown@10:05:00: silent"
LOST_SAID = "node n2 Ready=Unknown: NodeStatusUnknown: silent"

NODES = [
    vector(
        "C6 node not ready",
        plain(TJ(), JS(), pod("p0").on("n2"), node("n2", "Ready=False/KubeletNotReady: starting")),
        running("node-lost", "node", "pod p0: node n2 Ready=False: KubeletNotReady: starting", R=1),
    ),
    vector(
        "C6 node without a Ready condition",
        plain(TJ(), JS(), pod("p0").on("n2"), node("n2", "MemoryPressure=False/X")),
        running("node-lost", "node", "pod p0: node n2 has no Ready condition", R=1),
    ),
    vector(
        "C6 node of which only the metadata is there",
        plain(TJ(), JS(), pod("p0").on("n2"), node("n2").only_metadata()),
        running("node-lost", "node", "pod p0: node n2 has no Ready condition", R=1),
    ),
    vector(
        "C6 node without any condition",
        plain(TJ(), JS(), pod("p0").on("n2"), node("n2")),
        running("node-lost", "node", "pod p0: node n2 has no Ready condition", R=1),
    ),
    vector(
        "C6 a Terminating pod counts",
        plain(TJ(), JS(), pod("p0").on("n9").deleting()),
        running("node-lost", "node", "pod p0: node n9 not found", R=1),
    ),
    vector(
        "C6 several pods on one lost node, by name",
        plain(TJ(), JS(), pod("p2").on("n2"), pod("p1").on("n2"), node("n2", LOST)),
        running("node-lost", "node", f"pod p1: {LOST_SAID}; other ranks: p2 node-lost ({LOST_SAID})", R=1),
    ),
    vector(
        "C6 the earlier loss first, an undated one last",
        plain(
            TJ(),
            JS(),
            pod("p1").on("n9"),
            pod("p2").on("n2"),
            pod("p3").on("n3"),
            node("n2", LOST),
            node("n3", "Ready=False/KubeletNotReady@10:04:00"),
        ),
        running(
            "node-lost",
            "node",
            "pod p3: node n3 Ready=False: KubeletNotReady; other ranks: "
            f"p2 node-lost ({LOST_SAID}), p1 node-lost (node n9 not found)",
            R=1,
        ),
    ),
    *(
        vector(
            f"C6 a pod that is done ({phase}) is not asked",
            plain(TJ(), JS(), pod("p0").phase(phase).on("n9")),
            running(R=1),
        )
        for phase in ("Succeeded", "Failed")
    ),
    vector("C6 a captured pod is not asked", plain(TJ(), JS(), captured(pod("p0").on("n9"))), running(R=1)),
    vector(
        "C6 a pod of an earlier execution is not asked",
        plain(TJ(), JS(), pod("p0").run(1, 1), pod("p1").run(1, 0).on("n9")),
        running(R=2),
    ),
    vector("C6 a pod of which only the metadata is there", plain(TJ(), JS(), pod("p0").only_metadata()), running(R=1)),
    vector("C6 an unbound pod is not asked", plain(TJ(), JS(), pod("p0").on(None).pending()), running(R=1)),
    vector(
        "C6 a pending object is not asked for its nodes",
        kueue(TJ().suspend(), JS(), WL(), pod("p0").on("n9")),
        pending(R=1),
    ),
    vector(
        "C6 nor one that is suspended",
        plain(TJ().suspend(), JS(), pod("p0").on("n9").exit(1)),
        suspended(admin=True, R=1),
    ),
    vector(
        "C6 Nodes may not be read, nothing bound: nothing to say",
        plain(TJ(), JS(), pod("p0").on(None).pending(), FORBIDDEN),
        running(R=1),
    ),
]

UNKNOWN = [
    vector(
        "C7 suspended",
        plain(TJ("Odd=True/Why").suspend(), JS()),
        suspended("unknown", "", "TrainJob Odd: Why", admin=True),
    ),
    vector(
        "C7 a queue's stop stays in front",
        kueue(TJ("Odd=True/Why").suspend(), WL("Evicted=True/ClusterQueueStopped: stopped")),
        suspended("unknown", "", "Workload Evicted: ClusterQueueStopped: stopped; TrainJob Odd: Why", admin=True),
    ),
    vector(
        "C7 before the situation",
        kueue(TJ("Odd=True/Why").suspend()),
        pending("unknown", "", "TrainJob Odd: Why; no Workload"),
    ),
    vector(
        "C7 not beside another cause",
        plain(TJ("Odd=True/Why"), JS(), pod("p0").failed().exit(1)),
        running("non-zero-exit", "container", "pod p0: exit code 1", R=1),
    ),
    vector(
        "C7 not beside an end",
        plain(TJ("Odd=True/Why", "Failed=True/RemoteLost"), JS()),
        ended("unknown", "", "RemoteLost"),
    ),
    vector(
        "C7 in the order of the status",
        plain(TJ("Zeta=True/Z: one", "Suspended=False/Resumed", "Alpha=True/A", "Beta=Unknown/B"), JS()),
        running("unknown", "", "TrainJob Zeta: Z: one; TrainJob Alpha: A"),
    ),
]


@pytest.mark.parametrize(("given", "want"), [*ADMISSION, *EVICTIONS, *NODES, *UNKNOWN])
def test_pending_or_running_and_why(given: Input, want: Said) -> None:
    assert said(given.observe()) == want


@pytest.mark.parametrize(("given", "want"), [v for v in NODES if v.values[0].settings.mode is Mode.PLAIN][:-2])
def test_C6_lost_nodes_are_the_same_in_kueue_mode(given: Input, want: Said) -> None:
    assert said(given.but(WL().admitted(), mode=Mode.KUEUE).observe()) == want


@pytest.mark.parametrize(("given", "want"), NODES)
def test_C6_without_leave_to_read_nodes_none_is_lost(given: Input, want: Said) -> None:
    assert said(given.but(FORBIDDEN).observe()).provenance != "node"
    assert said(given.but(FORBIDDEN).observe())._replace(kind="", provenance="", detail="") == want._replace(
        kind="", provenance="", detail=""
    )
