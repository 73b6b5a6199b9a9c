"""A short soak: what a webhook and two controllers hold is no more than they held before, to the task and to the file.

The long one, in which memory counts, is a bench (``python -m tests.bench soak``).
"""

from typing import Final

import pytest

from e2e.controlplane.cluster import Cluster
from e2e.load import soak

SECONDS: Final = 20.0
GANGS: Final = 60
#: MiB. In so short a time only a flood is seen.
FLOOD: Final = 24.0
#: What happens in a life, however slow the machine.
LIFE: Final = ("muster_timeouts_total", "muster_mirrors_total", "muster_voids_total", "muster_reviews_total")


@pytest.mark.timeout(600)
async def test_a_busy_while_leaves_nothing_behind(own_cluster: Cluster) -> None:
    async with soak.busy(own_cluster, GANGS) as busy:
        soaked = await busy.soak(SECONDS, await busy.level(), print, LIFE)
    lived = {metric: soaked.total(metric) for metric in LIFE}
    print(dict(soaked.done), f"{soaked.cuts} watches cut, {soaked.before}, {lived}")
    assert soaked.after is not None
    assert soaked.after.within(soaked.before)
    assert soaked.bugs == []
    assert all(soaked.growth(pod) < FLOOD for pod in soaked.memory), soaked.memory
    # It was a life: deadlines passed and were told of, decisions undone, jobs judged, watches lost.
    assert all(lived.values()), lived
    assert soaked.cuts > 0
    assert soaked.total("muster_fence_breaches_total") == 0
    # Of what is gone nothing is counted any more.
    for metric in ("muster_timed_out_workloads", "muster_overdue_workloads", "muster_pending_mirrors"):
        assert soaked.total(metric) == 0, metric
