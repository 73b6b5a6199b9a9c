"""The view that one review is judged by: the follower's world, if it is fit to be judged by, and the policies."""

from dataclasses import dataclass

from classifier.cluster.asking import Asking, Unreadable
from classifier.cluster.client import Client
from classifier.cluster.following import Following
from classifier.fit import World
from classifier.instant import SECOND
from classifier.objects import Meta
from classifier.policy import Policies, profiles_for
from webhook.settings import Settings


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
        age = self.following.age()
        if age * SECOND > self._settings.stale_after:
            raise Unavailable("stale", f"preflight skipped: its view of the cluster is {age:.0f}s old")
        try:
            world = await self._asking.world(namespace, queue, obj, surely=surely)
        except Unreadable as error:
            raise Unavailable("unreachable", f"preflight skipped: {error}") from error
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
