"""A gang that is admitted and gets no nodes: where a profile bounds that, it is told of and counted, and waits on."""

from typing import Any

from classifier import api
from classifier.instant import SECOND, parse_instant
from e2e import builders, view
from e2e.builders import Queues
from e2e.controlplane.chart import Muster
from e2e.controlplane.cluster import Cluster
from e2e.gangs import Gang, add_nodes, remove_nodes
from e2e.wait import eventually


async def test_a_gang_that_is_admitted_without_nodes_is_told_and_not_ended(
    cluster: Cluster, muster: Muster, queues: Queues
) -> None:
    pool = builders.pool("gpupool", queues, max_nodes=2, allocatable={builders.GPU: 8})
    said = {"clusterQueues": [queues.cluster_queue], "admission": {"scheduledBy": "2s"}}
    await cluster.applier.apply([builders.profile(queues.flavor, queues.flavor, [pool], **said)])
    gang = Gang(cluster, queues)
    await gang.submit(requests={builders.GPU: 8})

    async def counted() -> float:
        name = f'muster_unscheduled_workloads{{cluster_queue="{queues.cluster_queue}"}}'
        return max([(await view.metrics(pod)).get(name, 0.0) for pod in muster.controllers])

    async def told() -> dict[str, Any]:
        events = await view.every(cluster.admin, api.EVENTS, queues.namespace)
        found = [event for event in events if event["reason"] == api.EVENT_UNSCHEDULED]
        assert len(found) == 1, [event["reason"] for event in events]
        assert await counted() == 1
        return found[0]

    event = await eventually(told)
    workload = await gang.workload()
    admitted = view.condition(workload, api.ADMITTED)
    assert admitted is not None
    assert parse_instant(event["eventTime"]) >= parse_instant(admitted["lastTransitionTime"]) + 2 * SECOND
    assert (event["regarding"]["kind"], event["regarding"]["name"]) == ("Job", gang.name)
    assert event["note"].startswith("2 of 2 pod(s) have no node longer than 2s after admission")
    # Only told: it keeps its quota and its pods, and runs once there are nodes.
    assert workload["spec"].get("active", True)
    assert view.is_true(workload, api.ADMITTED)
    assert len(await view.pods_of(cluster.admin, queues.namespace, gang.name)) == 2
    await add_nodes(cluster, queues, 2)
    await gang.complete()

    async def over() -> bool:
        assert await counted() == 0
        return True

    await eventually(over)
    await remove_nodes(cluster, queues)
    await cluster.admin.request("DELETE", api.CAPACITY_PROFILES.path(name=queues.flavor))
