"""What stands above a job: asked once, unless it could not be seen; then again, for a right may have been granted."""

import asyncio
from typing import Any, cast

import msgspec
import pytest

from classifier.cluster.client import ApiError, Client
from classifier.cluster.kept import ASK_AGAIN
from classifier.objects import Meta
from controller.chain import Chains
from controller.metrics import Metrics

pytestmark = pytest.mark.looptime

LINE = "/apis/example.com/v1/namespaces/team/pipelines/line"


def owned_by(api_version: str, kind: str, name: str) -> list[dict[str, Any]]:
    return [{"apiVersion": api_version, "kind": kind, "name": name, "uid": f"uid-of-{name}", "controller": True}]


def meta(name: str, owners: list[dict[str, Any]] | None = None) -> Meta:
    metadata = {"name": name, "namespace": "team", "uid": f"uid-of-{name}", "ownerReferences": owners}
    return msgspec.convert({"metadata": metadata}, Meta)


class Server:
    """Serves one kind that nobody knows. ``refused``: whether its objects may not be read."""

    def __init__(self, above: list[dict[str, Any]] | None = None) -> None:
        self.objects = {LINE: meta("line", above)}
        self.refused = False
        #: It has only just started: what it says 404 of, or does not name, although it will serve it.
        self.starting: str | None = None
        self.asked: list[str] = []

    async def get(self, path: str, type_: Any) -> Any:
        self.asked.append(path)
        if self.starting == "kind" and path == "/apis/example.com/v1":
            return msgspec.convert({"resources": []}, type_)
        if self.starting == "group" or (self.starting == "object" and path == LINE):
            raise ApiError(404, "NotFound", "the server could not find the requested resource")
        if path == "/apis/example.com/v1":
            resources = [{"name": "pipelines", "kind": "Pipeline", "namespaced": True}]
            return msgspec.convert({"resources": resources}, type_)
        if path.startswith("/apis/example.com/v1/namespaces/team/pipelines/") and self.refused:
            raise ApiError(403, "Forbidden", "pipelines is forbidden")
        if path not in self.objects:
            raise ApiError(404, "NotFound", "no such object")
        return self.objects[path]


class Chain:
    """A job that a pipeline controls."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.metrics = Metrics()
        self.chains = Chains(cast(Client, server), self.metrics)
        self.job = meta("train", owned_by("example.com/v1", "Pipeline", "line"))

    async def above(self) -> str | None:
        await self.chains.look(self.job)
        return self.chains.above(self.job)

    def refusals(self, **labels: str) -> float | None:
        return self.metrics.registry.get_sample_value("muster_owner_reads_refused_total", labels)


JOBSET = owned_by("jobset.x-k8s.io/v1alpha2", "JobSet", "whole")


@pytest.mark.parametrize(("above", "found"), [(None, ""), (JOBSET, "JobSet/whole")])
async def test_it_is_asked_once(above: list[dict[str, Any]] | None, found: str) -> None:
    chain = Chain(Server(above))
    assert chain.chains.above(chain.job) is None
    assert await chain.above() == found
    asked = len(chain.server.asked)
    await asyncio.sleep(10 * ASK_AGAIN)
    assert await chain.above() == found
    assert len(chain.server.asked) == asked


async def test_a_right_that_is_granted_later_is_noticed() -> None:
    chain = Chain(Server(JOBSET))
    chain.server.refused = True
    assert await chain.above() == ""
    assert chain.refusals(group="example.com", resource="pipelines") == 1
    chain.server.refused = False
    assert await chain.above() == "", "it is not asked at every look"
    await asyncio.sleep(ASK_AGAIN)
    assert chain.chains.above(chain.job) == "", "until somebody looks the last word stands"
    assert await chain.above() == "JobSet/whole"


async def test_a_kind_that_may_not_be_read_is_asked_for_once_in_a_while_whatever_its_objects() -> None:
    chain = Chain(Server())
    chain.server.refused = True
    for number in range(20):
        chain.job = meta(f"train-{number}", owned_by("example.com/v1", "Pipeline", f"line-{number}"))
        assert await chain.above() == ""
    assert sum("/pipelines/" in path for path in chain.server.asked) == 1
    await asyncio.sleep(ASK_AGAIN)
    assert await chain.above() == ""
    assert chain.refusals(group="example.com", resource="pipelines") == 2


@pytest.mark.parametrize("what", ["group", "kind", "object"])
async def test_what_a_server_that_has_only_just_started_does_not_serve_is_asked_for_again(what: str) -> None:
    chain = Chain(Server(JOBSET))
    chain.server.starting = what
    assert await chain.above() == ""
    asked = len(chain.server.asked)
    chain.server.starting = None
    assert await chain.above() == ""
    assert len(chain.server.asked) == asked, "it is not asked at every look"
    await asyncio.sleep(ASK_AGAIN)
    assert await chain.above() == "JobSet/whole"


@pytest.mark.parametrize(("what", "requests"), [("group", 1), ("kind", 1), ("object", 3)])
async def test_of_a_kind_that_is_not_served_no_other_job_asks_meanwhile(what: str, requests: int) -> None:
    chain = Chain(Server())
    chain.server.starting = what
    chain.server.objects[LINE + "-2"] = meta("line-2", JOBSET)
    assert await chain.above() == ""
    chain.job = meta("train-2", owned_by("example.com/v1", "Pipeline", "line-2"))
    assert await chain.above() == ("JobSet/whole" if what == "object" else "")
    assert len(chain.server.asked) == requests
