"""The controller with 10,000 to 100,000 Workloads and their Jobs in memory: what each of them costs, and that it costs
the same however many there are.

Each number has a process of its own: the whole engine on :class:`tests.bench.feed.Feed`, which counts aside what it
takes itself. It lists and indexes; is elected and looks at everything; hears of changes; and ends a few thousand waits
when the fence comes.
"""

import asyncio
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

from classifier import api
from classifier.cluster import logs
from classifier.cluster.wire import Page
from classifier.objects import Job, Workload
from controller.engine import Engine
from controller.metrics import Metrics
from controller.settings import parse
from e2e.load import cost, crowd
from tests.bench import Figure, Say
from tests.bench.feed import Feed

COUNTS: Final = (10_000, 25_000, 50_000, 100_000)
#: Changes told of, and deadlines that have passed.
CHANGES: Final = 5_000
DUE: Final = 5_000

#: Every day: as many changes a second, for as many seconds; every so many-th brings a deadline a second later.
CHANGES_A_SECOND: Final = 50.0
EVERY_DAY: Final = 12.0
DEADLINE: Final = 10

#: What a Workload may cost among the most of them, to what it costs among the fewest.
CURVE_BAR: Final = 1.3
LIST_BAR: Final = 3.0
BLOCKED_BAR: Final = 50.0
STEADY_BAR: Final = 10.0
LAG_BAR: Final = 2.0
#: Judging what waits begins as long, seconds, after a change at the latest.
QUIET: Final = 1.5
#: Seconds until everything that is awaited here must have come.
PATIENCE: Final = 300.0


class Costs(msgspec.Struct):
    """Of one number of Workloads, each with its Job: CPU in microseconds and memory in bytes of one of them."""

    count: int
    listed: float
    memory: float
    looked_at: float
    change: float
    ended: float
    #: With CHANGES_A_SECOND: of one core, in percent, and the lag of 99 of 100 commits, seconds.
    steady: float
    lag: float
    #: The longest that the loop was held at a stretch, ms of CPU.
    held: float
    #: The bare decode of both.
    bare: float = 0.0

    @property
    def line(self) -> str:
        return (
            f"    {self.count:>7,}: list and index {self.listed:.0f} us ({self.listed / self.bare:.2f} x bare decode), "
            f"{self.memory:.0f} bytes, first look {self.looked_at:.0f} us, a change {self.change:.0f} us, "
            f"an end {self.ended:.0f} us; every day {self.steady:.1f} % of a core, lag within {self.lag:g} s; "
            f"loop held {self.held:.0f} ms at most"
        )


def run(say: Say) -> Iterator[Figure]:
    found = []
    for count in COUNTS:
        command = [sys.executable, "-m", "tests.bench.memory", str(count)]
        answer = subprocess.run(command, stdout=subprocess.PIPE, check=True)
        costs = msgspec.json.decode(answer.stdout, type=Costs)
        say(costs.line)
        found.append(costs)
    few, many = found[0], found[-1]
    against = f"among {few.count:,}"
    for what in ("listed", "memory", "looked_at", "change", "ended"):
        ratio = getattr(many, what) / getattr(few, what)
        yield Figure(f"{_NAMES[what]} of one among {many.count:,}", ratio, "", against, most=CURVE_BAR)
    yield Figure("list and index, most of all numbers", max(c.listed / c.bare for c in found), "", _BARE, most=LIST_BAR)
    yield Figure("every day, of one core, most of all numbers", max(c.steady for c in found), "%", most=STEADY_BAR)
    yield Figure("lag of 99 of 100 commits, most of all numbers", max(c.lag for c in found), "s", most=LAG_BAR)
    yield Figure("the loop held at a stretch, most of all", max(c.held for c in found), "ms", most=BLOCKED_BAR)


_BARE: Final = "the bare decode of the same bytes"
_NAMES: Final = {
    "listed": "CPU to list and index",
    "memory": "memory",
    "looked_at": "CPU of the first look",
    "change": "CPU of a change",
    "ended": "CPU to end the wait",
}


# --- one number, in a process of its own ------------------------------------------------------------------------


class Stretches(selectors.DefaultSelector):
    """Knows how long, in CPU seconds, the loop went on at the longest without asking what else there is.

    ``own`` is CPU time that was spent on what is to be measured.
    """

    def __init__(self, own: Callable[[], float]) -> None:
        super().__init__()
        self.longest = 0.0
        self._own = own
        self._since = own()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.longest = max(self.longest, self._own() - self._since)
        found = super().select(timeout)
        self._since = self._own()
        return found


