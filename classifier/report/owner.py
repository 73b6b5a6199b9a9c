"""The job as a report sees it, whatever its kind. The next kind is one more function in ``VIEWS``."""

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from classifier import api
from classifier.fit import Outcome, Verdict
from classifier.instant import instant_or_none
from classifier.objects import Job, Meta
from classifier.state.kinds import KindView


class Finish(msgspec.Struct, frozen=True):
    """How the job ended. ``at`` is milliseconds since the epoch, None where the job does not say."""

    succeeded: bool
    reason: str
    message: str
    at: int | None


class Owner(msgspec.Struct, frozen=True, kw_only=True):
    """A gang job: who it is, what it asked for, how far it is. Instants are milliseconds."""

    kind: str
    namespace: str
    name: str
    uid: str
    annotations: Mapping[str, str]
    created: int | None
    deleting: bool
    #: Its LocalQueue, "" when it names none.
    queue: str
    #: The foreign controller of ``spec.managedBy``, None for the kind's own.
    managed_by: str | None
    suspended: bool
    #: Pods that run at the same time.
    pods: int
    ready: int
    succeeded: int
    completions: int | None
    finish: Finish | None
    #: The object itself, for what reads annotations and UIDs.
    meta: Meta

    @property
    def ref(self) -> str:
        """``Job team-a/train``, for people."""
        return f"{self.kind} {self.namespace}/{self.name}"


def _finish(job: Job) -> Finish | None:
    for type_, succeeded in (("Complete", True), ("Failed", False)):
        condition = job.status.condition(type_) if job.status else None
        if condition is not None and condition.true:
            at = instant_or_none(condition.last_transition_time)
            return Finish(succeeded, condition.reason or type_, condition.message or "", at)
    return None


def _job(job: Job) -> Owner:
    spec, status = job.spec, job.status
    completions = spec.completions if spec else None
    parallelism = spec.parallelism if spec else None
    # The API server's defaults (k8s: pkg/apis/batch/v1/defaults.go): both absent means one of each.
    if parallelism is None:
        parallelism = 1
        if completions is None:
            completions = 1
    managed_by = spec.managed_by if spec else None
    return Owner(
        kind="Job",
        namespace=job.namespace,
        name=job.name,
        uid=job.uid,
        annotations=job.metadata.annotations or {},
        created=instant_or_none(job.metadata.creation_timestamp),
        deleting=job.metadata.deletion_timestamp is not None,
        queue=job.label(api.QUEUE_NAME) or "",
        managed_by=None if managed_by in (None, api.JOB_CONTROLLER) else managed_by,
        suspended=bool(spec and spec.suspend),
        pods=parallelism if completions is None else min(parallelism, completions),
        ready=(status.ready if status else None) or 0,
        succeeded=(status.succeeded if status else None) or 0,
        completions=completions,
        finish=_finish(job),
        meta=job,
    )


#: By type of the decoded object.
VIEWS: Final[Mapping[type[Meta], Callable[..., Owner]]] = {Job: _job}


def owner_of(obj: Meta) -> Owner:
    """The view of a job object. Raises TypeError for a kind without a view."""
    view = VIEWS.get(type(obj))
    if view is None:
        raise TypeError(f"no report for {obj.kind or type(obj).__name__}")
    return view(obj)


def waiting_owner(obj: Meta, view: KindView) -> Owner:
    """A job of any kind while it waits: nothing of it runs, and how it ends is not asked."""
    if isinstance(obj, Job):
        return _job(obj)
    return Owner(
        kind=view.resource.kind,
        namespace=obj.namespace,
        name=obj.name,
        uid=obj.uid,
        annotations=obj.metadata.annotations or {},
        created=instant_or_none(obj.metadata.creation_timestamp),
        deleting=obj.metadata.deletion_timestamp is not None,
        queue=obj.label(api.QUEUE_NAME) or "",
        managed_by=view.foreign(obj),
        suspended=view.suspended(obj),
        pods=0,
        ready=0,
        succeeded=0,
        completions=None,
        finish=None,
        meta=obj,
    )


def stamped_verdict(obj: Meta) -> Verdict | None:
    """The verdict of submit time as the webhook wrote it on the job; None if there is none that can be read."""
    outcome, separator, reason = (obj.annotation(api.PREFLIGHT) or "").partition(": ")
    if not separator or outcome not in set(Outcome):
        return None
    words = {Outcome.FITS: "fits", Outcome.FITS_AFTER_SCALE_UP: "fits", Outcome.NEVER_FITS: "cannot fit"}
    said = words.get(Outcome(outcome), outcome)
    return Verdict(
        outcome=Outcome(outcome),
        profile=obj.annotation(api.CAPACITY_PROFILE),
        line=f"preflight: {reason}: {said} (as stamped at submit)",
        reason=reason,
    )
