"""Whether the pods of a gang that is admitted have nodes in time: the bound ``scheduledBy`` (design §3, "After
admission"). Pure; it is only ever reported.
"""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from classifier import api
from classifier.instant import format_duration, instant_or_none
from classifier.objects import Meta, Workload
from classifier.objects.meta import Conditioned, Obj
from classifier.policy import Timeout


class PlacedSpec(Obj):
    node_name: str | None = None


class PlacedStatus(Conditioned):
    phase: str | None = None


class PlacedPod(Meta):
    """Of a pod only what says whether it has a node: a gang may have thousands."""

    spec: PlacedSpec | None = None
    status: PlacedStatus | None = None

    @property
    def counts(self) -> bool:
        """Not on its way out, and not one whose place another pod takes."""
        return self.metadata.deletion_timestamp is None and (self.status is None or self.status.phase != "Failed")

    @property
    def bound(self) -> bool:
        return self.spec is not None and bool(self.spec.node_name)


class PlacedPods(Obj):
    items: list[PlacedPod] = msgspec.field(default_factory=list)


class Placement(NamedTuple):
    """What one look at the pods shows.

    ``late`` is how many have been without a node for longer than the limit, ``line`` says so. ``until``: when the next
    becomes late (ms). ``complete``: as many have nodes as were admitted; nothing more is to come.
    """

    late: int
    line: str
    until: int | None
    complete: bool


def admitted_since(workload: Workload) -> int | None:
    """Since when it is admitted (ms); None if it is not, or its pods need no more looking after.

    Where Kueue waits for pods and says that they are ready they all have nodes.
    """
    admitted = workload.condition(api.ADMITTED)
    if admitted is None or not admitted.true or not workload.active:
        return None
    if any(workload.is_true(type_) for type_ in (api.FINISHED, api.EVICTED, api.PODS_READY)):
        return None
    return instant_or_none(admitted.last_transition_time)


def pods_wanted(workload: Workload) -> int:
    """How many pods were admitted and have not ended."""
    status = workload.status
    if status is None or status.admission is None:
        return 0
    admitted = sum(one.count or 0 for one in status.admission.pod_set_assignments or ())
    return max(0, admitted - sum(one.count for one in status.reclaimable_pods or ()))


def placement(wanted: int, since: int, limit: Timeout, pods: Sequence[PlacedPod], now: int) -> Placement:
    """Judge the pods of one gang. ``since`` is when it was admitted, ``now`` the API server's time, both in ms.

    A pod has ``limit`` from its admission, or from its own creation where that came later: one that replaces another
    is not late at once. Pods that nobody has created count only while there are none at all: several kinds create
    them one after another, a launcher when its workers run.
    """
    counted = [pod for pod in pods if pod.counts]
    waiting = sorted(((_due(pod, since, limit), pod) for pod in counted if not pod.bound), key=lambda one: one[0])
    late = [pod for due, pod in waiting if due <= now]
    until = next((due for due, _ in waiting if due > now), None)
    complete = not waiting and len(counted) >= wanted
    allowed = f"longer than {format_duration(limit.millis)} after admission ({limit.source})"
    if late:
        return Placement(
            len(late),
            f"{len(late)} of {max(wanted, len(counted))} pod(s) have no node {allowed}; {_why(late[0])}",
            until,
            complete,
        )
    if wanted and not counted and since + limit.millis <= now:
        return Placement(wanted, f"none of {wanted} pod(s) has been created {allowed}", None, complete)
    return Placement(0, "", until, complete)


def _due(pod: PlacedPod, since: int, limit: Timeout) -> int:
    return max(since, instant_or_none(pod.metadata.creation_timestamp) or since) + limit.millis


def _why(pod: PlacedPod) -> str:
    condition = pod.status.condition("PodScheduled") if pod.status else None
    said = condition.message if condition is not None else None
    return f"pod {pod.name}: {said or 'not scheduled yet'}"
