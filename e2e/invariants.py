"""What must never happen (design §9), read from the API server's audit log after every test.

An end state hides a transition; the audit log does not: it holds each write to Workloads, jobs and pods with its
answer, in the server's own order. Pure: audit events in, sentences about violations out.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from classifier import api
from classifier.instant import SECOND, parse_instant

Object = Mapping[str, Any]

#: A mirror must be gone this long after its decision died, while a controller runs.
MIRROR_GRACE: Final = 10 * SECOND
CONTROLLER: Final = "system:serviceaccount:muster-system:muster-controller"
MUSTER: Final = (CONTROLLER, "system:serviceaccount:muster-system:muster-webhook")
ADMINISTRATORS: Final = "system:masters"
PROTECTED: Final = frozenset(api.CONTROLLER_KEYS)
MIRROR: Final = frozenset(api.MIRROR_KEYS)
_WRITES: Final = frozenset({"create", "update", "patch"})
_JOBS: Final = frozenset({"jobs"})


def _annotations(obj: Object) -> Mapping[str, str]:
    return obj.get("metadata", {}).get("annotations") or {}


def _uid(obj: Object) -> str:
    return str(obj.get("metadata", {}).get("uid", ""))


def _version(obj: Object) -> int:
    return int(obj.get("metadata", {}).get("resourceVersion") or 0)


def _controller_uid(obj: Object) -> str:
    owners = obj.get("metadata", {}).get("ownerReferences") or ()
    return next((str(o.get("uid")) for o in owners if o.get("controller")), "")


def _true(obj: Object, type_: str) -> bool:
    conditions = obj.get("status", {}).get("conditions") or ()
    return any(c.get("type") == type_ and c.get("status") == "True" for c in conditions)


def decision_of(workload: Object) -> str | None:
    """``uid/attempt`` of the live decision on a Workload, told without Muster's own code."""
    if workload.get("spec", {}).get("active", True) is not False:
        return None
    parts = _annotations(workload).get(api.COMMITTED, "").split()
    if len(parts) != 3 or parts[2] != f"uid={_uid(workload)}":
        return None
    return f"{_uid(workload)}/{parts[1].removeprefix('attempt=')}"


