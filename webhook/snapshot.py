"""The view that one review is judged by: the follower's world, if it is fit to be judged by, and the policies."""

import operator
from collections.abc import Mapping
from typing import Final, NamedTuple

import msgspec

from classifier import api
from classifier.cluster.asking import Asking, Unreadable
from classifier.cluster.client import Client
from classifier.cluster.following import Following
from classifier.fit import World
from classifier.instant import SECOND
from classifier.objects import ClusterQueue, LocalQueue, Meta, Namespace, TrainJob
from classifier.policy import Policies, Resolved, profiles_for, timeout_of
from webhook.settings import Settings

#: Queues whose policies are kept.
KEPT: Final = 10_000


class Unavailable(Exception):
    """There is no view to judge by. ``cause`` is the metric's label, the text is for the user."""

    def __init__(self, cause: str, text: str) -> None:
        super().__init__(text)
        self.cause = cause


class View(msgspec.Struct, frozen=True):
    """The world around one job, and the policies that speak about it."""

    world: World
    policies: Policies
    #: The bound of a job that asks for none of its own, where it was worked out before.
    unasked: Resolved | None = None

    def timeout(self, annotations: Mapping[str, str] | None) -> Resolved:
        """How long the job with these annotations may wait."""
        if self.unasked is not None and api.ADMISSION_TIMEOUT not in (annotations or {}):
            return self.unasked
        return timeout_of(annotations, self.policies)


class _Around(NamedTuple):
    """The policies of one queue, worked out once from the objects they rest on."""

    rests_on: tuple[object, ...]
    policies: Policies
    unasked: Resolved


class Snapshot:
    """Follows the cluster while :meth:`run` runs; :meth:`view` answers from memory but for what seems missing."""

    def __init__(self, client: Client, settings: Settings) -> None:
        self._settings = settings
        self.following = Following(
            client,
            kueue_config=settings.kueue_config,
            autoscaler_status=settings.autoscaler_status,
            stale_after=settings.stale_after,
            preflight_optional=settings.preflight_optional,
        )
        self._asking = Asking(self.following)
        self._time = client.time
        self._around: dict[str, _Around] = {}
        #: Views of this very world, by namespace and queue, in which nothing was missing.
        self._world: World | None = None
        self._views: dict[tuple[str, str], View] = {}

    @property
    def trouble(self) -> str | None:
        """Why there is nothing to judge by yet; None once every kind has been listed, or cannot be."""
        return self.following.trouble

    async def run(self) -> None:
        """Until cancelled."""
        await self.following.run()

    async def view(self, namespace: str, queue: str, obj: Meta | None = None, *, surely: bool = False) -> View:
        """The view for a job in ``queue``. Raises :class:`Unavailable` when what we have is missing or too old.

        What seems missing is asked for once, live; of a TrainJob given as ``obj`` its runtime too. ``surely``: also
        what was asked for in vain a moment ago.
        """
        if not self.following.synced:
            raise Unavailable("unsynced", "preflight skipped: it has not read the cluster yet")
        world = self.following.world()
        age = self._time.now() - (world.observed_at or 0)
        if age > self._settings.stale_after:
            raise Unavailable("stale", f"preflight skipped: its view of the cluster is {age // SECOND}s old")
        if world is not self._world:
            self._world, self._views = world, {}
        key = namespace, queue
        view = self._views.get(key)
        # A TrainJob has a runtime besides.
        if view is None or isinstance(obj, TrainJob):
            view = await self._look(namespace, queue, obj, surely=surely)
            if view.world is self._world and self._asking.lacks_nothing(view.world, namespace, queue):
                self._views[key] = view
        return view

    async def _look(self, namespace: str, queue: str, obj: Meta | None, *, surely: bool) -> View:
        try:
            world = await self._asking.world(namespace, queue, obj, surely=surely)
        except Unreadable as error:
            raise Unavailable("unreachable", f"preflight skipped: {error}") from error
        local_queue = world.local_queues.get(f"{namespace}/{queue}")
        cluster_queue = world.cluster_queues.get(local_queue.cluster_queue) if local_queue else None
        around = self._policies(world, local_queue, cluster_queue, world.namespaces.get(namespace))
        return View(world, around.policies, around.unasked)

    def _policies(
        self,
        world: World,
        local_queue: LocalQueue | None,
        cluster_queue: ClusterQueue | None,
        namespace: Namespace | None,
    ) -> _Around:
        """Thousands of jobs are submitted to a queue before anybody changes one of these objects."""
        rests_on = (local_queue, cluster_queue, world.profiles, namespace)
        key = local_queue.key if local_queue else ""
        found = self._around.get(key)
        if found is None or any(map(operator.is_not, found.rests_on, rests_on)):
            policies = Policies(
                local_queue=local_queue,
                cluster_queue=cluster_queue,
                profiles=profiles_for(cluster_queue, world.profiles),
                namespace=namespace,
                default=self._settings.default_timeout,
                max_default=self._settings.max_timeout,
            )
            if len(self._around) >= KEPT:
                self._around.clear()
            found = self._around[key] = _Around(rests_on, policies, timeout_of(None, policies))
        return found
