"""Carries out the two steps of a cleanup, each guarded, the second one on the very copies that were seen at rest.

What ``controller.cleanup`` decided is looked at once more before anything is deleted: the Workload as it is now, and
the pods of the job, for a person may have let it go by hand. An owner that moved since answers 409, and is decided on
again.
"""

import logging
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from classifier import api, clock
from classifier.clock import Marker
from classifier.cluster.client import ApiError, Unreachable
from classifier.instant import HOUR, SECOND, instant_or_none
from classifier.objects import Meta, Pod, Workload
from classifier.state.kinds import KindView
from classifier.state.kinds.pod import finished, gated
from classifier.state.settings import Settings as StateSettings
from controller import cleanup, events
from controller.act import API, Writer
from controller.bucket import TokenBucket
from controller.cleanup import CommitCleanup, Delete
from controller.decide import Facts, live_decision
from controller.metrics import Metrics

log = logging.getLogger(__name__)

#: After these, ms, what could not be deleted is looked at again: its pods still end, or it ran and is kept.
SOON: Final = 10 * SECOND
LATER: Final = HOUR
#: A Workload that Kueue writes while its pods go is read again so often.
_TRIES: Final = 5
#: Conditions that say since when a job is stopped.
_STOPPED: Final = frozenset({"Suspended", "RayClusterSuspended"})
#: Events about cleanups, a second on average and at once; more are dropped.
_EVENTS: Final = (5.0, 25)


class _Pods(msgspec.Struct):
    items: list[Pod]


class Remover:
    """The only place of the controller that deletes. Both steps answer how long (ms) to leave the Workload alone.

    Who takes a step has waited for the turn of its write, and decided after that.
    """

    def __init__(self, writer: Writer, metrics: Metrics, identity: str) -> None:
        self._writer = writer
        self._metrics = metrics
        self._identity = identity
        self._events = TokenBucket(*_EVENTS)
        #: By Workload, what was said about a job that is kept, and the decision after which one ran by hand.
        self._kept: dict[str, tuple[Marker, str]] = {}
        self._ran: dict[str, tuple[Marker, str]] = {}

    async def commit(self, facts: Facts, action: CommitCleanup) -> int | None:
        """The first step: say on the Workload that its owner will be deleted."""
        pause = await self._forbidden(facts, action.marker)
        if pause is not None:
            return pause
        if not await self._writer.commit_cleanup(facts.workload, action.at):
            return 0
        log.info("to be deleted", extra={"workload": facts.workload.key, "job": facts.owner.key})
        return None

    async def delete(self, facts: Facts, action: Delete) -> int:
        """The second step, looked at again whatever came of it: only the watch tells surely what is gone. A 404 may be
        that of an API server that has only just started."""
        current = await self._writer.read_workload(facts.workload)
        if current is None:
            return SOON
        if not _stands(current, action) or cleanup.unproven(msgspec.structs.replace(facts, workload=current)):
            return SOON
        alone = facts.owner.uid == current.uid
        if alone and current.metadata.resource_version != facts.workload.metadata.resource_version:
            return SOON  # what would be deleted is not what was decided on: it is decided on again
        pause = await self._forbidden(facts, action.marker)
        if pause is not None:
            if pause == LATER:
                await self._writer.annotate_workload(current, {api.CLEANUP_COMMITTED: None})
            return pause
        found = True
        if facts.members:
            for pod in facts.members:
                if pod.metadata.deletion_timestamp is None:
                    await self._delete(api.PODS, pod)
            await self._delete_workload(current, action)
        elif alone:
            found = await self._delete(api.WORKLOADS, current)
        else:
            found = await self._delete(facts.view.resource, facts.owner, turn=False)
        if found:
            log.info(
                "deleted: its time after the end of its wait is over",
                extra={"job": facts.owner.key, "kind": facts.view.resource.kind, "workload": current.key},
            )
            await self._tell(events.deleted(facts.owner, _resource(facts), current, action.at, self._identity))
        return SOON

    async def looked_at(self, key: str, facts: Facts, kept: str | None) -> None:
        """Say once that, and why, a job is not deleted although a policy asks for it."""
        live = live_decision(facts.workload)
        ran, what = self._ran.get(key, (None, None))
        kept = what if kept is None and ran == live else kept
        if kept is None or live is None:
            self._kept.pop(key, None)
        elif self._kept.get(key) != (live, kept):
            self._kept[key] = live, kept
            self._metrics.cleanups.labels("skipped").inc()
            log.info("not deleted", extra={"workload": key, "job": facts.owner.key, "reason": kept})
            await self._tell(events.kept(facts.owner, _resource(facts), facts.workload, live, kept, self._identity))

    def workload_changed(self, key: str, old: Workload | None, new: Workload | None) -> None:
        """Count what is gone: also what a lost answer, or another replica, has deleted."""
        if new is None and old is not None and live_decision(old) and cleanup.cleanup_committed(old) is not None:
            self._metrics.cleanups.labels("deleted").inc()

    def forget(self, key: str) -> None:
        self._kept.pop(key, None)
        self._ran.pop(key, None)

    # --- looks ------------------------------------------------------------------------------------------------

    async def _forbidden(self, facts: Facts, marker: Marker) -> int | None:
        """How long to leave a job alone: it may still run, or ran after the decision, or is not as it was seen."""
        view = facts.view
        if view.gates_pods or facts.owner.uid == facts.workload.uid:
            return None  # its pods are what was decided on, or it has none
        key = facts.workload.key
        if self._ran.get(key, (None, ""))[0] == marker:
            return LATER
        owner = await self._read(view, facts.owner)
        if owner is None or owner.metadata.resource_version != facts.owner.metadata.resource_version:
            return SOON
        pods = await self._pods_of(view, owner)
        if any(not finished(pod) and not gated(pod) for pod in pods):
            return SOON
        trace = _trace(view, owner, pods, marker.at)
        if trace is not None:
            self._ran[key] = marker, trace
            await self.looked_at(key, facts, None)
            return LATER
        return None

    async def _read(self, view: KindView, owner: Meta) -> Meta | None:
        """With its status, which no copy has that is kept."""
        try:
            body = await self._writer.send("GET", view.resource.path(owner.namespace, owner.name), channel=API)
        except ApiError as error:
            if error.missing:
                return None
            raise
        return msgspec.json.decode(body, type=view.type_)

    async def _pods_of(self, view: KindView, owner: Meta) -> list[Pod]:
        found: dict[str, Pod] = {}
        for labels in view.pods(owner, StateSettings()):
            selector = ",".join(f"{key}={value}" for key, value in sorted(labels.items()))
            path = api.PODS.path(owner.namespace)
            body = await self._writer.send("GET", path, channel=API, params={"labelSelector": selector})
            found |= {pod.uid: pod for pod in msgspec.json.decode(body, type=_Pods).items}
        return list(found.values())

    # --- requests ---------------------------------------------------------------------------------------------

    async def _delete(self, resource: api.Resource, obj: Meta, *, turn: bool = True) -> bool:
        """Only this very object, as it was seen; whether it was there, by what the server says: a 404 is no failure."""
        if not obj.uid or not obj.metadata.resource_version:
            raise ValueError(f"{resource.kind} {obj.key} was read without uid or resourceVersion")
        options = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": {"uid": obj.uid, "resourceVersion": obj.metadata.resource_version},
            "propagationPolicy": "Background",
        }
        try:
            await self._writer.send("DELETE", resource.path(obj.namespace, obj.name), options, channel=API, turn=turn)
        except ApiError as error:
            if not error.missing:
                raise
            return False
        return True

    async def _delete_workload(self, workload: Workload, action: Delete) -> None:
        """That of a group, which Kueue may write while its pods go; gone with them where garbage collection was quick.

        Each time only the very copy on which the decision stands.
        """
        for left in reversed(range(_TRIES)):
            current = await self._writer.read_workload(workload)
            if current is None or current.uid != workload.uid or not _stands(current, action):
                return
            try:
                await self._delete(api.WORKLOADS, current)
            except ApiError as error:
                if not error.conflict or not left:
                    raise
            else:
                return

    async def _tell(self, event: dict[str, Any]) -> None:
        """If there is room for it; the object that it is about says the same."""
        if not self._events.ready:
            return
        await self._events.take()
        path = api.EVENTS.path(event["metadata"]["namespace"])
        try:
            await self._writer.send("POST", path, event, channel=API, turn=False)
        except (ApiError, Unreachable) as error:
            log.debug("an event of a cleanup is dropped", extra={"cause": str(error)})