class History:
    """Feeds on audit events in the server's order and collects violations."""

    def __init__(self) -> None:
        self.violations: list[str] = []
        self._workloads: dict[str, Object] = {}  # by uid
        self._jobs: dict[str, Object] = {}
        self._pods: dict[str, Object] = {}
        self._died: dict[str, int] = {}  # decision -> when it died
        self._clock = 0

    def take(self, event: Object) -> None:
        """One ResponseComplete event. Refused requests changed nothing; dry runs neither."""
        reference = event.get("objectRef") or {}
        code = (event.get("responseStatus") or {}).get("code", 0)
        if not 200 <= code < 300 or "dryRun=" in event.get("requestURI", ""):
            return
        self._clock = parse_instant(event["stageTimestamp"])
        user, groups = event["user"].get("username", ""), event["user"].get("groups") or []
        resource, verb = reference.get("resource"), event.get("verb")
        if verb == "deletecollection":
            # The namespace goes, and everything in it.
            known = self._known(resource)
            for uid, obj in list(known.items()):
                if obj.get("metadata", {}).get("namespace") == reference.get("namespace"):
                    del known[uid]
        if verb == "delete":
            self._deleted(resource, reference, user, event.get("responseObject") or {})
        if verb not in _WRITES or not event.get("responseObject"):
            return
        take: dict[str, Callable[[Object, str, list[str], str], None]] = {
            "workloads": self._workload,
            "pods": self._pod,
            **dict.fromkeys(_JOBS, self._job),
        }
        handler = take.get(str(resource))
        if handler is not None:
            handler(event["responseObject"], user, groups, str(verb))

    def close(self, now: int) -> None:
        """The end of a test: what may still be cleaned up within its grace is no violation."""
        live = {decision_of(w) for w in self._workloads.values()}
        for job in self._jobs.values():
            of = _annotations(job).get(api.ADMISSION_OUTCOME_OF)
            if of is not None and of not in live and now - self._died.get(of, 0) > MIRROR_GRACE:
                self._say(job, f"mirrors {of}, which is no live decision")

    def _say(self, obj: Object, text: str) -> None:
        meta = obj.get("metadata", {})
        self.violations.append(
            f"{obj.get('kind')} {meta.get('namespace')}/{meta.get('name')} rv={_version(obj)}: {text}"
        )

    def _workload(self, new: Object, user: str, groups: list[str], verb: str) -> None:
        old = self._workloads.get(_uid(new), {})
        if _version(new) < _version(old):
            return
        before, after = decision_of(old), decision_of(new)
        self._protected(old, new, user, groups, verb, PROTECTED | {api.COMMITTED, api.CLEANUP_COMMITTED})
        if after is not None and before == after:
            for type_ in (api.QUOTA_RESERVED, api.ADMITTED):
                if _true(new, type_) and not _true(old, type_):
                    self._say(new, f"is inactive, marked and newly {type_} (by {user})")
        if after is not None and before is None:
            if user == CONTROLLER and _true(new, api.ADMITTED):
                self._say(new, "was committed while it was admitted")
            running = [p for p in self._pods_of(_controller_uid(new)) if p.get("status", {}).get("phase") == "Running"]
            if running:
                self._say(new, f"was committed while {len(running)} of its pods ran")
        if before is not None and after != before:
            self._died[before] = self._clock
        self._workloads[_uid(new)] = new

    def _job(self, new: Object, user: str, groups: list[str], verb: str) -> None:
        old = self._jobs.get(_uid(new), {})
        if _version(new) < _version(old):
            return
        self._protected(old, new, user, groups, verb, PROTECTED)
        of = _annotations(new).get(api.ADMISSION_OUTCOME_OF)
        if of is not None and of != _annotations(old).get(api.ADMISSION_OUTCOME_OF):
            if user == CONTROLLER and of not in {decision_of(w) for w in self._workloads.values()}:
                self._say(new, f"was given a mirror of {of}, which is no live decision")
            if user == CONTROLLER and new.get("spec", {}).get("suspend") is not True:
                self._say(new, "was given a mirror while it was not suspended")
        self._jobs[_uid(new)] = new

    def _pod(self, new: Object, user: str, groups: list[str], verb: str) -> None:
        if verb == "create":
            owner = _controller_uid(new)
            for workload in self._workloads.values():
                if owner and _controller_uid(workload) == owner and decision_of(workload):
                    self._say(new, "was created for a gang whose wait had been ended")
        self._pods[_uid(new)] = new

    def _deleted(self, resource: Any, reference: Object, user: str, answer: Object) -> None:
        name = (reference.get("namespace"), reference.get("name"))
        known = self._known(resource)
        for uid, obj in list(known.items()):
            if (obj.get("metadata", {}).get("namespace"), obj.get("metadata", {}).get("name")) != name:
                continue
            if user in MUSTER and resource in _JOBS:
                kept = any(
                    _controller_uid(w) == uid and api.CLEANUP_COMMITTED in _annotations(w)
                    for w in self._workloads.values()
                )
                if not kept:
                    self._say(obj, f"was deleted by {user} without cleanup-committed")
            if resource == "workloads" and (decision := decision_of(obj)):
                self._died[decision] = self._clock
            del known[uid]

    def _known(self, resource: Any) -> dict[str, Object]:
        return {"workloads": self._workloads, "jobs": self._jobs, "pods": self._pods}.get(str(resource), {})

    def _protected(
        self, old: Object, new: Object, user: str, groups: list[str], verb: str, keys: frozenset[str]
    ) -> None:
        """Nobody but the controller and administrators changes its keys; mirror keys may be removed by anybody."""
        if verb == "create" or not old or user == CONTROLLER or ADMINISTRATORS in groups:
            return
        before, after = _annotations(old), _annotations(new)
        for key in keys:
            removed_mirror = key in MIRROR and key not in after
            if before.get(key) != after.get(key) and not removed_mirror:
                self._say(new, f"{user} changed {key} from {before.get(key)!r} to {after.get(key)!r}")

    def _pods_of(self, owner: str) -> Iterable[Object]:
        return (p for p in self._pods.values() if owner and _controller_uid(p) == owner)
