"""What to do next about an explained object: by its state and cause, one thing a line, commands ready to paste."""

import re
import shlex
from collections.abc import Callable, Iterator
from typing import Final

from classifier import api
from classifier.report.failed import failed
from classifier.report.message import reactivate_command
from classifier.report.subject import OUR_DEADLINE, Subject, explainable
from classifier.state.kinds import KINDS
from classifier.state.observation import CauseKind, Explanation, State

_PARENT: Final = re.compile(r"\S+ is controlled by (\S+) (\S+)")
_CHECK: Final = re.compile(r"admission check (\S+) (\S+?)(?::.*)?")
_UNSCHEDULED: Final = re.compile(r"\d+ of \d+ pods unscheduled: pod (\S+?):.*")
_WAITING: Final = re.compile(r"pod (\S+) container (\S+) waiting: (\w+).*")
_GATES: Final = re.compile(r"gated by (.+)|Workload QuotaReserved: AdmissionGated: Admission is gated by: (.+)")
_UNRESERVED: Final = "Workload QuotaReserved: "
_MISSING: Final = re.compile(r"no (\S+)")
_BAD_IMAGE: Final = {
    "ErrImagePull",
    "ImagePullBackOff",
    "InvalidImageName",
    "ErrImageNeverPull",
    "ImageInspectError",
    "RegistryUnavailable",
    "SignatureValidationFailed",
}


def next_steps(explanation: Explanation) -> list[str]:
    """At least one line, whatever the explanation says."""
    subject = Subject.of(explanation)
    if subject.orphan:
        return list(_orphan(subject))
    parent = subject.match(_PARENT) if explanation.observation.foreign else None
    if parent and explainable(parent[1]):
        return [_explain_parent(subject, parent[1], parent[2])]
    elsewhere = subject.starts("managed by ")
    if elsewhere is not None:
        return [f"look where it runs: it is {elsewhere}, and little of it can be seen in this cluster"]
    steps, deleting = list(_BY_STATE[explanation.observation.state](subject)), list(_deleting(subject))
    if parent:  # a CronJob, say: each of its Jobs is a job of its own
        steps.append(f"it was made by {parent[1]} {parent[2]}: {subject.kubectl('describe', parent[1], parent[2])}")
    # What is on its way out neither starts nor "just runs".
    return deleting + [step for step in steps if not (deleting and step.startswith("nothing: "))]


def _explain_parent(subject: Subject, kind: str, name: str) -> str:
    command = f"muster explain {kind.lower()}/{shlex.quote(name)}{subject.inside}"
    return f"it is a part of {kind} {name}; explain that instead: {command}"


def _orphan(subject: Subject) -> Iterator[str]:
    delete = subject.kubectl("delete", subject.ref.kind, subject.ref.name)
    if subject.ref.kind == "JobSet" and "its owner was" not in subject.observation.cause.detail:
        yield f"it has no owner, so nothing takes it away by itself: {delete}"
        return
    yield "nothing: what is left of a deleted job goes with the garbage collector"
    yield f"if it stays for more than some minutes: {delete}"


def _deleting(subject: Subject) -> Iterator[str]:
    part = subject.starts(f"{subject.ref.kind} deleting since ")
    if part is None:
        return
    _, _, finalizers = part.partition(", finalizers ")
    if finalizers:
        yield f"it is being deleted; whoever set the finalizers must let go of it: {finalizers}"
    else:
        yield "it is being deleted and goes once its pods have ended"


def _gated(subject: Subject) -> Iterator[str]:
    yield "nothing here: dispatch opens its gate when it is the job's turn"
    yield "if that takes too long, ask whoever runs dispatch"


def _held(subject: Subject) -> Iterator[str]:
    hold = subject.observation.hold_instance
    yield f"nothing here: only dispatch lifts its hold (instance {hold}); ask whoever runs dispatch"


def _suspended(subject: Subject) -> Iterator[str]:
    kind = subject.kind
    if subject.observation.admin_held:
        yield from _stopped_by_people(subject)
        return
    if kind is CauseKind.TIMEOUT and subject.starts(OUR_DEADLINE) is not None:
        yield "it waited as long as it may and is not started any more: delete it and submit it again"
    elif kind is CauseKind.TIMEOUT:
        yield "it ran longer than it may: raise the label kueue.x-k8s.io/max-exec-time-seconds and submit it again"
    elif kind is CauseKind.NO_CAPACITY:
        if subject.judge:
            yield f"find out whether it can ever fit: {subject.judge}"
        else:
            yield f"see what it lacked room for: {subject.look}"
    elif kind is CauseKind.REJECTED:
        yield f"ask whoever runs {_checks(subject)} what is wrong with the job, then submit it again"
    else:
        yield f"see what Kueue says: {subject.look}"
    if subject.explanation.workload:
        yield f"or, to let it wait again, ask a batch administrator to run: {_reactivate(subject)}"


def _stopped_by_people(subject: Subject) -> Iterator[str]:
    workload = subject.explanation.workload
    evicted = subject.starts("Workload Evicted: ") or ""
    if "QueueStopped" in evicted:
        which = "ClusterQueue" if "ClusterQueueStopped" in evicted else "LocalQueue"
        yield f"ask the administrators of {subject.queue}: they have stopped its {which}"
        yield "it goes on by itself once the queue does"
    elif workload:
        yield f"ask the administrators of {subject.queue}: somebody has set spec.active=false on Workload {workload}"
        yield f"to let it go on, a batch administrator runs: {_reactivate(subject)}"
    else:
        yield "ask whoever has stopped it, an administrator perhaps"
        if subject.kind_in_api != "Pod":
            patch = subject.kubectl("patch", subject.ref.kind, subject.ref.name)
            yield f"to let it go on: {patch} --type=merge -p {_resumed(subject.ref.kind)}"


