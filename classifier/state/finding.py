"""One thing that a pod, its container or its Node says (reference/classification.md §C8)."""

import msgspec

from classifier.objects import Pod
from classifier.state.observation import CauseKind


class Finding(msgspec.Struct, frozen=True, gc=False):
    at: int | None
    pod: str
    uid: str
    kind: CauseKind
    text: str
    source: str  # pod, container or node: the provenance of a cause that it states


def found_on(pod: Pod, at: int | None, kind: CauseKind, text: str, source: str) -> Finding:
    return Finding(at, pod.metadata.name, pod.metadata.uid, kind, text, source)
