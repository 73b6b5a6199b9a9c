"""Carries out one action of ``decide``: each a single write, guarded by the resourceVersion it was decided on.

A conflict, or an answer that never came, is no failure here: the object is read again and decided again
(design §3, "Commit"). What the server answers goes straight into the cache.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Sequence
from typing import Any, Final, TypeVar

import msgspec

from classifier import api, clock
from classifier.cluster.client import JSON, MERGE_PATCH, ApiError, Client, Unreachable
from classifier.cluster.reflector import Reflector
from classifier.instant import format_instant
from classifier.names import names_object
from classifier.objects import Meta, Workload
from classifier.report.message import timed_out_message
from classifier.scope import GroupKind
from classifier.state.kinds import KindView, alone
from controller import events
from controller.bucket import TokenBucket
from controller.decide import Annotations, Commit, Facts, Mirror, dead_mirror, live_decision, mirror_of
from controller.election import NotLeading
from controller.groups import Owned, addressed, workload_name
from controller.members import Members, each
from controller.metrics import Metrics
from controller.outage import Outage

T = TypeVar("T", bound=Meta)

#: After so many objects taken in others get their turn in the event loop.
TURN: Final = 100

log = logging.getLogger(__name__)

#: Channels of :class:`Outage`: watches, requests in general, and Workload writes, which pass Kueue's webhook.
WATCH: Final = "watch"
API: Final = "api"
WORKLOADS: Final = "workloads"


class _Workloads(msgspec.Struct):
    items: list[Workload]


class _Raws(msgspec.Struct):
    items: list[msgspec.Raw]


class Writer:
    """The only place of the controller that writes to jobs and Workloads."""

    def __init__(
        self,
        client: Client,
        workloads: Reflector[Workload],
        owners: dict[GroupKind, Reflector[Any]],
        bucket: TokenBucket,
        outage: Outage,
        metrics: Metrics,
        identity: str,
        leading: Callable[[], bool] = lambda: True,
    ) -> None:
        self._client = client
        self._workloads = workloads
        self._owners = owners
        self._bucket = bucket
        self._outage = outage
        self._metrics = metrics
        self._identity = identity
        self._leading = leading
        self.members = Members()
        #: Events the server refused, by the Workload of their decision.
        self._untold: dict[str, dict[str, Any]] = {}

    async def annotate_workload(self, workload: Workload, annotations: Annotations) -> None:
        await self._patch_workload(workload, {"metadata": {"annotations": annotations}})

    async def turn(self) -> None:
        """Wait for the next write's turn. What was decided before may have changed meanwhile: decide again after it."""
        await self._bucket.take()

    async def commit(self, facts: Facts, action: Commit) -> bool:
        """End the wait, or only try to while an outage has not been seen to end; whether it was ended.

        The caller has waited for its :meth:`turn`: between the decision and this write nothing may be awaited.
        """
        workload = facts.workload
        body = {
            "metadata": {"annotations": {api.COMMITTED: clock.format_marker(action.marker)}},
            "spec": {"active": False},
        }
        if await self._tried(workload, body):
            return False
        await self._patch_workload(workload, body, turn=False)
        log.info(
            "admission timed out",
            extra={
                "workload": workload.key,
                "deadline": format_instant(action.deadline),
                "attempt": action.marker.attempt,
            },
        )
        return True

    async def commit_cleanup(self, workload: Workload, at: int) -> bool:
        """Say on the Workload that its job goes, or only try to, as :meth:`commit` does: nobody could reactivate it.

        The caller has waited for its :meth:`turn`.
        """
        body = {"metadata": {"annotations": {api.CLEANUP_COMMITTED: format_instant(at)}}}
        if await self._tried(workload, body):
            return False
        await self._patch_workload(workload, body, turn=False)
        return True

    async def _tried(self, workload: Workload, body: dict[str, Any]) -> bool:
        """Whether a decision was only tried: an outage had not been seen to end. Now it has."""
        if not self._outage.trial:
            return False
        await self._patch_workload(workload, body, dry_run=True, turn=False)
        return True

    async def mirror(self, facts: Facts, action: Mirror) -> bool:
        """Copy the decision to the owner if one more look at the Workload still shows it; whether all is done now."""
        marker, owner = action.marker, facts.owner
        # Owner first (the copy in hand), then the Workload: an owner that moves in between answers 409.
        current = await self.read_workload(facts.workload)
        if current is None or live_decision(current) != marker or not clock.settled(current):
            return False
        ledger = clock.parse_ledger(owner)
        message = timed_out_message(
            workload=current.name,
            namespace=current.namespace,
            at=marker.at,
            waited=marker.at - ledger.origin if ledger else None,
        )
        # Of a group its first pod is told of: there is one event a decision.
        resource = api.PODS if facts.members else facts.view.resource
        event = events.timed_out(owner, resource, current, marker, message, self._identity)
        try:
            await self._tell(event)
        except ApiError as error:
            if error.status >= 500 or error.status == 429:
                raise
            # Refused, perhaps for long: the job's own word does not wait for the event, which is told later.
            log.warning("the event is refused", extra={"job": owner.key, "cause": str(error)})
            self._untold[current.key] = event
        if facts.view is alone.VIEW:
            # It says so itself, and the copy in hand may be the older one.
            owner = current
        left_out = await self.annotate(
            Owned(facts.view, owner, facts.members),
            {
                api.ADMISSION_OUTCOME: api.OUTCOME_TIMED_OUT,
                api.ADMISSION_OUTCOME_OF: mirror_of(marker),
                api.ADMISSION_MESSAGE: message,
            },
        )
        self._metrics.mirrors.inc()
        log.info("the job says that its wait was ended", extra={"job": owner.key, "of": mirror_of(marker)})
        return not left_out

    async def tell_again(self, key: str) -> None:
        """Tell the event of a Workload's decision that was refused when it was mirrored."""
        event = self._untold.get(key)
        if event is not None:
            await self._tell(event, again=True)
            self._untold.pop(key, None)

    def forget(self, key: str) -> None:
        self._untold.pop(key, None)

    async def _tell(self, event: dict[str, Any], *, again: bool = False) -> None:
        path = api.EVENTS.path(event["metadata"]["namespace"])
        try:
            # Refused for as long as a namespace ends, twice a minute: it was counted when it was refused first.
            await self.send("POST", path, event, channel=API, counted=not again)
        except ApiError as error:
            # Somebody, most likely an earlier life of ours, has told it already. Any other conflict is with a write
            # beside it, such as those that count against one quota.
            if error.reason != "AlreadyExists":
                raise

    async def live_decisions(self, owned: Owned) -> set[str]:
        """The decisions on Workloads of an owner as the server has them, as a mirror names them: the look before one
        is taken off."""
        namespace, name = owned.owner.namespace, workload_name(owned)
        if name is not None and not names_object(name):
            workloads: list[Workload] = []  # anything may stand in an annotation, and no path is made of it
        elif name is not None:
            found = await self._get(api.WORKLOADS.path(namespace, name), Workload)
            workloads = [] if found is None else [found]
        else:
            params = {"labelSelector": f"{api.JOB_UID}={owned.owner.uid}"}
            body = await self.send("GET", api.WORKLOADS.path(namespace), channel=API, params=params)
            workloads = msgspec.json.decode(body, type=_Workloads).items
        return {mirror_of(marker) for workload in workloads if (marker := live_decision(workload))}

    async def _get(self, path: str, type_: type[T]) -> T | None:
        try:
            body = await self.send("GET", path, channel=API)
        except ApiError as error:
            if error.missing:
                return None
            raise
        return msgspec.json.decode(body, type=type_)

    async def read_workload(self, workload: Workload) -> Workload | None:
        """The Workload as it is now, trimmed and cached like a watch copy; None if it is gone."""
        try:
            body = await self.send("GET", api.WORKLOADS.path(workload.namespace, workload.name), channel=API)
        except ApiError as error:
            if error.missing:
                return None
            raise
        return self._workloads.put(body)

    async def read_owner(self, kind: GroupKind, namespace: str, name: str) -> None:
        """Take the owner in as it is now, like a watch copy; not what the watch would never tell of."""
        reflector = self._owners[kind]
        if reflector.refused is not None or not names_object(name):
            return  # an owner reference may name anything: no path is made of it
        try:
            body = await self.send("GET", reflector.path(name, namespace), channel=API)
        except ApiError as error:
            if not error.missing:
                raise
        else:
            pod = kind == (api.PODS.group, api.PODS.kind)
            if not pod or msgspec.json.decode(body, type=Meta).label(api.MANAGED) == "true":
                reflector.put(body)

    async def read_members(self, members: Sequence[Meta]) -> None:
        """Take the pods of a group in as they are now: by one list, if all of them bear its name as a label."""
        names = {member.label(api.POD_GROUP_NAME) for member in members}
        name = names.pop()
        kind = api.PODS.group, api.PODS.kind
        if name is None or names:
            failed = await each(members, lambda one: self.read_owner(kind, one.namespace, one.name))
            if failed:
                raise failed.pop(0)[1]  # nothing here may name it: see each()
            return
        params = {"labelSelector": f"{api.MANAGED}=true,{api.POD_GROUP_NAME}={name}"}
        body = await self.send("GET", api.PODS.path(members[0].namespace), channel=API, params=params)
        for number, raw in enumerate(msgspec.json.decode(body, type=_Raws).items):
            self._owners[kind].put(bytes(raw))
            if number % TURN == 0:
                await asyncio.sleep(0)

    async def annotate(self, owned: Owned, annotations: Annotations) -> bool:
        """Write to the owner; of a group to every pod that does not say it yet. Whether pods of it are left out now."""
        if not owned.members:
            await self._annotate_part(owned.view, owned.owner, annotations)
            return False
        return await self.members.write(
            owned, lambda part: self._annotate_part(owned.view, part, addressed(annotations, part))
        )

    async def unmirror(self, owned: Owned, live: Collection[str]) -> bool:
        """Take off every mirror that copies none of the live decisions. Whether pods of a group are left out now."""

        async def take_off(part: Meta) -> None:
            if part.annotation(api.ADMISSION_OUTCOME_OF) not in live:
                await self._annotate_part(owned.view, part, dead_mirror(part, None))

        return await self.members.write(owned, take_off)

    async def _annotate_part(self, view: KindView, part: Meta, annotations: Annotations) -> None:
        if annotations:
            resource = view.resource
            body = {"metadata": {"annotations": annotations}}
            await self._patch(resource, part, body, self._owners[resource.group, resource.kind], API)

    async def _patch_workload(
        self, workload: Workload, body: dict[str, Any], *, dry_run: bool = False, turn: bool = True
    ) -> None:
        """Tried or not: it has passed Kueue's webhook, and if there was an outage, the grace after it begins."""
        await self._patch(api.WORKLOADS, workload, body, self._workloads, WORKLOADS, dry_run=dry_run, turn=turn)
        if self._outage.trial:
            self._outage.recovered()
            log.info(
                "writes to Workloads are served again; no wait is ended before the recovery grace is over",
                extra={"until": format_instant(self._outage.not_before)},
            )

    async def _patch(
        self,
        resource: api.Resource,
        obj: Meta,
        body: dict[str, Any],
        reflector: Reflector[Any],
        channel: str,
        *,
        dry_run: bool = False,
        turn: bool = True,
    ) -> None:
        # Never without it: a write that is not guarded may end a job that was just admitted (kueue.md §3.4, 9).
        if not obj.metadata.resource_version:
            raise ValueError(f"{resource.kind} {obj.key} was read without a resourceVersion")
        guarded = {**body, "metadata": {**body["metadata"], "resourceVersion": obj.metadata.resource_version}}
        params = {"fieldManager": api.CONTROLLER_MANAGER} | ({"dryRun": "All"} if dry_run else {})
        answer = await self.send(
            "PATCH", resource.path(obj.namespace, obj.name), guarded, channel=channel, params=params, turn=turn
        )
        if not dry_run:
            reflector.put(answer)
        shown = msgspec.json.decode(answer, type=Meta)
        lost = sorted(key for key, value in body["metadata"]["annotations"].items() if shown.annotation(key) != value)
        if lost:
            # As good as refused: where nothing has changed after all, no event brings it back.
            self._metrics.errors.labels("422").inc()
            raise ApiError(422, "Changed", f"somebody's webhook takes off, or changes, {', '.join(lost)}")

    async def send(
        self,
        method: str,
        path: str,
        body: dict[str, Any] | None = None,
        *,
        channel: str,
        params: dict[str, str] | None = None,
        turn: bool = True,
        counted: bool = True,
    ) -> bytes:
        """The answer. What fails is counted as a write that failed, if it is one, unless not ``counted``."""
        counted = counted and method != "GET"
        if turn and method != "GET":
            await self.turn()
        if method != "GET" and not self._leading():
            # The last moment: this process may have been stopped since it decided, and another one leads by now.
            raise NotLeading(f"{method} {path}")
        content_type = MERGE_PATCH if method == "PATCH" else JSON
        sent = time.monotonic()
        try:
            answer = await self._client.request(method, path, params=params, body=body, content_type=content_type)
            if not answer.startswith(b"{"):
                # A proxy's page, with 200 on it: whether the API server was asked at all nobody knows.
                raise Unreachable(f"what answers {method} {path} is no API server: {answer[:80]!r}")
        except Unreachable:
            self._outage.failed(channel, path, time.monotonic() - sent)
            if counted:
                self._metrics.errors.labels("0").inc()
            raise
        except ApiError as error:
            if error.status >= 500:
                self._outage.failed(channel, path, time.monotonic() - sent)
            elif channel != WORKLOADS:
                # Of a Workload write only success says that Kueue's webhook is there: others may never reach it.
                self._outage.answered(channel, path)
            if error.status == 429:
                self._bucket.hold(error.retry_after or 0.0)
            if counted and not error.conflict:
                self._metrics.errors.labels(str(error.status)).inc()
            raise
        self._outage.answered(channel, path)
        return answer
