"""The podsets of what waits, packed and shared: most of 20,000 Workloads are alike, and none is read until judged."""

from typing import Final
from weakref import WeakValueDictionary

import msgspec

from classifier.api import KUEUE_GROUP
from classifier.objects import Metadata, PodSet, PodSpec, PodTemplate, Workload

_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgspec.msgpack.Decoder(list[PodSet])


class Shape:
    """Podsets as some Workloads have them. Equal ones are one object while any of those Workloads is kept."""

    __slots__ = ("__weakref__", "_packed")

    def __init__(self, packed: bytes) -> None:
        self._packed = packed

    def podsets(self) -> list[PodSet]:
        return _DECODER.decode(self._packed)


class Shapes:
    """All shapes that are in use."""

    def __init__(self) -> None:
        self._known: WeakValueDictionary[bytes, Shape] = WeakValueDictionary()

    def __len__(self) -> int:
        return len(self._known)

    def of(self, podsets: list[PodSet]) -> Shape | None:
        """Their shape; what it leaves out is gone from them. None for what cannot be packed, nor judged either."""
        try:
            for podset in podsets:
                _leave_out(podset.template)
            packed = _ENCODER.encode(podsets)
        except (ValueError, TypeError, OverflowError, RecursionError):
            return None
        shape = self._known.get(packed)
        if shape is None:
            shape = self._known[packed] = Shape(packed)
        return shape


class Waiting(Workload):
    """A Workload that waits, as it is kept: with the shape of its podsets in place of them."""

    shape: Shape | None = None


def _leave_out(template: PodTemplate | None) -> None:
    """What is another for each job and bears on no judgement, or no two of them would be alike."""
    if template is None or template.metadata is None:
        return
    notes, labels = template.metadata.annotations, template.metadata.labels
    if notes:
        notes = {key: value for key, value in notes.items() if key.partition("/")[0] == KUEUE_GROUP}
    template.metadata = Metadata(labels=labels if _looks_at_pods(template.spec) else None, annotations=notes or None)


def _looks_at_pods(spec: PodSpec | None) -> bool:
    """Whether the labels of its pods may matter to where they can stand."""
    affinity = spec.affinity if spec else None
    return bool(
        (spec and spec.topology_spread_constraints)
        or (affinity and (affinity.pod_affinity is not None or affinity.pod_anti_affinity is not None))
    )
