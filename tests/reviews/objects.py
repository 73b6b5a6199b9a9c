"""One object of a kind, at random: how it is nested, what of it is absent, null or odd. A seed makes one object."""

import copy
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, Final, NamedTuple

from classifier import api
from classifier.state.kinds.podgroup import SUSPENDING_PARENT
from e2e import kinds as samples
from e2e.builders import Document, Queues
from tests.reviews.world import LABEL, NAMESPACE, QUEUE

_QUEUES: Final = Queues(NAMESPACE, QUEUE, "gpu-a100", "a100-scale")
_REQUESTS: Final = {"cpu": "4", "memory": "16Gi", "nvidia.com/gpu": "8"}
_QUANTITIES: Final = (
    "0",
    "1",
    "500m",
    "1.5",
    "8",
    "1Ki",
    "1e3",
    "0.1",
    "-8",
    "9" * 30,
    "1e-9",
    "",
    "many",
    3,
    0.5,
    None,
)
_ODD_KEYS: Final = ("a/b", "a~b", "~1", "~0/", "", "~", "/", "é/ü", "other")
_COPIED: Final = {**dict.fromkeys(api.PROTECTED_KEYS, "copied"), api.SUBMITTED_AT: "2026-11-28T10:00:00Z"}
_STAMPS: Final = {api.PREFLIGHT: "fits: long ago", api.CAPACITY_PROFILE: "another", api.ADMISSION_COUNT: "7"}
_GATE: Final = {"name": "kueue.x-k8s.io/admission"}


class Kind(NamedTuple):
    resource: api.Resource
    make: Callable[[Random], Document]
    #: The field by which Kueue holds it.
    suspend: tuple[str, ...] = ()


def _sample(kind: samples.Kind) -> Callable[[Random], Document]:
    return lambda random: copy.deepcopy(random.choice(kind.make("train", _QUEUES, _REQUESTS)))


def _workload(random: Random) -> Document:
    podset = {"name": "main", "count": 2, "template": samples.template(_REQUESTS, restartPolicy="Never")}
    return {
        "apiVersion": api.WORKLOADS.api_version,
        "kind": "Workload",
        "metadata": {"name": "train", "namespace": NAMESPACE},
        "spec": {"queueName": QUEUE, "podSets": [copy.deepcopy(podset)]},
    }


def _suspend(kind: samples.Kind) -> tuple[str, ...]:
    match kind.held:
        case samples.suspended:
            return ("spec", "suspend")
        case samples.policy_suspended:
            return ("spec", "runPolicy", "suspend")
        case _:
            return ()


#: By the name of the sample: pods alone, and pods of a group.
KINDS: Final = {
    **{kind.id: Kind(kind.resource, _sample(kind), _suspend(kind)) for kind in samples.KINDS},
    "workload": Kind(api.WORKLOADS, _workload),
}


def made(kind: Kind, random: Random) -> Document:
    """An object as Kueue's webhook leaves it, more or less."""
    obj = kind.make(random)
    if random.random() < 0.9:
        held(kind, obj, True)
    _vary_metadata(obj, random)
    for template in templates(obj):
        _vary_template(template, random)
    _vary_counts(obj.get("spec"), random)
    return obj


def held(kind: Kind, obj: Document, value: bool) -> Document:
    """The same, with Kueue's hold on it or without."""
    if kind.suspend:
        at = obj
        for step in kind.suspend[:-1]:
            at = at.setdefault(step, {})
        at[kind.suspend[-1]] = value
    elif kind.resource.kind == "Pod":
        obj["spec"]["schedulingGates"] = [dict(_GATE)] if value else []
    elif kind.resource == api.LEADER_WORKER_SETS:
        template = obj["spec"]["leaderWorkerTemplate"]["workerTemplate"]
        template.setdefault("metadata", {})["annotations"] = {SUSPENDING_PARENT: "leaderworkerset"} if value else {}
    return obj


def templates(value: Any) -> Iterator[Document]:
    """Every pod template at any depth, the object itself where it is a pod."""
    if isinstance(value, dict):
        spec = value.get("spec")
        if isinstance(spec, dict) and "containers" in spec:
            yield value
        for inner in value.values():
            yield from templates(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from templates(inner)


def _vary_metadata(obj: Document, random: Random) -> None:
    metadata = obj["metadata"]
    annotations: Any = dict(metadata.get("annotations") or {})
    for extra in ({"team": "ml"}, _COPIED, _STAMPS, {random.choice(_ODD_KEYS): "x"}, {api.ADMISSION_TIMEOUT: "45m"}):
        if random.random() < 0.25:
            annotations.update(extra)
    metadata["annotations"] = annotations if annotations else random.choice(({}, None))
    if metadata["annotations"] is None and random.random() < 0.5:
        del metadata["annotations"]
    if random.random() < 0.1:
        metadata["labels"] = random.choice(({}, None, {api.QUEUE_NAME: "missing"}, {api.QUEUE_NAME: "../../secrets"}))
    if random.random() < 0.1:
        metadata["generateName"] = "train-"
        del metadata["name"]
    if random.random() < 0.1:
        owner = {"apiVersion": "ray.io/v1", "kind": "RayJob", "name": "x", "uid": "1"}
        metadata["ownerReferences"] = [{**owner, "controller": random.random() < 0.5}]


def _vary_template(template: Document, random: Random) -> None:
    if "apiVersion" not in template:
        shape: Any = random.choice(
            (None, {}, {"labels": None}, {"labels": {}}, {"annotations": None}, "absent", "kept")
        )
        if shape == "absent":
            template.pop("metadata", None)
        elif shape != "kept":
            template["metadata"] = copy.deepcopy(shape)
        if random.random() < 0.3:
            labels = {LABEL.key: random.choice((LABEL.value, "mine")), random.choice(_ODD_KEYS): "x"}
            template["metadata"] = {"labels": labels, "annotations": {api.ADMISSION_COUNT: "3"}}
    for container in template["spec"]["containers"]:
        if random.random() < 0.2:
            name = random.choice(("cpu", "memory", "nvidia.com/gpu", "example.com/x"))
            container["resources"] = random.choice(
                (None, {}, {"requests": None}, {"limits": {name: random.choice(_QUANTITIES)}})
            )


def _vary_counts(value: Any, random: Random) -> None:
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in ("parallelism", "completions", "replicas", "numNodes", "size", "count") and random.random() < 0.3:
                value[key] = random.choice((0, 1, 2, 3, 100, 2**31 - 1, -1, None))
            else:
                _vary_counts(inner, random)
    elif isinstance(value, list):
        for inner in value:
            _vary_counts(inner, random)
