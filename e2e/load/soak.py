"""A while of busy life (``life``) before a webhook and two controllers whose watches are cut now and then.

What they hold when it is quiet again, tasks and open files, is held against what they held before.
"""

import asyncio
import itertools
import os
import random
import statistics
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from e2e import builders, view
from e2e.builders import GPU, Queues
from e2e.chaos import ChaosProxy
from e2e.controlplane.chart import CONTROLLER, NAMESPACE, WEBHOOK, Muster
from e2e.controlplane.cluster import Cluster
from e2e.controlplane.egress import Fault
from e2e.controlplane.node import Override, Pod
from e2e.load import cost, crowd
from e2e.load.life import Life
from e2e.wait import eventually

Say = Callable[[str], None]

#: Changes a second.
RATE: Final = 50.0
NAMESPACES: Final = 4
#: Seconds between two cuts, between two looks, and between two lines of progress.
CUT: Final = 7.0
LOOK: Final = 1.0
PROGRESS: Final = 30.0
#: Seconds more, where something has not happened yet.
MORE: Final = 5.0
#: What is cut, by a part of its path; "" is everything.
CUTS: Final = ("/workloads", "/jobs", "/localqueues", "/capacityprofiles", "/pods", "")
#: Connections of both controllers to the API server that are kept: as many as they once needed at the same moment, to
#: list what they follow after watches were cut. A leak of one for each cut or each change is a multiple of it.
IDLE: Final = 40
#: The least that two of so many looks in a row say is a level: in between a lease is renewed, or a probe comes by.
LOOKS: Final = 9
#: What the log line of an exception has.
BUG: Final = "Traceback (most recent call last)"
#: Seconds within which it is quiet, once nothing happens.
PATIENCE: Final = 120.0


class Level(NamedTuple):
    """What processes hold when nothing happens."""

    tasks: int
    files: int

    def __str__(self) -> str:
        return f"{self.tasks} tasks, {self.files} files"


class Levels(NamedTuple):
    """Of all pods of each Deployment together: which of them leads may change."""

    webhook: Level
    controllers: Level

    def __str__(self) -> str:
        return f"webhook {self.webhook}; controllers {self.controllers}"

    def within(self, known: "Levels") -> bool:
        """Whether nothing is held beyond what was, but for connections that are kept for the next request."""
        levels = list(zip(self, known, strict=True))
        return all(now.tasks <= then.tasks and now.files <= then.files + IDLE for now, then in levels)


