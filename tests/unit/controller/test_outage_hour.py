"""An hour without API server, on the loop's time: no deadline that passes in it is lost, and none comes early.

Nobody could be scheduled in that hour. So what fell due is ended only when Kueue had its chance: after the API server
is back, a commit was tried (dry run), and the grace is over.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Final

import pytest

from classifier import api
from classifier.instant import MINUTE, SECOND, instant_or_none
from tests.apiserver import Fault, answer, reset, serving, silent
from tests.builders import cluster_queue, job, local_queue, namespace, workload
from tests.unit.controller.inmemory import fence, life
from tests.unit.controller.ontime import Timed, on_the_loop, seconds

#: A byte that one end has sent is there when the loop looks next: no more rounds without work are needed than these.
pytestmark = [pytest.mark.looptime(noop_cycles=3), pytest.mark.timeout(120)]

#: How long each job may wait, minutes: one falls due every five, before, in and after the hour.
TIMEOUTS: Final = range(5, 101, 5)
#: The API server goes and comes back, minutes; the chart's grace.
GONE, BACK, GRACE = 12, 71, 5
#: Kueue admits this one between the return and the end of the grace.
LUCKY: Final = 40
#: What may be ended is ended within so many minutes: a watch that was opened in the outage and stays silent counts as
#: dead after IDLE, and only then does anything speak of the API server's return.
SOON: Final = 3

SILENCES: Final[dict[str, Callable[[], Fault]]] = {
    "refused": lambda: answer(503, "ServiceUnavailable", "etcd is away"),
    "reset": reset,
    "silent": silent,
}


@pytest.fixture(autouse=True)
def _on_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    on_the_loop(monkeypatch)


class Hour:
    """A cluster with a job for each of TIMEOUTS, all submitted at the beginning."""

    def __init__(self, cluster: Timed) -> None:
        self.cluster = cluster
        self._began = seconds()
        fence(cluster)
        cluster.put(api.NAMESPACES.path(name="team"), namespace().raw())
        cluster.put(api.CLUSTER_QUEUES.path(name="gpu-a100"), cluster_queue().raw())
        cluster.put(api.LOCAL_QUEUES.path("team", "gpu"), local_queue().running().raw())
        for minutes in TIMEOUTS:
            owner = job(f"train-{minutes}").created(cluster.now()).annotate(api.ADMISSION_TIMEOUT, f"{minutes}m")
            waiting = workload(f"job-train-{minutes}").owner(owner).created(cluster.now())
            cluster.put(self.job(minutes), owner.raw())
            cluster.put(self.workload(minutes), waiting.raw())

    @staticmethod
    def job(minutes: int) -> str:
        return api.JOBS.path("team", f"train-{minutes}")

    @staticmethod
    def workload(minutes: int) -> str:
        return api.WORKLOADS.path("team", f"job-train-{minutes}")

    async def at(self, minutes: float) -> int:
        """Wait until then; the API server's time, ms."""
        await asyncio.sleep(self._began + 60 * minutes - seconds())
        return self.cluster.now()

    def deadline(self, minutes: int) -> int:
        shown = instant_or_none(self.cluster.annotations(self.workload(minutes)).get(api.ADMISSION_DEADLINE))
        assert shown is not None, f"{minutes} min shows no deadline"
        return shown

    def ended(self) -> set[int]:
        return {minutes for minutes in TIMEOUTS if self.workload(minutes) in self.cluster.ended}

    def goes(self, fault: Fault) -> None:
        self.cluster.fault = fault
        self.cluster.cut_watches()

    def returns(self) -> None:
        """With everything from before the hour compacted, so that each watch is answered 410."""
        self.cluster.compact()
        self.cluster.fault = None

    def admit(self, minutes: int) -> None:
        """As Kueue does, job and all."""
        ready = workload().condition(api.QUOTA_RESERVED, True, at=self.cluster.now())
        status = ready.condition(api.ADMITTED, True, at=self.cluster.now()).raw()["status"]
        self.cluster.edit(self.workload(minutes), lambda obj: obj.update(status=status))
        self.cluster.edit(self.job(minutes), lambda obj: obj["spec"].update(suspend=False))

    def each_is_told_once(self, which: set[int]) -> None:
        names = sorted(event["regarding"]["name"] for event in self.cluster.events)
        assert names == sorted(f"train-{minutes}" for minutes in which)
        shown = {m for m in TIMEOUTS if api.ADMISSION_OUTCOME_OF in self.cluster.annotations(self.job(m))}
        assert shown == which


