"""The real ``Steps``, ``Writer`` and ``Remover`` on two copies and a server of two objects: what they ask of it."""

from typing import Any, Final, cast
from urllib.parse import unquote

import msgspec

from classifier import api
from classifier.cluster.client import ApiError, Client
from classifier.instant import format_duration
from classifier.scope import BOUNDED
from controller.cache import OwnerKey
from controller.engine import Engine
from controller.metrics import Metrics
from controller.settings import parse
from tests.builders import NAMESPACE, T0, Json
from tests.exploration.decisions import TICK, Decisions
from tests.exploration.server import Content, Owner, raw_job, raw_workload

#: What was asked: the method, of which kind, and the annotations written.
Request = tuple[str, str, tuple[tuple[str, str | None], ...]]

#: Versions of the objects on the server, of older copies, and of what a write makes.
_WORKLOAD: Final = "20"
_JOB: Final = "19"
_OLD: Final = "5"
_NEW: Final = "30"
_KIND: Final = ("batch", "Job")


class _Time:
    steps = 0

    def __init__(self, now: int) -> None:
        self._now = now

    def now(self) -> int:
        return self._now


class FakeServer:
    """Answers as the API server does; a write must name the version of what stands there."""

    def __init__(self, content: Content | None, job: Owner | None, now: int) -> None:
        self.time = _Time(T0 + now)
        self.asked: list[Request] = []
        #: Whether a write was refused: what is asked after that is reading again.
        self.refused = False
        self._objects: dict[str, Json] = {}
        if content is not None:
            self._objects["workloads"] = raw_workload(content, _WORKLOAD)
        if job is not None:
            self._objects["jobs"] = raw_job(job, _JOB)

    async def request(self, method: str, path: str, **options: Any) -> bytes:
        body: Json = options.get("body") or {}
        kind, name = self._target(unquote(path))
        if method == "GET" and not name:
            items = [self._objects[kind]] if kind == "workloads" and kind in self._objects else []
            if kind != "pods":
                self._note("LIST", kind)
            return msgspec.json.encode({"items": items})
        if method == "POST":
            if body.get("reason") == api.EVENT_TIMED_OUT:
                self._note(method, kind)
            return b"{}"
        obj = self._objects.get(kind)
        if obj is None or obj["metadata"]["name"] != name:
            raise ApiError(404, "NotFound", path)
        if method == "GET":
            self._note(method, kind)
            return msgspec.json.encode(obj)
        self._check(method, obj, body)
        self._note(method, kind, body["metadata"]["annotations"] if method == "PATCH" else {})
        if method == "DELETE":
            del self._objects[kind]
            return b"{}"
        annotations = {**obj["metadata"].get("annotations", {}), **body["metadata"]["annotations"]}
        obj["metadata"]["annotations"] = {key: value for key, value in annotations.items() if value is not None}
        obj["metadata"]["resourceVersion"] = _NEW
        return msgspec.json.encode(obj)

    def _target(self, path: str) -> tuple[str, str]:
        for kind in ("workloads", "jobs", "pods", "events"):
            _, found, name = path.partition(f"/namespaces/{NAMESPACE}/{kind}")
            if found:
                return kind, name.lstrip("/")
        raise AssertionError(path)

    def _check(self, method: str, obj: Json, body: Json) -> None:
        metadata = obj["metadata"]
        if method == "DELETE":
            assert body["propagationPolicy"] == "Background"
            wanted = body["preconditions"]
            good = (wanted["uid"], wanted["resourceVersion"]) == (metadata["uid"], metadata["resourceVersion"])
        else:
            good = body["metadata"]["resourceVersion"] == metadata["resourceVersion"]
            # Nothing of the spec but the one field, and that with the marker alone.
            assert (body.get("spec") == {"active": False}) == bool(body["metadata"]["annotations"].get(api.COMMITTED))
        if not good:
            self.refused = True
            raise ApiError(409, "Conflict", "the object has been modified")

    def _note(self, method: str, kind: str, annotations: dict[str, str | None] | None = None) -> None:
        if not self.refused:
            self.asked.append((method, kind, tuple(sorted((annotations or {}).items()))))


async def asked(
    decisions: Decisions,
    server: FakeServer,
    workload: Content | None,
    job: Owner | None,
    *,
    current: tuple[bool, bool],
    by_owner: bool,
) -> list[Request]:
    """What one turn of a worker asks for, with these copies in the cache; ``by_owner`` the key is that of the job."""
    settings = decisions.settings
    assert settings.notice is not None
    arguments = [f"--notice={format_duration(settings.notice * TICK)}", "--rate=0", "--min-ttl=1s", "--identity=one"]
    engine = Engine(cast(Client, server), parse(arguments), Metrics())
    engine._writer._leading = lambda: True
    queue = msgspec.to_builtins(decisions.queue(0))
    queue["metadata"]["resourceVersion"] = "1"
    engine.cache.local_queues.put(msgspec.json.encode(queue))
    key = ""
    if workload is not None:
        raw = raw_workload(workload, _WORKLOAD if current[0] else _OLD)
        key = f"{NAMESPACE}/{raw['metadata']['name']}"
        engine.cache.workloads.put(msgspec.json.encode(raw))
    owners = engine.cache.owners[_KIND]
    if job is not None:
        owners.put(msgspec.json.encode(raw_job(job, _JOB if current[1] else _OLD)))
    # A watch that tells of the job as it is has told of all before the Workload, too.
    owners._store.version = _WORKLOAD if current[1] else _OLD
    assert _KIND in BOUNDED
    await engine._handling.handle(OwnerKey(_KIND, f"{NAMESPACE}/train") if by_owner else key)
    return server.asked
