"""What happened to a gang and its node pool, in the order of the cluster.

All kinds count their resourceVersions in one sequence, so which of two changes came first is read from them, whatever
watch brought them.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

from classifier.api import JOBS, NODES, PODS, PROVISIONING_REQUESTS, WORKLOADS
from classifier.cluster.client import Client
from classifier.cluster.reflector import Reflector
from classifier.objects import Job, Meta, Node, Pod, ProvisioningRequest, Workload

#: Seconds that :meth:`Story.until` waits unless told otherwise.
PATIENCE: Final = 60.0


class Story:
    """Follows one namespace and the nodes that ``ours`` accepts; times are resourceVersions."""

    def __init__(self, client: Client, namespace: str, ours: Callable[[Node], bool]) -> None:
        self.jobs = Reflector(client, JOBS, Job, namespace=namespace, on_change=self._job)
        self.pods = Reflector(client, PODS, Pod, namespace=namespace, on_change=self._pod)
        self.workloads = Reflector(client, WORKLOADS, Workload, namespace=namespace, on_change=self._other)
        self.requests = Reflector(
            client, PROVISIONING_REQUESTS, ProvisioningRequest, namespace=namespace, on_change=self._request
        )
        self.nodes = Reflector(client, NODES, Node, on_change=self._node)
        self._ours = ours
        self._changed = asyncio.Event()
        #: When the Job was first seen running, by its name.
        self.unsuspended: dict[str, int] = {}
        #: When each of our nodes registered, and when it was first Ready.
        self.registered: dict[str, int] = {}
        self.ready: dict[str, int] = {}
        #: When each pod was made, when it was first Running, and when its run was over.
        self.made: dict[str, int] = {}
        self.running: dict[str, int] = {}
        self.ended: dict[str, int] = {}
        #: Every condition of a ProvisioningRequest: ``Type=Status/Reason`` and when it was first seen.
        self.said: dict[str, int] = {}

    @asynccontextmanager
    async def told(self) -> AsyncIterator["Story"]:
        """Follow until the block ends."""
        reflectors = (self.jobs, self.pods, self.workloads, self.requests, self.nodes)
        tasks = [asyncio.create_task(reflector.run()) for reflector in reflectors]
        try:
            await asyncio.gather(*(reflector.wait_synced() for reflector in reflectors))
            yield self
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def until(self, what: str, condition: Callable[[], bool], timeout: float = PATIENCE) -> None:
        """Wait for a condition over what is followed. Raises AssertionError, naming ``what``, when it does not come."""
        try:
            async with asyncio.timeout(timeout):
                while not condition():
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise AssertionError(f"not within {timeout:.0f} s: {what}; the requests said {list(self.said)}") from None

    def pool(self) -> list[Node]:
        """Our nodes, as they are now."""
        return [node for node in self.nodes.objects.values() if self._ours(node)]

    def _job(self, key: str, old: Job | None, new: Job | None) -> None:
        if new is not None and new.spec is not None and new.spec.suspend is False:
            self.unsuspended.setdefault(new.name, _when(new))
        self._changed.set()

    def _pod(self, key: str, old: Pod | None, new: Pod | None) -> None:
        if new is not None:
            self.made.setdefault(new.name, _when(new))
            if new.status is not None and new.status.phase == "Running":
                self.running.setdefault(new.name, _when(new))
            elif new.status is not None and new.status.phase in ("Succeeded", "Failed"):
                self.ended.setdefault(new.name, _when(new))
        self._changed.set()

    def _node(self, key: str, old: Node | None, new: Node | None) -> None:
        if new is not None and self._ours(new):
            self.registered.setdefault(new.name, _when(new))
            if new.status is not None and new.status.is_true("Ready"):
                self.ready.setdefault(new.name, _when(new))
        self._changed.set()

    def _request(self, key: str, old: ProvisioningRequest | None, new: ProvisioningRequest | None) -> None:
        for condition in (new.status.conditions if new is not None and new.status else None) or ():
            assert new is not None
            self.said.setdefault(f"{condition.type}={condition.status}/{condition.reason}", _when(new))
        self._changed.set()

    def _other(self, key: str, old: Meta | None, new: Meta | None) -> None:
        self._changed.set()


def _when(obj: Meta) -> int:
    return int(obj.metadata.resource_version)
