"""Two replicas in bad weather, and when it clears up everything that was due is ended, once.

Every request of theirs may break, be refused, come late or be carried out unheard, every watch may tear, and in each
round one of them is killed.

``MUSTER_CHAOS_ROUNDS``, ``MUSTER_CHAOS_WORKLOADS`` and ``MUSTER_CHAOS_SEED`` make it longer (``make chaos``).
"""

import os
import random
from collections import Counter
from collections.abc import AsyncIterator
from typing import Final

import pytest
import pytest_asyncio

from classifier import api
from classifier.instant import parse_instant
from e2e import builders, view
from e2e.arena import Arena
from e2e.builders import Document, Queues
from e2e.chaos import ChaosProxy, Rule
from e2e.conftest import Invariants
from e2e.controlplane.chart import CONTROLLER
from e2e.controlplane.cluster import Cluster
from e2e.gangs import add_nodes, remove_nodes
from e2e.test_storm import Crowd, submit_all
from e2e.wait import eventually

ROUNDS: Final = int(os.environ.get("MUSTER_CHAOS_ROUNDS", "1"))
COUNT: Final = int(os.environ.get("MUSTER_CHAOS_WORKLOADS", "40"))
SEED: Final = int(os.environ.get("MUSTER_CHAOS_SEED", "1"))
#: How many requests in a hundred meet each of the faults.
OFTEN: Final = 3
#: Seconds until everything is settled after it has cleared up.
PATIENCE: Final = 60.0 + COUNT / 2


@pytest.fixture(scope="module")
def cluster(arena: Arena) -> Cluster:
    return arena.cluster


@pytest.fixture(scope="module")
def invariants(invariants_of_arena: Invariants) -> Invariants:
    return invariants_of_arena


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def replicas(arena: Arena) -> AsyncIterator[Arena]:
    await arena.muster.node.scale(CONTROLLER, 2)
    await arena.muster.node.wait_ready(CONTROLLER)
    yield arena
    arena.proxy.forget()
    await arena.muster.node.scale(CONTROLLER, 1)
    await arena.muster.node.wait_ready(CONTROLLER)


def storm(proxy: ChaosProxy, dice: random.Random) -> None:
    """From now on, until the proxy forgets it."""

    def sometimes(_: bytes) -> bool:
        return dice.randrange(100) < OFTEN

    def rarely(_: bytes) -> bool:
        return dice.randrange(4) == 0

    def some() -> Rule:
        return proxy.when(None, "", body=sometimes, agent="muster-controller", watch=False, times=None)

    some().answer(500)
    some().answer(503)
    some().answer(429, retry_after=1)
    some().answer(500, after=True)
    some().reset()
    some().reset(after=True)
    some().delay(2)
    for tear in (Rule.cut, Rule.close, Rule.gone, Rule.duplicate):
        tear(proxy.when("GET", "", body=rarely, agent="muster-controller", watch=True, times=None))


def gangs(queues: Queues, dice: random.Random) -> list[Document]:
    """Some run out of time before there is room, some after, some never."""
    return [
        builders.job(
            f"g-{number}",
            queues,
            pods=2,
            requests={builders.GPU: 1 if dice.random() < 0.6 else 5000},
            annotations={api.ADMISSION_TIMEOUT: f"{dice.randrange(1500, 8000)}ms"} if dice.random() < 0.9 else None,
            run_for="500ms",
        )
        for number in range(COUNT)
    ]


@pytest.mark.timeout(600 + 2 * COUNT)
@pytest.mark.parametrize("number", range(ROUNDS))
async def test_two_replicas_in_bad_weather(replicas: Arena, queues: Queues, number: int) -> None:
    arena, cluster, dice = replicas, replicas.cluster, random.Random(SEED * 1000 + number)
    quota: dict[str, str | int] = {"cpu": 1000, "memory": "1000Gi", builders.GPU: 0}
    await cluster.applier.apply([builders.cluster_queue(queues.cluster_queue, {queues.flavor: quota})])
    await add_nodes(cluster, queues, 4, gpus=COUNT)
    async with Crowd(cluster, queues).followed() as crowd:
        storm(arena.proxy, dice)
        await submit_all(cluster, gangs(queues, dice))
        await eventually(lambda: _some_ended(crowd), PATIENCE, what="the first are ended")
        await dice.choice(arena.muster.controllers).kill()
        quota[builders.GPU] = COUNT
        await cluster.applier.apply([builders.cluster_queue(queues.cluster_queue, {queues.flavor: quota})])
        await eventually(lambda: _all_passed(cluster, crowd), PATIENCE, what="all deadlines have passed")
        arena.proxy.forget()
        arena.proxy.break_streams()
        await eventually(lambda: _settled(crowd), PATIENCE, what="each is ended, or has run, or waits unbounded")
        await _told_once(cluster, queues, crowd)
    await remove_nodes(cluster, queues)


async def _some_ended(crowd: Crowd) -> bool:
    ended = sum(not workload.active for workload in crowd.workloads)
    assert ended >= COUNT / 8, f"{ended} of {COUNT}"
    return True


async def _all_passed(cluster: Cluster, crowd: Crowd) -> bool:
    await cluster.admin.request("GET", "/version")
    shown = [w.annotation(api.ADMISSION_DEADLINE) for w in crowd.workloads]
    left = [each for each in shown if each is not None and parse_instant(each) > cluster.admin.time.now()]
    assert not left, f"{len(left)} deadlines to come"
    return True


async def _settled(crowd: Crowd) -> bool:
    """By the objects alone: nothing that had a bound still waits."""
    outcomes = crowd.outcomes()
    jobs = {job.uid: job for job in crowd.jobs}
    waiting = [
        w.key
        for w in crowd.workloads
        if w.active
        and w.controller is not None
        and not ((status := jobs[w.controller.uid].status) and status.is_true("Complete"))
        and jobs[w.controller.uid].annotation(api.ADMISSION_TIMEOUT) is not None
    ]
    assert not waiting, f"{len(waiting)} wait past their bound: {waiting[:5]} ({dict(outcomes)})"
    assert len(crowd.workloads) == COUNT
    assert set(outcomes) <= {"ran", "ended", "waits"}, dict(outcomes)
    return True


async def _told_once(cluster: Cluster, queues: Queues, crowd: Crowd) -> None:
    """One event a decision, none early."""
    events = await view.every(cluster.admin, api.EVENTS, queues.namespace)
    told = Counter(e["regarding"]["name"] for e in events if e["reason"] == api.EVENT_TIMED_OUT)
    ended = [w for w in crowd.workloads if not w.active]
    assert ended
    names = {w.controller.name for w in ended if w.controller is not None}
    assert told == dict.fromkeys(names, 1), told
    for workload in ended:
        marker, deadline = workload.annotation(api.COMMITTED), workload.annotation(api.ADMISSION_DEADLINE)
        assert marker is not None
        assert deadline is not None
        assert parse_instant(marker.split(" ")[0]) >= parse_instant(deadline)
