"""What the controller rests on goes away and comes back: Kueue, the API server, etcd's history, the connection to them.

Nothing may be ended early or twice, nothing that was due may be forgotten.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Final

import aiohttp
import pytest
import pytest_asyncio

from classifier import api
from classifier.cluster.client import ApiError
from classifier.instant import SECOND, parse_instant
from e2e import builders, view
from e2e.arena import Arena
from e2e.builders import Queues
from e2e.chaos import ChaosProxy, Rule
from e2e.conftest import Invariants
from e2e.controlplane.chart import CONTROLLER
from e2e.controlplane.cluster import Cluster
from e2e.gangs import Gang, add_nodes, remove_nodes
from e2e.wait import eventually

#: Gangs of each scenario.
COUNT: Final = 4
#: Their timeouts where the outage takes long; the tests' grace after it, ms (e2e/controlplane/chart.py).
OVER_THE_OUTAGE: Final = ("10s", "14s", "22s", "30s")
GRACE: Final = 2 * SECOND
#: Seconds until everything is as it should be again.
PATIENCE: Final = 60.0


@pytest.fixture(scope="module")
def cluster(arena: Arena) -> Cluster:
    return arena.cluster


@pytest.fixture(scope="module")
def invariants(invariants_of_arena: Invariants) -> Invariants:
    return invariants_of_arena


@pytest_asyncio.fixture(loop_scope="session")
async def gangs(arena: Arena, queues: Queues) -> AsyncIterator[list[Gang]]:
    """Not submitted yet. Afterwards no rule is left, and both sides are there again."""
    yield [Gang(arena.cluster, queues, f"train-{number}") for number in range(COUNT)]
    arena.proxy.forget()
    await arena.muster.node.wait_ready(CONTROLLER)


async def submitted(gangs: list[Gang], timeouts: Sequence[str]) -> list[Gang]:
    await asyncio.gather(*(gang.submit(timeout=timeout) for gang, timeout in zip(gangs, timeouts, strict=True)))
    return gangs


async def announced(gangs: list[Gang], timeout: str, **submission: object) -> int:
    """Submit them; the latest of their deadlines, once all are shown."""
    await asyncio.gather(*(gang.submit(timeout=timeout, **submission) for gang in gangs))  # type: ignore[arg-type]
    return max(map(parse_instant, await asyncio.gather(*(gang.announced() for gang in gangs))))


async def passed(cluster: Cluster, deadline: int) -> None:
    """Until the deadline is a second ago, by the API server's time."""

    async def past() -> bool:
        await cluster.admin.request("GET", "/version")
        return cluster.admin.time.now() > deadline + SECOND

    await eventually(past)


async def each_ended_once(cluster: Cluster, gangs: list[Gang]) -> None:
    """Every one by its own deadline, mirrored, and told by one event."""

    namespace = gangs[0].queues.namespace

    async def ended() -> bool:
        jobs = {job["metadata"]["name"]: job for job in await view.every(cluster.admin, api.JOBS, namespace)}
        workloads = await view.every(cluster.admin, api.WORKLOADS, namespace)
        events = await view.every(cluster.admin, api.EVENTS, namespace)
        for job in (jobs[gang.name] for gang in gangs):
            name, uid = job["metadata"]["name"], job["metadata"]["uid"]
            shown = next(view.annotations(w) for w in workloads if w["metadata"]["ownerReferences"][0]["uid"] == uid)
            assert api.COMMITTED in shown, f"{name} is not ended"
            assert api.ADMISSION_OUTCOME_OF in view.annotations(job), f"{name} does not say so"
            told = [e for e in events if (e["reason"], e["regarding"]["name"]) == (api.EVENT_TIMED_OUT, name)]
            assert len(told) == 1, f"{len(told)} events of {name}"
            assert parse_instant(shown[api.COMMITTED].split(" ")[0]) >= parse_instant(shown[api.ADMISSION_DEADLINE])
        return True

    await eventually(ended, PATIENCE)


async def test_kueue_is_down_over_the_deadline(arena: Arena, gangs: list[Gang], queues: Queues) -> None:
    """Nothing is ended while it is. Back again it comes first: what fits by then is admitted, the rest is ended."""
    cluster = arena.cluster
    await add_nodes(cluster, queues, 2, gpus=500)
    holder = Gang(cluster, queues, "holder")
    await holder.submit(requests={builders.GPU: 500}, ends="Never")
    await holder.started()
    fitting, hopeless = gangs[:2], gangs[2:]
    # Long enough for all to show it before the first is due.
    deadline = max(
        await asyncio.gather(announced(fitting, "10s", requests={builders.GPU: 200}), announced(hopeless, "10s"))
    )
    await cluster.processes["kueue"].kill()
    await passed(cluster, deadline)
    (controller,) = arena.muster.controllers
    await eventually(lambda: _is(controller.name, arena, "muster_outage", 1), PATIENCE)
    assert all([(await gang.workload())["spec"].get("active", True) for gang in gangs])
    path = api.JOBS.path(queues.namespace, holder.name)
    await cluster.admin.request("DELETE", path, params={"propagationPolicy": "Background"})
    assert all([(await gang.workload())["spec"].get("active", True) for gang in gangs])
    await cluster.start("kueue")
    await each_ended_once(cluster, hopeless)

    async def whole() -> bool:
        for gang in fitting:
            workload, job = await gang.workload(), await gang.job()
            ended = api.COMMITTED in view.annotations(workload)
            ran = view.is_true(job, "Complete")
            assert ended != ran, f"{gang.name}: ended {ended}, ran {ran}"
            assert ended == (api.ADMISSION_OUTCOME_OF in view.annotations(job))
        return True

    await eventually(whole, PATIENCE)
    await remove_nodes(cluster, queues)


