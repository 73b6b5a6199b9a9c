"""Once a second: is the API server there, did its clock step, is the fence in force, is all followed that counts."""

import asyncio
import logging
from collections.abc import Callable

from classifier.cluster.client import Client
from controller.act import WATCH
from controller.cache import Cache
from controller.fence import Fence
from controller.metrics import Metrics
from controller.outage import Outage

log = logging.getLogger(__name__)


class Supervision:
    """Says what changed of the ground that commits stand on; ``look_again`` is called when more is allowed again.

    ``on_fence`` is called when what is known of the fence has changed.
    """

    def __init__(
        self,
        client: Client,
        cache: Cache,
        fence: Fence,
        outage: Outage,
        metrics: Metrics,
        *,
        look_again: Callable[[], None],
        on_fence: Callable[[], None],
    ) -> None:
        self._client = client
        self._cache = cache
        self._fence = fence
        self._outage = outage
        self._metrics = metrics
        self._look_again = look_again
        self._on_fence = on_fence
        self._fence_said: tuple[bool, str] | None = None
        self._blind_said: str | None = None
        #: Whether a decision was refused since all that was overdue was looked at last.
        self._refused = False
        self._steps = 0

    async def run(self) -> None:
        """Once a second: is the API server there, did its clock step, is the fence in force."""
        while True:
            # A channel of its own: what cannot be followed fails until it can, however few other requests there are.
            # Only the Workloads' watch: it alone goes the way that Kueue's scheduler goes.
            if self._cache.workloads.trouble:
                self._outage.failed(WATCH)
            else:
                self._outage.answered(WATCH)
            self._metrics.outage.set(self._outage.trial)
            self.notice_step()
            self.fence_changed()
            self._sight_changed()
            # Not by what is seen here once a second: a watch that breaks is followed again within a fifth of that, and
            # a deadline that passed just then has nothing of its own to bring it back.
            if self._refused and self._why_not() is None:
                self._refused = False
                self._look_again()
            await asyncio.sleep(1)

    def refusal(self) -> str | None:
        """Why no wait is ended just now; None if waits are. Whoever was refused is looked at again once it is over."""
        why = self._why_not()
        self._refused |= why is not None
        return why

    def _why_not(self) -> str | None:
        state = self._fence.state()
        return self._blind() if state.in_force else state.reason

    def notice_step(self) -> None:
        """Begin the grace if the server's clock has stepped: before any decision is made by it."""
        if self._client.time.steps != self._steps:
            self._steps = self._client.time.steps
            log.warning("the API server's clock stepped; the recovery grace begins")
            self._outage.begin_grace()

    def fence_changed(self) -> None:
        if not (self._fence.policies.synced and self._fence.bindings.synced):
            return
        state = self._fence.state()
        said = (state.in_force, state.reason)
        if said == self._fence_said:
            return
        self._fence_said = said
        self._metrics.fence_in_force.set(1 if state.in_force else 0)
        if state.in_force:
            log.info("the fence is in force: deadlines are enforced")
        else:
            log.error(
                "the fence is not in force: deadlines are reported, not enforced",
                extra={"fence": self._fence.name, "reason": state.reason},
            )
        self._on_fence()
        self._look_again()

    def _sight_changed(self) -> None:
        blind = self._blind()
        if blind == self._blind_said:
            return
        self._blind_said = blind
        if blind is None:
            log.info("all that a commit rests on is followed again")
        elif self._cache.synced:
            log.warning("deadlines are not enforced for now", extra={"reason": blind})

    def _blind(self) -> str | None:
        """Why the copies that every commit rests on may be old; None if they are followed. Owners are for the steps.

        Silence alone tells nothing before the reflector's own limit: bookmarks were seen two minutes apart.
        """
        for reflector in self._cache.vital:
            if reflector.trouble:
                return f"{reflector.resource.plural} cannot be followed: {reflector.trouble}"
        return None
