"""What an explanation adds to an observation: since when, by which evidence, by which Workload and queue."""

from typing import Any

import pytest

from classifier import api
from classifier.instant import format_instant
from classifier.state import explain
from tests.builders import T0
from tests.unit.state.builders import (
    JS,
    TJ,
    WL,
    Input,
    captured,
    child_job,
    kueue,
    node,
    plain,
    pod,
)

FAILED = "Failed=True/FailedJobs@10:09:00: why"
WORKLOAD = "Workload trainjob-train-3-ab12c"
DEATH = "DisruptionTarget=True/DeletionByPodGC@10:00:03: gone"

Seen = tuple[str | None, str, str, str]


def seen(given: Input) -> list[Seen]:
    """Time of day, where, kind, text."""
    return [(_day(e.at), e.where, e.kind.value, e.text) for e in given.explain().evidence]


def since(given: Input) -> str | None:
    return _day(given.explain().since)


def _day(at: int | None) -> str | None:
    return None if at is None else format_instant(at).removeprefix("2026-11-29T").removesuffix("Z")


def tj(*conditions: str) -> Any:
    return TJ(*conditions).metadata(creationTimestamp="2026-11-29T09:00:00Z")


SINCE = [
    ("ended: its own condition", plain(tj("Complete=True/AllJobsCompleted@10:09:00"), JS()), "10:09:00"),
    ("ended by pods: its own condition", plain(tj(FAILED), JS(), pod("p0").failed().exit(1)), "10:09:00"),
    ("ended without a date", plain(tj("Failed=True/FailedJobs@-: why"), JS()), None),
    (
        "ended without a date of its own: the winner's",
        plain(tj("Failed=True/FailedJobs@-: why"), JS(), pod("p0").failed().exit(1, at="10:00:04")),
        "10:00:04",
    ),
    (
        "gated by Kueue: a gate is set at creation",
        kueue(tj().suspend().ann(api.ADMISSION_GATED_BY, "P/open")),
        "09:00:00",
    ),
    (
        "gated in plain mode",
        plain(tj("Suspended=True/Suspended@10:01:00").suspend().ann("P/gate", "shut"), JS()),
        "10:01:00",
    ),
    (
        "held: its deactivation",
        kueue(tj().suspend(), WL("Evicted=True/Deactivated@10:02:00").inactive().ann("P/hold-instance", "1")),
        "10:02:00",
    ),
    (
        "suspended by a person after an older eviction: nothing says",
        kueue(tj().suspend(), WL("Evicted=True/Preempted@10:02:00").inactive()),
        None,
    ),
    ("suspended by a person: nothing says yet", kueue(tj().suspend(), WL().inactive()), None),
    ("suspended by hand", plain(tj("Suspended=True/Suspended@10:03:00").suspend(), JS()), "10:03:00"),
    (
        "suspended by our deadline: the decision",
        kueue(
            tj().suspend(),
            WL("Evicted=True/Deactivated@10:05:01")
            .inactive()
            .ann(api.COMMITTED, "2026-11-29T10:05:00Z attempt=1 uid=wl-1"),
        ),
        "10:05:00",
    ),
    ("suspended by Kueue", kueue(tj(), WL("Evicted=True/DeactivatedDueToX@10:04:00").inactive()), "10:04:00"),
    ("suspended by a queue's stop", kueue(tj(), WL("Evicted=True/LocalQueueStopped@10:04:00")), "10:04:00"),
    ("pending without a Workload: creation", kueue(tj().suspend()), "09:00:00"),
    ("pending for quota", kueue(tj().suspend(), WL("QuotaReserved=False/Pending@10:01:00")), "10:01:00"),
    (
        "pending for checks",
        kueue(tj().suspend(), WL("QuotaReserved=True/QuotaReserved@10:02:00", "Admitted=False/X@10:01:00")),
        "10:02:00",
    ),
    ("pending in plain mode: not resumed yet", plain(tj("Suspended=True/Suspended@10:01:00"), JS()), "10:01:00"),
    ("running from the start: creation", plain(tj(), JS()), "09:00:00"),
    ("running since it was resumed", plain(tj("Suspended=False/Resumed@10:01:00"), JS()), "10:01:00"),
    (
        "running since its admission, when it was resumed before",
        kueue(tj("Suspended=False/Resumed@10:01:00"), JS(), WL("Admitted=True/Admitted@10:02:00")),
        "10:02:00",
    ),
    (
        "running since it was resumed, after its admission",
        kueue(tj("Suspended=False/Resumed@10:03:00"), JS(), WL("Admitted=True/Admitted@10:02:00")),
        "10:03:00",
    ),
    ("running, a rank has died", plain(tj(), JS(), pod("p0").failed().exit(1, at="10:00:04")), "10:00:04"),
    (
        "running on a lost node",
        plain(tj(), JS(), pod("p0"), node("n1", "Ready=Unknown/NodeStatusUnknown@10:06:00: silent")),
        "10:06:00",
    ),
    (
        "running, preempted",
        kueue(tj(), JS(), WL("Evicted=True/Preempted@10:07:00", "Preempted=True/InClusterQueue@10:07:01").admitted()),
        "10:07:01",
    ),
    ("the last of the unknown conditions", plain(tj("Odd=True/A@10:08:00", "Even=True/B@10:07:00"), JS()), "10:08:00"),
    ("an unknown condition without a date", plain(tj("Odd=True/A@-"), JS()), "09:00:00"),
]


@pytest.mark.parametrize(("given", "want"), [pytest.param(g, w, id=name) for name, g, w in SINCE])
def test_since(given: Input, want: str | None) -> None:
    assert since(given) == want