async def _play(hour: Hour, fault: Fault, middle: Callable[[], Awaitable[None]], returned: float = BACK) -> None:
    """``returned``: when Workloads can be written again, Kueue's webhook and all."""
    before = set(range(5, GONE, 5))
    await hour.at(GONE)
    assert hour.ended() == before
    hour.goes(fault)
    version = hour.cluster.version
    await middle()
    back = await hour.at(BACK)
    assert hour.cluster.version == version
    hour.returns()
    if returned > BACK:
        hour.cluster.fault = answer(500, "InternalError", "failed calling webhook vworkload.kb.io: connection refused")
        hour.cluster.faulty = lambda call: call.method == "PATCH" and "/workloads/" in call.path
        back = await hour.at(returned)
        hour.cluster.fault = None
    await hour.at(returned + 1)
    hour.admit(LUCKY)
    await hour.at(returned + GRACE)
    assert hour.ended() == before, "a wait was ended before the grace was over"
    tries = [call.query.get("dryRun") for call in hour.cluster.writes if "/workloads/" in call.path]
    assert "All" in tries
    await hour.at(returned + GRACE + SOON)
    overdue = {minutes for minutes in TIMEOUTS if minutes <= returned + GRACE} - {LUCKY}
    assert hour.ended() == overdue
    await hour.at(max(TIMEOUTS) + SOON)
    assert hour.ended() == set(TIMEOUTS) - {LUCKY}
    hour.each_is_told_once(set(TIMEOUTS) - {LUCKY})
    for minutes in set(TIMEOUTS) - {LUCKY}:
        due = hour.deadline(minutes)
        earliest = due if minutes in before else max(due, back + GRACE * MINUTE)
        at = hour.cluster.ended[hour.workload(minutes)]
        assert earliest <= at < earliest + SOON * MINUTE, f"{minutes} min: {(at - earliest) / SECOND} s after it might"


async def _nothing() -> None:
    return


@contextlib.asynccontextmanager
async def an_hour() -> AsyncIterator[Hour]:
    """No fixture: looptime's time is that of tests alone."""
    async with serving(Timed()) as cluster:
        assert isinstance(cluster, Timed)
        yield Hour(cluster)


@pytest.mark.parametrize("silence", SILENCES)
async def test_what_falls_due_in_an_hour_of_outage_is_ended_after_it_and_the_grace(
    silence: str, tmp_path: Path
) -> None:
    async with an_hour() as hour, life(hour.cluster, tmp_path):
        await _play(hour, SILENCES[silence](), _nothing)


async def test_kueue_is_away_for_longer_than_the_api_server(tmp_path: Path) -> None:
    async with an_hour() as hour, life(hour.cluster, tmp_path):
        await _play(hour, SILENCES["refused"](), _nothing, returned=BACK + 15)


async def test_a_controller_that_is_restarted_in_the_outage_knows_of_it(tmp_path: Path) -> None:
    async with an_hour() as hour, contextlib.AsyncExitStack() as lives:
        await lives.enter_async_context(life(hour.cluster, tmp_path))

        async def restart() -> None:
            await hour.at(GONE + 30)
            await lives.aclose()
            await lives.enter_async_context(life(hour.cluster, tmp_path))

        await _play(hour, SILENCES["refused"](), restart)


async def test_controllers_that_were_away_as_well_return_with_the_api_server(tmp_path: Path) -> None:
    """As after a power cut: nothing tells of it but the Lease, which nobody has renewed for an hour."""
    async with an_hour() as hour, contextlib.AsyncExitStack() as lives:
        await lives.enter_async_context(life(hour.cluster, tmp_path))

        async def restart() -> None:
            await lives.aclose()
            await hour.at(BACK)
            await lives.enter_async_context(life(hour.cluster, tmp_path))

        await _play(hour, SILENCES["refused"](), restart)