async def test_kueue_is_restarted_in_the_middle(arena: Arena, gangs: list[Gang]) -> None:
    await announced(gangs, "4s")
    await arena.cluster.processes["kueue"].kill()
    await arena.cluster.start("kueue")
    await each_ended_once(arena.cluster, gangs)


async def test_the_api_server_is_restarted_over_the_deadline(arena: Arena, gangs: list[Gang]) -> None:
    deadline = await announced(gangs, "3s")
    await _restart(arena.cluster)
    await passed(arena.cluster, deadline)
    await each_ended_once(arena.cluster, gangs)


async def test_an_outage_in_which_deadlines_pass_is_followed_by_the_grace(arena: Arena, gangs: list[Gang]) -> None:
    """To these values it is as long as an hour is to the chart's, which ``test_outage_hour.py`` plays."""
    deadlines = [parse_instant(await each.announced()) for each in await submitted(gangs, OVER_THE_OUTAGE)]
    everybody = arena.proxy.when(None, "", times=None, watch=False).answer(503)
    arena.proxy.break_streams()
    for deadline in deadlines:
        await passed(arena.cluster, deadline)
        assert all([(await gang.workload())["spec"].get("active", True) for gang in gangs])
    back = arena.cluster.admin.time.now()
    everybody.stop()
    arena.proxy.break_streams()
    await each_ended_once(arena.cluster, gangs)
    for gang in gangs:
        marker = view.annotations(await gang.workload())[api.COMMITTED].split(" ")[0]
        # The controller's idea of the time is up to a second behind: Date has whole seconds.
        assert parse_instant(marker) >= back + GRACE - SECOND


async def test_the_history_is_compacted_while_the_watch_is_broken(arena: Arena, gangs: list[Gang]) -> None:
    """The API server answers 410: everything is listed anew, and nothing of it forgotten.

    It keeps the latest history itself and would serve the watch from there: so it is restarted, too.
    """
    (controller,) = arena.muster.controllers
    await announced(gangs, "6s")
    before = (await view.metrics(controller))[RELISTS]
    watch = arena.proxy.when("GET", r"/workloads$", watch=True, agent="muster").hold()
    assert arena.proxy.break_streams("/workloads") > 0
    await watch.caught()
    await _compact(arena.cluster)
    await _restart(arena.cluster)
    watch.release()

    async def listed() -> bool:
        return (await view.metrics(controller))[RELISTS] > before

    await eventually(listed, PATIENCE)
    await each_ended_once(arena.cluster, gangs)


RELISTS: Final = 'muster_reflector_relists_total{resource="workloads"}'


def _everything(proxy: ChaosProxy, **options: object) -> Rule:
    return proxy.when(None, "", agent="muster", times=None, **options)  # type: ignore[arg-type]


#: What may happen to the controller's connection, and goes on until the deadline has passed; what comes and goes, and
#: all of it at once, is in ``test_chaos_rounds.py``.
WEATHER: Final[dict[str, Callable[[ChaosProxy], Rule]]] = {
    "unavailable": lambda proxy: _everything(proxy, watch=False).answer(503),
    "broken after the fact": lambda proxy: _everything(proxy, watch=False).reset(after=True),
    "hanging": lambda proxy: _everything(proxy, watch=False).hold(),
    "slow": lambda proxy: _everything(proxy, watch=False).delay(2),
    "history gone": lambda proxy: _everything(proxy, watch=True).gone(),
    "no bookmarks": lambda proxy: _everything(proxy, watch=True).without_bookmarks(),
    "silent watches": lambda proxy: _everything(proxy, watch=True).stall(),
}


@pytest.mark.parametrize("weather", WEATHER)
async def test_whatever_happens_to_the_connection_each_is_ended_once(
    arena: Arena, gangs: list[Gang], weather: str
) -> None:
    deadline = await announced(gangs, "3s")
    rule = WEATHER[weather](arena.proxy)
    arena.proxy.break_streams()
    await passed(arena.cluster, deadline)
    rule.stop()
    # Whatever hangs or was stalled is broken with it: a proxy that comes back has none of its old connections.
    arena.proxy.break_streams()
    await each_ended_once(arena.cluster, gangs)


async def _is(pod: str, arena: Arena, metric: str, wanted: float) -> bool:
    found = next(each for each in arena.muster.controllers if each.name == pod)
    value = (await view.metrics(found))[metric]
    assert value == wanted, f"{metric} is {value:g}"
    return True


async def _restart(cluster: Cluster) -> None:
    """The API server; it says that it is ready before it serves custom resources."""
    await cluster.stop("apiserver")
    await cluster.start("apiserver")

    async def serves() -> bool:
        try:
            await cluster.admin.request("GET", api.WORKLOADS.path())
        except ApiError as error:
            if error.status < 500:
                raise
            return False
        return True

    await eventually(serves, PATIENCE)


async def _compact(cluster: Cluster) -> None:
    """Let etcd forget all but the latest revision (its gRPC gateway: POST /v3/kv/compaction)."""
    latest = json.loads(await cluster.admin.request("GET", api.NAMESPACES.path()))["metadata"]["resourceVersion"]
    async with aiohttp.ClientSession() as http:
        body = {"revision": latest, "physical": True}
        async with http.post(f"{cluster.etcd_url}/v3/kv/compaction", json=body) as answer:
            assert answer.status == 200, await answer.text()
