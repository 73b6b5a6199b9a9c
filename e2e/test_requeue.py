"""A gang that had started and is back in the queue: bounded again where its profile says so, as Kueue dates it."""

import json
from typing import Any

import pytest

from classifier import api
from classifier.cluster.client import MERGE_PATCH
from classifier.instant import SECOND, parse_instant
from e2e import builders, view
from e2e.builders import Queues
from e2e.controlplane.chart import Muster
from e2e.controlplane.cluster import Cluster
from e2e.gangs import Gang, add_nodes, remove_nodes
from e2e.wait import eventually


async def ledger_of(gang: Gang) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(view.annotations(await gang.job()).get(api.ADMISSION_CLOCK, "{}"))
    return found


@pytest.mark.parametrize("requeue", ["Restart", "None"])
async def test_a_gang_that_ran_and_waits_again(cluster: Cluster, muster: Muster, queues: Queues, requeue: str) -> None:
    pool = builders.pool("gpupool", queues, max_nodes=2, allocatable={builders.GPU: 8})
    bounded = {"clusterQueues": [queues.cluster_queue], "admission": {"requeue": requeue}}
    await cluster.applier.apply([builders.profile(queues.flavor, queues.flavor, [pool], **bounded)])
    await add_nodes(cluster, queues, 2)
    gang = Gang(cluster, queues)
    await gang.submit(timeout="1h", requests={builders.GPU: 8}, run_for="10m")
    await gang.started()

    async def over() -> str:
        found: str | None = (await ledger_of(gang)).get("started")
        assert found is not None, "its job does not say that it started"
        return found

    started = await eventually(over)
    await gang.asks("4s")

    path = api.CLUSTER_QUEUES.path(name=queues.cluster_queue)
    await cluster.admin.request("PATCH", path, body={"spec": {"stopPolicy": "HoldAndDrain"}}, content_type=MERGE_PATCH)

    async def left() -> bool:
        workload = await gang.workload()
        return not view.is_true(workload, api.QUOTA_RESERVED) and not view.is_true(workload, api.ADMITTED)

    await eventually(left)
    # It runs again, but has no room for the gang any more.
    none: dict[str, str | int] = {"cpu": 1000, "memory": "1000Gi", builders.GPU: 1}
    await cluster.applier.apply([builders.cluster_queue(queues.cluster_queue, {queues.flavor: none})])
    await cluster.admin.request("PATCH", path, body={"spec": {"stopPolicy": "None"}}, content_type=MERGE_PATCH)

    async def put_back() -> str:
        conditions = (await gang.workload())["status"]["conditions"]
        requeued = next(c for c in conditions if c["type"] == api.REQUEUED)
        assert (requeued["status"], requeued["reason"]) == ("True", "ClusterQueueRestarted"), requeued
        since: str = requeued["lastTransitionTime"]
        return since

    since = await eventually(put_back)
    if requeue == "Restart":
        await gang.mirrored()
        found = await ledger_of(gang)
        assert found["attempt"] == 2
        assert found["started"] == started
        assert abs(parse_instant(found["origin"]) - parse_instant(since)) <= 2 * SECOND
        marker = view.annotations(await gang.workload())[api.COMMITTED]
        assert " attempt=2 " in marker
        assert parse_instant(marker.partition(" ")[0]) >= parse_instant(found["origin"]) + 4 * SECOND
    else:

        async def withdrawn() -> bool:
            shown = [view.annotations(obj) for obj in (await gang.workload(), await gang.job())]
            assert not any(api.ADMISSION_DEADLINE in one for one in shown), "a deadline that nobody enforces is shown"
            return True

        await eventually(withdrawn)
        assert await ledger_of(gang) == {**await ledger_of(gang), "started": started}
        assert (await gang.workload())["spec"].get("active", True)
    await remove_nodes(cluster, queues)
    await cluster.admin.request("DELETE", api.CAPACITY_PROFILES.path(name=queues.flavor))
