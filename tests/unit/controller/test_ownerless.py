"""Workloads that nobody owns, and references that lead nowhere."""

from typing import Any

import pytest
from aiohttp import web

from classifier import api
from classifier.instant import HOUR, MINUTE, format_instant
from tests.apiserver import Call
from tests.builders import workload
from tests.unit.controller.gangs import GROUP, at, ledger, mirrors, pod, waiting
from tests.unit.controller.inmemory import WORKLOAD, Cluster, now

QUEUE = api.LOCAL_QUEUES.path("team", "gpu")


def message(cluster: Cluster, path: str) -> str:
    return cluster.annotations(path).get(api.ADMISSION_MESSAGE, "")


def orphan(cluster: Cluster) -> str:
    """A Workload that a person made, an hour ago."""
    path = api.WORKLOADS.path("team", "mine")
    since = now() - HOUR
    deadline = format_instant(since + 30 * MINUTE)
    mine = workload("mine").metadata(ownerReferences=None).created(since)
    told = mine.annotate(api.ADMISSION_CLOCK, ledger("mine", since)).annotate(api.ADMISSION_DEADLINE, deadline)
    cluster.put(path, told.raw())
    return path


async def test_a_workload_that_nobody_owns_carries_it_all_itself_where_asked_for(cluster: Cluster, start: Any) -> None:
    path = orphan(cluster)
    async with start("--bound-ownerless=true") as controller:
        await controller.until(lambda: cluster.annotations(path).get(api.ADMISSION_OUTCOME_OF) == "uid-of-mine/1")
        assert cluster.objects[path]["spec"]["active"] is False
        cluster.edit(path, lambda obj: obj["spec"].update(active=True))
        await controller.until(lambda: api.ADMISSION_OUTCOME_OF not in cluster.annotations(path))
        assert api.COMMITTED not in cluster.annotations(path)
    (event,) = cluster.events
    assert event["regarding"]["kind"] == event["related"]["kind"] == "Workload"


async def test_a_workload_that_nobody_owns_is_let_alone_otherwise(cluster: Cluster, start: Any) -> None:
    path = orphan(cluster)
    waiting(cluster, "p-0")
    async with start() as controller:
        await controller.until(lambda: mirrors(cluster, "p-0") == {"uid-of-gang/1"})
        await controller.until(lambda: controller.engine._queue.idle)
    assert path not in {call.path for call in cluster.writes}


async def test_what_is_let_alone_from_now_on_can_be_reactivated(cluster: Cluster, start: Any) -> None:
    """Its deletion was decided, and then ``ownerlessWorkloads`` was set back."""
    path = orphan(cluster)
    said = f"{format_instant(now())} attempt=1 uid=uid-of-mine"
    cluster.edit(path, lambda obj: obj["spec"].update(active=False))
    told = {api.COMMITTED: said, api.CLEANUP_COMMITTED: format_instant(now())}
    cluster.edit(path, lambda obj: obj["metadata"]["annotations"].update(told))
    async with start() as controller:
        await controller.until(lambda: api.CLEANUP_COMMITTED not in cluster.annotations(path))
    assert cluster.annotations(path)[api.COMMITTED] == said


@pytest.mark.parametrize("late", [False, True], ids=["from the beginning", "as its turn has come"])
async def test_what_something_else_keeps_is_not_deleted(cluster: Cluster, start: Any, late: bool) -> None:
    """It would come back."""
    path = orphan(cluster)
    cluster.edit(QUEUE, lambda obj: obj["metadata"]["annotations"].update({api.TTL_AFTER_TIMEOUT: "1s"}))

    def adopt() -> None:
        cluster.edit(path, lambda obj: obj["metadata"].setdefault("labels", {}).update({"example.com/app": "gpu"}))

    async def adopted(request: web.Request) -> web.StreamResponse:
        cluster.fault = None
        adopt()
        return await cluster.handle(request)

    def deciding(call: Call) -> bool:
        return call.method == "GET" and call.path == path and api.CLEANUP_COMMITTED in cluster.annotations(path)

    if late:
        cluster.fault, cluster.faulty = adopted, deciding
    else:
        adopt()
    arguments = ("--bound-ownerless=true", "--min-ttl=1s", "--notice=1ms", "--gitops-keys=example.com/app")
    async with start(*arguments) as controller:
        await controller.until(lambda: path not in cluster.objects or "example.com/app" in message(cluster, path))
        await controller.until(lambda: api.CLEANUP_COMMITTED not in cluster.annotations(path))
    assert not [call for call in cluster.calls if call.method == "DELETE"]


async def test_no_name_that_people_write_leads_to_another_path(cluster: Cluster, start: Any) -> None:
    """Nobody checks what an owner reference names, nor an annotation: they must not choose what is read for them."""
    elsewhere = "../../../../../../api/v1/namespaces/kube-system/secrets/token"
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": elsewhere, "uid": "uid-of-none", "controller": True}
    cluster.put(WORKLOAD, workload().metadata(ownerReferences=[owner]).raw())
    mirrored = pod("lone", "").annotate(GROUP, elsewhere).annotate(api.ADMISSION_OUTCOME_OF, "uid-of-none/1")
    cluster.put(at("lone"), mirrored.raw())
    waiting(cluster, "p-0")
    async with start() as controller:
        await controller.until(lambda: mirrors(cluster, "p-0") == {"uid-of-gang/1"})
        await controller.until(lambda: api.ADMISSION_OUTCOME_OF not in cluster.annotations(at("lone")))
        await controller.until(lambda: controller.engine._queue.idle)
    assert not [call for call in cluster.calls if "/secrets" in call.path]
