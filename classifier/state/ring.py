"""The last states of deleted pods, the latest of each TrainJob (reference/classification.md §C14, 4).

Keyed by the TrainJob's UID, not its name: a resubmission under one name must not inherit evidence. In memory only.
"""

import sys
from collections import OrderedDict
from typing import Final

import msgspec

from classifier.objects import Condition, Container, ContainerState, ContainerStatus, Metadata, Pod, PodSpec, PodStatus

#: The conditions that the rules read of a pod, and what they read of its labels and annotations (the part after the
#: prefix, which is configuration).
_CONDITIONS: Final = frozenset({"DisruptionTarget", "KueueFailureRecovery", "PodScheduled", "Ready"})
_LABELS: Final = frozenset(
    {"job-id", "submission", "jobset-name", "jobset-uid", "replicatedjob-name", "restart-attempt", "job-index"}
)
_ANNOTATIONS: Final = frozenset({"admission", "admission-count"})
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

    def clear(self) -> None:
        """The last watch has closed."""
        self._pods.clear()

    @property
    def uids(self) -> tuple[str, ...]:
        """Of the TrainJobs that have evidence."""
        return tuple(self._pods)


def strip(pod: Pod) -> Pod:
    """What the rules read of it: full pods of many gangs are real memory."""
    meta, spec, status = pod.metadata, pod.spec, pod.status
    return Pod(
        metadata=Metadata(
            name=meta.name,
            namespace=meta.namespace,
            uid=meta.uid,
            creation_timestamp=meta.creation_timestamp,
            deletion_timestamp=meta.deletion_timestamp,
            labels=_some(meta.labels, _LABELS),
            annotations=_some(meta.annotations, _ANNOTATIONS),
            owner_references=meta.owner_references,
        ),
        spec=PodSpec(
            node_name=spec.node_name, containers=[Container(name=c.name) for c in spec.containers or ()] or None
        )
        if spec
        else None,
        status=PodStatus(
            phase=status.phase,
            reason=status.reason,
            message=status.message,
            conditions=[_condition(c) for c in status.conditions or () if c.type in _CONDITIONS] or None,
            container_statuses=[_container(one) for one in status.container_statuses or ()] or None,
        )
        if status
        else None,
    )


def _some(pairs: dict[str, str] | None, names: frozenset[str]) -> dict[str, str] | None:
    return {sys.intern(k): v for k, v in (pairs or {}).items() if k.rpartition("/")[2] in names} or None


def _condition(condition: Condition) -> Condition:
    return msgspec.structs.replace(condition, observed_generation=None)


def _container(one: ContainerStatus) -> ContainerStatus:
    return msgspec.structs.replace(one, state=_state(one.state), last_state=_state(one.last_state))


def _state(state: ContainerState | None) -> ContainerState | None:
    end = state.terminated if state else None
    if state is None or end is None or not end.message:
        return state
    first = end.message.lstrip().partition("\n")[0][:_MESSAGE]
    return msgspec.structs.replace(state, terminated=msgspec.structs.replace(end, message=first))