EVIDENCE: list[tuple[str, Input, list[Seen]]] = [
    ("none while all is well", plain(tj(), JS(), pod("p0")), []),
    (
        "what the job itself states",
        plain(tj("Complete=True/AllJobsCompleted@10:09:00: done"), JS()),
        [("10:09:00", "TrainJob train-3", "completed", "Complete: AllJobsCompleted: done")],
    ),
    (
        "a failure without pods",
        plain(tj(FAILED), JS()),
        [("10:09:00", "TrainJob train-3", "unknown", "Failed: FailedJobs: why")],
    ),
    (
        "every finding in the order weighed, undated ones last",
        plain(
            tj(FAILED),
            JS(),
            pod("p2").failed().exit(137, "ContainerStatusUnknown", at="-"),
            captured(pod("p1").failed().exit(1, at="10:00:05")),
            pod("p0").failed().has(DEATH).exit(143, at="10:00:30"),
        ),
        [
            ("10:00:03", "pod p0", "node-lost", "DeletionByPodGC: gone"),
            ("10:00:05", "pod p1", "non-zero-exit", "exit code 1"),
            ("10:00:30", "pod p0", "non-zero-exit", "exit code 143"),
            (None, "pod p2", "unknown", "exit code 137 (ContainerStatusUnknown)"),
        ],
    ),
    (
        "a child Job's deadline, then its pods",
        plain(tj(FAILED), JS(), child_job("Failed=True/DeadlineExceeded@10:08:00: late"), pod("p0").failed().exit(143)),
        [
            ("10:08:00", "Job train-3-node-0", "timeout", "Failed: DeadlineExceeded: late"),
            ("10:00:00", "pod p0", "non-zero-exit", "exit code 143"),
        ],
    ),
    (
        "an eviction, then what the pods say of it",
        kueue(tj(), JS(), WL("Evicted=True/Preempted@10:07:00: by w9").admitted(), pod("p0").exit(143, at="10:07:02")),
        [
            ("10:07:00", WORKLOAD, "preempted", "Evicted: Preempted: by w9"),
            ("10:07:02", "pod p0", "non-zero-exit", "exit code 143"),
        ],
    ),
    (
        "a pending object's pods are not asked",
        kueue(tj().suspend(), JS(), WL("Evicted=True/Preempted@10:07:00: by w9"), pod("p0").failed().exit(143)),
        [("10:07:00", WORKLOAD, "preempted", "Evicted: Preempted: by w9")],
    ),
    (
        "pods that were not ready in time come before the eviction for it",
        kueue(tj().suspend(), JS(), WL("Evicted=True/PodsReadyTimeout@10:07:00: late"), pod("p0").failed().exit(2)),
        [
            ("10:00:00", "pod p0", "non-zero-exit", "exit code 2"),
            ("10:07:00", WORKLOAD, "unknown", "Evicted: PodsReadyTimeout: late"),
        ],
    ),
    (
        "each lost node once, then what the pods say",
        plain(
            tj(),
            JS(),
            pod("p0").on("n9"),
            pod("p1").on("n2"),
            pod("p2").on("n2"),
            pod("p3").failed().exit(1),
            node("n2", "Ready=False/KubeletNotReady@10:06:00: down"),
        ),
        [
            ("10:06:00", "node n2", "node-lost", "Ready=False: KubeletNotReady: down (pod p1 and 1 more)"),
            (None, "node n9", "node-lost", "not found (pod p0)"),
            ("10:00:00", "pod p3", "non-zero-exit", "exit code 1"),
        ],
    ),
    (
        "a queue's stop",
        kueue(tj(), WL("Evicted=True/LocalQueueStopped@10:04:00: stopped")),
        [("10:04:00", WORKLOAD, "none", "Evicted: LocalQueueStopped: stopped")],
    ),
    (
        "a person's deactivation",
        kueue(tj(), WL("Evicted=True/Deactivated@10:04:00: off").inactive()),
        [("10:04:00", WORKLOAD, "none", "Evicted: Deactivated: off")],
    ),
    (
        "our own deadline",
        kueue(tj(), WL().inactive().ann(api.COMMITTED, "2026-11-29T10:05:00Z attempt=2 uid=wl-1")),
        [("10:05:00", WORKLOAD, "timeout", "admission deadline exceeded: 2026-11-29T10:05:00Z")],
    ),
    (
        "conditions nobody knows, in their order",
        plain(tj("Odd=True/A@10:08:00: a", "Even=True/B@-"), JS()),
        [("10:08:00", "TrainJob train-3", "unknown", "Odd: A: a"), (None, "TrainJob train-3", "unknown", "Even: B")],
    ),
]


@pytest.mark.parametrize(("given", "want"), [pytest.param(g, w, id=name) for name, g, w in EVIDENCE])
def test_evidence(given: Input, want: list[Seen]) -> None:
    assert seen(given) == want


@pytest.mark.parametrize("given", [g for _, g, _ in EVIDENCE])
def test_an_observation_is_its_explanations(given: Input) -> None:
    assert explain(given.case, given.settings, T0).observation == given.observe()


def test_the_workload_and_the_queue_it_names() -> None:
    workload = WL().admitted()
    workload.spec["queueName"] = "gpu"
    told = kueue(tj().label(api.QUEUE_NAME, "old"), workload).explain()
    assert (told.workload, told.queue) == ("trainjob-train-3-ab12c", "gpu")


def test_the_queue_its_own_label_names() -> None:
    assert [kueue(job).explain().queue for job in (tj().label(api.QUEUE_NAME, "gpu"), tj())] == ["gpu", ""]


def test_plain_mode_asks_for_neither() -> None:
    told = plain(tj().label(api.QUEUE_NAME, "gpu"), WL().admitted()).explain()
    assert (told.workload, told.queue) == ("", None)
