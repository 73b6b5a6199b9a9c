"""Pods in as few words as JSON takes."""

from typing import Any

import msgspec

from classifier.fit.gang import Podset
from classifier.objects import PodSpec, PodTemplate
from tests.builders import NAMESPACE

Json = dict[str, Any]

MI = 2**20


def container(requests: Json | None = None, limits: Json | None = None, **fields: Any) -> Json:
    resources = {key: value for key, value in (("requests", requests), ("limits", limits)) if value is not None}
    return {"name": "c", "resources": resources, **fields}


def pod(*containers: Json, init: list[Json] | None = None, **fields: Any) -> PodSpec:
    return msgspec.convert({"containers": list(containers), "initContainers": init or [], **fields}, PodSpec)


def podset(spec: PodSpec, count: int = 1, name: str = "main") -> Podset:
    return Podset(name, count, count, PodTemplate(spec=spec), NAMESPACE)
