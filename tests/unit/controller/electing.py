"""A server that keeps one Lease, and replicas that want it, on the loop's time."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any, Final

import msgspec

from classifier import api
from classifier.cluster.client import ApiError, Unreachable
from classifier.instant import SECOND
from controller.election import Election
from controller.lease import Terms
from controller.outage import Outage

TERMS: Final = Terms(lease=15, renew=10, retry=2)
PATH: Final = api.LEASES.path("muster-system", "muster-controller")


def now() -> float:
    return asyncio.get_running_loop().time()


class Clock:
    """The API server's; it may be set."""

    def __init__(self) -> None:
        self.ahead = 1_700_000_000 * SECOND

    def now(self) -> int:
        return self.ahead + int(now() * SECOND)


class Server:
    """Keeps one Lease. ``fault`` is called with each request's method before it is carried out."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.lease: dict[str, Any] | None = None
        self.version = 0
        self.calls: list[str] = []

    def carry_out(self, method: str, body: Any) -> bytes:
        self.calls.append(method)
        if method == "POST":
            if self.lease is not None:
                raise ApiError(409, "AlreadyExists", "it is there")
            self.lease = {"spec": {}}
        elif self.lease is None:
            raise ApiError(404, "NotFound", "no such lease")
        if method != "GET":
            version = body["metadata"].get("resourceVersion")
            if method == "PATCH" and version != self.lease["metadata"]["resourceVersion"]:
                raise ApiError(409, "Conflict", "it has been modified")
            self.version += 1
            spec = {k: v for k, v in (self.lease["spec"] | body["spec"]).items() if v is not None}
            said = self.said | body["metadata"].get("annotations", {})
            metadata = {"resourceVersion": str(self.version), "annotations": {k: v for k, v in said.items() if v}}
            self.lease = {"metadata": metadata, "spec": spec}
        return msgspec.json.encode(self.lease)

    @property
    def holder(self) -> str | None:
        return None if self.lease is None else self.lease["spec"].get("holderIdentity")

    @property
    def said(self) -> dict[str, str]:
        """What the holder says besides."""
        found: dict[str, str] = (self.lease or {}).get("metadata", {}).get("annotations", {})
        return found


class Link:
    """One process's way to the server."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self.time = server.clock
        #: Before and after the request is carried out.
        self.before: Callable[[str], Any] = nothing
        self.after: Callable[[str], Any] = nothing

    async def request(self, method: str, path: str, *, params: Any = None, body: Any = None, **_: Any) -> bytes:
        assert path == PATH or (method == "POST" and path == api.LEASES.path("muster-system"))
        await self.before(method)
        answer = self._server.carry_out(method, body)
        await self.after(method)
        return answer


async def nothing(_: str) -> None:
    return


async def hang(_: str) -> None:
    await asyncio.Event().wait()


async def reset(_: str) -> None:
    raise Unreachable("the connection was reset")


async def refuse(_: str) -> None:
    raise ApiError(503, "ServiceUnavailable", "etcd is away")


class Replica:
    """One process: its election, and the spans in which its work ran."""

    def __init__(self, server: Server, name: str) -> None:
        self.link = Link(server)
        self.outage = Outage(10, 60 * SECOND, server.clock.now, now)
        self.election = Election(
            self.link, "muster-system", "muster-controller", name, TERMS, self.outage, monotonic=self._monotonic
        )
        #: For how long it was stopped; nothing of it ran then.
        self.stopped = 0.0
        self.began: list[float] = []
        self.ended: list[float] = []
        self.failure = asyncio.Event()

    def _monotonic(self) -> float:
        return now() + self.stopped

    async def work(self) -> None:
        self.began.append(now())
        try:
            await self.failure.wait()
            raise ValueError("a bug")
        finally:
            self.ended.append(now())

    def leads(self) -> bool:
        return self.election.leading

    @property
    def works(self) -> bool:
        return len(self.began) > len(self.ended)


@contextlib.asynccontextmanager
async def running(*replicas: Replica) -> AsyncIterator[list[asyncio.Task[None]]]:
    tasks = [asyncio.create_task(replica.election.run(replica.work)) for replica in replicas]
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
