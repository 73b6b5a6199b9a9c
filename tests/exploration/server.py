"""The API server's two objects, as contents: a Workload and the job that owns it.

A resourceVersion is only ever compared with the present one, so of all of them two names are left: ``CURRENT`` and any
older. A copy is ``CURRENT`` or the number of an old content; a write guarded by an old one is refused for ever.
Contents are numbered, so that a state is a tuple of small integers. Times are milliseconds after ``T0``.
"""

from functools import lru_cache
from typing import Any, Final, Generic, NamedTuple, TypeVar

import msgspec

from classifier import api, clock
from classifier.clock import Ledger, Marker
from classifier.names import workload_names
from classifier.objects import Job, Workload
from controller.decide import Annotations, live_decision
from tests.builders import T0, job, workload

T = TypeVar("T")

PENDING: Final = "pending"
RESERVED: Final = "quota reserved"
ADMITTED: Final = "admitted"

MUSTER: Final = api.CONTROLLER_MANAGER
PERSON: Final = "kubectl-patch"

#: The newest version, among the numbers of older contents.
CURRENT: Final = -1

#: Annotations in the order of their keys.
Notes = tuple[tuple[str, str], ...]
#: A merge-patch of annotations; None removes one.
Patch = tuple[tuple[str, str | None], ...]


class Content(NamedTuple):
    """A Workload. ``uid`` and ``owner`` are numbers; ``by`` is the field manager of ``spec.active``.

    ``traced``: an Admitted condition that is False, as an admission of the past leaves it; ``changed`` is when that
    condition changed last.
    """

    uid: int
    owner: int
    made: int
    active: bool = True
    by: str = ""
    notes: Notes = ()
    phase: str = PENDING
    evicted: bool = False
    traced: bool = False
    changed: int = 0


class Owner(NamedTuple):
    """A job. ``stopped`` is when it was suspended last, as its condition says."""

    uid: int
    made: int
    suspended: bool = True
    notes: Notes = ()
    stopped: int = 0


class Numbers(Generic[T]):
    """Gives each value a number, the same one for the same value; 0 is None."""

    def __init__(self) -> None:
        self.values: list[T | None] = [None]
        self._numbers: dict[T | None, int] = {None: 0}

    def of(self, value: T | None) -> int:
        number = self._numbers.get(value)
        if number is None:
            number = self._numbers[value] = len(self.values)
            self.values.append(value)
        return number


def patched(notes: Notes, patch: Patch) -> Notes:
    """A merge-patch of annotations, as the API server applies it."""
    merged: dict[str, str | None] = {**dict(notes), **dict(patch)}
    return tuple(sorted((key, value) for key, value in merged.items() if value is not None))


def patch_of(annotations: Annotations) -> Patch:
    return tuple(sorted(annotations.items()))


def uid_of(number: int) -> str:
    return f"uid-{number}"


@lru_cache(maxsize=50_000)
def workload_of(content: Content, version: str = "1") -> Workload:
    """The copy that a watch or a GET brings."""
    return msgspec.json.decode(msgspec.json.encode(raw_workload(content, version)), type=Workload)


def raw_workload(content: Content, version: str) -> dict[str, Any]:
    uid = f"job-{content.owner}"
    (name,) = workload_names("train", uid, api.JOBS.kind, api.JOBS.group)
    builder = workload(name).created(T0 + content.made).label(api.JOB_UID, uid)
    reference = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": uid, "controller": True}
    builder.metadata(uid=uid_of(content.uid), resourceVersion=version, ownerReferences=[reference])
    for key, value in content.notes:
        builder.annotate(key, value)
    if content.by:
        builder.active(content.active, content.by)
    at = T0 + content.changed
    if content.phase != PENDING or content.traced:
        builder.condition(api.QUOTA_RESERVED, content.phase != PENDING, at=at)
    if content.phase == ADMITTED or content.traced:
        builder.condition(api.ADMITTED, content.phase == ADMITTED, at=at)
    if content.evicted:
        builder.condition(api.EVICTED, True, "Deactivated")
    return builder.raw()


@lru_cache(maxsize=50_000)
def job_of(owner: Owner, version: str = "1") -> Job:
    return msgspec.convert(raw_job(owner, version), Job)


def raw_job(owner: Owner, version: str) -> dict[str, Any]:
    builder = job().created(T0 + owner.made).metadata(uid=f"job-{owner.uid}", resourceVersion=version)
    for key, value in owner.notes:
        builder.annotate(key, value)
    builder.spec["suspend"] = owner.suspended
    builder.condition("Suspended", owner.suspended, at=T0 + owner.stopped)
    return builder.raw()


def marker_of(content: Content) -> Marker | None:
    """The marker it carries, live or not; its time after ``T0``."""
    marker = clock.parse_marker(workload_of(content))
    return marker and Marker(marker.at - T0, marker.attempt, marker.uid)


def ledger_of(owner: Owner) -> Ledger | None:
    return clock.parse_ledger(job_of(owner))


def note(notes: Notes, key: str) -> str | None:
    return dict(notes).get(key)


def decision_of(content: Content | None) -> Marker | None:
    """The truth of the model, told apart from ``decide``: inactive by Muster's own hand, and marked."""
    if content is None or content.active or content.by != MUSTER:
        return None
    marker = marker_of(content)
    assert marker is None or live_decision(workload_of(content)) is not None
    return marker
