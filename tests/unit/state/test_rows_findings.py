"""Rows of reference/classification.md §C8, with tables B1, B2 and B3: what one pod says of a failure."""

from typing import Any

import pytest

from tests.unit.state.builders import (
    JS,
    TJ,
    Input,
    PodTold,
    Said,
    ended,
    plain,
    pod,
    running,
    said,
    vector,
)

KUBELET = "TerminationByKubelet"
SHUTDOWN = "Pod was terminated in response to imminent node shutdown."
MEMORY = "The node was low on resource: memory. Threshold quantity: 100Mi, available: 8Mi. "
PRESSURE = "The node had condition: [MemoryPressure]. "
DISK = "The node was low on resource: ephemeral-storage. Threshold quantity: 1Gi, available: 8Mi. "
DISK_PRESSURE = "The node had condition: [DiskPressure]. "
EMPTY_DIR = 'Usage of EmptyDir volume "scratch" exceeds the limit "1Gi". '
LONG = "x" * 300


EXITED = {"state": {"terminated": {"exitCode": 1}}}


def row(name: str, built: PodTold, kind: str = "none", provenance: str = "", text: str = "") -> Any:
    """A running job of that one pod, ``p0``."""
    detail = f"pod p0: {text}" if text else ""
    return vector(f"C8 {name}", plain(TJ(), JS(), built), running(kind, provenance, detail, R=1))


def disrupted(reason: str, kind: str) -> Any:
    provenance = "" if kind == "unknown" else "pod"
    return row(
        f"B1 {reason}", pod("p0").has(f"DisruptionTarget=True/{reason}: why"), kind, provenance, f"{reason}: why"
    )


def by_kubelet(reason: str, message: str, kind: str) -> Any:
    """Both the condition and the status say it, as a kubelet writes them."""
    built = pod("p0").failed(reason, message).has(f"DisruptionTarget=True/{KUBELET}: {message}")
    provenance = "" if kind == "unknown" else "pod"
    return row(f"B2 kubelet, {reason}: {message[:40]}", built, kind, provenance, f"{KUBELET}: {message.strip()}")


def refused(reason: str, kind: str, message: str = "why") -> Any:
    """No DisruptionTarget at all."""
    provenance = "" if kind == "unknown" else "pod"
    text = f"{reason}: {message.strip()}"
    return row(f"B2 status, {reason}: {message[:40]}", pod("p0").failed(reason, message), kind, provenance, text)


B1 = [
    disrupted("PreemptionByScheduler", "preempted"),
    disrupted("EvictionByEvictionAPI", "preempted"),
    disrupted("DeletionByTaintManager", "node-lost"),
    disrupted("DeletionByPodGC", "node-lost"),
    disrupted("DeletionByDeviceTaintManager", "node-lost"),
    disrupted("ExclusivePlacementViolation", "unknown"),
    disrupted("SomethingNew", "unknown"),
    disrupted(KUBELET, "unknown"),
    *(
        row(f"DisruptionTarget={status} is no finding", pod("p0").has(f"DisruptionTarget={status}/DeletionByPodGC"))
        for status in ("False", "Unknown")
    ),
    row(
        "without a message the reason alone",
        pod("p0").has("DisruptionTarget=True/DeletionByPodGC"),
        "node-lost",
        "pod",
        "DeletionByPodGC",
    ),
    row(
        "Kueue's failure recovery deleted it by force",
        pod("p0").has("KueueFailureRecovery=True/KueueForcefullyDeleted: Pod forcefully terminated"),
        "node-lost",
        "pod",
        "KueueForcefullyDeleted: Pod forcefully terminated",
    ),
    row("Kueue's failure recovery for another reason", pod("p0").has("KueueFailureRecovery=True/Odd")),
    row("Kueue's failure recovery, over", pod("p0").has("KueueFailureRecovery=False/KueueForcefullyDeleted")),
]

