"""A replica that leads, follows, and leads again: warm, without a trace of the last term, and without growing."""

import asyncio
from typing import Any

import msgspec
import pytest
from aiohttp import web

from classifier import api
from classifier.instant import MINUTE, format_instant, format_micro, parse_instant
from classifier.ledger import Ledger, format_ledger, parse_ledger
from tests.apiserver import lists
from tests.builders import job, local_queue, workload
from tests.unit.controller.inmemory import JOB, WORKLOAD, Cluster, Controller, committing, now, overdue

LEASE = api.LEASES.path("muster-system", "muster-controller")


def taken(cluster: Cluster) -> None:
    """Somebody else holds the lease, and has just renewed it."""
    spec = {"holderIdentity": "other", "leaseDurationSeconds": 15, "renewTime": format_micro(now())}
    cluster.put(LEASE, {"metadata": {"name": "muster-controller"}, "spec": spec})


def relists(cluster: Cluster) -> int:
    return sum(lists(call) and "limit" in call.query for call in cluster.calls)


def given_up(cluster: Cluster) -> None:
    cluster.put(LEASE, {"metadata": {"name": "muster-controller"}, "spec": {}})


async def leads(controller: Controller) -> None:
    await controller.until(lambda: controller.value("muster_leader") == 1 and controller.engine._acting)


async def follows(controller: Controller) -> None:
    await controller.until(lambda: controller.value("muster_leader") == 0 and not controller.engine._acting)


async def test_a_follower_is_ready_and_writes_nothing_until_it_leads_and_then_lists_nothing_again(
    cluster: Cluster, start: Any
) -> None:
    taken(cluster)
    async with start("--retry-period=20ms") as controller:
        await controller.until(lambda: not controller.engine.not_ready)
        overdue(cluster)
        await controller.until(lambda: bool(controller.engine.cache.workloads.objects))
        await controller.until(lambda: controller.value("muster_fence_in_force") == 1)
        looks = len(cluster.calls) + 20
        await controller.until(lambda: len(cluster.calls) > looks)
        assert not cluster.writes
        assert controller.engine._queue.idle
        assert controller.value("muster_overdue_workloads", cluster_queue="gpu-a100") == 0
        before = relists(cluster)
        assert before
        given_up(cluster)
        await controller.until(lambda: cluster.mirrored)
        assert relists(cluster) == before
        assert controller.value("muster_timeouts_total", cluster_queue="gpu-a100") == 1


@pytest.mark.parametrize("written", [False, True], ids=["not written", "written"])
async def test_a_pause_that_ended_under_a_leader_who_died_is_no_wait(
    cluster: Cluster, start: Any, written: bool
) -> None:
    """Its renewal is later than the end of the pause, so by the lease nothing was missed."""
    queue, key = api.LOCAL_QUEUES.path("team", "gpu"), "team/job-train-1a2b3"
    origin = now() - 10 * MINUTE
    ledger = Ledger("uid-of-train", origin)
    builder = job().created(origin).annotate(api.ADMISSION_CLOCK, format_ledger(ledger))
    cluster.put(JOB, builder.raw())
    cluster.put(WORKLOAD, workload().owner(builder).created(origin).raw())
    taken(cluster)
    async with start("--retry-period=20ms") as controller:
        cache = controller.engine.cache
        await controller.until(lambda: not controller.engine.not_ready and key in cache.workloads.objects)
        stops, runs = now() - 3 * MINUTE, now() - MINUTE
        for changed in (local_queue().stopped(stops), local_queue().running(runs)):
            cluster.put(queue, changed.annotate(api.ADMISSION_TIMEOUT, "30m").raw())
            version = cluster.objects[queue]["metadata"]["resourceVersion"]
            await controller.until(
                lambda v=version: cache.local_queues.objects["team/gpu"].metadata.resource_version == v
            )
        moved = Ledger("uid-of-train", parse_instant(format_instant(origin + runs - stops)))
        if written:
            said = {api.ADMISSION_CLOCK: format_ledger(moved)}
            cluster.edit(JOB, lambda obj: obj["metadata"]["annotations"].update(said))
            jobs = cache.owners[("batch", "Job")].objects
            await controller.until(lambda: parse_ledger(jobs["team/train"]) == moved)
        taken(cluster)
        renewals = len(cluster.calls) + 20
        await controller.until(lambda: len(cluster.calls) > renewals)
        given_up(cluster)
        await controller.until(lambda: api.ADMISSION_DEADLINE in cluster.annotations(WORKLOAD))
    found = msgspec.json.decode(cluster.annotations(JOB)[api.ADMISSION_CLOCK])
    assert found == msgspec.json.decode(format_ledger(moved))


async def test_who_leads_no_more_shows_no_figures_of_what_it_led(cluster: Cluster, start: Any) -> None:
    overdue(cluster)
    async with start("--retry-period=20ms") as controller:
        await controller.until(lambda: cluster.mirrored)
        await controller.until(lambda: controller.value("muster_timed_out_workloads", cluster_queue="gpu-a100") == 1)
        taken(cluster)
        await follows(controller)
        assert controller.value("muster_timed_out_workloads", cluster_queue="gpu-a100") == 0
        given_up(cluster)
        await controller.until(lambda: controller.value("muster_timed_out_workloads", cluster_queue="gpu-a100") == 1)
    assert len(cluster.events) == 1


async def test_a_write_decided_before_the_lease_was_lost_is_not_sent(
    cluster: Cluster, start: Any, monkeypatch: Any
) -> None:
    """As after SIGSTOP: the commit has its turn when the clock says that this replica leads no more."""
    async with start() as controller:
        token = asyncio.Event()
        monkeypatch.setattr(controller.engine._writer._bucket, "take", token.wait)
        await controller.until(lambda: controller.value("muster_fence_in_force") == 1)
        overdue(cluster)
        await controller.until(lambda: controller.value("muster_overdue_workloads", cluster_queue="gpu-a100") == 1)
        terms: list[int] = []

        async def look(request: web.Request) -> web.StreamResponse:
            terms.append(controller.engine.election.terms)
            cluster.fault = None
            return await cluster.handle(request)

        cluster.fault, cluster.faulty = look, committing
        controller.engine.election._candidate.resign()
        token.set()
        await controller.until(lambda: cluster.mirrored)
    assert terms == [2]


async def test_a_write_that_fell_between_a_lease_and_its_late_renewal_is_made_up_for(
    cluster: Cluster, start: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A renewal that is answered in the very moment in which the lease runs out goes on with the term."""
    async with start() as controller:
        await controller.until(lambda: controller.value("muster_fence_in_force") == 1)
        instants = iter([False])
        monkeypatch.setattr(controller.engine._writer, "_leading", lambda: next(instants, True))
        overdue(cluster)
        await controller.until(lambda: cluster.mirrored)
        assert controller.engine.election.terms == 1


async def test_a_hundred_terms_leave_no_tasks_and_no_keys_behind(cluster: Cluster, start: Any) -> None:
    overdue(cluster)
    async with start("--retry-period=5ms") as controller:
        await controller.until(lambda: cluster.mirrored)
        counts = []
        for _ in range(100):
            taken(cluster)
            await follows(controller)
            counts.append(len(asyncio.all_tasks()))
            assert controller.engine._queue.idle
            assert not len(controller.engine._deadlines)
            given_up(cluster)
            await leads(controller)
        assert controller.engine.election.terms >= 100
        # The API server in memory has tasks of its own, which come and go.
        assert min(counts[-10:]) <= max(counts[:10])
        assert controller.value("muster_timeouts_total", cluster_queue="gpu-a100") == 1
    assert len(cluster.events) == 1
