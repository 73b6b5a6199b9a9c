"""The two decisions, each from one review to one answer: read the object, take a view, judge, stamp or deny.

All judgement is elsewhere and pure (``classifier.fit``, ``classifier.policy``, ``webhook.stamp``, ``webhook.admit``);
this is the order in which it is asked, and what is counted and logged on the way.
"""

import logging
from collections.abc import Callable
from typing import Protocol

from prometheus_client import Counter

from classifier.cluster.servertime import ServerTime
from classifier.fit import Outcome, Verdict, World, judge
from classifier.fit.gang import GangError, Unresolved
from classifier.fit.kinds import PODSETS
from classifier.fit.mode import asks_to_skip, may_skip
from classifier.fit.verdict import Mode
from classifier.objects import Meta, Workload
from classifier.scope import BOUNDED, queue_of, why_not_ours
from webhook import admit, licence, restore, stamp, starts, subject, template
from webhook.metrics import Metrics
from webhook.review import ALLOWED, Answer, Asked
from webhook.snapshot import Unavailable, View
from webhook.subject import Subject
from webhook.whole import AnyRequest

log = logging.getLogger(__name__)


Judge = Callable[[Meta, World, int], Verdict]


class Views(Protocol):
    """What :class:`webhook.snapshot.Snapshot` offers to a decision."""

    async def view(self, namespace: str, queue: str, obj: Meta | None = None, *, surely: bool = False) -> View: ...


class Groups(Protocol):
    """What :class:`webhook.groups.Groups` tells of pod groups."""

    async def formed(self, namespace: str, name: str) -> bool: ...


