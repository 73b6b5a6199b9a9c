"""What one pod takes of a node, as kube-scheduler counts it (reference/capacity.md §3.4).

Counted with the defaults a pod gets when it is created (Kubernetes: ``pkg/apis/core/v1/defaults.go``): a limit without
a request is the request. LimitRanges and sidecar injectors come later and can only add, so leaving them out never makes
a proof wrong.
"""

from collections.abc import Mapping
from typing import NamedTuple

from classifier.fit.requests.amounts import Amounts, Nanos, add, pod_level, read, together
from classifier.objects import Container, PodSpec, Quantity, ResourceRequirements
from classifier.quantity import amount_of, canonical, is_extended, milli


class Fraction(NamedTuple):
    """An extended resource asked for in parts: no pod can carry it."""

    resource: str
    quantity: str


def pod_requests(spec: PodSpec, overhead: Mapping[str, Quantity] | None = None, *, at_least: bool = False) -> Amounts:
    """Amount per resource (milli-cpu, else whole units), greater than 0; always 1 of ``pods``.

    ``overhead`` is that of the pod's RuntimeClass, which counts where the pod names none. ``at_least``: by any API
    server; one before 1.34 drops pod-level resources, and what the containers request is never more than those. Raises
    GangError naming the field for a quantity the API server would refuse.
    """
    total = together(
        (_container(one, f"containers[{index}]") for index, one in enumerate(spec.containers or ())),
        (
            (_container(one, f"initContainers[{index}]"), one.restart_policy == "Always")
            for index, one in enumerate(spec.init_containers or ())
        ),
    )
    if not at_least:
        _override_at_pod_level(total, spec.resources)
    add(total, read(spec.overhead or overhead, "overhead"))
    amounts = {resource: amount_of(resource, nanos) for resource, nanos in total.items() if nanos > 0}
    return amounts | {"pods": 1}


def fraction_in(spec: PodSpec) -> Fraction | None:
    """The first extended resource that is not whole. A Job's is refused by the API server; a custom resource's passes,
    and then every one of its pods is refused."""
    for container in (*(spec.containers or ()), *(spec.init_containers or ())):
        resources = container.resources or ResourceRequirements()
        for quantities in (resources.limits, resources.requests):
            for resource, quantity in (quantities or {}).items():
                if is_extended(resource) and milli(quantity) % 1000:
                    return Fraction(resource, canonical(quantity))
    return None


def _container(container: Container, path: str) -> Nanos:
    """Requests, and limits where there is no request."""
    resources = container.resources
    if resources is None:
        return {}
    limits = read(resources.limits, f"{path}.resources.limits")
    return limits | read(resources.requests, f"{path}.resources.requests")


def _override_at_pod_level(total: Nanos, resources: ResourceRequirements | None) -> None:
    """Pod-level requests replace the containers' sum. A pod-level limit stands in for a request that nobody made; for
    huge pages, which are never overcommitted, also for the containers'."""
    if resources is None:
        return
    requests = read(resources.requests, "resources.requests")
    for resource, nanos in read(resources.limits, "resources.limits").items():
        if pod_level(resource) and (resource not in total or resource.startswith("hugepages-")):
            total[resource] = nanos
    total.update({resource: nanos for resource, nanos in requests.items() if pod_level(resource)})
