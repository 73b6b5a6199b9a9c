"""What already waits is judged again: a profile that changes is told on the job, in the figures and by the audit."""

import msgspec

from classifier import api
from e2e import builders, view
from e2e.builders import GPU, Document, Queues
from e2e.controlplane.chart import Muster
from e2e.controlplane.cluster import Cluster
from e2e.submit import gang
from e2e.wait import eventually


def profile(queues: Queues, most: int) -> Document:
    """A pool of at most so many nodes of 8 GPUs. It only warns, so the webhook lets everything in."""
    pool = builders.pool("gpupool", queues, max_nodes=most, allocatable={GPU: 8})
    return builders.profile(queues.cluster_queue, queues.flavor, [pool], closed=True)


async def test_a_waiting_gang_is_told_when_its_pool_becomes_too_small_and_when_it_is_large_again(
    cluster: Cluster, muster: Muster, queues: Queues
) -> None:
    (controller,) = muster.controllers
    # It waits for want of quota, not of nodes, whatever the profile says.
    stopped = builders.cluster_queue(
        queues.cluster_queue,
        {queues.flavor: {"cpu": 1000, "memory": "1000Gi", GPU: 1000}},
        stopPolicy="Hold",
    )
    await cluster.applier.apply([stopped, profile(queues, 2)])
    series = f'muster_never_fits_workloads{{cluster_queue="{queues.cluster_queue}"}}'

    async def figure() -> float | None:
        return (await view.metrics(controller)).get(series)

    async def shown(value: float) -> bool:
        return await figure() == value

    async def told() -> list[Document]:
        events = await view.every(cluster.admin, api.EVENTS, queues.namespace)
        ours = (api.EVENT_NEVER_FITS, api.EVENT_FITS)
        return sorted((e for e in events if e["reason"] in ours), key=lambda e: str(e["eventTime"]))

    try:
        made = await cluster.admin.request("POST", api.JOBS.path(queues.namespace), body=gang("train", queues))
        job: Document = msgspec.json.decode(made)

        async def queued() -> bool:
            return await view.workload_of(cluster.admin, job) is not None

        await eventually(queued, what="Kueue has queued the job")
        await eventually(lambda: shown(0), what="its queue is counted")
        assert await told() == []

        await cluster.applier.apply([profile(queues, 1)])
        await eventually(lambda: shown(1), what="it is counted")

        async def first() -> bool:
            return len(await told()) == 1

        await eventually(first, what="it is told")
        (event,) = await told()
        assert (event["type"], event["reason"]) == ("Warning", "PreflightNeverFits")
        assert (event["regarding"]["kind"], event["regarding"]["uid"]) == ("Job", job["metadata"]["uid"])
        assert event["note"].startswith("preflight: gang needs 2 node(s) of gpupool (max 1): cannot fit; ")

        await cluster.applier.apply([profile(queues, 2)])
        await eventually(lambda: shown(0), what="it is counted no more")

        async def second() -> bool:
            return len(await told()) == 2

        await eventually(second, what="it is told that it may be admitted")
        assert (await told())[1]["reason"] == "PreflightFits"

        after = await view.read(cluster.admin, api.JOBS, queues.namespace, "train")
        assert after["spec"]["suspend"] is True
        assert view.annotations(after) == view.annotations(job)
    finally:
        await cluster.applier.delete([profile(queues, 2)])
