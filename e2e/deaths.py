"""What a kubelet writes into a pod's status when its container dies, for nodes whose kubelets KWOK plays.

KWOK's stages fail a pod in one way, exit code 1; here are the others. A pod that ended by itself is Failed at once; the
Job controller counts it as it counts any other. Each function takes the pod as it was read and returns its new status.
"""

import copy
from collections.abc import Callable
from typing import Any, Final

import msgspec

from classifier import api
from classifier.cluster.client import ApiError, Client
from classifier.instant import format_instant
from e2e import view
from e2e.builders import Document

#: A pod as read, and the instant of the death as Kubernetes writes it; the new status.
Death = Callable[[Document, str], Document]

OOM_KILLED: Final = "OOMKilled"
SIGKILL: Final = 137
SIGTERM: Final = 143
#: Ends in a blank, as the kubelet's own does (k8s: pkg/kubelet/eviction/helpers.go).
LOW_MEMORY: Final = (
    "The node was low on resource: memory. Threshold quantity: 100Mi, available: 51240Ki. "
    "Container node was using 3Gi, request is 0, has larger consumption of memory. "
)


def exits(code: int, reason: str = "Error", message: str = "") -> Death:
    """Its container ends for good (``restartPolicy: Never``), and the pod with it."""

    def death(pod: Document, at: str) -> Document:
        phase = "Succeeded" if code == 0 else "Failed"
        status = _unready(pod, at, "PodCompleted" if code == 0 else "PodFailed")
        for container in status["containerStatuses"]:
            container["state"] = {"terminated": _terminated(container, code, reason, message, at)}
        return {**status, "phase": phase}

    return death


def crashes(code: int, reason: str = "Error") -> Death:
    """Its container ends and waits to be started again (``restartPolicy: OnFailure``)."""

    def death(pod: Document, at: str) -> Document:
        status = _unready(pod, at, "ContainersNotReady")
        for container in status["containerStatuses"]:
            container["lastState"] = {"terminated": _terminated(container, code, reason, "", at)}
            waiting = {"reason": "CrashLoopBackOff", "message": f"back-off 10s restarting failed container={name(pod)}"}
            container.update(state={"waiting": waiting}, restartCount=container["restartCount"] + 1)
        return status

    return death


def runs_again(pod: Document, at: str) -> Document:
    """Its container was started once more, after :func:`crashes`."""
    status: Document = copy.deepcopy(pod["status"])
    for container in status["containerStatuses"]:
        container.update(state={"running": {"startedAt": at}}, started=True, ready=True)
    for condition in ("Ready", "ContainersReady"):
        _set(status, condition, "True", at)
    return status


def is_stopped(pod: Document, at: str) -> Document:
    """It was deleted, and its container obeyed SIGTERM within the grace period."""
    return exits(SIGTERM)(pod, at)


def is_evicted(pod: Document, at: str) -> Document:
    """The node has too little memory, and this pod is the one to go."""
    status = exits(SIGKILL)(pod, at)
    _set(status, "DisruptionTarget", "True", at, "TerminationByKubelet", LOW_MEMORY)
    return {**status, "reason": "Evicted", "message": LOW_MEMORY}


def name(pod: Document) -> str:
    found: str = pod["metadata"]["name"]
    return found


async def play(client: Client, pod: Document, death: Death) -> Document:
    """Write it, as of now by the server's clock, over whatever others wrote meanwhile; the pod as it is after."""
    namespace = pod["metadata"]["namespace"]
    path = api.PODS.path(namespace, name(pod))
    while True:
        current = await view.read(client, api.PODS, namespace, name(pod))
        at = format_instant(client.time.now())
        body = {**current, "status": death(current, at)}
        try:
            answer = await client.request("PUT", f"{path}/status", body=body)
        except ApiError as error:
            if error.conflict:
                continue
            raise
        written: Document = msgspec.json.decode(answer)
        return written


def _terminated(container: Document, code: int, reason: str, message: str, at: str) -> dict[str, Any]:
    started = container.get("state", {}).get("running", {}).get("startedAt", at)
    reason = "Completed" if code == 0 else reason
    more = {"message": message} if message else {}
    return {"exitCode": code, "reason": reason, "startedAt": started, "finishedAt": at, **more}


def _unready(pod: Document, at: str, reason: str) -> Document:
    status: Document = copy.deepcopy(pod["status"])
    for condition in ("Ready", "ContainersReady"):
        _set(status, condition, "False", at, reason)
    for container in status["containerStatuses"]:
        container.update(ready=False, started=False)
    return status


def _set(status: Document, type_: str, value: str, at: str, reason: str = "", message: str = "") -> None:
    """One condition, in its place; dated anew when its status changes."""
    conditions = status.setdefault("conditions", [])
    found = next((c for c in conditions if c["type"] == type_), None)
    if found is None:
        found = {"type": type_, "status": ""}
        conditions.append(found)
    if found["status"] != value:
        found["lastTransitionTime"] = at
    found["status"] = value
    for key, text in (("reason", reason), ("message", message)):
        found.pop(key, None)
        if text:
            found[key] = text