@dataclass
class Soaked:
    """``memory``: MiB of each process at each look."""

    before: Levels
    #: How long it took: the changes come later on a machine that is busy.
    seconds: float = 0.0
    after: Levels | None = None
    memory: dict[str, list[float]] = field(default_factory=dict)
    #: What happened, by name; watches that were cut; samples of all processes' metrics, summed.
    done: Counter[str] = field(default_factory=Counter)
    cuts: int = 0
    metrics: Counter[str] = field(default_factory=Counter)
    #: Log lines of what nobody expected.
    bugs: list[str] = field(default_factory=list)

    def growth(self, pod: str) -> float:
        """MiB by which the last third of the looks is above the first."""
        looks = self.memory[pod]
        third = max(1, len(looks) // 3)
        return statistics.median(looks[-third:]) - statistics.median(looks[:third])

    def total(self, metric: str) -> float:
        return _total(self.metrics, metric)


@asynccontextmanager
async def busy(cluster: Cluster, gangs: int) -> AsyncIterator["Soak"]:
    """A cluster of its own, without Kueue and the other managers from now on; ``gangs`` live there at a time."""
    queues = [Queues(f"life-{number}", "queue", "life", "life") for number in range(NAMESPACES)]
    async with AsyncExitStack() as stack:
        authority = cluster.folder / "pki" / "ca.crt"
        proxy = await stack.enter_async_context(ChaosProxy(cluster.context.server, authority))
        # On a busy machine the tests' lease of seconds is lost again and again, and each leader begins with a grace.
        lease = {"leaseDuration": "30s", "renewDeadline": "20s"}
        values = {
            "webhook": {"replicas": 1, "logLevel": "info"},
            "controller": {"replicas": 2, "logLevel": "info", "leaderElection": lease},
        }
        muster = await stack.enter_async_context(Muster(cluster, values))

        def through(token: str) -> Path:
            return proxy.kubeconfig(token, namespace=NAMESPACE)

        for name in (WEBHOOK, CONTROLLER):
            await muster.node.override(name, Override(kubeconfig=through))
        pools = [builders.pool("pool", queues[0], max_nodes=4, allocatable={GPU: 8})]
        await cluster.applier.apply([builders.profile("life", "life", pools, closed=True, preflight="Warn")])
        await crowd.quiet(cluster, queues)
        await muster.wait_ready()
        yield Soak(muster, proxy, Life(cluster.admin, queues, gangs))


class Soak:
    def __init__(self, muster: Muster, proxy: ChaosProxy, life: Life) -> None:
        self._muster = muster
        self._proxy = proxy
        self._life = life

    @property
    def _pods(self) -> list[Pod]:
        return [*self._muster.webhooks, *self._muster.controllers]

    async def live(self, seconds: float, counted: Collection[str] = ()) -> None:
        """So many seconds of changes, and on until all metrics ``counted`` have; at the end everybody is gone."""
        await crowd.paced(RATE, seconds, self._life.change)
        until = time.monotonic() + PATIENCE
        while missing := [metric for metric in counted if not _total(await self._metrics(), metric)]:
            assert time.monotonic() < until, f"nothing was counted by {missing}"
            await crowd.paced(RATE, MORE, self._life.change)
        await self._life.end()

    async def _metrics(self) -> Counter[str]:
        """Of all processes together."""
        found: Counter[str] = Counter()
        for pod in self._pods:
            found.update(await view.metrics(pod))
        return found

    async def level(self, known: Levels | None = None) -> Levels:
        """What is held most of the time once it is quiet; with ``known`` as soon as it is no more than that.

        Raises AssertionError if it remains more.
        """
        await eventually(self._leads, PATIENCE, what="one replica leads", poll=LOOK)
        # Connections that are kept for the next request are no part of it: the API server's to the webhook (for 90 s),
        # and the controllers' to the API server.
        await self._muster.break_webhook(Fault.RESET)
        await self._muster.break_webhook(None)
        self._proxy.hang_up()
        looks: list[Levels] = []

        async def level() -> Levels:
            looks.append(Levels(await _level(self._muster.webhooks), await _level(self._muster.controllers)))
            assert len(looks) >= LOOKS
            found = Levels(_least([look.webhook for look in looks]), _least([look.controllers for look in looks]))
            assert known is None or found.within(known), f"{found}; before it was {known}"
            return found

        return await eventually(level, PATIENCE, what="quiet", poll=LOOK)

    async def _leads(self) -> bool:
        """Whether one leads and enforces: a replica that has only begun holds less than it will."""
        found = [await view.metrics(pod) for pod in self._muster.controllers]
        assert sorted(each["muster_leader"] for each in found) == [0, 1]
        assert all(each["muster_fence_in_force"] == 1 for each in found)
        return True

    async def soak(self, seconds: float, before: Levels, say: Say, counted: Collection[str] = ()) -> Soaked:
        """As in ``live``; ``before`` is the level that is to be had again afterwards."""
        soaked = Soaked(before, memory={pod.name: [] for pod in self._pods})
        self._life.done.clear()
        beside = [asyncio.create_task(self._look(soaked, say)), asyncio.create_task(self._cut(soaked))]
        began = time.monotonic()
        try:
            await self.live(seconds, counted)
        finally:
            soaked.seconds = time.monotonic() - began
            for task in beside:
                task.cancel()
            ended = await asyncio.gather(*beside, return_exceptions=True)
        for error in ended:
            if not isinstance(error, asyncio.CancelledError):
                raise RuntimeError("the soak was not looked at to its end") from error
        soaked.after = await self.level(before)
        soaked.done = Counter(self._life.done)
        soaked.metrics = await self._metrics()
        for pod in self._pods:
            soaked.bugs += [line for line in pod.process.log.read_text().splitlines() if BUG in line]
        return soaked

    async def _look(self, soaked: Soaked, say: Say) -> None:
        for number in itertools.count(1):
            await asyncio.sleep(LOOK)
            for pod in self._pods:
                soaked.memory[pod.name].append(cost.memory(_pid(pod)))
            if number % (PROGRESS / LOOK) == 0:
                held = ", ".join(f"{name} {looks[-1]:.1f} MiB" for name, looks in soaked.memory.items())
                say(f"    {number * LOOK:.0f} s, {self._life.done.total()} changes, {soaked.cuts} watches cut: {held}")

    async def _cut(self, soaked: Soaked) -> None:
        """Break the watches of something, or of everything; every other time the history is gone, too."""
        dice = random.Random(1)
        for number in itertools.count():
            await asyncio.sleep(CUT)
            path = dice.choice(CUTS)
            if number % 2:
                self._proxy.when("GET", f"{path}$", watch=True, times=2).gone()
            soaked.cuts += self._proxy.break_streams(path)


def _total(metrics: Mapping[str, float], metric: str) -> float:
    """Over all labels."""
    return sum(value for name, value in metrics.items() if name.partition("{")[0] == metric)


def _least(looks: list[Level]) -> Level:
    last = looks[-LOOKS:]
    return Level(sorted(look.tasks for look in last)[1], sorted(look.files for look in last)[1])


async def _level(pods: list[Pod]) -> Level:
    tasks = [(await view.metrics(pod))["muster_event_loop_tasks"] for pod in pods]
    return Level(int(sum(tasks)), sum(len(os.listdir(f"/proc/{_pid(pod)}/fd")) for pod in pods))


def _pid(pod: Pod) -> int:
    pid = pod.process.pid
    if pid is None:
        raise ProcessLookupError(f"{pod.name} does not run")
    return pid
