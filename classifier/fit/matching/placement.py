"""What else decides where a pod may stand: one a node, or constraints preflight cannot see through.

Only what is certain enters a proof (``one_per_node``); the rest (``doubt``) merely keeps a ``fits`` from being said.
"""

from typing import Final

from classifier.fit.gang import Podset
from classifier.objects import Container, Expression, PodAffinityTerm, PodSpec

HOSTNAME: Final = "kubernetes.io/hostname"
_TOPOLOGY_REQUESTS: Final = frozenset(
    (
        "kueue.x-k8s.io/podset-required-topology",
        "kueue.x-k8s.io/podset-slice-required-topology",
        "kueue.x-k8s.io/podset-slice-required-topology-constraints",
    )
)
#: Labels that job controllers give each pod, whatever the template says.
_OF_EACH_POD: Final = (
    "batch.kubernetes.io/",
    "jobset.sigs.k8s.io/",
    "leaderworkerset.sigs.k8s.io/",
    "training.kubeflow.org/",
    "trainer.kubeflow.org/",
    "ray.io/",
    "apps.kubernetes.io/",
    "statefulset.kubernetes.io/",
    "kueue.x-k8s.io/",
    # What a Job's pods had before they had a domain.
    "controller-uid",
    "job-name",
)


def one_per_node(podset: Podset) -> bool:
    """Whether two of these pods can surely never share a node. With ``hostNetwork`` every container port becomes a host
    port when the pod is created (§3.12b). Pods that name their node are never scheduled, and kubelet asks for ports."""
    if host_ports(podset.spec, surely=True):
        return True
    return not podset.spec.node_name and any(
        term.topology_key == HOSTNAME and _selects_itself(term, podset) for term in _anti_affinity(podset.spec)
    )


def host_ports(spec: PodSpec, *, surely: bool) -> frozenset[str]:
    """Ports that two pods with one in common cannot both have on a node.

    ``surely``: only those that certainly exclude each other, by address too; else all that may.
    """
    found = set()
    for container in _port_holders(spec, surely=surely):
        for port in container.ports or ():
            number = port.host_port or (port.container_port if spec.host_network is True else None) or 0
            if number > 0:
                name = f"{port.protocol or 'TCP'}/{number}"
                found.add(f"{name}/{port.host_ip or '0.0.0.0'}" if surely else name)
    return frozenset(found)


def doubt(podset: Podset) -> str | None:
    """The first constraint whose effect on the nodes is not known here, as a clause about the podset."""
    spec = podset.spec
    for volume in spec.volumes or ():
        if volume.persistent_volume_claim is not None or volume.ephemeral is not None:
            return "mounts a persistent volume, which may tie it to a zone or node"
    if spec.resource_claims or any(c.resources and c.resources.claims for c in spec.containers or ()):
        return "claims devices by ResourceClaim, which profiles do not describe"
    if host_ports(spec, surely=False) and not host_ports(spec, surely=True):
        return "has an init container that holds a host port"
    if spec.node_name:
        return f"names its node, {spec.node_name}"
    if spec.affinity and spec.affinity.pod_affinity and spec.affinity.pod_affinity.required:
        return "has a required affinity to other pods"
    if any(not (t.topology_key == HOSTNAME and _selects_itself(t, podset)) for t in _anti_affinity(spec)):
        return "has a required anti-affinity to other pods"
    if any(c.get("whenUnsatisfiable") != "ScheduleAnyway" for c in spec.topology_spread_constraints or ()):
        return "must be spread by topologySpreadConstraints"
    if podset.exclusive is not None:
        return f"is to have domains of {podset.exclusive} to itself"
    if _asks_for_a_domain(podset):
        return "requires one topology domain"
    return None


def marks(podset: Podset) -> object:
    """What :func:`one_per_node` and :func:`doubt` read of the podset's labels and annotations: of most, nothing.

    Job controllers put a name of their own on every template; podsets that differ in nothing else are alike.
    """
    if podset.template.metadata is None:
        return podset.exclusive
    return (podset.labels if _anti_affinity(podset.spec) else None), _asks_for_a_domain(podset), podset.exclusive


def _asks_for_a_domain(podset: Podset) -> bool:
    """In its template's own words, which its kind does not hear."""
    return podset.topology is None and not _TOPOLOGY_REQUESTS.isdisjoint(podset.annotations)


def _anti_affinity(spec: PodSpec) -> list[PodAffinityTerm]:
    anti = spec.affinity.pod_anti_affinity if spec.affinity else None
    return (anti.required if anti else None) or []


def _port_holders(spec: PodSpec, *, surely: bool) -> list[Container]:
    """Init containers that stay hold their ports too, but not for every release of kube-scheduler."""
    staying = [] if surely else [one for one in spec.init_containers or () if one.restart_policy == "Always"]
    return [*(spec.containers or ()), *staying]


def _selects_itself(term: PodAffinityTerm, podset: Podset) -> bool:
    """Certain only on labels of the template: job controllers and others set more when a pod is created.

    Keys to match or mismatch narrow the term by values that each pod gets then, so with them it proves nothing.
    """
    if term.match_label_keys or term.mismatch_label_keys:
        return False
    if term.namespace_selector is not None or term.label_selector is None:
        return False
    if term.namespaces and podset.namespace not in term.namespaces:
        return False
    labels = {key: value for key, value in podset.labels.items() if not key.startswith(_OF_EACH_POD)}
    selector = term.label_selector
    return all(labels.get(key) == value for key, value in (selector.match_labels or {}).items()) and all(
        _surely_holds(expression, labels) for expression in selector.match_expressions or ()
    )


def _surely_holds(expression: Expression, labels: dict[str, str]) -> bool:
    value = labels.get(expression.key)
    if value is None:
        return False
    match expression.operator:
        case "In":
            return value in (expression.values or ())
        case "NotIn":
            return value not in (expression.values or ())
        case "Exists":
            return True
        case _:
            return False
