"""The webhook's copy of what preflight judges by, and the view of it for one job.

Queues, flavors, checks and profiles are hundreds of objects, so they are all kept; nodes are kept as their labels,
taints and sizes, and only where the role allows it (they refine a verdict, they never carry a denial on their own).
They only ever raise what may fit, so the last copy of them counts however old it is.
"""

import asyncio
import logging
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, Generic, TypeVar

import msgspec

from classifier import api
from classifier.cluster.client import ApiError, Client, ClientError
from classifier.cluster.reflector import Reflector
from classifier.fit import Supply, World
from classifier.fit.live import tell_the_same
from classifier.instant import SECOND
from classifier.objects import (
    AdmissionCheck,
    CapacityProfile,
    ClusterQueue,
    LocalQueue,
    Meta,
    Namespace,
    Node,
    ResourceFlavor,
)
from classifier.policy import Policies, profiles_for
from webhook.settings import Settings

log = logging.getLogger(__name__)

T = TypeVar("T", bound=Meta)

#: Seconds between two looks whether nodes may be read by now.
ASK_AGAIN: Final = 300.0

_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")


class Unavailable(Exception):
    """There is no view to judge by. ``cause`` is the metric's label, the text is for the user."""

    def __init__(self, cause: str, text: str) -> None:
        super().__init__(text)
        self.cause = cause


@dataclass(frozen=True)
class View:
    """The world around one job, and the policies that speak about it."""

    world: World
    policies: Policies


class _Kept(Generic[T]):
    """One reflector, with its values as a list that is made anew only after a change.

    ``no_news`` tells of two copies of one object whether the second says the same to us; ``notice`` is told of one that
    does not.
    """

    def __init__(
        self,
        client: Client,
        resource: api.Resource,
        type_: type[T],
        no_news: Callable[[T, T], bool] = lambda old, new: False,
        notice: Callable[[T], object] = lambda new: None,
    ) -> None:
        self.reflector = Reflector(client, resource, type_, project=_trim, on_change=self._changed)
        self._no_news = no_news
        self._notice = notice
        self._values: list[T] | None = None

    def _changed(self, key: str, old: T | None, new: T | None) -> None:
        if old is not None and new is not None and self._no_news(old, new):
            return
        self._values = None
        if new is not None:
            self._notice(new)

    @property
    def objects(self) -> dict[str, T]:
        return self.reflector.objects

    @property
    def values(self) -> list[T]:
        if self._values is None:
            self._values = list(self.reflector.objects.values())
        return self._values


