"""What must never happen (design §9), read from the API server's audit log after every test.

An end state hides a transition; the audit log does not: it holds each write to Workloads, jobs and pods with its
answer, in the server's own order. Pure: audit events in, sentences about violations out; not by Muster's own code.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Final

from classifier import api
from classifier.instant import SECOND, parse_instant
from e2e.denials import wrongly_denied

Object = Mapping[str, Any]

#: A mirror must be gone this long after its decision died, while a controller runs.
MIRROR_GRACE: Final = 10 * SECOND
CONTROLLER: Final = "system:serviceaccount:muster-system:muster-controller"
MUSTER: Final = (CONTROLLER, "system:serviceaccount:muster-system:muster-webhook")
ADMINISTRATORS: Final = "system:masters"
PROTECTED: Final = frozenset(api.CONTROLLER_KEYS)
MIRROR: Final = frozenset(api.MIRROR_KEYS)
_WRITES: Final = frozenset({"create", "update", "patch"})
#: What a mirror may stand on and Muster may delete, besides pods and Workloads.
_JOBS: Final = frozenset(
    {
        *("jobs", "jobsets", "trainjobs", "rayjobs", "rayclusters", "appwrappers"),
        *("pytorchjobs", "tfjobs", "xgboostjobs", "paddlejobs", "jaxjobs", "mpijobs"),
    }
)
#: Reported, and never written to by Muster's controller.
_REPORTED: Final = frozenset({"leaderworkersets", "rayservices", "sparkapplications", "statefulsets", "deployments"})
_GROUP: Final = "kueue.x-k8s.io/pod-group-name"
_GROUP_WORKLOAD: Final = "kueue.x-k8s.io/is-group-workload"
_GATE: Final = "kueue.x-k8s.io/admission"


def _annotations(obj: Object) -> Mapping[str, str]:
    return obj.get("metadata", {}).get("annotations") or {}


def _uid(obj: Object) -> str:
    return str(obj.get("metadata", {}).get("uid", ""))


def _version(obj: Object) -> int:
    return int(obj.get("metadata", {}).get("resourceVersion") or 0)


def _controller_uid(obj: Object) -> str:
    owners = obj.get("metadata", {}).get("ownerReferences") or ()
    return next((str(o.get("uid")) for o in owners if o.get("controller")), "")


def _name(obj: Object) -> tuple[str, str]:
    meta = obj.get("metadata", {})
    return str(meta.get("namespace")), str(meta.get("name"))


def _group(pod: Object) -> str | None:
    meta = pod.get("metadata", {})
    found = (meta.get("annotations") or {}).get(_GROUP) or (meta.get("labels") or {}).get(_GROUP)
    return str(found) if found else None


def _held(job: Object) -> bool:
    """By the lever of its kind."""
    spec = job.get("spec", {})
    return spec.get("suspend") is True or (spec.get("runPolicy") or {}).get("suspend") is True


def _at_rest(pod: Object) -> bool:
    """It has ended, or may not begin."""
    if pod.get("status", {}).get("phase") in ("Succeeded", "Failed"):
        return True
    return _GATE in {gate.get("name") for gate in pod.get("spec", {}).get("schedulingGates") or ()}


def _true(obj: Object, type_: str) -> bool:
    conditions = obj.get("status", {}).get("conditions") or ()
    return any(c.get("type") == type_ and c.get("status") == "True" for c in conditions)


def decision_of(workload: Object) -> str | None:
    """``uid/attempt`` of the live decision on a Workload, told without Muster's own code."""
    if workload.get("spec", {}).get("active", True) is not False:
        return None
    decision = _decision(_annotations(workload).get(api.COMMITTED, ""))
    return decision if decision is not None and decision.startswith(f"{_uid(workload)}/") else None


def _decision(marker: str) -> str | None:
    """``uid/attempt`` of a marker's text."""
    parts = marker.split()
    if len(parts) != 3 or not parts[2].startswith("uid="):
        return None
    return f"{parts[2].removeprefix('uid=')}/{parts[1].removeprefix('attempt=')}"


