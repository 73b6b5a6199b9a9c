"""The notation of reference/classification.md §D as builders: every object is written as JSON and decoded.

    plain(TJ("Failed=True/FailedJobs: words"), JS(), captured(pod("p0").failed().exit(1)))

A condition is told as ``Type=Status/Reason@time: message``; a time is ``HH:MM:SS`` of the day, or ``-`` for none, and
10:00:00 where nothing is said. ``P/`` in keys, values and expected details stands for dispatch's prefix. Unless told
otherwise TrainJob ``train-3`` has uid ``tj-1``, its JobSet ``js-1``, its Workload is active, pods are of admission 1
and attempt 0, Running on node ``n1``; nodes ``n1`` and ``n2`` are Ready.
"""

import re
from typing import Any, NamedTuple, Self, TypeVar

import msgspec
import pytest

from classifier import api
from classifier.objects import Job, JobSet, Meta, Node, Pod, TrainingRuntime, TrainJob, Workload
from classifier.state import classify, explain
from classifier.state.case import Case
from classifier.state.kinds import KINDS
from classifier.state.observation import Explanation, Observation, State
from classifier.state.settings import Mode, Settings
from tests.builders import T0, Builder

T = TypeVar("T", bound=Meta)

NAMESPACE = "ns"
NODE = "node"  # the name of Trainer's own container
_CONDITION = re.compile(
    r"(?P<type>\w+)=(?P<status>\w+)(/(?P<reason>[\w/.]*))?(@(?P<at>[\w:.-]+?))?(: (?P<said>.*))?", re.DOTALL
)


def full(text: str) -> str:
    """``P/`` spelled out."""
    return re.sub(r"\bP/", api.DISPATCH_PREFIX, text)


def time(at: str) -> str | None:
    return None if at == "-" else f"2026-11-29T{at}Z" if re.fullmatch(r"\d\d:\d\d:\d\d", at) else at


class Told(Builder[T]):
    def has(self, *conditions: str) -> Self:
        """Add conditions, in their order; the messages may hold anything."""
        for text in conditions:
            match = _CONDITION.fullmatch(text)
            assert match, f"not a condition: {text}"
            told = {"type": match["type"], "status": match["status"], "reason": match["reason"] or ""}
            if match["said"] is not None:
                told["message"] = match["said"]
            if at := time(match["at"] or "10:00:00"):
                told["lastTransitionTime"] = at
            self.status.setdefault("conditions", []).append(told)
        return self

    @property
    def status(self) -> dict[str, Any]:
        status: dict[str, Any] = self._raw.setdefault("status", {})
        return status

    def ann(self, key: str, value: str) -> Self:
        return self.annotate(full(key), full(value))

    def labels(self, **values: str) -> Self:
        """Replace all labels; none without values. ``job_id`` is ``P/job-id``."""
        named = {full("P/" + key.replace("_", "-")): value for key, value in values.items()}
        return self.metadata(labels=named)

    def owner(self, uid: str | None, kind: str = "TrainJob", name: str = "train-3", group: str = "") -> Self:
        """Controlled by that UID; by nobody for None."""
        if uid is None:
            return self.metadata(ownerReferences=[])
        group = group or {"TrainJob": "trainer.kubeflow.org/v1alpha1", "JobSet": "jobset.x-k8s.io/v1alpha2"}.get(
            kind, "batch/v1"
        )
        reference = {"apiVersion": group, "kind": kind, "name": name, "uid": uid, "controller": True}
        return self.metadata(ownerReferences=[reference])

    def deleting(self, *finalizers: str) -> Self:
        found = {"finalizers": list(finalizers)} if finalizers else {}
        return self.metadata(deletionTimestamp=time("10:00:00"), **found)

    def uid(self, uid: str) -> Self:
        return self.metadata(uid=uid)

    def born(self, at: str) -> Self:
        return self.metadata(creationTimestamp=time(at))

    def no_conditions(self) -> Self:
        """With a status that says nothing."""
        self._raw["status"] = {}
        return self

    def only_metadata(self) -> Self:
        """Without spec and status."""
        self._raw.pop("spec", None)
        self._raw.pop("status", None)
        return self

    def done(self) -> T:
        return msgspec.json.decode(msgspec.json.encode(self._raw), type=self._struct)


class Suspendable(Told[T]):
    def suspend(self) -> Self:
        self.spec["suspend"] = True
        return self


def TJ(*conditions: str, name: str = "train-3") -> Suspendable[TrainJob]:
    built = Suspendable(TrainJob, api.TRAIN_JOBS, name, NAMESPACE).uid("tj-1")
    return built.labels(job_id="train", submission="3").has(*conditions)


def JS(*conditions: str, name: str = "train-3") -> Suspendable[JobSet]:
    return Suspendable(JobSet, api.JOBSETS, name, NAMESPACE).uid("js-1").owner("tj-1").has(*conditions)


