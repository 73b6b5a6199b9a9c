"""The autoscaler's loop: looks, decides one thing after the other, and acts."""

import asyncio
import logging
import time
from collections.abc import Collection, Sequence
from types import TracebackType
from typing import Self

from classifier.api import NODES, PODS, PROVISIONING_REQUESTS, PROVREQ_ACCEPTED, PROVREQ_PROVISIONED
from classifier.cluster.client import ApiError, Client, ClientError
from classifier.cluster.reflector import Reflector
from classifier.instant import instant_or_none
from classifier.objects import Node, Pod, ProvisioningRequest
from e2e.autoscaler import conditions, nodes, view
from e2e.autoscaler.cloud import Cloud
from e2e.autoscaler.model import ATOMIC, CHECK, Faults, NodeGroup, Settings
from e2e.autoscaler.publish import StatusConfigMap
from e2e.autoscaler.requests import Requests
from e2e.autoscaler.simulate import Gang, Place, place, simulate

log = logging.getLogger(__name__)


class Autoscaler:
    """Plays Cluster Autoscaler for ``groups`` while it is entered; gives its nodes back when left.

    ``namespace`` limits it to requests of one namespace, so that a test does not serve another's. ``faults`` and
    ``settings`` may be changed at any time.
    """

    def __init__(
        self,
        client: Client,
        groups: Sequence[NodeGroup],
        settings: Settings | None = None,
        *,
        namespace: str | None = None,
        classes: Collection[str] = (ATOMIC, CHECK),
    ) -> None:
        self.faults = Faults()
        self.settings = settings or Settings()
        self._client = client
        self._nodes = Reflector(client, NODES, Node)
        self._pods = Reflector(client, PODS, Pod)
        requests = Reflector(client, PROVISIONING_REQUESTS, ProvisioningRequest, namespace=namespace)
        self._reflectors = (self._nodes, self._pods, requests)
        self._requests = Requests(client, classes, requests)
        self._cloud = Cloud(client, groups, self._nodes)
        # By uid of the request: nodes it waits for, and when to try again, after which wait (monotonic seconds).
        self._starting: dict[str, list[str]] = {}
        self._retry: dict[str, tuple[float, float]] = {}
        # By name of the node: since when it is empty and unbooked.
        self._unneeded: dict[str, float] = {}
        name = self.settings.status_config_map
        self._status = StatusConfigMap(client, name) if name else None
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        self._tasks = [asyncio.create_task(reflector.run()) for reflector in self._reflectors]
        try:
            await asyncio.gather(*(reflector.wait_synced() for reflector in self._reflectors))
        except BaseException:
            await self._stop()
            raise
        self._tasks.append(asyncio.create_task(self._run()))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        loop = self._tasks[-1]
        await self._stop()
        await self._cloud.shut_down()
        if self._status is not None:
            await self._status.remove()
        if not loop.cancelled():
            loop.result()  # it never ends by itself, so this raises what it died of

    async def _stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            try:
                await self._scan()
            except (ApiError, ClientError) as error:
                log.warning("the autoscaler could not finish its scan: %s", error)
            await asyncio.sleep(self.settings.scan_interval)

    async def _scan(self) -> None:
        await self._cloud.step(self.settings.start_delay + self.faults.slow_nodes)
        requests = list(self._requests)
        self._starting = {r.uid: self._starting[r.uid] for r in requests if r.uid in self._starting}
        tried = False
        for request in requests:
            if self.faults.never_answers or conditions.finished(request):
                continue
            if request.status is None or not request.status.is_true(PROVREQ_ACCEPTED):
                await self._requests.set(request, conditions.ACCEPTED)
            elif conditions.booked(request):
                await self._keep_booking(request)
            elif request.uid in self._starting:
                await self._await_nodes(request)
            elif not (tried and _class(request) == ATOMIC) and self._due(request):
                # Cluster Autoscaler takes one atomic request a loop (reference/capacity.md §1.4).
                tried |= _class(request) == ATOMIC
                await self._attempt(request)
        await self._scale_down()
        if self._status is not None:
            await self._status.publish(self._cloud.states())

    # --- requests -----------------------------------------------------------------------------------------------

    def _due(self, request: ProvisioningRequest) -> bool:
        at, _ = self._retry.get(request.uid, (0.0, 0.0))
        return time.monotonic() >= at

    async def _attempt(self, request: ProvisioningRequest) -> None:
        """Decide about one accepted request."""
        if self._age(request.metadata.creation_timestamp) > self.settings.expiry:
            await self._requests.set(request, conditions.EXPIRED)
            return
        if self.faults.failed is not None:
            message = f"the provider gave up: {self.faults.failed}"
            await self._requests.set(request, conditions.failed(self.faults.failed, message))
            return
        gangs = await self._requests.gangs(request)
        if gangs is None:
            reason = conditions.failed("FailedToCreatePods", "a PodTemplate of the ProvisioningRequest is missing")
            await self._requests.set(request, reason)
            return
        grows = _class(request) == ATOMIC
        groups = list(self._cloud.groups.values()) if grows else []
        free, _ = await self._places()
        outcome = simulate(gangs, free, groups, self._cloud.targets())
        if self.faults.no_capacity or not outcome.fits:
            log.info("%s does not fit: %s", request.key, dict(outcome.skipped) or "no capacity")
            await self._not_found(request)
        elif outcome.group is None:
            await self._requests.set(request, conditions.FOUND)
        else:
            self._starting[request.uid] = self._cloud.resize(outcome.group, outcome.new_nodes)
            await self._await_nodes(request)

    async def _not_found(self, request: ProvisioningRequest) -> None:
        parameters = (request.spec.parameters if request.spec else None) or {}
        if _class(request) == CHECK and parameters.get("noRetry") == "true":
            await self._requests.set(request, conditions.GIVEN_UP)
            return
        _, last = self._retry.get(request.uid, (0.0, 0.0))
        wait = min(max(2 * last, self.settings.initial_backoff), self.settings.max_backoff)
        self._retry[request.uid] = (time.monotonic() + wait, wait)
        await self._requests.set(request, conditions.NOT_FOUND)

    async def _await_nodes(self, request: ProvisioningRequest) -> None:
        """The resize was accepted: say so, at once or when the nodes are there."""
        if self.settings.provision_when_ready and not self._cloud.ready(self._starting[request.uid]):
            return
        await self._requests.set(request, conditions.PROVISIONED)
        del self._starting[request.uid]

    async def _keep_booking(self, request: ProvisioningRequest) -> None:
        provisioned = request.status.condition(PROVREQ_PROVISIONED) if request.status else None
        if provisioned is not None and self._age(provisioned.last_transition_time) > self.settings.booking:
            await self._requests.set(request, conditions.BOOKING_EXPIRED)
        elif self.settings.consume_bookings and view.consumed(request, self._pods.objects.values()):
            await self._requests.set(request, conditions.BOOKING_CONSUMED)

    def _age(self, at: str | None) -> float:
        """Seconds since an instant that the API server wrote."""
        instant = instant_or_none(at)
        return 0.0 if instant is None else (self._client.time.now() - instant) / 1000

    async def _places(self) -> tuple[list[Place], set[str]]:
        """Places with pods and bookings taken off, and the names of those that hold a booking."""
        before = [*view.places(self._nodes.objects.values(), self._pods.objects.values()), *self._cloud.expected()]
        booked: list[Gang] = []
        for request in self._requests:
            if conditions.booked(request) or request.uid in self._starting:
                # A booking whose template is gone books nothing.
                booked += await self._requests.gangs(request) or []
        after, _ = place(booked, before)
        return after, {new.name for old, new in zip(before, after, strict=True) if new is not old}

    # --- nodes --------------------------------------------------------------------------------------------------

    async def _scale_down(self) -> None:
        """Remove nodes that have been empty and unbooked for ``unneeded_time``."""
        pools = [(group, self._cloud.members(group.name)) for group in self._cloud.groups.values()]
        if not any(members for _, members in pools):
            self._unneeded.clear()
            return
        _, booked = await self._places()
        occupied = view.running(self._pods.objects.values())
        unneeded: dict[str, float] = {}
        for group, members in pools:
            left = len(members)
            for node in members:
                if node.name in booked or node.name in occupied or not nodes.ready(node):
                    continue
                since = unneeded[node.name] = self._unneeded.get(node.name, time.monotonic())
                if time.monotonic() - since >= self.settings.unneeded_time and left > group.min_nodes:
                    await self._cloud.remove(node.name)
                    left -= 1
        self._unneeded = unneeded


def _class(request: ProvisioningRequest) -> str:
    return request.spec.provisioning_class_name if request.spec else ""
