"""The role of a pod in its group, which names its podset: a digest of what decides where it may run.

Kueue: pkg/util/pod/pod.go GenerateRoleHash. It hashes Go's JSON, so fields stand in the order of the Go types, empty
ones are left out or null as there, and maps are sorted.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from classifier.objects import Affinity, Container, LabelSelector, NodeSelectorTerm, Pod, PodAffinity, PodSpec

_ROLE: Final = "kueue.x-k8s.io/role-hash"
_LENGTH: Final = 8
_SPREAD: Final = (
    "maxSkew",
    "topologyKey",
    "whenUnsatisfiable",
    "labelSelector",
    "minDomains",
    "nodeAffinityPolicy",
    "nodeTaintsPolicy",
    "matchLabelKeys",
)
_CLAIM: Final = ("name", "resourceClaimName", "resourceClaimTemplateName")

Json = dict[str, Any]


def role_of(pod: Pod) -> str:
    """The name of its role: eight hexadecimal digits, or what the pod itself says."""
    given = pod.annotation(_ROLE)
    if given is not None:
        return given.lower()
    shape = json.dumps({"spec": _shape(pod.spec or PodSpec())}, separators=(",", ":"), ensure_ascii=False)
    # Go escapes these inside of texts, and JSON has them nowhere else.
    for sign in "<>&":
        shape = shape.replace(sign, f"\\u{ord(sign):04x}")
    return hashlib.sha256(shape.encode("utf-8", "surrogatepass")).hexdigest()[:_LENGTH]


def _shape(spec: PodSpec) -> Json:
    shape: Json = {
        "affinity": _affinity(spec.affinity),
        "containers": _containers(spec.containers),
        "initContainers": _containers(spec.init_containers),
        "nodeSelector": _map(spec.node_selector),
        "overhead": _map(spec.overhead),
        "priority": spec.priority,
        "resourceClaims": _list(_ordered(claim, _CLAIM) for claim in spec.resource_claims or ()),
        "resources": _map(spec.resources.requests) if spec.resources else None,
        "runtimeClassName": spec.runtime_class_name,
        "tolerations": _list(
            _given(
                key=toleration.key,
                operator=toleration.operator,
                value=toleration.value,
                effect=toleration.effect,
                tolerationSeconds=toleration.toleration_seconds,
            )
            for toleration in spec.tolerations or ()
        ),
        "topologySpreadConstraints": _list(
            _ordered(constraint, _SPREAD) for constraint in spec.topology_spread_constraints or ()
        ),
    }
    if spec.resources is None:
        del shape["resources"]
    return shape


def _containers(containers: Iterable[Container] | None) -> list[Json] | None:
    return _list(
        {
            "ports": _list(
                _given(name=port.name, hostPort=port.host_port or None)
                | {"containerPort": port.container_port or 0}
                | _given(protocol=port.protocol, hostIP=port.host_ip)
                for port in container.ports or ()
            ),
            "resources": {"requests": _map(container.resources.requests if container.resources else None)},
        }
        for container in containers or ()
    )


def _affinity(affinity: Affinity | None) -> Json | None:
    if affinity is None:
        return None
    found: Json = {}
    if affinity.node_affinity is not None:
        nodes = affinity.node_affinity
        terms = [_term(term) for term in nodes.required.node_selector_terms or ()] if nodes.required else None
        preferred = [{"weight": one.weight, "preference": _term(one.preference)} for one in nodes.preferred or ()]
        found["nodeAffinity"] = _scheduling(None if terms is None else {"nodeSelectorTerms": terms}, preferred)
    if affinity.pod_affinity is not None:
        found["podAffinity"] = _pods(affinity.pod_affinity)
    if affinity.pod_anti_affinity is not None:
        found["podAntiAffinity"] = _pods(affinity.pod_anti_affinity)
    return found


def _pods(affinity: PodAffinity) -> Json:
    required = [_pod_term(term) for term in affinity.required or ()]
    preferred = [
        {"weight": one.weight, "podAffinityTerm": _pod_term(one.pod_affinity_term)} for one in affinity.preferred or ()
    ]
    return _scheduling(required, preferred)


def _scheduling(required: Any, preferred: list[Json]) -> Json:
    return _given(
        requiredDuringSchedulingIgnoredDuringExecution=required or None,
        preferredDuringSchedulingIgnoredDuringExecution=preferred or None,
    )


def _term(term: NodeSelectorTerm | None) -> Json:
    if term is None:
        return {}
    return _given(matchExpressions=_expressions(term.match_expressions), matchFields=_expressions(term.match_fields))


def _pod_term(term: Any) -> Json:
    if term is None:
        return {"topologyKey": ""}
    return (
        _given(labelSelector=_selector(term.label_selector), namespaces=term.namespaces or None)
        | {"topologyKey": term.topology_key}
        | _given(
            namespaceSelector=_selector(term.namespace_selector),
            matchLabelKeys=term.match_label_keys or None,
            mismatchLabelKeys=term.mismatch_label_keys or None,
        )
    )


def _selector(selector: LabelSelector | None) -> Json | None:
    if selector is None:
        return None
    return _given(
        matchLabels=_map(selector.match_labels) or None, matchExpressions=_expressions(selector.match_expressions)
    )


def _expressions(expressions: Iterable[Any] | None) -> list[Json] | None:
    return _list(
        {"key": one.key, "operator": one.operator} | _given(values=one.values or None) for one in expressions or ()
    )


def _given(**fields: Any) -> Json:
    """Those that are there (Go: omitempty)."""
    return {name: value for name, value in fields.items() if value is not None and value != ""}


def _ordered(given: Mapping[str, Any], names: tuple[str, ...]) -> Json:
    return {name: given[name] for name in names if name in given}


def _map(given: Mapping[str, Any] | None) -> Json | None:
    return dict(sorted(given.items())) if given is not None else None


def _list(items: Iterable[Json]) -> list[Json] | None:
    """A Go slice: null if nothing is in it."""
    return list(items) or None
