"""How KWOK plays pods: they start, run for as long as they are told to, then succeed, fail, or run on.

Written here because upstream's ``pod/fast`` completes a Job's pod at once and ``pod/general`` takes its time to start
one. Times come from the pod's annotations, which a Job's template carries to its pods.
"""

from typing import Any, Final

#: Go duration between binding and Running; default 0.
START_AFTER: Final = "e2e.muster.dev/start-after"
#: Go duration that a Job's pod runs before it ends; default :data:`DEFAULT_RUN`.
RUN_FOR: Final = "e2e.muster.dev/run-for"
DEFAULT_RUN: Final = 2000  # ms
#: How a Job's pod ends: ``Succeeded`` (default), ``Failed``, or ``Never`` (it runs until it is deleted).
ENDS: Final = "e2e.muster.dev/ends"
#: Go duration between the deletion of a pod and its disappearance; default 0.
STOP_AFTER: Final = "e2e.muster.dev/stop-after"


def _stage(name: str, match: list[dict[str, Any]], following: dict[str, Any], delay: str, default: int) -> Any:
    """``match`` is ANDed; the annotation ``delay`` overrides ``default`` ms."""
    return {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "Stage",
        "metadata": {"name": name},
        "spec": {
            "resourceRef": {"apiGroup": "v1", "kind": "Pod"},
            "selector": {"matchExpressions": match},
            "delay": {
                "durationMilliseconds": default,
                "durationFrom": {"expressionFrom": f'.metadata.annotations["{delay}"]'},
            },
            "next": following,
        },
    }


def _when(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


def _status(phase: str, ready: bool, state: str, conditions: tuple[str, ...], more: str = "") -> dict[str, Any]:
    """A template of pod status: all containers in one state, the conditions True or all False."""
    truth = "True" if ready else "False"
    lines = ["{{ $now := Now }}", "conditions:"]
    lines += [
        f'- {{type: {type_}, status: "{truth}", lastTransitionTime: {{{{ $now | Quote }}}}}}' for type_ in conditions
    ]
    lines += [
        "containerStatuses:",
        "{{ range .spec.containers }}",
        "- name: {{ .name | Quote }}",
        "  image: {{ .image | Quote }}",
        f"  ready: {str(ready).lower()}",
        f"  started: {str(ready).lower()}",
        "  restartCount: 0",
        f"  state: {state}",
        "{{ end }}",
        f"phase: {phase}",
    ]
    return {"statusTemplate": "\n".join(lines) + more}


def _ended(phase: str, exit_code: int, reason: str) -> dict[str, Any]:
    now = "{{ $now | Quote }}"
    state = f"{{terminated: {{exitCode: {exit_code}, reason: {reason}, startedAt: {now}, finishedAt: {now}}}}}"
    return _status(phase, False, state, ("ContainersReady", "Ready"))


_NETWORK: Final = """
startTime: {{ $now | Quote }}
hostIP: {{ NodeIPWith .spec.nodeName | Quote }}
{{ $ip := PodIPWith .spec.nodeName false .metadata.uid .metadata.name .metadata.namespace }}
podIP: {{ $ip | Quote }}
podIPs: [{ip: {{ $ip | Quote }}}]
"""


def pod_stages() -> list[Any]:
    """The Stage documents, in no particular order."""
    alive = _when(".metadata.deletionTimestamp", "DoesNotExist")
    running = [
        alive,
        _when(".status.phase", "In", "Running"),
        _when(".metadata.ownerReferences.[].kind", "In", "Job"),
    ]
    ends = f'.metadata.annotations["{ENDS}"]'
    started = _status(
        "Running",
        True,
        "{running: {startedAt: {{ $now | Quote }}}}",
        ("Initialized", "PodReadyToStartContainers", "ContainersReady", "Ready"),
        _NETWORK,
    )
    return [
        _stage("pod-start", [alive, _when(".status.phase", "In", "Pending")], started, START_AFTER, 0),
        _stage(
            "pod-succeed",
            [*running, _when(ends, "NotIn", "Failed", "Never")],
            _ended("Succeeded", 0, "Completed"),
            RUN_FOR,
            DEFAULT_RUN,
        ),
        _stage("pod-fail", [*running, _when(ends, "In", "Failed")], _ended("Failed", 1, "Error"), RUN_FOR, DEFAULT_RUN),
        _stage("pod-delete", [_when(".metadata.deletionTimestamp", "Exists")], {"delete": True}, STOP_AFTER, 0),
    ]
