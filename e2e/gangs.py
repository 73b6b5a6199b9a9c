"""What the deadline's scenarios share: submit a gang, wait for what becomes of it."""

from collections.abc import Mapping
from typing import Final

from classifier import api
from classifier.cluster.client import MERGE_PATCH
from e2e import builders, view
from e2e.builders import Document, Queues
from e2e.controlplane.cluster import Cluster
from e2e.wait import eventually

#: More than any queue here has: such a gang waits.
TOO_MUCH: Final[Mapping[str, str | int]] = {builders.GPU: 5000}


class Gang:
    """One Job in a test's queue."""

    def __init__(self, cluster: Cluster, queues: Queues, name: str = "train") -> None:
        self._cluster = cluster
        self.queues = queues
        self.name = name

    async def submit(
        self,
        *,
        timeout: str | None = None,
        requests: Mapping[str, str | int] = TOO_MUCH,
        pods: int = 2,
        annotations: Mapping[str, str] | None = None,
        run_for: str | None = "1s",
        ends: str | None = None,
    ) -> Document:
        """Create it; ``timeout`` is its own request. Returns the stored Job."""
        asked = {**(annotations or {}), **({api.ADMISSION_TIMEOUT: timeout} if timeout else {})}
        document = builders.job(
            self.name, self.queues, pods=pods, requests=requests, annotations=asked, run_for=run_for, ends=ends
        )
        await self._cluster.applier.apply([document])
        return await self.job()

    async def job(self) -> Document:
        return await view.read(self._cluster.admin, api.JOBS, self.queues.namespace, self.name)

    async def workload(self) -> Document:
        """Raises AssertionError while Kueue has not made it."""
        found = await view.workload_of(self._cluster.admin, await self.job())
        assert found is not None, "no Workload yet"
        return found

    async def patch_workload(self, body: Document) -> None:
        """As a person with all rights."""
        name = (await self.workload())["metadata"]["name"]
        path = api.WORKLOADS.path(self.queues.namespace, name)
        await self._cluster.admin.request("PATCH", path, body=body, content_type=MERGE_PATCH)

    async def asks(self, timeout: str) -> None:
        """Change its request."""
        path = api.JOBS.path(self.queues.namespace, self.name)
        body = {"metadata": {"annotations": {api.ADMISSION_TIMEOUT: timeout}}}
        await self._cluster.admin.request("PATCH", path, body=body, content_type=MERGE_PATCH)

    async def runs_out(self) -> None:
        """It asks for less than it has waited, and is due after the notice.

        For what must have happened before: whoever submits it with a few seconds bets on the machine.
        """
        await self.asks("1ms")

    # --- becoming ---------------------------------------------------------------------------------------------

    async def announced(self) -> str:
        """The deadline its Workload shows, once it does."""

        async def shown() -> str:
            found = view.annotations(await self.workload()).get(api.ADMISSION_DEADLINE)
            assert found is not None, "no deadline on the Workload"
            return found

        return await eventually(shown)

    async def committed(self) -> Document:
        """Its Workload, once the wait was ended."""

        async def ended() -> Document:
            workload = await self.workload()
            assert workload["spec"].get("active") is False, "still active"
            assert api.COMMITTED in view.annotations(workload), "inactive without a marker"
            return workload

        return await eventually(ended)

    async def mirrored(self) -> Document:
        """The Job, once it says that its wait was ended."""

        async def says() -> Document:
            job = await self.job()
            assert view.annotations(job).get(api.ADMISSION_OUTCOME) == api.OUTCOME_TIMED_OUT, view.annotations(job)
            return job

        return await eventually(says)

    async def complete(self) -> Document:
        """The Job, once all its pods have succeeded."""

        async def done() -> Document:
            job = await self.job()
            assert view.is_true(job, "Complete"), job.get("status")
            return job

        return await eventually(done)

    async def started(self) -> Document:
        """Its Workload, once the gang has started."""

        async def runs() -> Document:
            workload = await self.workload()
            assert view.is_true(workload, api.PODS_READY), workload.get("status", {}).get("conditions")
            return workload

        return await eventually(runs)


async def add_nodes(cluster: Cluster, queues: Queues, count: int, gpus: int = 8) -> None:
    """Nodes of the test's flavor; they go with the flavor's name at the end of the test (see ``remove_nodes``)."""
    names = (f"{queues.flavor}-{number}" for number in range(count))
    await cluster.applier.apply([builders.node(name, queues.node_labels, {builders.GPU: gpus}) for name in names])


async def remove_nodes(cluster: Cluster, queues: Queues) -> None:
    selector = ",".join(f"{key}={value}" for key, value in queues.node_labels.items())
    for node in await view.every(cluster.admin, api.NODES, selector=selector):
        await cluster.admin.request("DELETE", api.NODES.path(None, node["metadata"]["name"]))
