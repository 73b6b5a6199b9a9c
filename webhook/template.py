"""Labels and annotations on pod templates, as JSON Patch. Pure.

A template may lack metadata, or its metadata labels, and a struct that was decoded does not tell absent from null or
how the document is nested. So each operation is made for the very document that is reviewed, and applies to it; where
the document is not as expected there is none.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal

import msgspec

from classifier.fit.gang import Podset
from classifier.objects import CapacityProfile, WorkloadLabel

Operation = dict[str, Any]

# metav1: a key of at most 63 characters with a DNS name of at most 253 before it, a value of at most 63.
_NAME: Final = r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_KEY: Final = re.compile(rf"([a-z0-9]([-a-z0-9.]{{0,251}}[a-z0-9])?/)?{_NAME}")
_VALUE: Final = re.compile(rf"({_NAME})?")
#: What the API server itself puts on the pods of a Job: it refuses a template that says otherwise
#: (Kubernetes: pkg/apis/batch/validation/validation.go, ValidateGeneratedSelector).
_TAKEN: Final = frozenset({"job-name", "controller-uid"})

#: Bytes of all annotations of one object, keys and values (Kubernetes: staging/src/k8s.io/apimachinery/pkg/api/
#: validation/objectmeta.go, TotalAnnotationSizeLimitB). The object whose annotations are longer is refused.
ANNOTATIONS_LIMIT: Final = 256 * 2**10


def topology_label(profiles: Iterable[CapacityProfile]) -> WorkloadLabel | None:
    """The label of the profiles that speak for a queue: none where two of them want different ones, for nobody knows
    yet which flavor the gang will get; and none that the API server would refuse, and the job with it."""
    found = [p.spec.topology.workload_label for p in profiles if p.spec.topology and p.spec.topology.workload_label]
    if not found or any(label != found[0] for label in found):
        return None
    key, value = found[0].key, found[0].value
    return found[0] if _KEY.fullmatch(key) and key not in _TAKEN and _VALUE.fullmatch(value) else None


def with_label(raw: msgspec.Raw, podsets: Iterable[Podset], label: WorkloadLabel) -> tuple[Operation, ...]:
    """``label`` on every template that has no other value of it: what the user chose stays."""
    return _put(raw, podsets, "labels", label.key, label.value, replace=False)


def with_annotation(raw: msgspec.Raw, podsets: Iterable[Podset], key: str, value: str) -> tuple[Operation, ...]:
    """The annotation on every template, whatever value it had."""
    return _put(raw, podsets, "annotations", key, value, replace=True)


def have_room(annotations: Mapping[str, Any], more: Mapping[str, str]) -> bool:
    """Whether ``annotations`` may bear ``more`` besides: what its author may write, we must not make too long."""
    together = {**annotations, **more}
    return sum(len(f"{key}{value}".encode(errors="replace")) for key, value in together.items()) <= ANNOTATIONS_LIMIT


def surely_room(annotations: Mapping[str, str], more: Mapping[str, str]) -> bool:
    """The same without looking into them, for nearly all there are: no character has more than four bytes."""
    texts = (*annotations, *annotations.values(), *more, *more.values())
    return 4 * sum(map(len, texts)) <= ANNOTATIONS_LIMIT


def token(key: str) -> str:
    """RFC 6901: ``~`` first, or the one made for ``/`` would be escaped again."""
    return key.replace("~", "~0").replace("/", "~1")


def _put(
    raw: msgspec.Raw,
    podsets: Iterable[Podset],
    field: Literal["labels", "annotations"],
    key: str,
    value: str,
    *,
    replace: bool,
) -> tuple[Operation, ...]:
    # Two podsets may share a template (a LeaderWorkerSet's leader and its workers).
    paths = dict.fromkeys(podset.path for podset in podsets if podset.path is not None)
    if not paths:
        return ()
    try:
        document = msgspec.json.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ()
    operations = (_one(_at(document, path), path, field, key, value, replace=replace) for path in paths)
    return tuple(operation for operation in operations if operation is not None)


def _at(document: Any, path: str) -> Any:
    """What a JSON Pointer points at; None where there is nothing."""
    for step in path.split("/")[1:]:
        step = step.replace("~1", "/").replace("~0", "~")
        if isinstance(document, dict):
            document = document.get(step)
        elif isinstance(document, list) and step.isdecimal() and int(step) < len(document):
            document = document[int(step)]
        else:
            return None
    return document


def _one(template: Any, path: str, field: str, key: str, value: str, *, replace: bool) -> Operation | None:
    if not isinstance(template, dict):
        return None
    metadata = template.get("metadata")
    if metadata is None:
        return _add(f"{path}/metadata", {field: {key: value}})
    if not isinstance(metadata, dict):
        return None
    present = metadata.get(field)
    if present is None:
        return _add(f"{path}/metadata/{field}", {key: value})
    if not isinstance(present, dict) or present.get(key) == value or (key in present and not replace):
        return None
    if field == "annotations" and not have_room(present, {key: value}):
        return None
    return _add(f"{path}/metadata/{field}/{token(key)}", value)


def _add(path: str, value: Any) -> Operation:
    return {"op": "add", "path": path, "value": value}
