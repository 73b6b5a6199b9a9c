"""What a node reads from a pod template: the command, its environment, ports and probes. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

Template = Mapping[str, Any]

_REFERENCE: Final = re.compile(r"\$\$|\$\(([-._a-zA-Z][-._a-zA-Z0-9]*)\)")


class PodSpecError(Exception):
    """A pod template asks for something that this node cannot play."""


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Kubernetes' ``$(VAR)``; ``$$`` is a dollar, and what is not known stays as it is (Container.args in the API)."""

    def replace(match: re.Match[str]) -> str:
        if match[0] == "$$":
            return "$"
        return variables.get(match[1], match[0])

    return _REFERENCE.sub(replace, text)


@dataclass(frozen=True)
class Probe:
    """An HTTP probe; times in seconds."""

    path: str
    port: int
    scheme: str
    period: float
    timeout: float
    failures: int


@dataclass(frozen=True)
class Command:
    """What to start."""

    arguments: tuple[str, ...]
    env: Mapping[str, str]


def container(template: Template) -> Mapping[str, Any]:
    """The one container of the template. Raises :class:`PodSpecError` where there are more."""
    spec = template["spec"]
    containers: Sequence[Mapping[str, Any]] = spec["containers"]
    if len(containers) != 1 or spec.get("initContainers"):
        raise PodSpecError("this node plays pods of one container")
    return containers[0]


def environment(template: Template, *, name: str, namespace: str, address: str) -> dict[str, str]:
    """The container's variables, each seeing those before it."""
    fields = {
        "metadata.name": name,
        "metadata.namespace": namespace,
        "status.podIP": address,
        "spec.serviceAccountName": service_account(template),
    }
    found: dict[str, str] = {}
    for entry in container(template).get("env") or ():
        path = entry.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath")
        if path is None and "valueFrom" in entry:
            raise PodSpecError(f"variable {entry['name']} comes from something this node does not read")
        if path is not None and path not in fields:
            raise PodSpecError(f"variable {entry['name']}: this node does not know the field {path}")
        found[entry["name"]] = fields[path] if path is not None else expand(entry.get("value", ""), found)
    return found


def command(
    template: Template,
    *,
    name: str,
    namespace: str,
    address: str,
    arguments: Mapping[str, str],
    env: Mapping[str, str],
) -> Command:
    """The container's command line. ``arguments`` replaces or adds ``--flag=value``; ``env`` adds variables."""
    of = container(template)
    if not of.get("command"):
        raise PodSpecError(f"container {of['name']} names no command, and its image is not here")
    variables = {**environment(template, name=name, namespace=namespace, address=address), **env}
    line = [expand(part, variables) for part in (*of["command"], *(of.get("args") or ()))]
    return Command(tuple(with_arguments(line, arguments)), variables)


def with_arguments(line: Sequence[str], arguments: Mapping[str, str]) -> list[str]:
    """Replace ``--flag=...`` by the given values; flags that are not there are added at the end."""
    left = dict(arguments)
    result = []
    for part in line:
        flag = part.split("=", 1)[0]
        result.append(f"{flag}={left.pop(flag)}" if flag in left else part)
    return result + [f"{flag}={value}" for flag, value in left.items()]


def service_account(template: Template) -> str:
    return str(template["spec"].get("serviceAccountName") or "default")


def port(template: Template, wanted: int | str) -> int:
    """A port of the container by number or name. Raises :class:`PodSpecError` for a name it does not have."""
    if isinstance(wanted, int):
        return wanted
    for entry in container(template).get("ports") or ():
        if entry.get("name") == wanted:
            return int(entry["containerPort"])
    raise PodSpecError(f"container {container(template)['name']} has no port named {wanted}")


def probe(template: Template, kind: str) -> Probe | None:
    """The container's ``readinessProbe`` or ``livenessProbe``; None where it has none."""
    found = container(template).get(kind)
    if not found:
        return None
    if "httpGet" not in found:
        raise PodSpecError(f"this node plays HTTP probes alone, not {kind} of {sorted(found)}")
    get = found["httpGet"]
    return Probe(
        path=get.get("path", "/"),
        port=port(template, get["port"]),
        scheme=get.get("scheme", "HTTP").lower(),
        period=float(found.get("periodSeconds", 10)),
        timeout=float(found.get("timeoutSeconds", 1)),
        failures=int(found.get("failureThreshold", 3)),
    )


def selected(selector: Mapping[str, str] | None, labels: Mapping[str, str]) -> bool:
    """Does a Service's selector choose pods with these labels? None and {} choose nothing."""
    return bool(selector) and all(labels.get(key) == value for key, value in (selector or {}).items())
