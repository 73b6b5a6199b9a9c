"""Objects as the API server would send them: what is misspelt here or in a struct is lost on the way."""

import json
from typing import Any, TypeVar

import msgspec

from classifier.objects import Meta, Pod, PodGroup

M = TypeVar("M", bound=Meta)
Fields = dict[str, Any]


def read(type_: type[M], spec: Fields | None = None, status: Fields | None = None, **metadata: Any) -> M:
    """An object named ``train`` of that type, decoded from JSON."""
    wire = {"metadata": {"name": "train", "namespace": "team", "uid": "u-1"} | metadata}
    wire |= {"spec": spec} if spec is not None else {}
    wire |= {"status": status} if status is not None else {}
    return msgspec.json.decode(json.dumps(wire), type=type_)


def condition(type_: str, reason: str = "", message: str = "", status: str = "True") -> Fields:
    return {
        "type": type_,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": "2026-01-01T10:00:00Z",
    }


def conditions(*them: Fields) -> Fields:
    """A status of conditions alone."""
    return {"conditions": list(them)}


def owned(kind: str, uid: str) -> list[Fields]:
    """Owner references: one of a bystander, one of the controller."""
    return [
        {"apiVersion": "v1", "kind": "Other", "name": "other", "uid": "other"},
        {"apiVersion": "v1", "kind": kind, "name": "train", "uid": uid, "controller": True},
    ]


def gated_pod(gates: tuple[str, ...] = ("kueue.x-k8s.io/admission",), status: Fields | None = None, **meta: Any) -> Pod:
    return read(Pod, {"schedulingGates": [{"name": gate} for gate in gates]}, status, **meta)


def group(*pods: Pod, total: str = "2", **annotations: str) -> PodGroup:
    """Pods as one job; keywords are annotations under kueue.x-k8s.io, with underscores for hyphens."""
    more = {f"kueue.x-k8s.io/{key.replace('_', '-')}": value for key, value in annotations.items()}
    made = read(PodGroup, annotations={"kueue.x-k8s.io/pod-group-total-count": total} | more)
    made.pods = list(pods)
    return made
