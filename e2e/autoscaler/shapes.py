"""What a pod asks of a node, and whether it may run there: the double's own reading, kept apart from Muster's.

Amounts are kube-scheduler's integers (``classifier.quantity.amount``): milli-units of cpu, whole units of the rest.
"""

from collections.abc import Mapping, Sequence

from classifier.objects import Expression, NodeSelector, PodSpec, Quantity, ResourceRequirements, Taint, Toleration
from classifier.quantity import amount

Amounts = dict[str, int]


def amounts(quantities: Mapping[str, Quantity] | None) -> Amounts:
    return {name: amount(name, quantity) for name, quantity in (quantities or {}).items()}


def total(*parts: Mapping[str, int]) -> Amounts:
    return {name: sum(part.get(name, 0) for part in parts) for name in dict.fromkeys(n for part in parts for n in part)}


def most(*parts: Mapping[str, int]) -> Amounts:
    return {name: max(part.get(name, 0) for part in parts) for name in dict.fromkeys(n for part in parts for n in part)}


def minus(free: Mapping[str, int], taken: Mapping[str, int]) -> Amounts:
    return total(free, {name: -value for name, value in taken.items()})


def covers(free: Mapping[str, int], wanted: Mapping[str, int]) -> bool:
    return all(free.get(name, 0) >= value for name, value in wanted.items() if value > 0)


def requests(spec: PodSpec) -> Amounts:
    """The pod's effective request, one of ``pods`` included (reference/capacity.md §3.4)."""
    sidecars: Amounts = {}
    starting: Amounts = {}
    for container in spec.init_containers or ():
        one = total(sidecars, _required(container.resources))
        starting = most(starting, one)
        if container.restart_policy == "Always":
            sidecars = one
    steady = total(sidecars, *(_required(container.resources) for container in spec.containers or ()))
    pod_level = amounts(spec.resources.requests) if spec.resources else {}
    return total({**most(steady, starting), **pod_level}, amounts(spec.overhead), {"pods": 1})


def _required(resources: ResourceRequirements | None) -> Amounts:
    # The API server takes a missing request from the limit when it creates the pod.
    return amounts({**(resources.limits or {}), **(resources.requests or {})}) if resources else {}


def admits(labels: Mapping[str, str], taints: Sequence[Taint], spec: PodSpec) -> bool:
    """Whether a node of these labels and taints may run the pod, resources aside."""
    affinity = spec.affinity.node_affinity if spec.affinity else None
    return (
        all(labels.get(key) == value for key, value in (spec.node_selector or {}).items())
        and (affinity is None or affinity.required is None or _selects(affinity.required, labels))
        and all(_tolerated(taint, spec.tolerations or ()) for taint in taints)
    )


def _selects(selector: NodeSelector, labels: Mapping[str, str]) -> bool:
    # Terms are alternatives, expressions of one term all hold; an empty term selects nothing.
    return any(
        bool(term.match_expressions) and all(_holds(e, labels) for e in term.match_expressions or ())
        for term in selector.node_selector_terms or ()
    )


def _holds(expression: Expression, labels: Mapping[str, str]) -> bool:
    value, values = labels.get(expression.key), expression.values or []
    match expression.operator:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt":
            if value is None or not value.isdecimal():
                return False
            return int(value) > int(values[0]) if expression.operator == "Gt" else int(value) < int(values[0])
    return False


def _tolerated(taint: Taint, tolerations: Sequence[Toleration]) -> bool:
    if taint.effect == "PreferNoSchedule":
        return True
    return any(
        t.effect in (None, "", taint.effect)
        and t.key in (None, "", taint.key)
        and (t.operator == "Exists" or (bool(t.key) and (t.value or "") == (taint.value or "")))
        for t in tolerations
    )
