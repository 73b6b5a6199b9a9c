"""The two decisions, each from one review to one answer: read the object, take a view, judge, stamp or deny.

All judgement is elsewhere and pure (``classifier.fit``, ``classifier.policy``, ``webhook.stamp``, ``webhook.admit``);
this is the order in which it is asked, and what is counted and logged on the way.
"""

import logging
from collections.abc import Callable
from typing import Protocol

from classifier import api
from classifier.cluster.servertime import ServerTime
from classifier.fit import Verdict, World, judge
from classifier.fit.mode import asks_to_skip, may_skip
from classifier.objects import Meta
from classifier.policy import timeout_of
from classifier.scope import why_not_ours
from webhook import admit, kinds, stamp
from webhook.metrics import Metrics
from webhook.review import ALLOWED, Answer, Request
from webhook.snapshot import Unavailable, View

log = logging.getLogger(__name__)


Judge = Callable[[Meta, World, int], Verdict]


class Views(Protocol):
    """What :class:`webhook.snapshot.Snapshot` offers to a decision."""

    async def view(self, namespace: str, queue: str) -> View: ...


class Reviewer:
    """Answers for both phases. Dry runs get the same answers and leave no trace in the counters of record."""

    def __init__(self, snapshot: Views, time: ServerTime, metrics: Metrics, judge: Judge = judge) -> None:
        self._snapshot = snapshot
        self._judge = judge
        self._time = time
        self._metrics = metrics
        self._judging = False

    @property
    def judging(self) -> bool:
        """Whether there was a profile when we last looked. Without one nobody has asked to have jobs judged, and what
        keeps us from it is no news to those who submit them."""
        return self._judging

    async def mutate(self, request: Request) -> Answer:
        """Stamps for a job that a policy touches; Muster's keys taken off a copied manifest; else nothing."""
        obj, unreadable = self._created(request)
        if obj is None:
            return ALLOWED
        if unreadable or why_not_ours(obj):
            return Answer(stamp.strip(obj))
        now = self._time.now()
        current = obj.metadata.annotations or {}
        queue = obj.label(api.QUEUE_NAME)
        if not queue:
            return Answer(stamp.patch(obj, {}))
        try:
            view = await self._view(obj.namespace, queue)
        except Unavailable:
            return Answer(stamp.patch(obj, stamp.kept(current, now)))
        timeout = timeout_of(current, view.policies).timeout
        profiles = tuple(profile.name for profile in view.policies.profiles)
        # Judging is the expensive part, and a job without a profile gets no preflight stamp.
        verdict = self._judge(obj, view.world, now) if profiles else None
        return Answer(
            stamp.patch(obj, stamp.wanted(current, timeout=timeout, profiles=profiles, verdict=verdict, now=now))
        )

    async def validate(self, request: Request) -> Answer:
        """Denied where the verdict denies; warned where it warns; allowed. No profile, no verdict; but a duration that
        cannot be read is told to everybody."""
        obj, unreadable = self._created(request)
        if unreadable:
            self._metrics.errors.labels("object").inc()
        queue = obj.label(api.QUEUE_NAME) if obj else None
        if obj is None or not queue or why_not_ours(obj):
            return ALLOWED
        try:
            view = await self._view(obj.namespace, queue)
        except Unavailable as error:
            if not request.dry_run:
                self._metrics.skipped.labels(error.cause).inc()
            return Answer(warnings=(f"muster: {error}",) if self._judging else ())
        notices = timeout_of(obj.metadata.annotations, view.policies).warnings
        if not view.policies.profiles:
            return admit.told(notices)
        if unreadable:
            return admit.told((f"this {request.kind.kind} cannot be read: {unreadable}", *notices))
        verdict = self._judge(obj, view.world, self._time.now())
        self._record(request, obj, verdict, view)
        return admit.answer(verdict, notices)

    def _created(self, request: Request) -> tuple[Meta | None, kinds.Unreadable | None]:
        """The object that is to be created, and why only its metadata can be read; None for what is not looked into."""
        if request.operation != "CREATE" or request.sub_resource:
            return None, None
        unreadable = None
        try:
            obj = kinds.decode(request.kind.group, request.kind.version, request.kind.kind, request.object)
        except kinds.Unreadable as error:
            obj, unreadable = kinds.metadata(request.object), error
        if obj is not None:
            obj.metadata.namespace = obj.metadata.namespace or request.namespace
        return obj, unreadable

    async def _view(self, namespace: str, queue: str) -> View:
        view = await self._snapshot.view(namespace, queue)
        self._judging = bool(view.world.profiles)
        return view

    def _record(self, request: Request, obj: Meta, verdict: Verdict, view: View) -> None:
        if request.dry_run:
            return
        fields = {
            "kind": request.kind.kind,
            "namespace": obj.namespace,
            "job": obj.name or obj.metadata.generate_name,
            "user": request.user_info.username if request.user_info else "",
        }
        self._metrics.verdicts.labels(verdict.outcome.value, verdict.mode or "").inc()
        if asks_to_skip(obj) and may_skip(obj, view.world):
            self._metrics.skipped.labels("break-glass").inc()
            log.warning("a job skipped preflight by its own annotation", extra=fields)
        if verdict.denied:
            self._metrics.denials.labels(verdict.profile or "").inc()
            log.info("denied a job", extra={**fields, "line": verdict.line})