class Snapshot:
    """Follows the cluster while :meth:`run` runs; :meth:`view` answers from memory but for what seems missing."""

    def __init__(self, client: Client, settings: Settings) -> None:
        self._client = client
        self._settings = settings
        self._profiles = _Kept(client, api.CAPACITY_PROFILES, CapacityProfile)
        self._local_queues = _Kept(client, api.LOCAL_QUEUES, LocalQueue)
        self._cluster_queues = _Kept(client, api.CLUSTER_QUEUES, ClusterQueue)
        self._flavors = _Kept(client, api.RESOURCE_FLAVORS, ResourceFlavor)
        self._checks = _Kept(client, api.ADMISSION_CHECKS, AdmissionCheck)
        self._namespaces = _Kept(client, api.NAMESPACES, Namespace)
        self._supply = Supply()
        # Kubelets report many times a second, and hardly ever anything new.
        self._nodes = _Kept(client, api.NODES, Node, tell_the_same, self._supply.look)
        self._nodes_allowed = True

    @property
    def _required(self) -> list[Reflector[Any]]:
        kept: tuple[_Kept[Any], ...] = (
            self._profiles,
            self._local_queues,
            self._cluster_queues,
            self._flavors,
            self._checks,
            self._namespaces,
        )
        return [k.reflector for k in kept]

    @property
    def trouble(self) -> str | None:
        """Why there is nothing to judge by yet; None once every kind has been listed."""
        nodes = [self._nodes.reflector] if self._nodes_allowed else []
        missing = [r for r in [*self._required, *nodes] if not r.synced]
        return "not listed yet: " + ", ".join(_say(r) for r in missing) if missing else None

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as group:
            for reflector in self._required:
                group.create_task(reflector.run())
            group.create_task(self._follow_nodes())

    async def _follow_nodes(self) -> None:
        """Nodes are worth having and not needed: an administrator may withhold the right."""
        while True:
            try:
                await self._client.request("GET", api.NODES.path(), params={"limit": "1"})
            except ApiError as error:
                if error.status == 403:
                    if self._nodes_allowed:
                        log.warning(
                            "nodes may not be read; profiles alone say what they have", extra={"why": str(error)}
                        )
                    self._nodes_allowed = False
                    await asyncio.sleep(ASK_AGAIN)
                    continue
            except ClientError as error:
                log.info("cannot ask for nodes yet", extra={"why": str(error)})
            self._nodes_allowed = True
            # From here on the reflector's own patience is enough, whatever the first answer was.
            await self._nodes.reflector.run()

    async def view(self, namespace: str, queue: str) -> View:
        """The view for a job in ``queue``. Raises :class:`Unavailable` when what we have is missing or too old.

        What seems missing is asked for once, live: a queue and a job in it are often applied together, and a verdict
        must not rest on our copy being a moment behind (design §4).
        """
        required = self._required
        if not all(r.synced for r in required):
            raise Unavailable("unsynced", "preflight skipped: it has not read the cluster yet")
        age = max(r.age() for r in required)
        if age * SECOND > self._settings.stale_after:
            raise Unavailable("stale", f"preflight skipped: its view of the cluster is {age:.0f}s old")
        nodes = self._nodes.reflector
        world = World(
            profiles=self._profiles.values,
            cluster_queues=self._cluster_queues.objects,
            local_queues=self._local_queues.objects,
            flavors=self._flavors.objects,
            admission_checks=self._checks.objects,
            namespaces=self._namespaces.objects,
            nodes=self._nodes.values if nodes.synced else None,
            nodes_recent=nodes.age() * SECOND <= self._settings.stale_after,
            nodes_awaited=self._nodes_allowed and not nodes.synced,
            observed_at=self._client.time.now() - int(age * SECOND),
            preflight_optional=self._settings.preflight_optional,
            supply=self._supply,
        )
        world = await self._completed(world, namespace, queue)
        local_queue = world.local_queues.get(f"{namespace}/{queue}")
        cluster_queue = world.cluster_queues.get(local_queue.cluster_queue) if local_queue else None
        policies = Policies(
            local_queue=local_queue,
            cluster_queue=cluster_queue,
            profiles=profiles_for(cluster_queue, world.profiles),
            namespace=world.namespaces.get(namespace),
            default=self._settings.default_timeout,
            max_default=self._settings.max_timeout,
        )
        return View(world, policies)

    async def _completed(self, world: World, namespace: str, queue: str) -> World:
        """``world`` with the missing links of the job's chain, where the API server has them."""
        key = f"{namespace}/{queue}"
        if namespace not in world.namespaces:
            found = await self._get(api.NAMESPACES, Namespace, namespace)
            world = replace(world, namespaces={**world.namespaces, **found})
        if key not in world.local_queues:
            queues = await self._get(api.LOCAL_QUEUES, LocalQueue, queue, namespace)
            world = replace(world, local_queues={**world.local_queues, **queues})
        local_queue = world.local_queues.get(key)
        if local_queue is None:
            return world
        if local_queue.cluster_queue not in world.cluster_queues:
            cluster_queues = await self._get(api.CLUSTER_QUEUES, ClusterQueue, local_queue.cluster_queue)
            world = replace(world, cluster_queues={**world.cluster_queues, **cluster_queues})
        cluster_queue = world.cluster_queues.get(local_queue.cluster_queue)
        for flavor in cluster_queue.flavors if cluster_queue else ():
            if flavor not in world.flavors:
                flavors = await self._get(api.RESOURCE_FLAVORS, ResourceFlavor, flavor)
                world = replace(world, flavors={**world.flavors, **flavors})
        return world

    async def _get(
        self, resource: api.Resource, type_: type[T], name: str, namespace: str | None = None
    ) -> dict[str, T]:
        if not _NAME.fullmatch(name):
            # Labels are not validated yet when a mutating webhook is asked: no path is made of an arbitrary one.
            return {}
        try:
            obj = await self._client.get(resource.path(namespace, name), type_)
        except ApiError as error:
            if error.missing:
                return {}
            raise Unavailable("unreachable", f"preflight skipped: cannot read {resource.kind} {name}") from error
        except (ClientError, msgspec.MsgspecError) as error:
            raise Unavailable("unreachable", f"preflight skipped: cannot read {resource.kind} {name}") from error
        return {obj.key: obj}


def _trim(obj: T) -> T:
    """Without managedFields: nobody here asks who wrote what, and they are half of an object's memory."""
    obj.metadata.managed_fields = None
    return obj


def _say(reflector: Reflector[Any]) -> str:
    plural = reflector.resource.plural
    return f"{plural} ({reflector.trouble})" if reflector.trouble else plural
