"""What a profile's status says of its pools, beside a real Kueue, real nodes and an autoscaler that reports."""

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest_asyncio

from classifier import api
from classifier.cluster.client import Client
from classifier.instant import instant_or_none
from classifier.objects import CapacityProfile, PoolStatus
from e2e import builders
from e2e.autoscaler import ATOMIC, Autoscaler, NodeGroup, Settings
from e2e.builders import GPU, Document, Queues
from e2e.controlplane.chart import Muster
from e2e.controlplane.cluster import Cluster
from e2e.wait import eventually

ROOM = {"cpu": "96", "memory": "1Ti", "pods": "110", GPU: "8"}
STATUS_MAP = "ConfigMap/kube-system/cluster-autoscaler-status"


async def read(client: Client, name: str) -> CapacityProfile:
    return await client.get(api.CAPACITY_PROFILES.path(None, name), CapacityProfile)


async def pool_of(client: Client, name: str) -> PoolStatus:
    """The only pool in the status of a profile."""
    profile = await read(client, name)
    pools = profile.status.pools if profile.status else None
    assert pools, "the status names no pool"
    return pools[0]


@pytest_asyncio.fixture(loop_scope="session")
async def grown(cluster: Cluster, muster: Muster, ns: str, names: Queues) -> AsyncIterator[Queues]:
    """A queue over an empty pool of which the profile says 1 node and the autoscaler 2, with such an autoscaler."""
    pool = builders.pool(names.flavor, names, max_nodes=1, allocatable={GPU: 8})
    made: list[Document] = [
        builders.flavor(names.flavor, names.node_labels),
        *builders.provisioning(names.flavor, class_name=ATOMIC),
        builders.cluster_queue(names.cluster_queue, {names.flavor: {GPU: 1000}}, checks=[names.flavor]),
        builders.local_queue(names),
        builders.profile(names.flavor, names.flavor, [{**pool, "nodeGroups": [names.flavor]}]),
    ]
    await cluster.applier.apply(made)
    group = NodeGroup(names.flavor, names.node_labels, ROOM, max_nodes=2)
    async with Autoscaler(cluster.admin, [group], Settings(start_delay=0.2), namespace=names.namespace):
        yield names
    await cluster.applier.delete(made)


async def test_a_pools_figures_follow_nodes_and_autoscaler(client: Client, grown: Queues) -> None:
    name = grown.flavor

    async def empty() -> bool:
        pool = await pool_of(client, name)
        return (pool.nodes, pool.ready_nodes, pool.target_nodes, pool.max_nodes) == (0, 0, 0, 2)

    await eventually(empty, what="the pool is empty, and may have the autoscaler's two nodes")
    pool = await pool_of(client, name)
    assert STATUS_MAP in (pool.source or "")
    assert instant_or_none(pool.observed_at) is not None
    status = (await read(client, name)).status
    assert status is not None
    drift = status.condition(api.PROFILE_DRIFT)
    assert drift is not None
    assert (drift.status, drift.message) == (
        "True",
        f"pool {name}: maxNodes is 1, {STATUS_MAP} says 2",
    )
    job = builders.job("train", grown, pods=2, requests={GPU: 8}, run_for="60s")
    await client.request("POST", api.JOBS.path(grown.namespace), body=job)

    async def full() -> bool:
        pool = await pool_of(client, name)
        return (pool.nodes, pool.ready_nodes, pool.target_nodes) == (2, 2, 2)

    await eventually(full, what="both nodes are counted")


async def test_a_queue_without_quota_is_told_on_the_profile_until_it_has_some(
    cluster: Cluster, muster: Muster, client: Client, ns: str, names: Queues
) -> None:
    pool = builders.pool(names.flavor, names, max_nodes=2, allocatable={GPU: 8})

    def queue(quota: int) -> Document:
        return builders.cluster_queue(names.cluster_queue, {names.flavor: {GPU: quota}})

    made = [
        builders.flavor(names.flavor, names.node_labels),
        queue(0),
        builders.profile(names.flavor, names.flavor, [pool], clusterQueues=[names.cluster_queue]),
    ]
    await cluster.applier.apply(made)
    try:

        async def told(misconfigured: str, ready: str) -> bool:
            status = (await read(client, names.flavor)).status
            one = status.condition(api.PROFILE_MISCONFIGURED) if status else None
            other = status.condition(api.PROFILE_READY) if status else None
            assert one is not None
            assert other is not None
            return (one.status, other.status) == (misconfigured, ready)

        await eventually(lambda: told("True", "False"), what="the fault is told")
        fault = f"ClusterQueue {names.cluster_queue} has no quota of {GPU} in flavor {names.flavor}"

        async def event() -> Any:
            listed = msgspec.json.decode(await client.request("GET", api.EVENTS.path("default")))
            mine = (e for e in listed["items"] if e["regarding"].get("name") == names.flavor)
            return next((e for e in mine if e["regarding"]["kind"] == "CapacityProfile"), None)

        found = await eventually(event, what="an event on the profile")
        assert found["reason"] == api.EVENT_MISCONFIGURED
        assert found["note"].startswith(fault)
        await cluster.applier.apply([queue(8)])
        await eventually(lambda: told("False", "True"), what="the fault is gone")
    finally:
        await cluster.applier.delete(made)
