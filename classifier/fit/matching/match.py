"""Three-valued matching of pods and nodes by labels and taints (reference/capacity.md §3.5, §3.12b).

A pool is a promise about nodes that need not exist. What it does not say is unknown, and unknown never denies.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from classifier.objects import Expression, NodeSelectorTerm, PodSpec, Taint, Toleration


class Match(IntEnum):
    """Ordered: the answer to ``all of`` is the minimum, to ``any of`` the maximum."""

    NO = 0
    UNKNOWN = 1
    YES = 2


#: Python looks members of an enumeration up four times as slowly, and pools are matched by the thousand.
NO: Final = Match.NO
UNKNOWN: Final = Match.UNKNOWN
YES: Final = Match.YES


@dataclass(frozen=True, slots=True)
class Labels:
    """Labels a node carries for certain; ``complete`` if no others are to be expected.

    ``varying`` are keys that each node of a pool has its own value of, as the levels of a topology: nobody lists them.
    """

    known: Mapping[str, str]
    complete: bool = False
    varying: frozenset[str] = frozenset()

    def may_have(self, key: str) -> bool:
        """Whether a node may carry ``key`` although it is not among the known ones."""
        return key not in self.known and (not self.complete or key in self.varying or is_set_by_others(key))


#: Domains of the keys that kubelet, cloud, autoscaler and device operators set: no list in a profile is complete about
#: them.
_OTHERS: Final = (
    "kubernetes.io",
    "k8s.io",
    "x-k8s.io",
    "azure.com",
    "google.com",
    "gke.io",
    "amazonaws.com",
    "aws.com",
    "eksctl.io",
    "karpenter.sh",
    "openshift.io",
    "oraclecloud.com",
    "oci.com",
    "digitalocean.com",
    "alibabacloud.com",
    "linode.com",
    "vultr.com",
    "hetzner.cloud",
    "gardener.cloud",
    "coreweave.cloud",
    "cattle.io",
    "k3s.io",
    "nvidia.com",
    "amd.com",
    "intel.com",
    "habana.ai",
)
#: Keys without a domain that AKS sets on its nodes, and OCI on its own.
_BARE: Final = frozenset({"agentpool", "accelerator", "storageprofile", "storagetier", "hostname"})


def is_set_by_others(key: str) -> bool:
    """CSI drivers choose keys for the topology of their volumes, which kubelet puts on the node: those tell by name.
    So do keys that are of Kubernetes on some cloud (karpenter.k8s.aws, k8s.scaleway.com)."""
    domain = key.rpartition("/")[0]
    if not domain:
        return key in _BARE
    if domain.startswith("topology.") or not {"csi", "k8s"}.isdisjoint(domain.split(".")):
        return True
    return any(domain == other or domain.endswith("." + other) for other in _OTHERS)


def match_expression(expression: Expression, labels: Labels) -> Match:
    """One requirement of a node selector (Kubernetes: ``component-helpers/scheduling/corev1/nodeaffinity``)."""
    key, values = expression.key, expression.values or []
    if labels.may_have(key):
        return UNKNOWN
    value = labels.known.get(key)
    match expression.operator:
        case "In":
            holds = value in values
        case "NotIn":
            holds = value not in values
        case "Exists":
            holds = value is not None
        case "DoesNotExist":
            holds = value is None
        case "Gt" | "Lt":
            return _match_order(expression, value)
        case _:
            return UNKNOWN
    return YES if holds else NO


def match_pod(spec: PodSpec, labels: Labels) -> tuple[Match, str]:
    """The pod's node selector and required node affinity against a node's labels, and what failed or is not known."""
    found, why = YES, ""
    for key, value in (spec.node_selector or {}).items():
        one = _match_value(key, value, labels)
        if one < found:
            found, why = one, f"{key}={value}"
    terms = required_terms(spec)
    if terms is not None:
        one = _match_any(terms, labels)
        if one < found:
            found, why = one, "its required node affinity"
    return found, why


def match_term(term: NodeSelectorTerm, labels: Labels) -> Match:
    if term.match_fields:
        return UNKNOWN  # names one node
    if not term.match_expressions:
        return NO  # an empty term matches no node
    found = YES
    for expression in term.match_expressions:
        found = min(found, match_expression(expression, labels))
        if found is NO:
            break
    return found


def _match_any(terms: list[NodeSelectorTerm], labels: Labels) -> Match:
    """One term is enough. Without any the API server would refuse the pod."""
    found = NO if terms else UNKNOWN
    for term in terms:
        found = max(found, match_term(term, labels))
        if found is YES:
            break
    return found


def _match_value(key: str, value: str, labels: Labels) -> Match:
    if labels.may_have(key):
        return UNKNOWN
    return YES if labels.known.get(key) == value else NO


def required_terms(spec: PodSpec) -> list[NodeSelectorTerm] | None:
    """Terms of the required node affinity; None where there is none."""
    affinity = spec.affinity.node_affinity if spec.affinity else None
    return (affinity.required.node_selector_terms or []) if affinity and affinity.required else None


def asked_labels(spec: PodSpec) -> set[str]:
    """Every label key that the pod's node selection looks at."""
    keys = set(spec.node_selector or ())
    for term in required_terms(spec) or ():
        keys.update(expression.key for expression in term.match_expressions or ())
    return keys


def untolerated(taints: Iterable[Taint] | None, tolerations: Iterable[Toleration]) -> Taint | None:
    """The first taint that keeps a pod away (NoSchedule, NoExecute) and is not tolerated."""
    held = list(tolerations)
    for taint in taints or ():
        if taint.effect in ("NoSchedule", "NoExecute") and not any(_tolerates(one, taint) for one in held):
            return taint
    return None


def show_taint(taint: Taint) -> str:
    return f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Kubernetes: ``core/v1/toleration.go`` ToleratesTaint. An operator we do not know may tolerate anything."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator in (None, "", "Equal"):
        return bool(toleration.key) and (toleration.value or "") == (taint.value or "")
    return True


def _match_order(expression: Expression, value: str | None) -> Match:
    bound = _integer((expression.values or [""])[0]) if len(expression.values or ()) == 1 else None
    if bound is None:
        return UNKNOWN  # no such requirement passes the API server
    number = _integer(value or "")
    if number is None:
        return NO
    return YES if (number > bound if expression.operator == "Gt" else number < bound) else NO


def _integer(text: str) -> int | None:
    match = re.fullmatch(r"([+-]?)0*([0-9]{1,19})", text, re.ASCII)
    return int(match[1] + match[2]) if match else None
