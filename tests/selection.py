"""What a list or a watch of an API server sees: field and label selectors, and the lines of a watch through them."""

import json
import re
from typing import Any, NamedTuple

from aiohttp import web

Object = dict[str, Any]


class Event(NamedTuple):
    """``old`` is what the object was before, None if it was not."""

    version: int
    type: str
    path: str
    object: Object
    old: Object | None = None


class Selection(NamedTuple):
    """What a list or a watch asked for."""

    collection: str
    fields: str
    labels: str

    @classmethod
    def of(cls, request: web.Request) -> "Selection":
        query = request.query
        return cls(request.path, query.get("fieldSelector", ""), query.get("labelSelector", ""))

    def holds(self, path: str, obj: Object | None) -> bool:
        return obj is not None and _listed(path, self.collection, self.fields) and labelled(obj, self.labels)

    def line(self, event: Event) -> bytes | None:
        """The watch line of an event as this selection sees it; None if it does not."""
        now = event.type != "DELETED" and self.holds(event.path, event.object)
        before = self.holds(event.path, event.old)
        if now:
            return line_of("MODIFIED" if before else "ADDED", event.object)
        if before and event.old is not None:
            version = event.object["metadata"]["resourceVersion"]
            return line_of("DELETED", merged(event.old, {"metadata": {"resourceVersion": version}}))
        return None


def line_of(kind: str, obj: Object) -> bytes:
    return json.dumps({"type": kind, "object": obj}).encode() + b"\n"


def _listed(path: str, collection: str, selector: str) -> bool:
    parent, _, name = path.rpartition("/")
    root, _, plural = collection.rpartition("/")
    inside = parent == collection or (parent.startswith(f"{root}/namespaces/") and parent.endswith(f"/{plural}"))
    return inside and selector.removeprefix("metadata.name=") in ("", name)


_REQUIREMENT = re.compile(r"(!?)\s*([^\s!=,()]+)\s*(?:(==|=|!=)\s*([^\s,]*)|(in|notin)\s*\(([^)]*)\))?\s*(?:,|$)\s*")


def labelled(obj: Object, selector: str) -> bool:
    """Whether an object's labels match a selector: ``a=b,c!=d,e in (f,g),h notin (i),j,!k``."""
    labels = obj.get("metadata", {}).get("labels") or {}
    position = 0
    while position < len(selector):
        match = _REQUIREMENT.match(selector, position)
        if match is None:
            raise web.HTTPBadRequest(text=f"unable to parse requirement: {selector[position:]}")
        absent, key, sign, value, word, values = match.groups()
        wanted = {v.strip() for v in values.split(",")} if word else {value}
        if sign or word:
            held = (labels.get(key) in wanted) == (sign != "!=" and word != "notin")
        else:
            held = (key in labels) != bool(absent)
        if not held:
            return False
        position = match.end()
    return True


def merged(target: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result