def child_job(*conditions: str, name: str = "train-3-node-0") -> Suspendable[Job]:
    built = Suspendable(Job, api.JOBS, name, NAMESPACE).uid("job-1")
    return built.owner("js-1", "JobSet").has(*conditions)


def runtime(name: str = "train-3", owner: str | None = "tj-0") -> Told[TrainingRuntime]:
    return Told(TrainingRuntime, api.TRAINING_RUNTIMES, name, NAMESPACE).owner(owner)


class WorkloadTold(Told[Workload]):
    def inactive(self) -> Self:
        self.spec["active"] = False
        return self

    def check(self, name: str, state: str, message: str = "") -> Self:
        told = {"name": name, "state": state, "message": message, "lastTransitionTime": time("10:00:00")}
        self.status.setdefault("admissionChecks", []).append(told)
        return self

    def admitted(self) -> Self:
        return self.has("QuotaReserved=True/QuotaReserved", "Admitted=True/Admitted")

    def requeue_at(self, at: str | None) -> Self:
        self.status["requeueState"] = {"count": 1, "requeueAt": at}
        return self


def WL(*conditions: str, name: str = "trainjob-train-3-ab12c", uid: str = "wl-1") -> WorkloadTold:
    built = WorkloadTold(Workload, api.WORKLOADS, name, NAMESPACE).uid(uid).owner("tj-1").has(*conditions)
    built.spec["active"] = True
    return built.label(api.JOB_UID, "tj-1")


class PodTold(Told[Pod]):
    def run(self, a: int | str | None = 1, j: int | str | None = 0) -> Self:
        """Of that admission and restart attempt; None leaves it out."""
        if j is not None:
            self.label("jobset.sigs.k8s.io/restart-attempt", str(j))
        else:
            self._raw["metadata"]["labels"].pop("jobset.sigs.k8s.io/restart-attempt", None)
        return self.annotate(full("P/admission"), None if a is None else str(a))

    def phase(self, phase: str, reason: str = "", message: str = "") -> Self:
        self.status.update({"phase": phase} | ({"reason": reason, "message": message} if reason else {}))
        return self

    def failed(self, reason: str = "", message: str = "") -> Self:
        return self.phase("Failed", reason, message)

    def pending(self) -> Self:
        return self.phase("Pending")

    def on(self, node: str | None) -> Self:
        """Bound to that node; None: to none."""
        self.spec.pop("nodeName", None)
        if node is not None:
            self.spec["nodeName"] = node
        return self

    def unscheduled(self, message: str, reason: str = "Unschedulable") -> Self:
        return self.pending().on(None).has(f"PodScheduled=False/{reason}: {message}")

    def container(self, name: str, init: bool = False, **states: Any) -> Self:
        """Set ``state`` or ``lastState`` of a container."""
        key = "initContainerStatuses" if init else "containerStatuses"
        statuses = self.status.setdefault(key, [])
        found = next((s for s in statuses if s["name"] == name), None)
        if found is None:
            found = {"name": name}
            statuses.append(found)
            if not init and all(c["name"] != name for c in self.spec["containers"]):
                self.spec["containers"].append({"name": name, "image": "x"})
        found.update(states)
        return self

    def sidecar(self, name: str) -> Self:
        """An init container that stays beside the others."""
        sidecar = {"name": name, "image": "x", "restartPolicy": "Always"}
        self.spec.setdefault("initContainers", []).append(sidecar)
        return self

    def exit(self, code: int, reason: str = "Error", at: str = "10:00:00", said: str = "", of: str = NODE) -> Self:
        return self.container(of, state=ended_with(code, reason, at, said))

    def last(self, code: int, reason: str = "Error", at: str = "10:00:00", said: str = "", of: str = NODE) -> Self:
        return self.container(of, lastState=ended_with(code, reason, at, said))

    def waiting(self, reason: str = "", message: str = "", of: str = NODE, init: bool = False) -> Self:
        told = {key: value for key, value in (("reason", reason), ("message", message)) if value}
        return self.container(of, init, state={"waiting": told})

    def running(self, of: str = NODE) -> Self:
        return self.container(of, state={"running": {"startedAt": time("10:00:00")}})

    def of_jobset(self, name: str | None = "train-3", uid: str | None = "js-1") -> Self:
        """Its JobSet labels; None takes one away."""
        labels = self._raw["metadata"]["labels"]
        for key, value in (("jobset-name", name), ("jobset-uid", uid)):
            labels.pop(f"jobset.sigs.k8s.io/{key}", None)
            if value is not None:
                labels[f"jobset.sigs.k8s.io/{key}"] = value
        return self

    def dispatch_labels(self, **values: str) -> Self:
        """Replace dispatch's labels; none without values."""
        labels = self._raw["metadata"]["labels"]
        for key in ("job-id", "submission"):
            labels.pop(full("P/" + key), None)
        labels.update({full("P/" + key.replace("_", "-")): value for key, value in values.items()})
        return self


