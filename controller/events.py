"""The one event of a decision, on the owner (design §3, "Mirror"), those of a verdict on what waits, and that of a
setup that cannot work.

The name of each is a function of what it says, so that it is there once.
"""

import hashlib
from typing import Any

from classifier import api
from classifier.clock import Marker
from classifier.instant import format_micro
from classifier.objects import CapacityProfile, Meta, PodGroup, Workload

#: events.k8s.io/v1 limits: a note is at most 1 kB, a name an object's name.
MAX_NOTE = 1024
#: Where the API server wants events on objects that are in no namespace.
CLUSTER_NAMESPACE = "default"


def timed_out(
    owner: Meta, owner_resource: api.Resource, workload: Workload, marker: Marker, note: str, identity: str
) -> dict[str, Any]:
    """The Event to create. A second creation of it is refused with 409, which is what makes it happen once."""
    return _event(
        # A group's Workload is named like it, and another pod may stand for it next time.
        (workload if isinstance(owner, PodGroup) else owner).name,
        # The time too: who loses the ledger begins to count attempts anew.
        f"{marker.uid}/{marker.attempt}/{marker.at}",
        ("Warning", api.EVENT_TIMED_OUT, "EndWait"),
        note,
        marker.at,
        identity,
        regarding=_reference(owner, owner_resource),
        related=_reference(workload, api.WORKLOADS),
    )


def deleted(owner: Meta, resource: api.Resource, workload: Workload, at: int, identity: str) -> dict[str, Any]:
    """The Event that a job whose wait was ended goes now; ``at`` (ms) is when that was decided."""
    note = f"deleted by Muster: its admission timed out, and the policy {api.TTL_AFTER_TIMEOUT} has run out"
    return _of_cleanup(owner, resource, workload, api.EVENT_DELETED, note, at, identity)


def kept(
    owner: Meta, resource: api.Resource, workload: Workload, marker: Marker, reason: str, identity: str
) -> dict[str, Any]:
    """The Event that a job whose wait was ended stays although a policy asks for its deletion."""
    note = f"not deleted by Muster: {reason}"
    return _of_cleanup(owner, resource, workload, api.EVENT_KEPT, note, marker.at, identity)


def _of_cleanup(
    owner: Meta,
    resource: api.Resource,
    workload: Workload,
    reason: str,
    note: str,
    at: int,
    identity: str,
) -> dict[str, Any]:
    return _event(
        workload.name,
        f"{workload.uid}/{at}/{note}",
        ("Normal", reason, "CleanUp"),
        note,
        at,
        identity,
        regarding=_reference(owner, resource),
        related=_reference(workload, api.WORKLOADS),
    )


def undone(
    owner: Meta, resource: api.Resource, workload: Workload, writer: str, attempt: int, at: int, identity: str
) -> dict[str, Any]:
    """The Event that decisions on a job are undone again and again; ``writer`` as managedFields name it."""
    who = f'"{writer[:128]}"' if writer else "somebody"
    note = (
        f"three times within an hour {who} reactivated it after Muster had ended its wait; if that is a tool, it keeps "
        "the job waiting for ever: let it leave spec.active of Workloads alone"
    )
    return _event(
        owner.name,
        f"{workload.uid}/undone/{attempt}",
        ("Warning", api.EVENT_UNDONE, "EndWait"),
        note,
        at,
        identity,
        regarding=_reference(owner, resource),
        related=_reference(workload, api.WORKLOADS),
    )


def misconfigured(profile: CapacityProfile, note: str, at: int, identity: str) -> dict[str, Any]:
    """The Event on a profile that cannot work as it is set up; ``note`` says what to change, ``at`` is in ms."""
    itself = _reference(profile, api.CAPACITY_PROFILES)
    del itself["namespace"]
    what = ("Warning", api.EVENT_MISCONFIGURED, "JudgeSetup")
    return _event(profile.name, f"{profile.uid}/{note}", what, note, at, identity, regarding=itself)


def judged(workload: Workload, never: bool, line: str, turn: int, at: int, identity: str) -> dict[str, Any]:
    """The Event of a change of verdict on what waits, on its job, or on itself where no job controls it.

    ``turn`` counts the changes told of before; without it a verdict that comes back would not be told again. ``at`` in
    ms.
    """
    what = ("Warning", api.EVENT_NEVER_FITS) if never else ("Normal", api.EVENT_FITS)
    return _on_job(workload, f"{workload.uid}/{turn}/{line}", (*what, "JudgeWait"), line, at, identity)


def unscheduled(workload: Workload, since: int, line: str, at: int, identity: str) -> dict[str, Any]:
    """The Event that a gang which was admitted at ``since`` has pods without nodes; once an admission. Both in ms."""
    what = ("Warning", api.EVENT_UNSCHEDULED, "LookForNodes")
    return _on_job(workload, f"{workload.uid}/unscheduled/{since}", what, line, at, identity)


def _on_job(
    workload: Workload, key: str, what: tuple[str, str, str], note: str, at: int, identity: str
) -> dict[str, Any]:
    """An Event on the job of a Workload, or on itself where no job controls it."""
    owner = workload.controller
    itself = job = _reference(workload, api.WORKLOADS)
    if owner is not None:
        told = {"apiVersion": owner.api_version, "kind": owner.kind, "name": owner.name, "uid": owner.uid}
        job = {**told, "namespace": workload.namespace}
    return _event(job["name"], key, what, note, at, identity, regarding=job, related=itself)


def _event(
    name: str,
    key: str,
    what: tuple[str, str, str],
    note: str,
    at: int,
    identity: str,
    *,
    regarding: dict[str, str],
    related: dict[str, str] | None = None,
) -> dict[str, Any]:
    """An Event at ``at`` (ms), of ``what`` type, reason and action, named after ``name`` and a digest of ``key``."""
    # Cut to what a name may hold; no part of one may end in a hyphen or be empty.
    stem = name[:200].rstrip("-.")
    digest = hashlib.sha256(key.encode()).hexdigest()[:16]
    type_, reason, action = what
    return {
        "apiVersion": api.EVENTS.api_version,
        "kind": api.EVENTS.kind,
        "metadata": {"name": f"{stem}.{digest}", "namespace": regarding.get("namespace", CLUSTER_NAMESPACE)},
        "eventTime": format_micro(at),
        "reportingController": f"{api.PREFIX}controller",
        "reportingInstance": (identity or "controller")[:128],
        "type": type_,
        "reason": reason,
        "action": action,
        "note": _cut(note),
        "regarding": regarding,
        **({"related": related} if related else {}),
    }


def _cut(note: str) -> str:
    raw = note.encode()
    return note if len(raw) <= MAX_NOTE else raw[: MAX_NOTE - 4].decode(errors="ignore") + " ..."


def _reference(obj: Meta, resource: api.Resource) -> dict[str, str]:
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "namespace": obj.namespace,
        "name": obj.name,
        "uid": obj.uid,
    }
