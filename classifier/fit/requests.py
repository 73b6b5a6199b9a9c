"""What one pod takes of a node, as kube-scheduler counts it (reference/capacity.md §3.4).

Kubernetes: ``component-helpers/resource/helpers.go`` PodRequests, after the defaults a pod gets when it is created
(``pkg/apis/core/v1/defaults.go``): a limit without a request is the request. LimitRanges, overhead of a RuntimeClass
and sidecar injectors come later and can only add, so leaving them out never makes a proof wrong.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from classifier.fit.gang import GangError
from classifier.objects import Container, PodSpec, Quantity, ResourceRequirements
from classifier.quantity import QuantityError, amount_of, canonical, is_extended, milli, parse

Amounts = dict[str, int]
Quantities = Mapping[str, Quantity] | None


class Fraction(NamedTuple):
    """An extended resource asked for in parts: no pod can carry it."""

    resource: str
    quantity: str


def pod_requests(spec: PodSpec) -> Amounts:
    """Amount per resource (milli-cpu, else whole units), greater than 0; always 1 of ``pods``.

    Raises GangError naming the field for a quantity the API server would refuse.
    """
    steady: Amounts = {}
    for index, container in enumerate(spec.containers or ()):
        _add(steady, _container(container, f"containers[{index}]"))
    peak: Amounts = {}
    sidecars: Amounts = {}
    for index, container in enumerate(spec.init_containers or ()):
        own = _container(container, f"initContainers[{index}]")
        if container.restart_policy == "Always":
            _add(steady, own)
            _add(sidecars, own)
            own = dict(sidecars)
        else:
            _add(own, sidecars)
        _raise_to(peak, own)
    _raise_to(steady, peak)
    _override_at_pod_level(steady, spec.resources)
    _add(steady, _nanos(spec.overhead, "overhead"))
    amounts = {resource: amount_of(resource, nanos) for resource, nanos in steady.items() if nanos > 0}
    return amounts | {"pods": 1}


def fraction_in(spec: PodSpec) -> Fraction | None:
    """The first extended resource that is not whole. A Job's is refused by the API server; a custom resource's passes,
    and then every one of its pods is refused."""
    for container in (*(spec.containers or ()), *(spec.init_containers or ())):
        for _, resource, quantity in _entries(container.resources):
            if is_extended(resource) and milli(quantity) % 1000:
                return Fraction(resource, canonical(quantity))
    return None


def _entries(resources: ResourceRequirements | None) -> Iterator[tuple[str, str, Quantity]]:
    if resources is not None:
        for resource, quantity in (resources.limits or {}).items():
            yield "limits", resource, quantity
        for resource, quantity in (resources.requests or {}).items():
            yield "requests", resource, quantity


def _container(container: Container, path: str) -> Amounts:
    return _merged(container.resources, path)


def _merged(resources: ResourceRequirements | None, path: str) -> Amounts:
    """Nano-units; requests, and limits where there is no request."""
    merged: Amounts = {}
    for field, resource, quantity in _entries(resources):
        merged[resource] = _read(quantity, f"{path}.resources.{field}[{resource}]")
    return merged


def _nanos(quantities: Quantities, path: str) -> Amounts:
    return {resource: _read(quantity, f"{path}[{resource}]") for resource, quantity in (quantities or {}).items()}


def _read(quantity: Quantity, path: str) -> int:
    try:
        nanos = parse(quantity)
    except QuantityError as error:
        raise GangError(f"{path}: {error}") from None
    if nanos < 0:
        raise GangError(f"{path}: {str(quantity)[:32]} is less than 0")
    return nanos


def _override_at_pod_level(total: Amounts, resources: ResourceRequirements | None) -> None:
    """Pod-level requests replace the containers' sum. A pod-level limit stands in for a request that nobody made; for
    huge pages, which are never overcommitted, also for the containers'."""
    if resources is None:
        return
    requests = _nanos(resources.requests, "resources.requests")
    limits = _nanos(resources.limits, "resources.limits")
    for resource, nanos in limits.items():
        if _pod_level(resource) and (resource not in total or resource.startswith("hugepages-")):
            total[resource] = nanos
    for resource, nanos in requests.items():
        if _pod_level(resource):
            total[resource] = nanos


def _pod_level(resource: str) -> bool:
    return resource in ("cpu", "memory") or resource.startswith("hugepages-")


def _add(total: Amounts, more: Amounts) -> None:
    for resource, nanos in more.items():
        total[resource] = total.get(resource, 0) + nanos


def _raise_to(total: Amounts, floor: Amounts) -> None:
    for resource, nanos in floor.items():
        total[resource] = max(total.get(resource, 0), nanos)
