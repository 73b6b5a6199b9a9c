"""Ten minutes of a busy cluster: memory stands still, and tasks and open files are back at their level afterwards.

``MUSTER_BENCH_SOAK`` sets the minutes. What happens is in ``e2e/load/life.py``.
"""

import asyncio
import os
from collections.abc import Iterator
from typing import Final

from e2e.controlplane.cluster import Cluster
from e2e.load import soak
from e2e.load.soak import Soaked
from tests.bench import Figure, Say

MINUTES: Final = float(os.environ.get("MUSTER_BENCH_SOAK", "10"))
#: Jobs that live at a time.
GANGS: Final = 400
#: Seconds of the same beforehand: caches fill, and the heap finds its size.
WARM: Final = 60.0

#: MiB by which the last third may be above the first.
GROWTH_BAR: Final = 4.0


def run(say: Say) -> Iterator[Figure]:
    yield from asyncio.run(_measure(say))


async def _measure(say: Say) -> list[Figure]:
    async with Cluster(say=say) as cluster, soak.busy(cluster, GANGS) as busy:
        say(f"    {WARM:g} s of {soak.RATE:g} changes a second to warm up")
        await busy.live(WARM)
        before = await busy.level()
        say(f"    {MINUTES:g} minutes of the same; quiet: {before}")
        soaked = await busy.soak(60 * MINUTES, before, say)
    say(f"    {dict(soaked.done)}")
    return [*_memory(soaked), *_rest(soaked)]


def _memory(soaked: Soaked) -> Iterator[Figure]:
    for pod, looks in soaked.memory.items():
        yield Figure(f"memory of {pod}, at its most", max(looks), "MiB")
        yield Figure("  grown from the first third to the last", soaked.growth(pod), "MiB", most=GROWTH_BAR)


def _rest(soaked: Soaked) -> Iterator[Figure]:
    assert soaked.after is not None
    for name, before in soaked.before._asdict().items():
        after = getattr(soaked.after, name)
        yield Figure(f"{name}: tasks more than before", after.tasks - before.tasks, "", most=0)
        yield Figure(f"{name}: open files more than before", after.files - before.files, "", most=soak.IDLE)
    yield Figure("changes a second", soaked.done.total() / soaked.seconds, "/s")
    yield Figure("reviews", soaked.total("muster_reviews_total"), "")
    yield Figure("deadlines that passed", soaked.total("muster_timeouts_total"), "")
    yield Figure("watches cut", soaked.cuts, "")
    yield Figure("exceptions in the logs", len(soaked.bugs), "", most=0)
    yield Figure("committed Workloads admitted afterwards", soaked.total("muster_fence_breaches_total"), "", most=0)