B2 = [
    *(
        built
        for say in (by_kubelet, lambda reason, message, kind: refused(reason, kind, message))
        for built in (
            say("Evicted", MEMORY, "out-of-memory"),
            say("Evicted", PRESSURE, "out-of-memory"),
            say("Evicted", DISK, "unknown"),
            say("Evicted", DISK_PRESSURE, "unknown"),
            say("Evicted", EMPTY_DIR, "unknown"),
            say("Preempting", "Preempted in order to admit critical pod", "preempted"),
            say("Terminated", SHUTDOWN, "node-lost"),
            say("NodeShutdown", "Pod was rejected as the node is shutting down.", "node-lost"),
            say("Shutdown", "Node is shutting down, evicting pods", "node-lost"),
        )
    ),
    refused("NodeLost", "node-lost"),
    refused("DeadlineExceeded", "timeout", "Pod was active on the node longer than the specified deadline"),
    refused("OutOfcpu", "no-capacity"),
    refused("OutOfmemory", "no-capacity"),
    refused("OutOfpods", "no-capacity"),
    refused("OutOfnvidia.com/gpu", "no-capacity"),
    refused("OutOf", "unknown"),
    refused("UnexpectedAdmissionError", "unknown"),
    refused("NodeAffinity", "unknown"),
    refused("TopologyAffinityError", "unknown"),
    refused("PodOSNotSupported", "unknown"),
    row("B2 a reason while the pod runs is no finding", pod("p0").phase("Running", "NodeLost", "silent")),
    row("B2 a failed pod without a reason says nothing", pod("p0").failed()),
]

B3 = [
    row("B3 exit 1", pod("p0").failed().exit(1), "non-zero-exit", "container", "exit code 1"),
    row("B3 exit 255", pod("p0").failed().exit(255), "non-zero-exit", "container", "exit code 255"),
    row("B3 a negative code (Windows)", pod("p0").failed().exit(-1), "non-zero-exit", "container", "exit code -1"),
    row("B3 no reason", pod("p0").failed().exit(3, ""), "non-zero-exit", "container", "exit code 3"),
    row("B3 success", pod("p0").exit(0, "Completed")),
    row("B3 success without a reason", pod("p0").exit(0, "")),
    row(
        "B3 OOMKilled, another code",
        pod("p0").failed().exit(1, "OOMKilled"),
        "out-of-memory",
        "container",
        "exit code 1 (OOMKilled)",
    ),
    row(
        "B3 OOMKilled, code 0",
        pod("p0").failed().exit(0, "OOMKilled"),
        "out-of-memory",
        "container",
        "exit code 0 (OOMKilled)",
    ),
    row(
        "B3 cannot run",
        pod("p0").failed().exit(127, "ContainerCannotRun", said="no such file"),
        "non-zero-exit",
        "container",
        "exit code 127 (ContainerCannotRun): no such file",
    ),
    row(
        "B3 StartError",
        pod("p0").failed().exit(128, "StartError", said="exec: not found"),
        "non-zero-exit",
        "container",
        "exit code 128 (StartError): exec: not found",
    ),
    row(
        "B3 ContainerStatusUnknown, undated",
        pod("p0").failed().exit(137, "ContainerStatusUnknown", at="-", said="could not be located"),
        "unknown",
        "",
        "exit code 137 (ContainerStatusUnknown)",
    ),
    row("B3 Unknown", pod("p0").failed().exit(255, "Unknown"), "unknown", "", "exit code 255 (Unknown)"),
    row(
        "the first line of the message",
        pod("p0").failed().exit(1, said="CUDA error: out of memory\n  at train.py:7\n"),
        "non-zero-exit",
        "container",
        "exit code 1: CUDA error: out of memory",
    ),
    row(
        "at most 256 characters of the message",
        pod("p0").failed().exit(1, said=LONG),
        "non-zero-exit",
        "container",
        "exit code 1: " + LONG[:256],
    ),
    row(
        "256 characters, not bytes",
        pod("p0").failed().exit(1, said="é" * 300),
        "non-zero-exit",
        "container",
        "exit code 1: " + "é" * 256,
    ),
]


def killed(code: int = 143, reason: str = "Error") -> PodTold:
    """A pod that ended by its deletion."""
    return pod("p0").exit(code, reason).deleting()


