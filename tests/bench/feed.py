"""An API server that is a template: any number of pending Workloads with their Jobs, as the real one writes them.

In the process of whoever asks, without a network, so that nothing is measured but the asker; what it takes itself is
counted in :attr:`Feed.aside`. Lists come in pages, writes are merged and told on the watch.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final, cast

import aiohttp
import msgspec

from classifier import api
from classifier.clock import Ledger, format_ledger
from classifier.cluster.client import JSON, ApiError, Client
from classifier.cluster.servertime import ServerTime
from classifier.cluster.wire import PAGE
from classifier.fence_spec import EXPECTED_BINDING_SPEC, EXPECTED_POLICY_SPEC
from classifier.instant import HOUR, SECOND, format_instant
from e2e.builders import GPU, Queues
from e2e.load import crowd
from tests import builders
from tests.selection import merged

Json = dict[str, Any]

FENCE: Final = "muster-fence"
#: Workload ``n`` is of namespace ``n`` modulo this.
NAMESPACES: Final = 20
#: Lines of a watch that come at once: what asyncio reads of a socket at a time (256 KiB).
CHUNK: Final = 64
_NUMBER: Final = "@number@"
_SPACE: Final = "@space@"
#: The order of what the template stands for: the version of all that was never written.
_VERSION: Final = 1000
_AGO: Final = format_instant(1_700_000_000 * SECOND)


class Feed(Client):
    """``count`` Workloads that show a deadline long to come, but for the first ``due``, whose has passed.

    The fence is missing until :meth:`put_fence`, and somebody else holds the lease until :meth:`give_up_lease`.
    """

    def __init__(self, count: int, due: int = 0) -> None:
        self.time = ServerTime()
        #: CPU seconds that were spent here.
        self.aside = 0.0
        #: Successful writes by the plural of what was written.
        self.writes: dict[str, int] = {}
        self._count = count
        self._due = due
        self._version = _VERSION
        #: As bytes: documents would be walked through by Python's collector, and that would count as the asker's.
        self._written: dict[str, bytes] = {}
        self._watches: dict[str, asyncio.Queue[bytes]] = {}
        now = self._began = self.time.now() // SECOND * SECOND
        #: By plural, and by whether the deadline has passed.
        self._templates = {
            (resource.plural, passed): _template(resource, now - HOUR if passed else now + 10 * HOUR)
            for resource in (api.JOBS, api.WORKLOADS)
            for passed in (True, False)
        }
        self._others: dict[str, list[Json]] = {}
        for plural, obj in _world():
            self._others.setdefault(plural, []).append(obj)
        self._lease: Json = {"spec": {"holderIdentity": "another", "leaseDurationSeconds": 3600}}

    # --- what others do -----------------------------------------------------------------------------------------

    def put_fence(self) -> None:
        policy = _object(api.ADMISSION_POLICIES, {"spec": EXPECTED_POLICY_SPEC})
        binding = _object(api.ADMISSION_POLICY_BINDINGS, {"spec": EXPECTED_BINDING_SPEC(FENCE)})
        for resource, obj in ((api.ADMISSION_POLICIES, policy), (api.ADMISSION_POLICY_BINDINGS, binding)):
            self._version += 1
            obj["metadata"]["resourceVersion"] = str(self._version)
            self._tell(resource.plural, "ADDED", obj)

    def give_up_lease(self) -> None:
        self._lease["spec"]["holderIdentity"] = None

    def touch(self, numbers: Iterable[int]) -> None:
        """Somebody writes to Workloads what nobody reads."""
        with self._aside():
            for number in numbers:
                path = api.WORKLOADS.path(f"team-{number % NAMESPACES:02}", f"job-train-{number:06}-00000")
                self._write(path, {"metadata": {"annotations": {"example.com/touched": str(self._version)}}}, "kueue")

    def ask(self, number: int, seconds: float) -> None:
        """Somebody asks that a job waits only so much longer."""
        with self._aside():
            waited = self.time.now() - self._began
            path = api.JOBS.path(f"team-{number % NAMESPACES:02}", f"train-{number:06}")
            timeout = {api.ADMISSION_TIMEOUT: f"{waited + int(seconds * SECOND)}ms"}
            self._write(path, {"metadata": {"annotations": timeout}}, "kubectl-annotate")

    # --- requests -----------------------------------------------------------------------------------------------

    @contextmanager
    def _aside(self) -> Iterator[None]:
        began = time.thread_time()
        try:
            yield
        finally:
            self.aside += time.thread_time() - began

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: Any = None,
        content_type: str = JSON,
        timeout: float = 0.0,
    ) -> bytes:
        await asyncio.sleep(0)
        with self._aside():
            plural = _plural(path)
            if method == "GET":
                if plural == api.LEASES.plural:
                    return msgspec.json.encode({"metadata": {"resourceVersion": str(self._version)}, **self._lease})
                if path.endswith(plural):
                    return self._list(plural, params or {})
                return msgspec.json.encode(self._object(path))
            body = msgspec.json.decode(msgspec.json.encode(body))
            if plural == api.LEASES.plural:
                self._lease = {"spec": merged(self._lease["spec"], body["spec"])}
                return msgspec.json.encode({"metadata": {"resourceVersion": str(self._version)}, **self._lease})
            self.writes[plural] = self.writes.get(plural, 0) + 1
            if method == "POST":
                return msgspec.json.encode(body)
            return msgspec.json.encode(self._write(path, body, (params or {}).get("fieldManager", "")))

    def page(self, plural: str, start: int) -> bytes:
        """So many objects from ``start`` on, as one page of the list of all."""
        end = min(start + PAGE, self._count)
        passed, others = self._templates[plural, True], self._templates[plural, False]
        items = b",".join(_filled(passed if number < self._due else others, number) for number in range(start, end))
        token = f',"continue":"{end}"' if end < self._count else ""
        return b'{"metadata":{"resourceVersion":"%d"%s},"items":[%s]}' % (_VERSION, token.encode(), items)

    def pages(self, plural: str) -> Iterator[bytes]:
        for start in range(0, self._count, PAGE):
            yield self.page(plural, start)

    @asynccontextmanager
    async def stream(self, path: str, *, params: Mapping[str, str], idle: float) -> AsyncIterator[aiohttp.StreamReader]:
        queue = self._watches[_plural(path)] = asyncio.Queue()

        class Stream:
            async def iter_any(self) -> AsyncIterator[bytes]:
                while True:
                    lines = [await queue.get()]
                    while not queue.empty() and len(lines) < CHUNK:
                        lines.append(queue.get_nowait())
                    yield b"".join(lines)
                    await asyncio.sleep(0)  # as a socket is read once a turn of the loop

        yield cast(aiohttp.StreamReader, Stream())

    # --- objects ------------------------------------------------------------------------------------------------

    def _list(self, plural: str, params: Mapping[str, str]) -> bytes:
        if (plural, True) in self._templates:
            return self.page(plural, int(params.get("continue", "0")))
        return msgspec.json.encode(
            {"metadata": {"resourceVersion": str(_VERSION)}, "items": self._others.get(plural, [])}
        )

    def _object(self, path: str) -> Json:
        if (written := self._written.get(path)) is not None:
            return cast(Json, msgspec.json.decode(written))
        number = _number(path)
        template = self._templates.get((_plural(path), number < self._due)) if number >= 0 else None
        if template is None:
            raise ApiError(404, "NotFound", f"{path} not found")
        return cast(Json, msgspec.json.decode(_filled(template, number)))

    def _write(self, path: str, patch: Json, manager: str) -> Json:
        obj = self._object(path)
        if patch["metadata"].get("resourceVersion") not in (None, obj["metadata"]["resourceVersion"]):
            raise ApiError(409, "Conflict", "the object has been modified")
        self._version += 1
        patch["metadata"]["resourceVersion"] = str(self._version)
        obj = merged(obj, patch)
        fields: Json = {"f:metadata": {"f:annotations": {}}} | ({"f:spec": {"f:active": {}}} if "spec" in patch else {})
        obj["metadata"]["managedFields"] = [
            *(entry for entry in obj["metadata"]["managedFields"] if entry["manager"] != manager),
            {"manager": manager, "operation": "Update", "time": _AGO, "fieldsType": "FieldsV1", "fieldsV1": fields},
        ]
        self._written[path] = msgspec.json.encode(obj)
        self._tell(_plural(path), "MODIFIED", obj)
        return cast(Json, obj)

    def _tell(self, plural: str, type_: str, obj: Json) -> None:
        self._watches[plural].put_nowait(msgspec.json.encode({"type": type_, "object": obj}) + b"\n")


# --- templates --------------------------------------------------------------------------------------------------


def _filled(template: bytes, number: int) -> bytes:
    return template.replace(_NUMBER.encode(), b"%06d" % number).replace(
        _SPACE.encode(), b"team-%02d" % (number % NAMESPACES)
    )


def _template(resource: api.Resource, deadline: int) -> bytes:
    """A Job or its Workload with all that the API server adds; both show a deadline, the Job the ledger of its wait."""
    queues = Queues(_SPACE, "queue", "gpu-a100", "a100-scale")
    uid = f"00000000-0000-4000-8000-{_NUMBER}000000"
    notes = {api.ADMISSION_DEADLINE: format_instant(deadline)}
    if resource == api.JOBS:
        obj = crowd.job(f"train-{_NUMBER}", queues)
        obj["metadata"] |= {"uid": uid, "generation": 1}
        notes[api.ADMISSION_CLOCK] = format_ledger(Ledger(uid, deadline - 10 * HOUR))
        obj["status"] = {}
    else:
        obj = crowd.workload(f"train-{_NUMBER}", uid, queues)
        obj["metadata"] |= {"uid": f"10000000-0000-4000-8000-{_NUMBER}000000", "generation": 1}
        obj["metadata"]["name"] = f"job-train-{_NUMBER}-00000"
        condition = {"type": "QuotaReserved", "status": "False", "reason": "Pending", "lastTransitionTime": _AGO}
        condition["message"] = "couldn't assign flavors to pod set main: insufficient unused quota for nvidia.com/gpu"
        obj["status"] = {"conditions": [condition]}
    obj["metadata"]["annotations"] = notes
    obj["metadata"]["creationTimestamp"] = format_instant(deadline - 10 * HOUR)
    obj["metadata"]["resourceVersion"] = str(_VERSION)
    obj["metadata"]["managedFields"] = [
        {
            "manager": manager,
            "operation": "Update",
            "apiVersion": resource.api_version,
            "time": _AGO,
            "fieldsType": "FieldsV1",
            "fieldsV1": _owned({key: value for key, value in obj.items() if key in parts}),
        }
        for manager, parts in (("kueue", ("metadata", "spec")), ("kueue-status", ("status",)))
    ]
    return msgspec.json.encode(obj)


def _owned(value: Any) -> Json:
    """What managedFields say of a document."""
    if isinstance(value, dict):
        return {f"f:{key}": _owned(inner) for key, inner in value.items()}
    if isinstance(value, list) and value and isinstance(value[0], dict) and "name" in value[0]:
        return {f'k:{{"name":"{inner["name"]}"}}': {".": {}, **_owned(inner)} for inner in value}
    return {}


def _world() -> Iterator[tuple[str, Json]]:
    """Queues that run, and a profile."""
    cluster_queue = builders.cluster_queue().group(["cpu", "memory", GPU], "a100-scale", quota=1)
    yield api.CLUSTER_QUEUES.plural, _object(api.CLUSTER_QUEUES, cluster_queue.raw())
    flavor = builders.flavor().node_labels(agentpool="gpupool")
    yield api.RESOURCE_FLAVORS.plural, _object(api.RESOURCE_FLAVORS, flavor.raw())
    yield api.CAPACITY_PROFILES.plural, _object(api.CAPACITY_PROFILES, builders.gpu_profile().raw())
    for number in range(NAMESPACES):
        name = f"team-{number:02}"
        yield api.NAMESPACES.plural, _object(api.NAMESPACES, builders.namespace(name).raw())
        queue = builders.local_queue("queue", namespace=name).running().annotate(api.ADMISSION_TIMEOUT, "10h")
        yield api.LOCAL_QUEUES.plural, _object(api.LOCAL_QUEUES, queue.raw())


def _object(resource: api.Resource, obj: Json) -> Json:
    """With what the API server adds; of a fence the name, too."""
    metadata = {"name": FENCE, "uid": f"uid-of-{FENCE}", "creationTimestamp": _AGO, "resourceVersion": str(_VERSION)}
    metadata |= obj.get("metadata", {})
    return {"apiVersion": resource.api_version, "kind": resource.kind, **obj, "metadata": metadata}


_PLURALS: Final = (api.WORKLOADS.plural, api.JOBS.plural, api.LEASES.plural, "events")


def _plural(path: str) -> str:
    """Of what a path names."""
    parts = path.split("/")
    return next((part for part in parts if part in _PLURALS), parts[-1])


def _number(path: str) -> int:
    """Which one of the many a path names; -1 for none."""
    _, found, rest = path.rpartition("train-")
    return int(rest[:6]) if found and rest[:6].isdigit() else -1
