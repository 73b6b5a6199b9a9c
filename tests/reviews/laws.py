"""What every answer keeps to, whatever was asked: its patch applies, is needed once, and touches nothing but ours."""

import copy
import json
from collections.abc import Coroutine
from typing import Any, Final

import jsonpatch
import msgspec

from classifier import api
from classifier.instant import SECOND
from e2e.builders import Document
from tests.reviews.objects import Kind, held
from tests.reviews.world import LABEL, Decisions
from webhook import stamp
from webhook.review import Answer, GroupVersionKind, Request

_OURS: Final = {*stamp.STAMPS, *api.PROTECTED_KEYS}


class Broken(AssertionError):
    """An answer that it should not have been."""


def check(kind: Kind, obj: Document, decisions: Decisions) -> Document:
    """Creates ``obj`` and lets it go, each asked twice; returns it as created. Raises :class:`Broken`."""
    created = _twice(kind, obj, None, decisions)
    _same_but_for_ours(obj, created)
    ask(decisions.reviewer.validate(request(kind, created)))
    if kind.suspend:
        old, new = held(kind, copy.deepcopy(created), True), held(kind, copy.deepcopy(created), False)
        started = _twice(kind, new, old, decisions)
        _same_but_for_ours(new, started)
        ask(decisions.reviewer.validate(request(kind, held(kind, copy.deepcopy(obj), True), old)))
    return created


def request(kind: Kind, obj: Document, old: Document | None = None) -> Request:
    return Request(
        uid="705ab4f5",
        kind=GroupVersionKind(kind.resource.group, kind.resource.version, kind.resource.kind),
        operation="CREATE" if old is None else "UPDATE",
        namespace=obj["metadata"].get("namespace") or "team",
        object=_raw(obj),
        old_object=_raw(old),
    )


def length(annotations: dict[str, str]) -> int:
    """As the API server measures it, in bytes."""
    return sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items())


def ask(decision: Coroutine[Any, Any, Answer]) -> Answer:
    """Nothing here waits for anything."""
    try:
        decision.send(None)
    except StopIteration as done:
        answer: Answer = done.value
        return answer
    raise Broken("the decision waits for something")


def _twice(kind: Kind, obj: Document, old: Document | None, decisions: Decisions) -> Document:
    """The object after our patch; asked again some seconds later there is none."""
    answer = ask(decisions.reviewer.mutate(request(kind, obj, old)))
    patched: Document = jsonpatch.apply_patch(obj, json.loads(json.dumps(answer.patch)))
    decisions.clock.at += 5 * SECOND
    again = ask(decisions.reviewer.mutate(request(kind, patched, old)))
    decisions.clock.at -= 5 * SECOND
    if again.patch:
        raise Broken(f"asked again it changes once more: {again.patch}")
    if answer.denial or again.denial:
        raise Broken("the mutating phase denies")
    return patched


def _same_but_for_ours(before: Document, after: Document) -> None:
    for key in _OURS & (after["metadata"].get("annotations") or {}).keys():
        if key in api.CONTROLLER_KEYS and key != api.ADMISSION_DEADLINE:
            raise Broken(f"{key} is the controller's")
    if _without_ours(before) != _without_ours(after):
        raise Broken(f"something else changed: {json.dumps(before)} {json.dumps(after)}")


def _without_ours(value: Any) -> Any:
    """Without our keys, and without maps that are empty, or that hold nothing but such maps."""
    if isinstance(value, list):
        return [_without_ours(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    out = {}
    for key, inner in value.items():
        if key == "annotations" and isinstance(inner, dict):
            inner = {k: v for k, v in inner.items() if k not in _OURS}
        elif key == "labels" and isinstance(inner, dict):
            inner = {k: v for k, v in inner.items() if (k, v) != (LABEL.key, LABEL.value)}
        else:
            inner = _without_ours(inner)
        if key in ("annotations", "labels", "metadata") and not inner:
            continue
        out[key] = inner
    return out


def _raw(obj: Document | None) -> msgspec.Raw:
    return msgspec.Raw(json.dumps(obj).encode())
