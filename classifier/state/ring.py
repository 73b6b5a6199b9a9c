"""The last states of deleted pods, the latest of each TrainJob (reference/classification.md §C14, 4).

Keyed by the TrainJob's UID, not its name: a resubmission under one name must not inherit evidence. In memory only.
"""

from collections import OrderedDict
from sys import intern
from typing import Final

from classifier.objects import (
    Condition,
    Container,
    ContainerState,
    ContainerStatus,
    Metadata,
    Pod,
    PodSpec,
    PodStatus,
    Terminated,
)

#: The conditions that the rules read of a pod, and how the labels and annotations end that they read: what precedes
#: them is configuration.
_CONDITIONS: Final = frozenset({"DisruptionTarget", "KueueFailureRecovery", "PodScheduled", "Ready"})
_LABELS: Final = ("job-id", "submission", "jobset-name", "jobset-uid", "replicatedjob-name", "restart-attempt")
_ANNOTATIONS: Final = ("admission", "admission-count")
#: No rule reads more of a container's message than its first line, nor more of that than this.
_MESSAGE: Final = 256


class Ring:
    """A pod deleted twice moves to the end; the one too many drops the oldest."""

    def __init__(self, size: int = 256) -> None:
        self._size = size
        self._pods: dict[str, OrderedDict[str, Pod]] = {}

    def deleted(self, trainjob_uid: str, pod: Pod) -> None:
        pods = self._pods.setdefault(trainjob_uid, OrderedDict())
        pods.pop(pod.uid, None)
        pods[pod.uid] = strip(pod)
        while len(pods) > self._size:
            pods.popitem(last=False)

    def of(self, trainjob_uid: str) -> tuple[Pod, ...]:
        """In the order of deletion."""
        return tuple(self._pods.get(trainjob_uid, {}).values())

    def drop(self, trainjob_uid: str) -> None:
        """The TrainJob is gone, and its last pod too."""
        self._pods.pop(trainjob_uid, None)

    @property
    def uids(self) -> tuple[str, ...]:
        """Of the TrainJobs that have evidence."""
        return tuple(self._pods)


def strip(pod: Pod) -> Pod:
    """What the rules read of it: full pods of many gangs are real memory."""
    meta = pod.metadata
    kept = Metadata(
        name=meta.name,
        namespace=meta.namespace,
        uid=meta.uid,
        creation_timestamp=meta.creation_timestamp,
        deletion_timestamp=meta.deletion_timestamp,
        labels=_some(meta.labels, _LABELS),
        annotations=_some(meta.annotations, _ANNOTATIONS),
    )
    return Pod(metadata=kept, spec=_spec(pod.spec), status=_status(pod.status))


def _spec(spec: PodSpec | None) -> PodSpec | None:
    if spec is None:
        return None
    containers = [Container(name=intern(c.name)) for c in spec.containers or ()]
    before = [
        Container(name=intern(c.name), restart_policy=_shared(c.restart_policy)) for c in spec.init_containers or ()
    ]
    return PodSpec(node_name=_shared(spec.node_name), containers=containers or None, init_containers=before or None)


def _status(status: PodStatus | None) -> PodStatus | None:
    if status is None:
        return None
    return PodStatus(
        phase=_shared(status.phase),
        reason=_shared(status.reason),
        message=_shared(status.message),
        conditions=[_condition(c) for c in status.conditions or () if c.type in _CONDITIONS] or None,
        init_container_statuses=[_container(one) for one in status.init_container_statuses or ()] or None,
        container_statuses=[_container(one) for one in status.container_statuses or ()] or None,
    )


def _some(pairs: dict[str, str] | None, names: tuple[str, ...]) -> dict[str, str] | None:
    # The pods of a gang say much the same: one copy of it will do.
    return {intern(k): intern(v) for k, v in (pairs or {}).items() if k.endswith(names)} or None


def _condition(condition: Condition) -> Condition:
    return Condition(
        type=intern(condition.type),
        status=intern(condition.status),
        reason=_shared(condition.reason),
        message=_shared(condition.message),
        last_transition_time=_shared(condition.last_transition_time),
    )


def _shared(text: str | None) -> str | None:
    return None if text is None else intern(text)


def _container(one: ContainerStatus) -> ContainerStatus:
    return ContainerStatus(name=intern(one.name), state=_state(one.state), last_state=_state(one.last_state))


def _state(state: ContainerState | None) -> ContainerState | None:
    end = state.terminated if state else None
    if state is None or end is None:
        return state
    first = end.message.lstrip().partition("\n")[0][:_MESSAGE] if end.message else None
    kept = Terminated(
        exit_code=end.exit_code, reason=_shared(end.reason), message=first, finished_at=_shared(end.finished_at)
    )
    return ContainerState(terminated=kept, waiting=state.waiting)
