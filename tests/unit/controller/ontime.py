"""The whole controller and the API server in memory on one virtual clock, for what takes hours: looptime's.

Both ends are in one process and one event loop, so that a byte that is on its way is there before time moves on.
"""

import asyncio
import time
from email.utils import formatdate
from functools import partial
from types import SimpleNamespace

import pytest
from aiohttp import web

from classifier.cluster.reflector import Reflector
from classifier.cluster.servertime import ServerTime
from classifier.instant import SECOND
from controller.bucket import TokenBucket
from controller.election import Election
from controller.heartbeat import beat
from controller.outage import Outage
from tests.selection import Object
from tests.unit.controller.inmemory import Cluster


def seconds() -> float:
    return asyncio.get_running_loop().time()


class Timed(Cluster):
    """Its clock is the loop's, its answers say so. ``ended``: when each Workload was made inactive, by path."""

    def __init__(self) -> None:
        super().__init__()
        self._ahead = time.time() - seconds()
        self.ended: dict[str, int] = {}

    def now(self) -> int:
        """Milliseconds since the epoch."""
        return int((self._ahead + seconds()) * SECOND)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.headers["Date"] = formatdate(self.now() / SECOND, usegmt=True)
        answer = await super().handle(request)
        if not answer.prepared:
            answer.headers["Date"] = formatdate(self.now() / SECOND, usegmt=True)
        return answer

    def _store(self, kind: str, path: str, obj: Object) -> Object:
        before = self.objects.get(path, {}).get("spec", {}).get("active")
        if "/workloads/" in path and obj["spec"].get("active") is False and before is not False:
            self.ended[path] = self.now()
        return super()._store(kind, path, obj)


def on_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything of the controller that looks at a clock looks at the loop's."""
    clocked = partial(Reflector, monotonic=seconds)
    for module in ("controller.cache", "controller.fence", "controller.leftovers", "classifier.cluster.kept"):
        monkeypatch.setattr(f"{module}.Reflector", clocked)
    monkeypatch.setattr("controller.engine.Outage", partial(Outage, monotonic=seconds))
    monkeypatch.setattr("controller.engine.Election", partial(Election, monotonic=seconds))
    monkeypatch.setattr("controller.engine.TokenBucket", partial(TokenBucket, monotonic=seconds))
    monkeypatch.setattr("controller.act.time", SimpleNamespace(monotonic=seconds))
    # A hundred beats a second would be most of what happens in an hour.
    monkeypatch.setattr("controller.engine.beat", partial(beat, period=60.0))
    monkeypatch.setattr("classifier.cluster.client.ServerTime", partial(ServerTime, monotonic=seconds))