def measure(count: int) -> Costs:
    # Lines are written as in life, to nowhere.
    logs.configure("info", open(os.devnull, "w"))  # noqa: SIM115
    feed = Feed(count, DUE)
    stretches = Stretches(lambda: time.thread_time() - feed.aside)
    with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(stretches)) as runner:
        costs = runner.run(_measure(feed, count, stretches))
    # Afterwards: what it frees would be taken again unseen.
    costs.bare = _bare_decode(feed)
    return costs


async def _measure(feed: Feed, count: int, stretches: Stretches) -> Costs:
    settings = parse(
        ["--rate=0", "--workers=16", "--fence-settle=0s", "--recovery-grace=1ms", "--retry-period=100ms", "--notice=1s"]
    )
    metrics = Metrics()
    engine = Engine(feed, settings, metrics)
    before = cost.memory(os.getpid())
    figures: list[float] = []

    async def phase(what: Callable[[], Any], done: Callable[[], bool], each: int) -> None:
        began, aside = time.process_time(), feed.aside
        what()
        await _until(done)
        await _quiet()
        figures.append(1e6 * (time.process_time() - began - (feed.aside - aside)) / each)

    tasks: list[asyncio.Task[None]] = []
    await phase(lambda: tasks.append(asyncio.create_task(engine.run())), lambda: not engine.not_ready, count)
    memory = (cost.memory(os.getpid()) - before) * cost.MIB / count
    await phase(feed.give_up_lease, lambda: engine.election.leading and engine._queue.idle, count)
    await phase(lambda: feed.touch(range(DUE, DUE + CHANGES)), lambda: engine._queue.idle, CHANGES)
    await phase(feed.put_fence, lambda: feed.writes.get(api.JOBS.plural, 0) == DUE and engine._queue.idle, DUE)
    ended = {kind: feed.writes.get(kind) for kind in (api.WORKLOADS.plural, api.EVENTS.plural, api.JOBS.plural)}
    if set(ended.values()) != {DUE}:
        raise AssertionError(f"{DUE} waits were to end once, and the writes are {ended}")
    steady, lag = await _every_day(feed, metrics)
    engine.close()
    tasks[0].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    listed, looked_at, change, end = figures
    return Costs(count, listed, memory, looked_at, change, end, steady, lag, 1000 * stretches.longest)


async def _every_day(feed: Feed, metrics: Metrics) -> tuple[float, float]:
    """Of one core, in percent; and within how many seconds of their deadlines 99 of 100 waits were ended."""
    began, cpu, aside = time.monotonic(), time.process_time(), feed.aside
    lags = _lags(metrics)

    async def change(number: int) -> None:
        if number % DEADLINE:
            feed.touch([DUE + number])
        else:
            feed.ask(2 * DUE - 1 - number, 1.0)

    changes = await crowd.paced(CHANGES_A_SECOND, EVERY_DAY, change)
    await _until(lambda: _lags(metrics)["+Inf"] - lags["+Inf"] == -(-changes // DEADLINE))
    seconds, cpu = time.monotonic() - began, time.process_time() - cpu - (feed.aside - aside)
    new = {le: count - lags[le] for le, count in _lags(metrics).items()}
    lag = next(float(le) for le, count in new.items() if count >= 0.99 * new["+Inf"])
    return 100 * cpu / seconds, lag


def _lags(metrics: Metrics) -> dict[str, float]:
    """How many commits there were within so many seconds of their deadline."""
    (family,) = metrics.commit_lag.collect()
    return {each.labels["le"]: each.value for each in family.samples if each.name.endswith("_bucket")}


def _bare_decode(feed: Feed) -> float:
    """CPU in microseconds to make structs of a Workload and its Job as they come in pages, and nothing else."""
    seconds, count = 0.0, 0
    for resource, kind in ((api.WORKLOADS, Workload), (api.JOBS, Job)):
        pages, decoder = msgspec.json.Decoder(Page), msgspec.json.Decoder(kind)
        for body in feed.pages(resource.plural):
            began = time.process_time()
            kept = [decoder.decode(raw) for raw in pages.decode(body).items or ()]
            seconds += time.process_time() - began
            count += len(kept)
            del kept
    return 2e6 * seconds / count


async def _until(done: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not done():  # noqa: ASYNC110  # the engine has no event for what is asked
            await asyncio.sleep(0.02)


async def _quiet() -> None:
    """Until for a while nothing is done any more but what is done all the time."""
    spent = 1.0
    while spent > 0.05 * QUIET:
        before = time.process_time()
        await asyncio.sleep(QUIET)
        spent = time.process_time() - before


if __name__ == "__main__":
    sys.stdout.buffer.write(msgspec.json.encode(measure(int(sys.argv[1]))))