def _resumed(kind: str) -> str:
    """The patch that takes a job of that kind out of suspension, quoted for a shell."""
    if any(known == kind and group == "kubeflow.org" for group, known in KINDS):
        return """'{"spec":{"runPolicy":{"suspend":false}}}'"""
    return """'{"spec":{"suspend":false}}'"""


def _reactivate(subject: Subject) -> str:
    return reactivate_command(subject.explanation.workload, subject.ref.namespace)


def _checks(subject: Subject) -> str:
    names = [m[1] for m in subject.matches(_CHECK) if m[2] == "Rejected"]
    return f"admission check {', '.join(names)}" if names else "its admission checks"


def _pending(subject: Subject) -> Iterator[str]:
    gate, check = subject.match(_GATES), subject.match(_CHECK)
    reserved = subject.starts(_UNRESERVED) or ""
    if subject.starts("Workload Finished: ") is not None:
        yield "Kueue takes it for finished and will not start it: delete it and submit it again"
        yield f"what Kueue says: {subject.look}"
    elif gate:
        yield f"whoever set the gate must take it away: {gate[1] or gate[2]}"
    elif "no Workload" in subject.parts:
        yield from _without_workload(subject)
    elif subject.blocked_by:
        yield from _blocked(subject, *subject.blocked_by)
    elif subject.kind in (CauseKind.PREEMPTED, CauseKind.NODE_LOST, CauseKind.NO_CAPACITY):
        yield "nothing: Kueue has queued it again and starts it when there is room"
        yield f"to see what it waits for: {subject.look}"
    elif subject.kind is CauseKind.UNKNOWN:
        yield f"see what its conditions and events say: {subject.describe}"
        yield f"to see what it waits for: {subject.look}"
    elif check:
        yield f"it waits for admission check {check[1]} ({check[2]}); to see how far that is: {subject.look}"
    elif reserved:
        yield f"it waits for quota in {subject.queue}; more about that: {subject.look}"
        if subject.judge:
            yield f"whether it can ever fit: {subject.judge}"
    else:
        # Kueue: SchedulingEquivalenceHashing; the others have not even a condition.
        yield "it is about to start, or waits behind one of its kind: of jobs of one shape Kueue looks at one at a time"
        yield f"to see how far it is: {subject.look}"


def _blocked(subject: Subject, kind: str, name: str, exists: bool) -> Iterator[str]:
    if exists:
        inside = subject.inside if kind == "LocalQueue" else ""
        yield f"ask the administrators of {kind} {name}: it is stopped or not ready"
        yield f"what it says of itself: kubectl describe {kind.lower()} {shlex.quote(name)}{inside}"
    elif kind == "LocalQueue":
        yield f"name a queue that exists, in the label {api.QUEUE_NAME}: kubectl get localqueues{subject.inside}"
    else:
        yield f"ask the administrators of {subject.queue}: it points to ClusterQueue {name}, which does not exist"


def _without_workload(subject: Subject) -> Iterator[str]:
    queue, kind = subject.explanation.queue, subject.ref.kind
    if queue:
        yield f"Kueue has made no Workload for it: is Kueue running, and does it manage {kind}s? {subject.describe}"
        yield f"does its queue exist? kubectl get localqueue {shlex.quote(queue)}{subject.inside}"
        return
    condition = "it names no queue" if queue == "" else "if it names no queue"
    yield f"{condition} (label {api.QUEUE_NAME}), Kueue does not manage it: explain it with --mode plain"
    if queue is None:
        yield f"else, is Kueue running, and does it manage {kind}s? {subject.describe}"


def _running(subject: Subject) -> Iterator[str]:
    if subject.kind not in (CauseKind.NONE, CauseKind.COMPLETED):
        yield from failed(subject)
        return
    steps = list(_stalled(subject))
    yield from steps or ["nothing: it runs"]


def _stalled(subject: Subject) -> Iterator[str]:
    missing = next((m for m in subject.matches(_MISSING) if m[1] != "Workload"), None)
    if missing:
        yield f"its controller has made no {missing[1]} so far; if it stays so, see why: {subject.describe}"
    for part in subject.matches(_UNSCHEDULED):
        yield f"see why no node takes the pod: {subject.kubectl('describe', 'pod', part[1])}"
    for part in subject.matches(_WAITING):
        todo = f"see why container {part[2]} does not start"
        if part[3] in _BAD_IMAGE:
            todo = f"correct the image of container {part[2]}, or the right to pull it"
        yield f"{todo}: {subject.kubectl('describe', 'pod', part[1])}"
    if subject.starts("hold ") is not None:
        yield "the hold stops nothing as long as the job is not stopped: tell whoever runs dispatch"
    if subject.starts("JobSet restarting") is not None:
        yield "nothing: it starts again by itself"


def _ended(subject: Subject) -> Iterator[str]:
    if subject.kind is CauseKind.COMPLETED:
        yield "nothing: it is done"
    else:
        yield from failed(subject)


_BY_STATE: Final[dict[State, Callable[[Subject], Iterator[str]]]] = {
    State.GATED: _gated,
    State.HELD: _held,
    State.SUSPENDED: _suspended,
    State.PENDING: _pending,
    State.RUNNING: _running,
    State.ENDED: _ended,
}
