"""What to do about a job that failed, or whose pods do: by the cause, whichever object states it."""

import re
import shlex
from collections.abc import Callable, Iterator
from typing import Final

from classifier.report.subject import Subject
from classifier.state.observation import CauseKind, State

_POD: Final = re.compile(r"pod (\S+): (.*)")
_NODE: Final = re.compile(r"node (\S+) (?:Ready=|has no Ready|not found).*")
_EXIT: Final = re.compile(r"(?:container (\S+) )?exit code (\d+).*")
_SUBMISSION: Final = re.compile(r"(.+)-[0-9]+")
_NO_EVIDENCE: Final = "no pod evidence was captured"

#: What exit codes say by convention (reference/classification.md §B3).
_CODES: Final = {
    "126": "the command could not be executed",
    "127": "the command, or a library it needs, was not found",
    "134": "it aborted (SIGABRT), as NCCL and failed assertions do",
    "135": "a bus error (SIGBUS), often a /dev/shm that is too small",
    "137": "it was killed (SIGKILL): its grace period was over, or memory ran out",
    "139": "a segmentation fault (SIGSEGV)",
    "143": "it was asked to stop (SIGTERM): something else came first",
}


class _Pod:
    """The pod that speaks in the cause, its container and exit code; each "" where the cause names none."""

    def __init__(self, subject: Subject) -> None:
        said = _POD.fullmatch(subject.parts[0]) if subject.parts else None
        self.name, words = (said[1], said[2]) if said else ("", "")
        node = _NODE.fullmatch(words)
        self.node = node[1] if node else ""
        ended = _EXIT.fullmatch(words)
        # The texts leave one container unnamed: "node" (§C8).
        self.container = (ended[1] or "node") if ended else ""
        self.code = ended[2] if ended else ""
        again = f"pod {self.name} container "
        self.restarting = any(p.startswith(again) and "CrashLoopBackOff" in p for p in subject.parts)

    def logs(self, subject: Subject) -> str:
        chosen = f" -c {shlex.quote(self.container)}" if self.container else ""
        previous = " --previous" if self.restarting else ""
        return f"kubectl logs {shlex.quote(self.name)}{subject.inside}{chosen}{previous}"


def failed(subject: Subject) -> Iterator[str]:
    """At least one line for every cause."""
    yield from _BY_CAUSE[subject.kind](subject, _Pod(subject))


def _over(subject: Subject) -> bool:
    return subject.observation.state is State.ENDED


def _again(subject: Subject) -> str:
    return "submit it again" if _over(subject) else "its pods are replaced as far as the job may restart"


def _by_kueue(subject: Subject) -> bool:
    return subject.observation.cause.provenance == "workload"


def _out_of_memory(subject: Subject, pod: _Pod) -> Iterator[str]:
    if pod.code:
        which = f"container {pod.container}" if pod.container else "its container"
        yield f"raise the memory limit and request of {which}, or let it need less; then submit it again"
    else:
        yield "its node ran out of memory: let it request as much as it uses, then submit it again"
    if pod.name:
        yield f"what it was given: {subject.kubectl('describe', 'pod', pod.name)}"


def _non_zero_exit(subject: Subject, pod: _Pod) -> Iterator[str]:
    if pod.code in _CODES:
        yield f"exit code {pod.code} says: {_CODES[pod.code]}"
    if not pod.name:
        yield f"see what its events say: {subject.describe}"
        return
    yield f"read the log of the pod that failed first: {pod.logs(subject)}"
    if not _over(subject) and not pod.restarting:
        yield "(with --previous if the container has started again since)"
    yield "if the pod is gone its log went with it, unless your cluster collects logs"


def _node_lost(subject: Subject, pod: _Pod) -> Iterator[str]:
    if _by_kueue(subject) and not _over(subject):
        yield f"nothing: Kueue queues it again; to see what it waits for: {subject.look}"
        return
    if pod.node and not _over(subject):
        yield "wait some five minutes: when the node is given up, its pods are replaced as far as the job may restart"
    else:
        yield f"the job itself did nothing wrong: {_again(subject)}"
    if pod.node:
        yield f"what is wrong with the node: kubectl describe node {shlex.quote(pod.node)}"


def _preempted(subject: Subject, pod: _Pod) -> Iterator[str]:
    if _by_kueue(subject) and not _over(subject):
        yield "nothing: Kueue stops it, and starts it again when there is room"
        yield f"to see what it waits for: {subject.look}"
    else:
        yield f"the job itself did nothing wrong: {_again(subject)}"
        yield "if this happens often, ask the administrators for a higher priority, and write checkpoints"


def _timeout(subject: Subject, pod: _Pod) -> Iterator[str]:
    yield "it ran longer than its own deadline: raise that (activeDeadlineSeconds), then submit it again"


def _no_capacity(subject: Subject, pod: _Pod) -> Iterator[str]:
    if _by_kueue(subject) and not _over(subject):
        yield f"nothing: Kueue queues it again; to see what it waits for: {subject.look}"
    else:
        yield f"the node had less room than the scheduler believed: {_again(subject)}"
    if subject.judge:
        yield f"whether it can ever fit: {subject.judge}"


def _rejected(subject: Subject, pod: _Pod) -> Iterator[str]:
    yield "correct what is refused (see why), then submit it again: as it is, it will not run"


def _unknown(subject: Subject, pod: _Pod) -> Iterator[str]:
    if _NO_EVIDENCE in subject.parts:
        if subject.observation.execution is not None:
            yield f"its pods were seen, and none of them says why; what is left to see: {subject.describe}"
            return
        yield f"its pods were gone before anybody looked; what is left to see: {subject.describe}"
        if subject.ref.kind == "TrainJob":
            stem = _SUBMISSION.fullmatch(subject.ref.name)
            watch = f"muster explain {shlex.quote(stem[1] if stem else subject.ref.name)} -w{subject.inside}"
            yield f"next time keep this open while it runs, for it keeps what pods say last: {watch}"
        yield "pods of restartPolicy Never stay after they failed"
    elif pod.name:
        yield f"see what happened to the pod: {subject.kubectl('describe', 'pod', pod.name)}"
        if pod.code:
            yield f"read its log: {pod.logs(subject)}"
    else:
        yield f"see what its conditions and events say: {subject.describe}"


def _nothing(subject: Subject, pod: _Pod) -> Iterator[str]:
    yield "nothing: it is over" if _over(subject) else "nothing: it runs"


_BY_CAUSE: Final[dict[CauseKind, Callable[[Subject, _Pod], Iterator[str]]]] = {
    CauseKind.NONE: _nothing,
    CauseKind.UNKNOWN: _unknown,
    CauseKind.COMPLETED: _nothing,
    CauseKind.REJECTED: _rejected,
    CauseKind.TIMEOUT: _timeout,
    CauseKind.NO_CAPACITY: _no_capacity,
    CauseKind.NODE_LOST: _node_lost,
    CauseKind.PREEMPTED: _preempted,
    CauseKind.OUT_OF_MEMORY: _out_of_memory,
    CauseKind.NON_ZERO_EXIT: _non_zero_exit,
}
