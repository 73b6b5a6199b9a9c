"""Pods that somebody's webhook lets nobody write to: they keep their gang from nothing, and are asked again."""

from typing import Any

import pytest

from classifier import api
from classifier.instant import HOUR
from tests.apiserver import answer
from tests.unit.controller.gangs import GANG, at, gang, ledger, mirrors, pod, waiting
from tests.unit.controller.inmemory import Cluster, now


def protecting(cluster: Cluster, name: str, status: int = 403) -> None:
    """Somebody's webhook lets nobody write to this pod."""
    cluster.fault = answer(status, "Forbidden", 'admission webhook "protect.example.com" denied the request')
    cluster.faulty = lambda call: call.method == "PATCH" and call.path == at(name)


async def test_a_pod_that_refuses_what_it_is_told_keeps_its_gang_from_nothing(cluster: Cluster, start: Any) -> None:
    since = now() - HOUR
    for name in ("p-0", "p-1", "p-2"):
        cluster.put(at(name), pod(name, created=since).raw())
    cluster.put(GANG, gang("p-0", "p-1", "p-2").created(since).raw())
    protecting(cluster, "p-0")
    async with start("--notice=1s") as controller:
        await controller.until(lambda: mirrors(cluster, "p-1", "p-2") == {"uid-of-gang/1"})
        await controller.until(lambda: controller.engine._queue.idle)
        assert controller.value("muster_pending_mirrors") == 0
        # Once for the ledger, and not for the mirror, nor for ever.
        assert sum(call.method == "PATCH" and call.path == at("p-0") for call in cluster.calls) == 1
    assert cluster.objects[GANG]["spec"]["active"] is False
    assert len(cluster.events) == 1


async def test_a_late_pod_that_refuses_is_alone_with_it(cluster: Cluster, start: Any) -> None:
    """The others have been told already: nothing is written that would bring the gang back to mind."""
    waiting(cluster, "p-1", "p-2")
    cluster.put(at("p-0"), pod("p-0", created=now() - HOUR).raw())
    protecting(cluster, "p-0")
    async with start() as controller:
        await controller.until(lambda: mirrors(cluster, "p-1", "p-2") == {"uid-of-gang/1"})


async def test_a_pod_that_was_left_out_is_asked_again_afterwards(
    cluster: Cluster, start: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its gang waits with a deadline far off, and nothing else happens to it."""
    monkeypatch.setattr("controller.members.LEFT_OUT", 0.3)
    since = now()
    for name in ("p-0", "p-1"):
        cluster.put(at(name), pod(name, created=since).raw())
    cluster.put(GANG, gang("p-0", "p-1").created(since).raw())
    protecting(cluster, "p-0")
    async with start() as controller:
        await controller.until(lambda: api.ADMISSION_CLOCK in cluster.annotations(at("p-1")))
        await controller.until(lambda: len(controller.engine._writer.members._left_out) == 1)
        cluster.fault = None
        await controller.until(lambda: api.ADMISSION_CLOCK in cluster.annotations(at("p-0")))


@pytest.mark.parametrize("reactivated", [False, True], ids=["its Workload is gone", "reactivated"])
async def test_a_dead_mirror_that_a_pod_keeps_is_taken_off_later(
    cluster: Cluster, start: Any, monkeypatch: pytest.MonkeyPatch, reactivated: bool
) -> None:
    monkeypatch.setattr("controller.members.LEFT_OUT", 0.3)
    names = ("p-0", "p-1")
    since = now()
    for name in names:
        dead = pod(name, created=since).annotate(api.ADMISSION_OUTCOME, "TimedOut")
        dead.annotate(api.ADMISSION_OUTCOME_OF, "uid-of-gang/1").annotate(api.ADMISSION_MESSAGE, "gone")
        cluster.put(at(name), dead.annotate(api.ADMISSION_CLOCK, ledger(name, since, attempt=2)).raw())
    if reactivated:
        cluster.put(GANG, gang(*names).created(since).raw())
    protecting(cluster, "p-0")
    async with start() as controller:
        await controller.until(lambda: mirrors(cluster, *names) == {"uid-of-gang/1", None})
        cluster.fault = None
        await controller.until(lambda: mirrors(cluster, *names) == {None})


async def test_a_gang_all_of_whose_pods_refuse_is_asked_again_later_and_later(cluster: Cluster, start: Any) -> None:
    since = now() - HOUR
    for name in ("p-0", "p-1"):
        cluster.put(at(name), pod(name, created=since).raw())
    cluster.put(GANG, gang("p-0", "p-1").created(since).raw())
    cluster.fault = answer(403, "Forbidden", "denied")
    cluster.faulty = lambda call: call.method == "PATCH" and "/pods/" in call.path
    async with start() as controller:
        await controller.until(lambda: max(controller.engine._queue._failures.values(), default=0) > 3)
        assert controller.engine._writer.members._left_out == {}
        cluster.fault = None
        await controller.until(lambda: api.ADMISSION_DEADLINE in cluster.annotations(GANG))
