"""Objects of every kind from the few fields a test names, and their podsets in short."""

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from classifier import api
from classifier.fit.gang import Podset, Runtimes
from classifier.fit.kinds import PODSETS
from classifier.objects import ClusterTrainingRuntime, Meta, TrainingRuntime, Workload
from classifier.state.kinds import view_for

T = TypeVar("T", bound=Meta)
Json = dict[str, Any]

NAMESPACE = "team"
GPU = "nvidia.com/gpu"
NO_RUNTIMES = Runtimes()


def made(struct: type[T], spec: Any = None, name: str = "train", **metadata: Any) -> T:
    """As it comes from the API server: ``made(JobSet, {...}, annotations={...})``."""
    return msgspec.convert({"metadata": {"name": name, "namespace": NAMESPACE, **metadata}, "spec": spec}, struct)


def template(requests: Mapping[str, Any] | None = None, name: str = "main", **spec: Any) -> Json:
    """A pod template of one container."""
    resources = {"requests": dict(requests)} if requests else {}
    return {"spec": {"containers": [{"name": name, "resources": resources}], **spec}}


def noted(annotations: Mapping[str, str]) -> Json:
    return {**template(), "metadata": {"annotations": dict(annotations)}}


def podsets(obj: Meta, *runtimes: TrainingRuntime) -> list[Podset]:
    """What the kind's function makes of it."""
    view = view_for(obj)
    resource = api.WORKLOADS if isinstance(obj, Workload) else view.resource if view else None
    assert resource is not None
    known = Runtimes(
        {one.key: one for one in runtimes if not isinstance(one, ClusterTrainingRuntime)},
        {one.name: one for one in runtimes if isinstance(one, ClusterTrainingRuntime)},
    )
    return PODSETS[resource](obj, known)


def counts(obj: Meta, *runtimes: TrainingRuntime) -> dict[str, int]:
    """By name, in order."""
    return {podset.name: podset.count for podset in podsets(obj, *runtimes)}


def only(obj: Meta, *runtimes: TrainingRuntime) -> Podset:
    (podset,) = podsets(obj, *runtimes)
    return podset


def at(obj: Json, pointer: str | None) -> Any:
    """The value a JSON Pointer leads to."""
    assert pointer is not None
    found: Any = obj
    for step in pointer.split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        found = found[int(key)] if isinstance(found, list) else found[key]
    return found
