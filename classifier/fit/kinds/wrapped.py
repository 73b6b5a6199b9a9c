"""What AppWrapper's operator reads in a wrapped object: paths, and the podsets of the kinds it knows.

AppWrapper 1.2.2: pkg/utils/utils.go getValueAtPath, InferPodSets. A path begins at the component's ``template``:
``template.spec.replicatedJobs[0].template.spec.template``.
"""

import re
from typing import Any, Final, NamedTuple

import msgspec

from classifier.fit.gang import GangError
from classifier.fit.kinds.common import count_of, pods_of_job
from classifier.objects import PodTemplate

Json = dict[str, Any]

_PATH: Final = re.compile(r"template((?:\.[^.\[\]]+|\[[0-9]{1,9}\])*)", re.ASCII)
_STEP: Final = re.compile(r"\.([^.\[\]]+)|\[([0-9]+)\]", re.ASCII)

#: Of these all replicas run at once, and no kind of ours tells more of them.
AS_DECLARED: Final = frozenset({("v1", "Pod"), ("apps/v1", "Deployment"), ("apps/v1", "StatefulSet")})


class Wrapped(NamedTuple):
    """``replicas`` pods of the template at ``path``."""

    path: str
    replicas: int


def infer(wrapped: Json) -> list[Wrapped]:
    """The podsets of a kind the operator knows; none of any other. Raises GangError for counts that are none."""
    kind = (wrapped.get("apiVersion"), wrapped.get("kind"))
    match kind:
        case ("batch/v1", "Job"):
            return [Wrapped("template.spec.template", _pods(wrapped, "template.spec"))]
        case ("jobset.x-k8s.io/v1alpha2", "JobSet"):
            return [
                Wrapped(f"{at}.template.spec.template", _jobs(wrapped, at) * _pods(wrapped, f"{at}.template.spec"))
                for at in _each(wrapped, "template.spec.replicatedJobs")
            ]
        case ("kubeflow.org/v1", "PyTorchJob"):
            types = [f"template.spec.pytorchReplicaSpecs.{type_}" for type_ in ("Master", "Worker")]
            return [_replicated(wrapped, at) for at in types if _at(wrapped, f"{at}.template") is not None]
        case ("ray.io/v1", "RayCluster"):
            return _ray(wrapped, "template.spec")
        case ("ray.io/v1", "RayJob"):
            return _ray(wrapped, "template.spec.rayClusterSpec")
        case ("v1", "Pod"):
            return [Wrapped("template", 1)]
        case ("apps/v1", "Deployment" | "StatefulSet"):
            return [_replicated(wrapped, "template.spec")] if _at(wrapped, "template.spec.template") is not None else []
    return []


def pod_template(wrapped: Json, path: str) -> PodTemplate:
    """The template, or the Pod, at ``path``. Raises GangError where there is none."""
    found = _at(wrapped, path)
    if not isinstance(found, dict) or not isinstance(found.get("spec"), dict):
        raise GangError(f"{path or 'an empty path'} leads to no pod template")
    metadata = found.get("metadata")
    kept = {key: metadata.get(key) for key in ("labels", "annotations")} if isinstance(metadata, dict) else None
    return msgspec.convert({"metadata": kept, "spec": found["spec"]}, PodTemplate)


def pointer_of(path: str) -> str:
    """The same path as a JSON Pointer within the wrapped object; "" is the object."""
    steps = (key.replace("~", "~0").replace("/", "~1") if key else index for key, index in _STEP.findall(path))
    return "".join(f"/{step}" for step in steps)


def _at(wrapped: Json, path: str) -> Any:
    """The value at a path; None where it leads nowhere."""
    if not _PATH.fullmatch(path):
        return None
    found: Any = wrapped
    for key, index in _STEP.findall(path):
        if key:
            found = found.get(key) if isinstance(found, dict) else None
        else:
            found = found[int(index)] if isinstance(found, list) and int(index) < len(found) else None
    return found


def _each(wrapped: Json, path: str) -> list[str]:
    """Paths of the items of a list that have a template."""
    items = _at(wrapped, path)
    if not isinstance(items, list):
        return []
    return [f"{path}[{i}]" for i in range(len(items)) if _at(wrapped, f"{path}[{i}].template") is not None]


def _pods(wrapped: Json, at: str) -> int:
    """Pods of a Job's spec; what is no whole number is as good as absent."""
    return pods_of_job(_whole(wrapped, f"{at}.parallelism"), _whole(wrapped, f"{at}.completions"), at)


def _jobs(wrapped: Json, at: str) -> int:
    return count_of(_whole(wrapped, f"{at}.replicas"), f"{at}.replicas")


def _whole(wrapped: Json, path: str) -> int | None:
    found = _at(wrapped, path)
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def _replicated(wrapped: Json, at: str) -> Wrapped:
    """``replicas`` of the template beside it, 1 if absent."""
    found = _at(wrapped, f"{at}.replicas")
    if found is not None and _whole(wrapped, f"{at}.replicas") is None:
        raise GangError(f"{at}.replicas is no whole number")
    return Wrapped(f"{at}.template", count_of(found, f"{at}.replicas"))


def _ray(wrapped: Json, at: str) -> list[Wrapped]:
    workers = [_replicated(wrapped, group) for group in _each(wrapped, f"{at}.workerGroupSpecs")]
    return [Wrapped(f"{at}.headGroupSpec.template", 1), *workers]