RECORDS = [
    *(
        row(
            f"C8.1 killed with {code} by its deletion: the failure came before",
            killed(code).last(1),
            "non-zero-exit",
            "container",
            "exit code 1",
        )
        for code in (137, 143)
    ),
    row(
        "C8.1 the failure before was an OOM",
        killed().last(137, "OOMKilled"),
        "out-of-memory",
        "container",
        "exit code 137 (OOMKilled)",
    ),
    row(
        "C8.1 the success before is none",
        killed().last(0, "Completed"),
        "non-zero-exit",
        "container",
        "exit code 143",
    ),
    row("C8.1 nothing before", killed(), "non-zero-exit", "container", "exit code 143"),
    row(
        "C8.1 an OOM is no deletion's doing",
        killed(137, "OOMKilled").last(1),
        "out-of-memory",
        "container",
        "exit code 137 (OOMKilled)",
    ),
    row("C8.1 nor is another code", killed(1).last(2), "non-zero-exit", "container", "exit code 1"),
    row(
        "C8.1 without a deletion the last end counts",
        pod("p0").failed().exit(143).last(1),
        "non-zero-exit",
        "container",
        "exit code 143",
    ),
    row("C8.2 waiting, first time", pod("p0").pending().waiting("ContainerCreating")),
    row(
        "C8.2 waiting to start again, for no reason that is said",
        pod("p0").waiting("PodInitializing").last(9),
        "non-zero-exit",
        "container",
        "exit code 9",
    ),
    row("C8.2 waiting after a success", pod("p0").waiting("ContainerCreating").last(0, "Completed")),
    row("C8.3 nothing but a past", pod("p0").last(1)),
    *(
        row(
            f"step container {name}",
            pod("p0").failed().exit(1, of=name),
            "non-zero-exit",
            "container",
            f"container {name} exit code 1",
        )
        for name in ("dataset-initializer", "model-initializer", "launcher")
    ),
    row(
        "of two step containers the earlier end",
        pod("p0").failed().exit(1, at="10:00:05").exit(2, at="10:00:04", of="launcher"),
        "non-zero-exit",
        "container",
        "container launcher exit code 2",
    ),
    row(
        "of two step containers the one that bears a date",
        pod("p0").failed().exit(1, at="-").exit(2, at="10:00:09", of="launcher"),
        "non-zero-exit",
        "container",
        "container launcher exit code 2",
    ),
    row("another container is no step", pod("p0").failed().exit(1, of="sidecar")),
    row(
        "an init container that failed before any step ran",
        pod("p0").failed().waiting("PodInitializing").container("fetch", init=True, **EXITED),
        "non-zero-exit",
        "container",
        "container fetch exit code 1",
    ),
    row(
        "a step that failed says more than an init container",
        pod("p0").failed().exit(2).container("fetch", init=True, **EXITED),
        "non-zero-exit",
        "container",
        "exit code 2",
    ),
    row("a sidecar ends with its pod", pod("p0").failed().sidecar("proxy").container("proxy", init=True, **EXITED)),
    row("a pod that succeeded says nothing", pod("p0").phase("Succeeded").exit(1)),
    row("a pod without a status says nothing", pod("p0").phase("Pending")),
]

BOTH_SAY = [
    vector(
        "C8 a pod's two findings, dated each by its own time",
        plain(
            TJ(),
            JS(),
            pod("p0")
            .failed()
            .has("DisruptionTarget=True/EvictionByEvictionAPI@10:00:09: evicting")
            .exit(1, at="10:00:08"),
        ),
        running(
            "non-zero-exit",
            "container",
            "pod p0: exit code 1; other ranks: p0 preempted (EvictionByEvictionAPI: evicting)",
            R=1,
        ),
    ),
    vector(
        "C8 a kubelet's refusal is dated by the pod's Ready transition",
        plain(
            TJ("Failed=True/FailedJobs"),
            JS(),
            pod("p0").failed("OutOfcpu", "full").has("Ready=False/PodFailed@10:00:05"),
            pod("p1").failed().exit(1, at="10:00:06"),
            pod("p2").failed().exit(1, at="10:00:04"),
        ),
        ended(
            "non-zero-exit",
            "container",
            "pod p2: exit code 1; other ranks: p0 no-capacity (OutOfcpu: full), p1 non-zero-exit (exit code 1)",
            R=1,
        ),
    ),
    vector(
        "C8 a refusal without a Ready condition bears no date",
        plain(
            TJ("Failed=True/FailedJobs"),
            JS(),
            pod("p0").failed("NodeLost", "silent"),
            pod("p1").failed().exit(1, at="10:00:06"),
        ),
        ended("non-zero-exit", "container", "pod p1: exit code 1; other ranks: p0 node-lost (NodeLost: silent)", R=1),
    ),
    vector(
        "C8 the condition before the status: one finding, not two",
        plain(TJ(), JS(), pod("p0").failed("NodeLost", "silent").has("DisruptionTarget=True/DeletionByPodGC: gone")),
        running("node-lost", "pod", "pod p0: DeletionByPodGC: gone", R=1),
    ),
]


@pytest.mark.parametrize(("given", "want"), [*B1, *B2, *B3, *RECORDS, *BOTH_SAY])
def test_what_a_pod_says(given: Input, want: Said) -> None:
    assert said(given.observe()) == want
