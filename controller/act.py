"""Carries out one action of ``decide``: each a single write, guarded by the resourceVersion it was decided on.

A conflict, or an answer that never came, is no failure here: the object is read again and decided again
(design §3, "Commit"). What the server answers goes straight into the cache.
"""

import logging
import time
from typing import Any, Final

import msgspec

from classifier import api, clock
from classifier.cluster.client import JSON, MERGE_PATCH, ApiError, Client, Unreachable
from classifier.cluster.reflector import Reflector
from classifier.instant import format_instant
from classifier.objects import Meta, Workload
from classifier.report.message import timed_out_message
from classifier.state.kinds import KindView
from controller import events
from controller.bucket import TokenBucket
from controller.decide import Annotations, Commit, Facts, Mirror, live_decision, mirror_of
from controller.metrics import Metrics
from controller.outage import Outage

log = logging.getLogger(__name__)

#: Channels of :class:`Outage`: watches, requests in general, and Workload writes, which pass Kueue's webhook.
WATCH: Final = "watch"
API: Final = "api"
WORKLOADS: Final = "workloads"


class _Workloads(msgspec.Struct):
    items: list[Workload]


class Writer:
    """The only place of the controller that writes to jobs and Workloads."""

    def __init__(
        self,
        client: Client,
        workloads: Reflector[Workload],
        owners: dict[tuple[str, str], Reflector[Meta]],
        bucket: TokenBucket,
        outage: Outage,
        metrics: Metrics,
        identity: str,
    ) -> None:
        self._client = client
        self._workloads = workloads
        self._owners = owners
        self._bucket = bucket
        self._outage = outage
        self._metrics = metrics
        self._identity = identity
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
        if self._outage.trial:
            await self._patch_workload(workload, body, dry_run=True, turn=False)
            self._outage.recovered()
            log.info(
                "writes to Workloads are served again; no wait is ended before the recovery grace is over",
                extra={"until": format_instant(self._outage.not_before)},
            )
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

    async def mirror(self, facts: Facts, action: Mirror) -> bool:
        """Copy the decision to the owner if one more look at the Workload still shows it; whether it did."""
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
        resource = facts.view.resource
        event = events.timed_out(owner, resource, current, marker, message, self._identity)
        try:
            await self._tell(event)
        except ApiError as error:
            if error.status >= 500 or error.status == 429:
                raise
            # Refused, perhaps for long: the job's own word does not wait for the event, which is told later.
            log.warning("the event is refused", extra={"job": owner.key, "cause": str(error)})
            self._untold[current.key] = event
        await self.annotate_owner(
            facts.view,
            owner,
            {
                api.ADMISSION_OUTCOME: api.OUTCOME_TIMED_OUT,
                api.ADMISSION_OUTCOME_OF: mirror_of(marker),
                api.ADMISSION_MESSAGE: message,
            },
        )
        self._metrics.mirrors.inc()
        log.info("the job says that its wait was ended", extra={"job": owner.key, "of": mirror_of(marker)})
        return True

    async def tell_again(self, key: str) -> None:
        """Tell the event of a Workload's decision that was refused when it was mirrored."""
        event = self._untold.get(key)
        if event is not None:
            await self._tell(event)
            self._untold.pop(key, None)

    def forget(self, key: str) -> None:
        self._untold.pop(key, None)

    async def _tell(self, event: dict[str, Any]) -> None:
        try:
            await self._send("POST", api.EVENTS.path(event["metadata"]["namespace"]), event, channel=API)
        except ApiError as error:
            # Somebody, most likely an earlier life of ours, has told it already.
            if not error.conflict:
                raise

    async def mirrors_live_decision(self, owner: Meta) -> bool:
        """Whether the server still has the decision that an owner mirrors: the look before a mirror is taken off."""
        params = {"labelSelector": f"{api.JOB_UID}={owner.uid}"}
        body = await self._send("GET", api.WORKLOADS.path(owner.namespace), channel=API, params=params)
        found = (live_decision(workload) for workload in msgspec.json.decode(body, type=_Workloads).items)
        return owner.annotation(api.ADMISSION_OUTCOME_OF) in {mirror_of(marker) for marker in found if marker}

    async def read_workload(self, workload: Workload) -> Workload | None:
        """The Workload as it is now, trimmed and cached like a watch copy; None if it is gone."""
        try:
            body = await self._send("GET", api.WORKLOADS.path(workload.namespace, workload.name), channel=API)
        except ApiError as error:
            if error.missing:
                return None
            raise
        return self._workloads.put(body)

    async def read_owner(self, view: KindView, namespace: str, name: str) -> Meta | None:
        """The owner as it is now, cached like a watch copy; None if it is gone."""
        try:
            body = await self._send("GET", view.resource.path(namespace, name), channel=API)
        except ApiError as error:
            if error.missing:
                return None
            raise
        return self._reflector_of(view).put(body)

    async def annotate_owner(self, view: KindView, owner: Meta, annotations: Annotations) -> None:
        body = {"metadata": {"annotations": annotations}}
        await self._patch(view.resource, owner, body, self._reflector_of(view), API)

    def _reflector_of(self, view: KindView) -> Reflector[Meta]:
        return self._owners[view.resource.group, view.resource.kind]

    async def _patch_workload(
        self, workload: Workload, body: dict[str, Any], *, dry_run: bool = False, turn: bool = True
    ) -> None:
        await self._patch(api.WORKLOADS, workload, body, self._workloads, WORKLOADS, dry_run=dry_run, turn=turn)

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
        answer = await self._send(
            "PATCH", resource.path(obj.namespace, obj.name), guarded, channel=channel, params=params, turn=turn
        )
        if not dry_run:
            reflector.put(answer)

    async def _send(
        self,
        method: str,
        path: str,
        body: dict[str, Any] | None = None,
        *,
        channel: str,
        params: dict[str, str] | None = None,
        turn: bool = True,
    ) -> bytes:
        if turn and method != "GET":
            await self.turn()
        content_type = MERGE_PATCH if method == "PATCH" else JSON
        sent = time.monotonic()
        try:
            answer = await self._client.request(method, path, params=params, body=body, content_type=content_type)
        except Unreachable:
            self._outage.failed(channel, path, time.monotonic() - sent)
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
            if not error.conflict:
                self._metrics.errors.labels(str(error.status)).inc()
            raise
        self._outage.answered(channel, path)
        return answer
