"""A pod's second finding: how its step container ended (reference/classification.md §C8, table B3)."""

from collections.abc import Sequence
from typing import Final

from classifier.numbers import moment
from classifier.objects import ContainerStatus, Pod, PodStatus, Terminated
from classifier.state.finding import Finding, found_on
from classifier.state.kinds.view import FIRST
from classifier.state.observation import CauseKind
from classifier.state.words import one_line, titled

#: Longer ones are logs.
_MESSAGE: Final = 256
_KILLED: Final = "OOMKilled"
_LOST: Final = ("ContainerStatusUnknown", "Unknown")
_STEP: Final = "node"


def container(pod: Pod, status: PodStatus, steps: Sequence[str]) -> Finding | None:
    """Of the step container that failed, the earliest if there are several; else of what had to run before it."""
    statuses = status.container_statuses or ()
    if FIRST in steps and statuses:
        steps = [_first(pod, statuses) if step == FIRST else step for step in steps]
    found = _earliest(pod, [one for one in statuses if one.name in steps])
    if found is None and status.init_container_statuses:
        found = _earliest(pod, _before(pod, status.init_container_statuses))
    return found


def _earliest(pod: Pod, statuses: Sequence[ContainerStatus]) -> Finding | None:
    deleting = pod.metadata.deletion_timestamp is not None
    found = [finding for one in statuses if (finding := _ended(pod, one, deleting)) is not None]
    if len(found) < 2:
        return found[0] if found else None
    return min(found, key=lambda finding: (finding.at is None, finding.at or 0, finding.text))


def _before(pod: Pod, statuses: Sequence[ContainerStatus]) -> list[ContainerStatus]:
    """Init containers without the sidecars among them: those end with the pod, and are not the cause."""
    containers = (pod.spec.init_containers if pod.spec else None) or ()
    sidecars = {one.name for one in containers if one.restart_policy == "Always"}
    return [one for one in statuses if one.name not in sidecars]


def _first(pod: Pod, statuses: Sequence[ContainerStatus]) -> str:
    """By the spec: the kubelet sorts its statuses by name."""
    containers = pod.spec.containers if pod.spec else None
    return containers[0].name if containers else min(one.name for one in statuses)


def _ended(pod: Pod, one: ContainerStatus, deleting: bool) -> Finding | None:
    record = _record(one, deleting)
    kind, text = _judged(record) if record is not None else (None, "")
    if record is None or kind is None:
        return None
    if one.name != _STEP and (name := one_line(one.name)):
        text = f"container {name} {text}"
    return found_on(pod, moment(record.finished_at), kind, text, "container")


def _record(one: ContainerStatus, deleting: bool) -> Terminated | None:
    """The end that counts. One that restarted in place and runs again has none."""
    now = one.state.terminated if one.state else None
    last = one.last_state.terminated if one.last_state else None
    if now is not None:
        # The kill is the deletion's; the failure came before (§F6).
        swept = deleting and now.exit_code in (137, 143) and now.reason != _KILLED
        return last if swept and last is not None and _judged(last)[0] is not None else now
    return last if one.state is not None and one.state.waiting is not None else None


def _judged(record: Terminated) -> tuple[CauseKind | None, str]:
    """None: no failure."""
    code, reason = f"exit code {record.exit_code}", one_line(record.reason)
    if reason == _KILLED:
        return CauseKind.OUT_OF_MEMORY, f"{code} ({reason})"
    if reason in _LOST:
        return CauseKind.UNKNOWN, f"{code} ({reason})"
    if record.exit_code == 0:
        return None, ""
    shown = f"{code} ({reason})" if reason not in ("", "Error") else code
    first = next((line for line in map(str.strip, (record.message or "").splitlines()) if line), "")
    return CauseKind.NON_ZERO_EXIT, titled(shown, first[:_MESSAGE].rstrip())