class History:
    """Feeds on audit events in the server's order and collects violations."""

    def __init__(self) -> None:
        self.violations: list[str] = []
        self._workloads: dict[str, Object] = {}  # by uid
        self._jobs: dict[str, Object] = {}
        self._pods: dict[str, Object] = {}
        self._profiles: dict[str, Object] = {}
        self._died: dict[str, int] = {}  # decision -> when it died
        #: What the controller asked for in vain, for all it knows: by plural, namespace and name.
        self._unknown: dict[tuple[str, str, str], list[Mapping[str, str]]] = {}
        #: Decisions whose write got no answer: nothing tells when they landed, if they did.
        self._perhaps: set[str] = set()
        #: Namespaces that are being deleted.
        self._going: set[str] = set()
        self._clock = 0

    def take(self, event: Object) -> None:
        """One ResponseComplete event. Refused requests changed nothing; dry runs neither."""
        reference = event.get("objectRef") or {}
        if reference.get("subresource") in ("binding", "eviction", "scale"):
            return  # their bodies are not the object itself
        code = (event.get("responseStatus") or {}).get("code", 0)
        if "dryRun=" in event.get("requestURI", ""):
            return
        if code == 403 and event.get("verb") == "create" and reference.get("resource") == "jobs":
            message = (event.get("responseStatus") or {}).get("message", "")
            placed = wrongly_denied(event.get("requestObject") or {}, message, self._profiles.values())
            if placed is not None:
                self._say(event["requestObject"], f"was denied ({message}), though {placed}")
        if not 200 <= code < 300:
            if event["user"].get("username") == CONTROLLER and code >= 499:
                self._unanswered(reference, event.get("requestObject") or {})
            return
        self._clock = parse_instant(event["stageTimestamp"])
        user, groups = event["user"].get("username", ""), event["user"].get("groups") or []
        resource, verb = reference.get("resource"), event.get("verb")
        if verb == "deletecollection":
            # The namespace goes, and everything in it: its Workloads may be long before its jobs.
            self._going.add(str(reference.get("namespace")))
            known = self._known(resource)
            for uid, obj in self._of(str(resource)):
                if _name(obj)[0] == reference.get("namespace"):
                    del known[uid]
        if verb == "delete":
            self._deleted(str(resource), reference, user, event.get("requestObject") or {})
        if verb not in _WRITES or not event.get("responseObject"):
            return
        take: dict[str, Callable[[Object, str, list[str], str], None]] = {
            "workloads": self._workload,
            "pods": self._pod,
            "capacityprofiles": self._profile,
            **dict.fromkeys(_JOBS, self._job),
            **dict.fromkeys(_REPORTED, self._reported),
        }
        handler = take.get(str(resource))
        if handler is not None:
            handler(event["responseObject"], user, groups, str(verb))

    def _unanswered(self, reference: Object, wanted: Object) -> None:
        """The controller gave up on an answer: its write may have landed, and shows with the next one."""
        at = str(reference.get("resource")), str(reference.get("namespace")), str(reference.get("name"))
        self._unknown.setdefault(at, []).append(_annotations(wanted))
        decision = _decision(_annotations(wanted).get(api.COMMITTED, ""))
        if decision is not None:
            self._perhaps.add(decision)

    def close(self, now: int) -> None:
        """The end of a test: what may still be cleaned up within its grace is no violation."""
        live = {decision_of(w) for w in self._workloads.values()} | (self._perhaps - self._died.keys())
        for job in (*self._jobs.values(), *self._pods.values(), *self._workloads.values()):
            of = _annotations(job).get(api.ADMISSION_OUTCOME_OF)
            if _name(job)[0] in self._going:
                continue
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
            running = [p for p in self._pods_of(new) if p.get("status", {}).get("phase") == "Running"]
            if running:
                self._say(new, f"was committed while {len(running)} of its pods ran")
        self._mirrored(old, new, user, at_rest=True, decisions={after})
        if before is not None and after != before:
            self._died[before] = self._clock
        self._workloads[_uid(new)] = new

    def _job(self, new: Object, user: str, groups: list[str], verb: str) -> None:
        old = self._jobs.get(_uid(new), {})
        if _version(new) < _version(old):
            return
        self._protected(old, new, user, groups, verb, PROTECTED)
        self._mirrored(old, new, user, at_rest=_held(new))
        self._jobs[_uid(new)] = new

    def _profile(self, new: Object, user: str, groups: list[str], verb: str) -> None:
        self._profiles[_uid(new)] = new

    def _reported(self, new: Object, user: str, groups: list[str], verb: str) -> None:
        if user == CONTROLLER:
            self._say(new, "was written to, though its kind is only reported on")

    def _pod(self, new: Object, user: str, groups: list[str], verb: str) -> None:
        old = self._pods.get(_uid(new), {})
        if _version(new) < _version(old):
            return
        self._protected(old, new, user, groups, verb, PROTECTED)
        self._mirrored(old, new, user, at_rest=_at_rest(new))
        # A pod that waits at a gate has not started; one that was let go before the decision is not started by it.
        let_go = not _at_rest(new) and (_at_rest(old) if old else verb == "create")
        if let_go and any(decision_of(workload) for workload in self._workloads_of(new)):
            self._say(new, f"was {'started' if old else 'created'} for a gang whose wait had been ended (by {user})")
        self._pods[_uid(new)] = new

    def _mirrored(
        self, old: Object, new: Object, user: str, *, at_rest: bool, decisions: Collection[str | None] | None = None
    ) -> None:
        """What the controller puts on: a copy of a live decision, on what does not run."""
        of = _annotations(new).get(api.ADMISSION_OUTCOME_OF)
        if user != CONTROLLER or of is None or of == _annotations(old).get(api.ADMISSION_OUTCOME_OF):
            return
        # Between the last look at the Workload and this write somebody may have reactivated it: two objects.
        overtaken = self._clock - self._died.get(of, -MIRROR_GRACE) < MIRROR_GRACE
        told = decisions or {decision_of(w) for w in self._workloads.values()} | self._perhaps
        if not overtaken and of not in told:
            self._say(new, f"was given a mirror of {of}, which is no live decision")
        if not at_rest:
            self._say(new, "was given a mirror while it was not suspended")

    def _deleted(self, resource: str, reference: Object, user: str, options: Object) -> None:
        name = (str(reference.get("namespace")), str(reference.get("name")))
        known = self._known(resource)
        for uid, obj in self._of(resource):
            if _name(obj) != name:
                continue
            if user in MUSTER:
                self._deleted_by_us(uid, obj, resource, user, options)
            if resource == "workloads" and (decision := decision_of(obj)):
                self._died[decision] = self._clock
            # A finalizer may keep it: it is known again with its next change.
            del known[uid]

    def _deleted_by_us(self, uid: str, obj: Object, resource: str, user: str, options: Object) -> None:
        its = [obj] if resource == "workloads" else list(self._workloads_of(obj))
        if not any(api.CLEANUP_COMMITTED in _annotations(workload) for workload in its):
            self._say(obj, f"was deleted by {user} without cleanup-committed")
        asked = options.get("preconditions") or {}
        if asked.get("uid") != uid or not asked.get("resourceVersion"):
            self._say(obj, f"was deleted by {user} without uid and resourceVersion as preconditions")
        pods = [obj] if resource == "pods" else [p for p in self._pods.values() if uid in self._above(p)]
        running = [p for p in pods if p.get("status", {}).get("phase") == "Running"]
        if running:
            self._say(obj, f"was deleted by {user} while {len(running)} of its pods ran")

    def _known(self, resource: Any) -> dict[str, Object]:
        return {"workloads": self._workloads, "pods": self._pods, "capacityprofiles": self._profiles}.get(
            str(resource), self._jobs if resource in _JOBS else {}
        )

    def _of(self, resource: str) -> list[tuple[str, Object]]:
        """What is known of a kind, by uid."""
        known = self._known(resource).items()
        return [(uid, obj) for uid, obj in known if f"{obj.get('kind', '')}s".lower() == resource]

    def _protected(
        self, old: Object, new: Object, user: str, groups: list[str], verb: str, keys: frozenset[str]
    ) -> None:
        """Nobody but the controller and administrators changes its keys; mirror keys may be removed by anybody."""
        if verb == "create" or not old or user == CONTROLLER or ADMINISTRATORS in groups:
            return
        before, after = _annotations(old), _annotations(new)
        unknown = self._unknown.get((f"{new.get('kind')}s".lower(), *_name(new)), ())
        for key in keys:
            removed_mirror = key in MIRROR and key not in after
            landed = any(key in wanted and wanted[key] == after.get(key) for wanted in unknown)
            if before.get(key) != after.get(key) and not removed_mirror and not landed:
                self._say(new, f"{user} changed {key} from {before.get(key)!r} to {after.get(key)!r}")

    def _above(self, obj: Object) -> set[str]:
        """The uids of the object and of all that controls it, as far as that was seen."""
        uids: set[str] = set()
        uid = _uid(obj)
        while uid and uid not in uids:
            uids.add(uid)
            obj = self._jobs.get(uid, obj if uid == _uid(obj) else {})
            uid = _controller_uid(obj)
        return uids

    def _workloads_of(self, obj: Object) -> Iterable[Object]:
        """Those of the job, the pod or its group, or of what stands above it."""
        above = self._above(obj)
        return (workload for workload in self._workloads.values() if _of_it(workload, obj, above))

    def _pods_of(self, workload: Object) -> Iterable[Object]:
        return (pod for pod in self._pods.values() if _of_it(workload, pod, self._above(pod)))


def _of_it(workload: Object, obj: Object, above: set[str]) -> bool:
    """Whether it is the Workload of an object, of its group, or of something ``above`` it."""
    if _controller_uid(workload) in above:
        return True
    group = _group(obj) if _GROUP_WORKLOAD in _annotations(workload) else None
    return group is not None and _name(workload) == (_name(obj)[0], group)