def ended_with(code: int, reason: str, at: str, said: str) -> dict[str, Any]:
    told: dict[str, Any] = {"exitCode": code, "reason": reason, "finishedAt": time(at)}
    return {"terminated": told | ({"message": said} if said else {})}


def pod(name: str, node: str | None = "n1") -> PodTold:
    built = PodTold(Pod, api.PODS, name, NAMESPACE).uid(f"uid-{name}")
    built.spec["containers"] = [{"name": NODE, "image": "train"}]
    built.label("jobset.sigs.k8s.io/replicatedjob-name", "node").owner("job-1", "Job", "train-3-node-0")
    return built.of_jobset().dispatch_labels(job_id="train", submission="3").run().phase("Running").on(node)


class Captured(NamedTuple):
    pod: PodTold


def captured(pod: PodTold) -> Captured:
    """A deleted pod's last state."""
    return Captured(pod)


class NodeTold(Told[Node]):
    def taint(self, key: str, effect: str = "NoExecute") -> Self:
        self.spec.setdefault("taints", []).append({"key": key, "effect": effect})
        return self


def node(name: str, *conditions: str) -> NodeTold:
    """With these conditions and no others; ``nodes`` of the page's line."""
    return NodeTold(Node, api.NODES, name).has(*conditions)


def ready(name: str) -> NodeTold:
    return node(name, "Ready=True/KubeletReady: kubelet is posting ready status")


class Forbidden:
    """Nodes may not be read."""


FORBIDDEN = Forbidden()
Thing = Told[Any] | Captured | Forbidden


class Input:
    """What one classification reads; decoded only when asked, so that tables can be written down."""

    def __init__(self, mode: Mode, things: tuple[Thing, ...], **settings: Any) -> None:
        self.things = things
        self.settings = Settings(mode=mode, **({"capacity_checks": frozenset({"prov"})} | settings))

    def but(self, *things: Thing, mode: Mode | None = None, **settings: Any) -> "Input":
        """The same with more things, in another mode, or with other settings."""
        told = msgspec.structs.asdict(self.settings) | settings | ({"mode": mode} if mode else {})
        return Input(told.pop("mode"), (*self.things, *things), **told)

    @property
    def case(self) -> Case:
        built = [thing.done() for thing in self.things if isinstance(thing, Told)]
        job = next(thing for thing in built if isinstance(thing, TrainJob))
        nodes = {n.name: n for n in (ready("n1").done(), ready("n2").done())}
        return Case(
            job=job,
            view=KINDS[(api.TRAIN_JOBS.group, api.TRAIN_JOBS.kind)],
            children=tuple(thing for thing in built if isinstance(thing, JobSet | Job)),
            workloads=tuple(thing for thing in built if isinstance(thing, Workload)),
            pods=tuple(thing for thing in built if isinstance(thing, Pod)),
            captured=tuple(thing.pod.done() for thing in self.things if isinstance(thing, Captured)),
            nodes=None if FORBIDDEN in self.things else nodes | {n.name: n for n in built if isinstance(n, Node)},
        )

    def observe(self) -> Observation:
        return classify(self.case, self.settings, T0)

    def explain(self) -> Explanation:
        return explain(self.case, self.settings, T0)


def plain(*things: Thing, **settings: Any) -> Input:
    return Input(Mode.PLAIN, things, **settings)


def kueue(*things: Thing, **settings: Any) -> Input:
    return Input(Mode.KUEUE, things, **settings)


class Said(NamedTuple):
    """An observation as the page writes it down."""

    state: str
    kind: str = "none"
    provenance: str = ""
    detail: str = ""
    R: int | None = None
    admin: bool = False
    hold: int = 0
    foreign: bool = False
    submission: int | None = 3


def said(observation: Observation) -> Said:
    return Said(
        observation.state.value,
        observation.cause.kind.value,
        observation.cause.provenance,
        observation.cause.detail,
        observation.execution.number if observation.execution else None,
        observation.admin_held,
        observation.hold_instance,
        observation.foreign,
        observation.submission,
    )


class _Expected:
    def __init__(self, state: State) -> None:
        self.state = state.value

    def __call__(self, kind: str = "none", provenance: str = "", detail: str = "", **flags: Any) -> Said:
        return Said(self.state, kind, provenance, full(detail), **flags)


gated, held, suspended = _Expected(State.GATED), _Expected(State.HELD), _Expected(State.SUSPENDED)
pending, running, ended = _Expected(State.PENDING), _Expected(State.RUNNING), _Expected(State.ENDED)


def vector(name: str, given: Input, want: Said) -> Any:
    """A row of a table; ``name`` begins with the id of the vector or the rule."""
    return pytest.param(given, want, id=name)
