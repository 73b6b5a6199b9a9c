"""Which Workloads wait, and which of them are alike: those are judged once."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from classifier import api, scope
from classifier.fit import Outcome, why_not_judged_waiting
from classifier.objects import Meta, Metadata, OwnerReference, Workload, WorkloadSpec
from controller.shapes import Shape, Waiting

#: Conditions in which Kueue looks for quota no more.
_NO_MORE: Final = (api.QUOTA_RESERVED, api.FINISHED)


def waits(workload: Workload) -> bool:
    """Whether Kueue looks for quota for it, here and for all of it."""
    conditions = (workload.status.conditions if workload.status else None) or ()
    return (
        workload.active
        and not any(one.type in _NO_MORE and one.status == "True" for one in conditions)
        and why_not_judged_waiting(workload) is None
    )


class Alike(NamedTuple):
    """All that the judgement of a waiting Workload rests on, besides the world. ``shape`` is compared by identity."""

    namespace: str
    queue: str
    shape: Shape
    #: Group and kind of the first owner that counts.
    maker: tuple[str, str]
    #: What the job, or the Workload, asks of preflight itself.
    mode: str | None


@dataclass(slots=True, eq=False)
class Kind:
    """Workloads that are alike, by their keys, and the verdict on all of them: None while there is none."""

    alike: Alike
    keys: set[str] = field(default_factory=set)
    outcome: Outcome | None = None
    line: str = ""

    def workload(self) -> Workload:
        """One like them, to be judged."""
        alike = self.alike
        group, kind = alike.maker
        owner = OwnerReference(api_version=f"{group}/", kind=kind, controller=True)
        return Workload(
            metadata=Metadata(
                namespace=alike.namespace,
                annotations={api.PREFLIGHT_MODE: alike.mode} if alike.mode is not None else None,
                owner_references=[owner] if kind else None,
            ),
            spec=WorkloadSpec(queue_name=alike.queue, pod_sets=alike.shape.podsets()),
        )


class Kinds:
    """What waits, by what is alike. ``update`` after every change of a Workload or its owner."""

    def __init__(self) -> None:
        self._kinds: dict[Alike, Kind] = {}
        self._kind_of: dict[str, Kind] = {}

    def __len__(self) -> int:
        return len(self._kinds)

    def __iter__(self) -> Iterator[Kind]:
        """As they are now: others may come and go meanwhile."""
        return iter(tuple(self._kinds.values()))

    def update(self, key: str, workload: Workload | None, owner: Meta | None) -> Kind | None:
        """Put ``key`` where it belongs now; None if it does not wait."""
        alike = _alike(workload, owner)
        before = self._kind_of.get(key)
        if before is not None and before.alike != alike:
            del self._kind_of[key]
            before.keys.discard(key)
            if not before.keys:
                del self._kinds[before.alike]
        if alike is None:
            return None
        kind = self._kinds.get(alike)
        if kind is None:
            kind = self._kinds[alike] = Kind(alike)
        kind.keys.add(key)
        self._kind_of[key] = kind
        return kind


def _alike(workload: Workload | None, owner: Meta | None) -> Alike | None:
    if not isinstance(workload, Waiting) or workload.shape is None:
        return None
    owners = workload.metadata.owner_references
    reference = scope.owner_of(workload) or next(iter(owners or ()), None)
    return Alike(
        namespace=workload.namespace,
        queue=workload.queue_name,
        shape=workload.shape,
        maker=(reference.group, reference.kind) if reference else ("", ""),
        mode=(owner or workload).annotation(api.PREFLIGHT_MODE),
    )
