"""Of each object what the controller reads of it, and nothing else: there are tens of thousands. Pure.

What is kept is copied where it would keep more alive: a Raw the whole page it was cut from.
"""

import sys
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from classifier import api
from classifier.objects import ManagedField, Pod, PodSpec, PodStatus, Workload
from classifier.state.kinds import pod as single
from classifier.state.kinds.podgroup import SUSPENDING_PARENT
from controller.shapes import Shapes, Waiting
from controller.waiting import waits

#: Annotations of other domains the decisions read.
_KEPT: Final = frozenset(
    {
        api.ADMISSION_GATED_BY,
        api.SLICE_REPLACEMENT_FOR,
        api.GROUP_WORKLOAD,
        api.POD_GROUP_NAME,
        api.PREBUILT_WORKLOAD,
        SUSPENDING_PARENT,
    }
)
#: The same of labels.
_LABELS: Final = frozenset({api.MULTIKUEUE_ORIGIN, api.POD_GROUP_NAME, api.PREBUILT_WORKLOAD})
#: Of a Workload whose wait was ended, to check that it is what it says it is before anything is deleted; and the one
#: thing that tells a Workload that lost its job from one that a person made.
_JOB_UID: Final = frozenset({api.JOB_UID})
_NONE: Final[frozenset[str]] = frozenset()
#: What is read of an owner's spec: whether it is suspended or gated, and who runs it and where.
_SPEC: Final = frozenset({"suspend", "run_policy", "managed_by", "scheduling_gates", "runtime_ref", "cluster_selector"})
#: All gated pods share one spec, and all pods of a phase one status.
_GATED: Final = PodSpec(scheduling_gates=[{"name": single.GATE}])
_PHASES: Final = {phase: PodStatus(phase=phase) for phase in ("Pending", "Running", "Succeeded", "Failed", "Unknown")}


def _owning_active(fields: Iterable[ManagedField]) -> list[ManagedField]:
    """The entries that speak of ``spec.active``, as copies."""
    return [
        msgspec.structs.replace(field, fields_v1=field.fields_v1.copy()) for field in fields if field.owns("active")
    ]


def _trim(obj: Any, also: frozenset[str]) -> Any:
    """Keep our annotations and the few others we read; drop labels nobody reads and foreign managedFields.

    ``also``: labels and annotations to keep besides.
    """
    meta = obj.metadata
    annotations = meta.annotations or {}
    kept = {k: v for k, v in annotations.items() if k.startswith(api.PREFIX) or k in _KEPT or k in also}
    fields = _owning_active(meta.managed_fields or ()) if api.COMMITTED in kept else []
    labels = {k: v for k, v in (meta.labels or {}).items() if k in _LABELS or k in also}
    meta.annotations, meta.labels, meta.managed_fields = kept or None, labels or None, fields or None
    meta.finalizers = None
    obj.api_version, obj.kind, meta.namespace = _one(obj.api_version), _one(obj.kind), _one(meta.namespace)
    for owner in meta.owner_references or ():
        owner.api_version, owner.kind = sys.intern(owner.api_version), sys.intern(owner.kind)
    return obj


def _one(text: str | None) -> str | None:
    """The same text, as one object for all that have it."""
    return None if text is None else sys.intern(text)


def trim_owner(obj: Any, also: frozenset[str] = _NONE) -> Any:
    """An owner without its pods' templates and its status: only its metadata and whether it is suspended matter.

    ``also``: labels and annotations to keep of one that shows a mirror.
    """
    spec = getattr(obj, "spec", None)
    if spec is not None:
        kept = {field: getattr(spec, field) for field in spec.__struct_fields__ if field in _SPEC}
        obj.spec = type(spec)(**kept)
    if getattr(obj, "status", None) is not None:
        obj.status = None
    return _trim(obj, _also(obj, also))


def trim_pod(pod: Pod, also: frozenset[str] = _NONE) -> Pod:
    """Whether it is gated, how far it is, whose it is. ``also`` as in :func:`trim_owner`."""
    pod.spec = _GATED if single.gated(pod) else None
    pod.status = _PHASES.get(single.phase(pod))
    trimmed: Pod = _trim(pod, _also(pod, also))
    meta = trimmed.metadata
    meta.generate_name = meta.generation = None
    meta.owner_references = [owner for owner in meta.owner_references or () if owner.controller] or None
    return trimmed


def trim_workload(
    workload: Workload, shapes: Shapes, also: frozenset[str] = _NONE, owners: frozenset[str] = _NONE
) -> Workload:
    """Of what waits the shape of its podsets is kept, of all others nothing of them. ``also``: annotations to keep;
    ``owners``: labels and annotations to keep of one that nobody owns, as :func:`trim_owner` does."""
    spec = workload.spec
    if spec is not None and spec.pod_sets is not None:
        if waits(workload):
            shape = shapes.of(spec.pod_sets)
            workload = Waiting(metadata=workload.metadata, spec=spec, status=workload.status, shape=shape)
        spec.pod_sets = None
    if spec is not None:
        spec.queue_name = _one(spec.queue_name)
    for condition in (workload.status.conditions if workload.status else None) or ():
        # Written for people, and the longest part of it.
        condition.message = None
        condition.type, condition.status = sys.intern(condition.type), sys.intern(condition.status)
        condition.reason = _one(condition.reason)
    alone = not workload.metadata.owner_references
    told_by_it = alone or workload.annotation(api.COMMITTED) is not None
    also |= _also(workload, owners) if alone else _NONE
    trimmed: Workload = _trim(workload, also | _JOB_UID if told_by_it else also)
    return trimmed


def _also(obj: Any, keys: frozenset[str]) -> frozenset[str]:
    return keys if obj.annotation(api.ADMISSION_OUTCOME_OF) is not None else _NONE
