"""Vectors of reference/classification.md §D: jobs that run, in plain mode or admitted by Kueue."""

import pytest

from classifier.state.settings import Mode
from tests.unit.state.builders import (
    FORBIDDEN,
    JS,
    TJ,
    WL,
    Input,
    Said,
    node,
    plain,
    pod,
    ready,
    running,
    said,
    vector,
)

BY_KUBELET = "DisruptionTarget=True/TerminationByKubelet: "
LOW_ON_MEMORY = "The node was low on resource: memory. "
CRITICAL = "Pod was preempted by Kubelet to accommodate a critical pod."
NO_GPU = "0/3 nodes are available: 3 Insufficient nvidia.com/gpu."
SILENT = "NodeStatusUnknown@10:01:00: Kubelet stopped posting node status."

VECTORS = [
    vector(
        "T16 CrashLoopBackOff: state.waiting with lastState exit 1, object running",
        plain(TJ(), JS(), pod("p0").waiting("CrashLoopBackOff", "back-off 20s").last(1)),
        running(
            "non-zero-exit",
            "container",
            "pod p0: exit code 1; pod p0 container node waiting: CrashLoopBackOff: back-off 20s",
            R=1,
        ),
    ),
    vector(
        "T17 container restarted in place and running again: lastState is not a finding",
        plain(TJ(), JS(), pod("p0").running().last(1)),
        running(R=1),
    ),
    vector(
        "T20 Succeeded pod with DisruptionTarget=True is no finding; DisruptionTarget=False is no finding",
        plain(
            TJ(),
            JS(),
            pod("p0").phase("Succeeded").has("DisruptionTarget=True/EvictionByEvictionAPI").exit(0, "Completed"),
            pod("p1").has("DisruptionTarget=False/EvictionByEvictionAPI"),
        ),
        running(R=1),
    ),
    vector(
        "T21 memory-pressure eviction",
        plain(TJ(), JS(), pod("p0").failed("Evicted", LOW_ON_MEMORY).has(BY_KUBELET + LOW_ON_MEMORY)),
        running("out-of-memory", "pod", "pod p0: TerminationByKubelet: The node was low on resource: memory.", R=1),
    ),
    vector(
        "T23 kubelet preempts for a critical pod",
        plain(TJ(), JS(), pod("p0").failed("Preempting", CRITICAL).has(BY_KUBELET + CRITICAL)),
        running(
            "preempted",
            "pod",
            "pod p0: TerminationByKubelet: Pod was preempted by Kubelet to accommodate a critical pod.",
            R=1,
        ),
    ),
    vector(
        "T24 JobSet ExclusivePlacementViolation",
        plain(
            TJ(),
            JS(),
            pod("p1").has(
                "DisruptionTarget=True/ExclusivePlacementViolation: Pod violated JobSet exclusive placement policy"
            ),
        ),
        running(
            "unknown",
            "",
            "pod p1: ExclusivePlacementViolation: Pod violated JobSet exclusive placement policy",
            R=1,
        ),
    ),
    vector(
        "T25 device taint",
        plain(
            TJ(),
            JS(),
            pod("p1").has(
                "DisruptionTarget=True/DeletionByDeviceTaintManager: "
                "Device Taint manager: deleting due to NoExecute taint"
            ),
        ),
        running(
            "node-lost",
            "pod",
            "pod p1: DeletionByDeviceTaintManager: Device Taint manager: deleting due to NoExecute taint",
            R=1,
        ),
    ),
    vector(
        "T26 no DisruptionTarget, pod rejected by kubelet: reason OutOfnvidia.com/gpu",
        plain(TJ(), JS(), pod("p0").failed("OutOfnvidia.com/gpu", "Node didn't have enough resource")),
        running("no-capacity", "pod", "pod p0: OutOfnvidia.com/gpu: Node didn't have enough resource", R=1),
    ),
    vector(
        "T28 running, n2 Ready=Unknown, peer p0 exited earlier: node-lost is asked first",
        plain(
            TJ(),
            JS(),
            pod("p0").failed().exit(1),
            pod("p1").on("n2"),
            ready("n1"),
            node("n2", f"Ready=Unknown/{SILENT}"),
        ),
        running(
            "node-lost",
            "node",
            "pod p1: node n2 Ready=Unknown: NodeStatusUnknown: Kubelet stopped posting node status.",
            R=1,
        ),
    ),
    vector(
        "T29 same as T28 but Nodes may not be read",
        plain(TJ(), JS(), pod("p0").failed().exit(1), pod("p1").on("n2"), FORBIDDEN),
        running("non-zero-exit", "container", "pod p0: exit code 1; Nodes could not be read", R=1),
    ),
    vector(
        "T30 bound to a Node that no longer exists",
        plain(TJ(), JS(), pod("p1").on("n9")),
        running("node-lost", "node", "pod p1: node n9 not found", R=1),
    ),
    vector(
        "T63 running, pods unschedulable, image pull error in the second pod",
        plain(
            TJ(),
            JS(),
            pod("p0").unscheduled(NO_GPU),
            pod("p1").pending().waiting("ImagePullBackOff", "Back-off pulling image"),
        ),
        running(
            detail="1 of 2 pods unscheduled: pod p0: Unschedulable: 0/3 nodes are available: 3 Insufficient "
            "nvidia.com/gpu.; pod p1 container node waiting: ImagePullBackOff: Back-off pulling image",
            R=1,
        ),
    ),
    vector("T64 running, no JobSet yet", plain(TJ()), running(detail="no JobSet")),
    vector(
        "T66 unknown TrainJob condition, state unchanged",
        plain(TJ("Throttled=True/Quota: slow down", "Odd=True/Why", "Odd2=False/No"), JS(), pod("p0")),
        running("unknown", "", "TrainJob Throttled: Quota: slow down; TrainJob Odd: Why", R=1),
    ),
    vector(
        "T69 foreign: leftover JobSet of an older TrainJob",
        plain(TJ(), JS().owner("tj-0")),
        running(detail="JobSet train-3 is not controlled by this TrainJob", foreign=True),
    ),
    vector(
        "T70 foreign: contradicting submission label",
        plain(TJ().labels(job_id="train", submission="9"), JS(), pod("p0")),
        running(detail="label P/submission is 9, the name says 3", R=1, foreign=True),
    ),
    vector(
        "T71 labels stripped: not foreign",
        plain(TJ().labels(), JS(), pod("p0").dispatch_labels()),
        running(R=1),
    ),
    vector(
        "T74 TrainJob being deleted",
        plain(TJ().deleting("example.com/hold"), JS(), pod("p0")),
        running(detail="TrainJob deleting since 2026-11-29T10:00:00Z, finalizers example.com/hold", R=1),
    ),
    vector(
        "T80 drain through the Eviction API",
        plain(
            TJ(),
            JS(),
            pod("p0").has("DisruptionTarget=True/EvictionByEvictionAPI: Eviction API: evicting").deleting(),
        ),
        running("preempted", "pod", "pod p0: EvictionByEvictionAPI: Eviction API: evicting", R=1),
    ),
    vector("T87 conditions absent altogether (TrainJob just created, plain)", plain(TJ()), running(detail="no JobSet")),
]


@pytest.mark.parametrize(("given", "want"), VECTORS)
def test_running_in_plain_mode(given: Input, want: Said) -> None:
    assert said(given.observe()) == want


@pytest.mark.parametrize(("given", "want"), VECTORS)
def test_running_is_the_same_in_kueue_mode_once_admitted(given: Input, want: Said) -> None:
    assert said(given.but(WL().admitted(), mode=Mode.KUEUE).observe()) == want


@pytest.mark.parametrize(
    ("given", "want"),
    [
        vector(
            "T75 plain mode ignores the Workload even when one exists",
            plain(TJ(), JS(), WL().inactive(), pod("p0")),
            running(R=1),
        )
    ],
)
def test_plain_mode_only(given: Input, want: Said) -> None:
    assert said(given.observe()) == want
