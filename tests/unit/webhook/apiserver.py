"""An API server in memory, over HTTP: what the webhook's certificates and snapshot need of it, with its rules.

resourceVersions rise with every write and guard patches (409); creating what exists is 409; lists have a version and
watches replay from it; JSON Patch and merge patch as RFC 6902 and 7396 say. ``fail`` makes matching requests go wrong.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import jsonpatch
from aiohttp import web

from classifier import api

_PLURALS = {r.plural for r in vars(api).values() if isinstance(r, api.Resource)}

Object = dict[str, Any]
Fault = Callable[[web.Request], web.Response | None]


@dataclass
class ApiServer:
    """``objects`` by URL path; ``writes`` lists (method, path) of every write that happened."""

    objects: dict[str, Object] = field(default_factory=dict)
    events: list[tuple[int, str, str, Object]] = field(default_factory=list)
    writes: list[tuple[str, str]] = field(default_factory=list)
    managers: list[str] = field(default_factory=list)
    version: int = 10
    fail: Fault | None = None
    #: Awaited before a request is looked at: places a race.
    before: Callable[[web.Request], Awaitable[None]] | None = None

    def put(self, path: str, obj: Object) -> None:
        """Create or replace, as somebody else would."""
        self._store("MODIFIED" if path in self.objects else "ADDED", path, obj)

    def remove(self, path: str) -> None:
        obj = self.objects.pop(path)
        self._store("DELETED", path, obj)

    def _store(self, kind: str, path: str, obj: Object) -> None:
        self.version += 1
        obj = json.loads(json.dumps(obj))
        obj.setdefault("metadata", {}).setdefault("name", path.rpartition("/")[2])
        obj["metadata"]["resourceVersion"] = str(self.version)
        obj["metadata"]["managedFields"] = [
            {"manager": "x", "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": {"f:metadata": {}}}
        ]
        if kind != "DELETED":
            self.objects[path] = obj
        self.events.append((self.version, kind, path, obj))

    async def handle(self, request: web.Request) -> web.StreamResponse:
        if self.before is not None:
            await self.before(request)
        if self.fail is not None and (wrong := self.fail(request)) is not None:
            return wrong
        match request.method:
            case "GET" if "watch" in request.query:
                return await self._watch(request)
            case "GET" if request.path in self.objects:
                return web.json_response(self.objects[request.path])
            case "GET" if _is_collection(request.path):
                items = [o for p, o in self.objects.items() if _listed(p, request)]
                return web.json_response({"metadata": {"resourceVersion": str(self.version)}, "items": items})
            case "POST":
                return await self._create(request)
            case "PATCH":
                return await self._patch(request)
        return _status(404, "NotFound", f"{request.path} not found")

    async def _create(self, request: web.Request) -> web.Response:
        body = await request.json()
        path = f"{request.path}/{body['metadata']['name']}"
        if path in self.objects:
            return _status(409, "AlreadyExists", f"{path} already exists")
        self._written(request, path)
        self._store("ADDED", path, body)
        return web.json_response(self.objects[path], status=201)

    async def _patch(self, request: web.Request) -> web.Response:
        body = await request.json()
        path = request.path
        if path not in self.objects:
            return _status(404, "NotFound", f"{path} not found")
        current = self.objects[path]
        if request.content_type == "application/json-patch+json":
            try:
                changed = jsonpatch.apply_patch(current, body)
            except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException) as error:
                return _status(422, "Invalid", str(error))
        else:
            asked = body.get("metadata", {}).get("resourceVersion")
            if asked is not None and asked != current["metadata"]["resourceVersion"]:
                return _status(409, "Conflict", "the object has been modified")
            changed = _merge(current, body)
        self._written(request, path)
        self._store("MODIFIED", path, changed)
        return web.json_response(self.objects[path])

    def _written(self, request: web.Request, path: str) -> None:
        self.writes.append((request.method, path))
        self.managers.append(request.query.get("fieldManager", ""))

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        seen = int(request.query["resourceVersion"])
        while True:
            for version, kind, path, obj in self.events:
                if version > seen:
                    seen = version
                    if _listed(path, request):
                        await response.write(json.dumps({"type": kind, "object": obj}).encode() + b"\n")
            await asyncio.sleep(0.01)


def _is_collection(path: str) -> bool:
    return path.rpartition("/")[2] in _PLURALS


def _listed(path: str, request: web.Request) -> bool:
    parent, _, name = path.rpartition("/")
    group, _, plural = request.path.rpartition("/")
    inside = parent == request.path or (parent.startswith(group + "/namespaces/") and parent.endswith("/" + plural))
    wanted = request.query.get("fieldSelector", "").removeprefix("metadata.name=")
    return inside and wanted in ("", name)


def _merge(target: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = _merge(merged.get(key), value)
    return merged


def _status(code: int, reason: str, message: str) -> web.Response:
    return web.json_response({"kind": "Status", "code": code, "reason": reason, "message": message}, status=code)
