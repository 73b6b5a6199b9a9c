"""The pods of one ``kueue.x-k8s.io/pod-group-name``, seen as one job.

Kueue: pkg/controller/jobs/pod/pod_controller.go (Finished), pkg/util/pod/pod.go (GetPodGroupName).
"""

from typing import Final

from classifier import api
from classifier.objects import Condition, Meta, PodGroup
from classifier.state.kinds import pod as single
from classifier.state.kinds.fields import direct, never, nobody
from classifier.state.kinds.view import Ending, KindView, Labels
from classifier.state.observation import CauseKind
from classifier.state.settings import Settings

#: An annotation, since Kueue 0.18, or else a label.
GROUP_NAME: Final = "kueue.x-k8s.io/pod-group-name"
TOTAL_COUNT: Final = "kueue.x-k8s.io/pod-group-total-count"
#: On pods of a LeaderWorkerSet or a StatefulSet, whose groups, and the Workloads of them, are its own.
SUSPENDING_PARENT: Final = "kueue.x-k8s.io/pod-suspending-parent"
_SERVING: Final = "kueue.x-k8s.io/pod-group-serving"
_RETRIABLE: Final = "kueue.x-k8s.io/retriable-in-group"


def group_name(pod: Meta) -> str | None:
    """The group a pod belongs to, if any."""
    return pod.annotation(GROUP_NAME) or pod.label(GROUP_NAME) or None


def stopped(group: PodGroup) -> bool:
    """While no pod of it may run. A replacement that is still gated beside running pods stops nobody."""
    waiting = [pod for pod in group.pods if not single.finished(pod)]
    return bool(waiting) and all(single.gated(pod) for pod in waiting)


def at_rest(group: PodGroup) -> bool:
    """Whether nothing of it runs, nor can: each pod is gated, or has ended."""
    return all(single.gated(pod) or single.finished(pod) for pod in group.pods)


def ending(group: PodGroup) -> Ending | None:
    """All succeeded, or all ended and none may be replaced. Groups that serve never end."""
    total = _total(group)
    if group.annotation(_SERVING) == "true" or total is None:
        return None
    succeeded = sum(single.phase(pod) == "Succeeded" for pod in group.pods)
    if succeeded == total:
        return Ending(CauseKind.COMPLETED, _words(group, "Succeeded", succeeded, total))
    final = any(pod.annotation(_RETRIABLE) == "false" for pod in group.pods)
    if not final or not all(single.finished(pod) for pod in group.pods):
        return None
    stops = [end for pod in group.pods if (end := single.stopped(pod))]
    return min(stops, key=_stop_order) if stops else Ending(None, _words(group, "Failed", succeeded, total))


def _words(group: PodGroup, reason: str, succeeded: int, total: int) -> Condition:
    """The end as a condition would state it, dated by the last pod's."""
    ends = [_ended_at(end) for pod in group.pods if (end := single.ending(pod))]
    return Condition(
        type="Finished",
        status="True",
        reason=reason,
        message=f"Pods succeeded: {succeeded}/{total}.",
        last_transition_time=max(ends, default="") or None,
    )


def _stop_order(ending: Ending) -> tuple[str, str, str]:
    """The first stop explains the others; at one second any order that is not the pods' will do."""
    return _ended_at(ending), ending.words.reason or "", ending.words.message or ""


def _ended_at(ending: Ending) -> str:
    """RFC 3339 in UTC and whole seconds, as conditions are dated: it sorts as it stands."""
    return ending.words.last_transition_time or ""


def _total(group: PodGroup) -> int | None:
    text = group.annotation(TOTAL_COUNT) or ""
    # Longer numbers are no counts, and int() refuses the longest.
    return int(text) or None if text.isascii() and text.isdigit() and len(text) < 10 else None


def pods(group: PodGroup, settings: Settings) -> tuple[Labels, ...]:
    """Where the name is a label. ``group.pods`` are all of them either way."""
    name = group.label(GROUP_NAME)
    return ({GROUP_NAME: name},) if name else ()


VIEW = KindView(
    resource=api.PODS._replace(kind="PodGroup"),
    type_=PodGroup,
    suspended=stopped,
    foreign=single.foreign,
    paused=stopped,
    ending=ending,
    conditions=single.conditions,
    known=frozenset(),
    children=direct,
    pods=pods,
    part_of=nobody,
    restart=never,
    controls_workload=False,
    gates_pods=True,
)