class Reviewer:
    """Answers for both phases. Dry runs get the same answers and leave no trace in the counters of record."""

    def __init__(
        self, snapshot: Views, groups: Groups, time: ServerTime, metrics: Metrics, judge: Judge = judge
    ) -> None:
        self._snapshot = snapshot
        self._groups = groups
        self._judge = judge
        self._time = time
        self._metrics = metrics
        self._judging = False
        self._verdicts: dict[tuple[Outcome, Mode | None], Counter] = {}

    @property
    def judging(self) -> bool:
        """Whether there was a profile when we last looked. Without one nobody has asked to have jobs judged, and what
        keeps us from it is no news to those who submit them."""
        return self._judging

    async def mutate(self, request: AnyRequest) -> Answer:
        """Stamps for a job that a policy touches; Muster's keys taken off a copied manifest; a start counted; else
        nothing. Of what exists already no annotation is changed but the count, and what was left out is put back
        (design §7)."""
        asked = subject.of(request)
        if asked is None or not asked.created:
            return _changed(asked, request)
        obj = asked.obj
        # What is on a Workload is the controller's.
        if asked.unreadable or isinstance(obj, Workload) or why_not_ours(obj):
            return Answer(stamp.strip(obj))
        now = self._time.now()
        current = obj.metadata.annotations or {}
        queue = queue_of(obj)
        if not queue:
            return Answer(stamp.patch(obj, {}))
        try:
            view = await self._view(obj, queue)
        except Unavailable:
            return Answer(stamp.patch(obj, stamp.kept(current, now)))
        profiles = view.policies.profiles
        counted = asked.resource in starts.COUNTED and bool(
            [p for p in profiles if p.spec.admission is not None and p.spec.admission.count_on_pods]
        )
        bounded = (asked.resource.group, asked.resource.kind) in BOUNDED
        wanted = stamp.wanted(
            current,
            timeout=view.timeout(current).timeout if bounded else None,
            profiles=tuple([profile.name for profile in profiles]),
            # Judging is the expensive part, and a job without a profile gets no preflight stamp.
            verdict=self._judge(obj, view.world, now) if profiles else None,
            now=now,
            counted=counted,
        )
        return Answer((*stamp.patch(obj, wanted), *_labelled(asked, view, request)))

    async def validate(self, request: AnyRequest) -> Answer:
        """Denied where the verdict denies and the moment allows it; warned where it warns; allowed. No profile, no
        verdict; but a duration that cannot be read is told to everybody."""
        asked = subject.of(request)
        if asked is None:
            return ALLOWED
        obj = asked.obj
        if asked.unreadable:
            self._metrics.errors.labels("object").inc()
        queue = queue_of(obj)
        if not queue or why_not_ours(obj) or not (asked.created or licence.changes_the_gang(asked)):
            return ALLOWED
        try:
            view = await self._view(obj, queue)
            verdict = self._verdict(asked, view)
            if verdict is not None and verdict.denied:
                view = await self._view(obj, queue, surely=True)
                verdict = self._verdict(asked, view)
        except Unavailable as error:
            if not request.dry_run:
                self._metrics.skipped.labels(error.cause).inc()
            return Answer(warnings=(f"muster: {error}",) if self._judging else ())
        notices = view.timeout(obj.metadata.annotations).warnings
        if verdict is None:
            if asked.unreadable and view.policies.profiles:
                notices = (f"this {request.kind.kind} cannot be read: {asked.unreadable}", *notices)
            return admit.told(notices)
        if verdict.denied and (why := await self._pardoned(asked, view)):
            verdict = admit.pardoned(verdict, why)
        self._record(request, asked, verdict, view)
        return admit.answer(verdict, notices)

    def _verdict(self, asked: Subject, view: View) -> Verdict | None:
        """None where no profile asks for one, and of what cannot be read."""
        if asked.unreadable or not view.policies.profiles:
            return None
        return self._judge(asked.obj, view.world, self._time.now())

    async def _pardoned(self, asked: Subject, view: View) -> str | None:
        """Why what can never fit is let through all the same; None if nothing speaks for it."""
        if not licence.held(asked):
            return "Kueue does not hold it"
        if asked.old is not None and self._judge(asked.old, view.world, self._time.now()).denied:
            return "it did not fit before either"
        group = licence.group_of(asked)
        if group and await self._groups.formed(asked.obj.namespace, group):
            return f"pod group {group} exists already"
        return None

    async def _view(self, obj: Meta, queue: str, *, surely: bool = False) -> View:
        view = await self._snapshot.view(obj.namespace, queue, obj, surely=surely)
        self._judging = bool(view.world.profiles)
        return view

    def _record(self, request: AnyRequest, asked: Subject, verdict: Verdict, view: View) -> None:
        if request.dry_run:
            return
        of = verdict.outcome, verdict.mode
        counter = self._verdicts.get(of)
        if counter is None:
            counter = self._verdicts[of] = self._metrics.verdicts.labels(verdict.outcome.value, verdict.mode or "")
        counter.inc()
        if asks_to_skip(asked.obj) and may_skip(asked.obj, view.world):
            self._metrics.skipped.labels("break-glass").inc()
            log.warning("a job skipped preflight by its own annotation", extra=_named(request, asked.obj))
        if verdict.denied:
            self._metrics.denials.labels(verdict.profile or "").inc()
            log.info("denied a job", extra={**_named(request, asked.obj), "line": verdict.line})


def _named(request: Asked, obj: Meta) -> dict[str, str | None]:
    """Whose job it is, for the log."""
    return {
        "kind": request.kind.kind,
        "namespace": obj.namespace,
        "job": obj.name or obj.metadata.generate_name,
        "user": request.user_info.username if request.user_info else "",
    }


def _changed(asked: Subject | None, request: AnyRequest) -> Answer:
    """Of what exists: a start counted, and put back what a replace left out, of what cannot be read as well."""
    old, new = (asked.old, asked.obj) if asked is not None else subject.metadata(request)
    if old is None or new is None:
        return ALLOWED
    ours = asked is not None and why_not_ours(new) is None
    counted = starts.started(asked.resource, old, new, request.document) if asked is not None and ours else ()
    back = restore.patch(old, new)
    return Answer((*counted, *back), warnings=restore.notice(old, new) if back else ())


def _labelled(asked: Subject, view: View, request: AnyRequest) -> tuple[template.Operation, ...]:
    """The topology label of the queue's profiles on the job's pod templates."""
    label = template.topology_label(view.policies.profiles)
    if label is None or asked.resource not in PODSETS:
        return ()
    try:
        podsets = PODSETS[asked.resource](asked.obj, view.world.runtimes)
    except (GangError, Unresolved):
        return ()
    return template.with_label(request.document, podsets, label)