def _trace(view: KindView, owner: Meta, pods: Iterable[Pod], decided: int) -> str | None:
    """What tells that a job ran after the decision, be it that a person let it go and Kueue stopped it again.

    Instants are whole seconds, cut off: in doubt it came after.
    """

    def since(text: str | None) -> bool:
        at = instant_or_none(text)
        return at is None or at + SECOND > decided

    if view.ending(owner) is not None:
        return "it has ended"
    stopped = [c.last_transition_time for c in view.conditions(owner) if c.type in _STOPPED and c.true]
    if any(map(since, stopped or _written(owner))):
        return "it was let go after its wait was ended"
    ran = next((pod for pod in pods if finished(pod) and since(pod.metadata.creation_timestamp)), None)
    return None if ran is None else f"pod {ran.name} ran after its wait was ended"


def _written(owner: Meta) -> list[str | None]:
    """When whoever wrote ``suspend`` wrote last, be it that or something else: RayJobs and AppWrappers have no
    condition that says since when they are stopped, and what they ran goes with their status."""
    return [one.time for one in owner.metadata.managed_fields or () if one.owns("suspend")]


def _stands(workload: Workload, action: Delete) -> bool:
    """Whether both decisions stand on this copy, nothing of it can be admitted, and it is not on its way out."""
    return (
        workload.metadata.deletion_timestamp is None
        and live_decision(workload) == action.marker
        and clock.settled(workload)
        and cleanup.cleanup_committed(workload) == action.at
    )


def _resource(facts: Facts) -> api.Resource:
    """What the events are about: of a group its first pod."""
    return api.PODS if facts.members else facts.view.resource
