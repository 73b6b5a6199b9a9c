"""Writes what is known of each CapacityProfile to its status: ``Ready`` and ``ProvisioningReady`` (design §5)."""

import asyncio
import logging
from collections.abc import Sequence

from classifier import api
from classifier.cluster.backoff import Backoff
from classifier.cluster.client import MERGE_PATCH, ApiError, Client, Unreachable
from classifier.instant import format_instant
from classifier.objects import CapacityProfile, Condition
from classifier.report.profiles import provisioning_ready
from controller.cache import Cache
from controller.fence import Fence, FenceState
from controller.metrics import Metrics

log = logging.getLogger(__name__)

#: Changes come in bursts (an install applies everything at once): wait this long for the rest, seconds.
SETTLE = 0.2


def conditions_of(
    profile: CapacityProfile, provisioning: tuple[str, str, str], fence: FenceState, now: int
) -> list[Condition]:
    """The conditions a profile ought to show; transition times kept where the status is the same. Pure."""
    if not fence.in_force:
        ready = ("False", "FenceNotInForce", f"deadlines are reported, not enforced: {fence.reason}")
    elif provisioning[0] == "False":
        ready = ("False", provisioning[1], provisioning[2])
    else:
        ready = ("True", "Ready", "jobs are preflighted and deadlines enforced")
    wanted = ((api.PROFILE_READY, ready), (api.PROVISIONING_READY, provisioning))
    conditions = []
    for type_, (status, reason, message) in wanted:
        old = profile.status.condition(type_) if profile.status else None
        since = old.last_transition_time if old is not None and old.status == status else None
        conditions.append(
            Condition(
                type=type_,
                status=status,
                reason=reason,
                message=message,
                last_transition_time=since or format_instant(now // 1000 * 1000),
                observed_generation=profile.metadata.generation,
            )
        )
    return conditions


class ProfileStatus:
    """Keeps the status of every profile true; ``changed`` may be called at any time."""

    def __init__(self, client: Client, cache: Cache, fence: Fence, metrics: Metrics) -> None:
        self._client = client
        self._cache = cache
        self._fence = fence
        self._metrics = metrics
        self._dirty = asyncio.Event()
        self._shown: set[str] = set()
        cache.on_profile(self.changed)

    def changed(self) -> None:
        self._dirty.set()

    async def run(self) -> None:
        """Follow until cancelled. Must start after the cache is synced."""
        backoff = Backoff()
        while True:
            await self._dirty.wait()
            await asyncio.sleep(SETTLE)
            self._dirty.clear()
            # One after the other, each for itself: a profile that cannot be written must not hold up the rest.
            written = [await self._try(profile) for profile in tuple(self._cache.profiles.objects.values())]
            self._drop_gone()
            if all(written):
                backoff.reset()
            else:
                await asyncio.sleep(backoff.next())
                self._dirty.set()

    async def _try(self, profile: CapacityProfile) -> bool:
        """Whether the profile's status is now as it ought to be."""
        try:
            await self._write(profile)
        except (ApiError, Unreachable) as error:
            conflict = isinstance(error, ApiError) and (error.conflict or error.missing)
            log.log(
                logging.DEBUG if conflict else logging.WARNING,
                "the status of a profile cannot be written",
                extra={"profile": profile.name, "cause": str(error)},
            )
            return False
        return True

    async def _write(self, profile: CapacityProfile) -> None:
        cache = self._cache
        state = provisioning_ready(
            profile, cache.checks.objects, cache.configs.objects, tuple(cache.cluster_queues.objects.values())
        )
        provisioning = (state.status, state.reason, state.message)
        wanted = conditions_of(profile, provisioning, self._fence.state(), self._client.time.now())
        self._measure(profile.name, wanted)
        if profile.status is not None and (profile.status.conditions or []) == wanted:
            return
        body = {"metadata": {"resourceVersion": profile.metadata.resource_version}, "status": {"conditions": wanted}}
        answer = await self._client.request(
            "PATCH",
            api.CAPACITY_PROFILES.path(None, profile.name, "status"),
            params={"fieldManager": api.CONTROLLER_MANAGER},
            body=body,
            content_type=MERGE_PATCH,
        )
        self._cache.profiles.put(answer)

    def _measure(self, name: str, conditions: Sequence[Condition]) -> None:
        self._shown.add(name)
        for condition in conditions:
            self._metrics.profile_ready.labels(name, condition.type).set(condition.true)

    def _drop_gone(self) -> None:
        for name in self._shown - self._cache.profiles.objects.keys():
            self._shown.discard(name)
            for type_ in (api.PROFILE_READY, api.PROVISIONING_READY):
                self._metrics.profile_ready.remove(name, type_)
