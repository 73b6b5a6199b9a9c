"""What ``status.reason`` of a pod says (reference/classification.md table B2)."""

import re
from typing import Final

from classifier.objects import PodStatus
from classifier.state.observation import CauseKind
from classifier.state.words import one_line

_REASONS: Final = {
    "Preempting": CauseKind.PREEMPTED,
    "Terminated": CauseKind.NODE_LOST,
    "NodeShutdown": CauseKind.NODE_LOST,
    "Shutdown": CauseKind.NODE_LOST,
    "NodeLost": CauseKind.NODE_LOST,
    "DeadlineExceeded": CauseKind.TIMEOUT,
}
#: How the kubelet says what a node ran short of (Kubernetes: pkg/kubelet/eviction/helpers.go).
_RESOURCE: Final = re.compile(r"The node was low on resource: ([A-Za-z0-9-]+)")
_PRESSURE: Final = re.compile(r"The node had condition: \[([^\]]*)\]")


def refused(status: PodStatus, *messages: str | None) -> CauseKind:
    """Unknown if the reason decides nothing. An eviction's cause is in the first message that names one."""
    reason = status.reason or ""
    if reason == "Evicted":
        short_of_memory = any(_memory(one_line(message)) for message in messages)
        return CauseKind.OUT_OF_MEMORY if short_of_memory else CauseKind.UNKNOWN
    if reason.startswith("OutOf") and reason != "OutOf":
        return CauseKind.NO_CAPACITY  # OutOfcpu, OutOfnvidia.com/gpu: refused on arrival, the scheduler was wrong
    return _REASONS.get(reason, CauseKind.UNKNOWN)


def _memory(message: str) -> bool:
    if resource := _RESOURCE.match(message):
        return resource[1] == "memory"
    pressure = _PRESSURE.match(message)
    return pressure is not None and "MemoryPressure" in re.split(r"[\s,]+", pressure[1])
