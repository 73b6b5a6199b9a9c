"""Asks the API server, once, for what seems to be missing of a job's chain, before a verdict rests on its absence.

A queue and a job in it are often applied together, and our copy is a moment behind (design §4). RuntimeClasses are not
asked for: a missing one only makes a pod ask for less, which denies nobody.
"""

import asyncio
import operator
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final, NamedTuple

from classifier import api
from classifier.cluster.client import ApiError, ClientError
from classifier.cluster.following import Following
from classifier.cluster.kept import Kept
from classifier.cluster.sharing import Sharing
from classifier.fit import World
from classifier.names import names_object
from classifier.objects import ClusterQueue, Meta, TrainJob

#: Seconds for which a Cohort that was not there is not asked for again. Most cohorts are only a name in their queues.
NO_COHORT: Final = 5.0


class Unreadable(Exception):
    """What seems to be missing cannot be asked for; the text names it."""


class Link(NamedTuple):
    kept: Kept[Any]
    name: str
    namespace: str | None = None

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @property
    def which(self) -> tuple[api.Resource, str]:
        return self.kept.resource, self.key


class Asking:
    """:meth:`world` is the follower's, with what it lacked."""

    def __init__(self, following: Following, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._following = following
        self._monotonic = monotonic
        #: Cohorts that were not there, and until when that is taken for true.
        self._absent: dict[str, float] = {}
        #: A queue that nobody made costs one GET a round trip, however many jobs name it.
        self._sharing = Sharing()
        #: ClusterQueues of which nothing was missing in these parts of the world: a queue may have hundreds of flavors.
        self._parts: tuple[object, ...] = ()
        self._whole: set[str] = set()
        #: Of this very world, the namespaces and queues for whose jobs nothing was missing.
        self._world: World | None = None
        self._found: set[tuple[str, str]] = set()

    def lacks_nothing(self, world: World, namespace: str, queue: str) -> bool:
        """Whether that is known of this very ``world``, but for a TrainJob's runtime."""
        return world is self._world and (namespace, queue) in self._found

    async def world(self, namespace: str, queue: str, obj: Meta | None = None, *, surely: bool = False) -> World:
        """The world for a job in ``queue``. What was found stays in the follower's copy. Raises :class:`Unreadable`.

        ``surely``: not even a moment ago is soon enough to have seen that something is not there.
        """
        world = self._following.world()
        if world is not self._world:
            self._world, self._found = world, set()
        if (namespace, queue) in self._found and not isinstance(obj, TrainJob):
            return world  # a TrainJob has a runtime besides
        asked: set[tuple[api.Resource, str]] = set()
        while True:
            world = self._following.world()
            missing = list(self._missing(world, namespace, queue, obj))
            wanted = {
                link.which: link
                for link in missing
                if link.which not in asked and (surely or not self._known_absent(link))
            }
            if not wanted:
                if not missing and world is self._world:  # of another one, the next who asks will see
                    self._found.add((namespace, queue))
                return world
            asked |= wanted.keys()
            await asyncio.gather(*map(self._ask, wanted.values()))

    def _missing(self, world: World, namespace: str, queue: str, obj: Meta | None) -> Iterator[Link]:
        """The first missing link of every branch."""
        follow = self._following
        if namespace not in world.namespaces:
            yield Link(follow.namespaces, namespace)
        if isinstance(obj, TrainJob):
            yield from self._runtime(world, namespace, obj)
        local_queue = world.local_queues.get(f"{namespace}/{queue}")
        if local_queue is None:
            yield Link(follow.local_queues, queue, namespace)
            return
        cluster_queue = world.cluster_queues.get(local_queue.cluster_queue)
        if cluster_queue is None:
            yield Link(follow.cluster_queues, local_queue.cluster_queue)
            return
        parts = (world.cluster_queues, world.admission_checks, world.flavors, world.topologies, world.cohorts)
        if len(parts) != len(self._parts) or any(map(operator.is_not, parts, self._parts)):
            self._parts, self._whole = parts, set()
        if cluster_queue.name not in self._whole:
            links = list(self._behind(world, cluster_queue))
            if not links:
                self._whole.add(cluster_queue.name)
            yield from links

    def _behind(self, world: World, cluster_queue: ClusterQueue) -> Iterator[Link]:
        follow = self._following
        for name in cluster_queue.check_names:
            if name not in world.admission_checks:
                yield Link(follow.checks, name)
        for name in cluster_queue.flavors:
            flavor = world.flavors.get(name)
            topology = flavor.spec.topology_name if flavor and flavor.spec else None
            if flavor is None:
                yield Link(follow.flavors, name)
            elif topology and topology not in world.topologies:
                yield Link(follow.topologies, topology)
        yield from self._cohort(world, cluster_queue)

    def _cohort(self, world: World, queue: ClusterQueue) -> Iterator[Link]:
        """The first cohort on the way up that is no object: it may have quota, or a parent."""
        name = queue.spec.cohort_name if queue.spec else None
        seen: set[str] = set()
        while name and name not in seen:
            seen.add(name)
            cohort = world.cohorts.get(name)
            if cohort is None:
                yield Link(self._following.cohorts, name)
                return
            name = cohort.spec.parent_name if cohort.spec else None

    def _runtime(self, world: World, namespace: str, job: TrainJob) -> Iterator[Link]:
        ref = job.spec.runtime_ref if job.spec else None
        if ref is None or not ref.name:
            return
        if ref.kind == api.TRAINING_RUNTIMES.kind:
            if f"{namespace}/{ref.name}" not in world.runtimes.namespaced:
                yield Link(self._following.training_runtimes, ref.name, namespace)
        elif ref.name not in world.runtimes.cluster:
            yield Link(self._following.cluster_training_runtimes, ref.name)

    async def _ask(self, link: Link) -> None:
        # Labels are not validated yet when a mutating webhook is asked.
        if names_object(link.name):
            await self._sharing.ask(link.which, partial(self._read, link))

    async def _read(self, link: Link) -> None:
        kind, reflector = link.kept.resource.kind, link.kept.reflector
        try:
            body = await self._following.client.request("GET", reflector.path(link.name, link.namespace))
        except ApiError as error:
            if error.missing:
                self._not_there(link)
                return
            if error.status == 403 and not reflector.synced:
                return  # closed to us as a whole, which the world says
            raise Unreadable(f"cannot read {kind} {link.name}") from error
        except ClientError as error:
            raise Unreadable(f"cannot read {kind} {link.name}") from error
        if reflector.put(body) is None:
            raise Unreadable(f"cannot read {kind} {link.name}")
        reflector.nudge()

    def _known_absent(self, link: Link) -> bool:
        return link.kept is self._following.cohorts and self._absent.get(link.name, 0.0) >= self._monotonic()

    def _not_there(self, link: Link) -> None:
        if link.kept is self._following.cohorts:
            now = self._monotonic()
            self._absent = {name: until for name, until in self._absent.items() if until > now}
            self._absent[link.name] = now + NO_COHORT
