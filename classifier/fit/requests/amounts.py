"""Sums of requests over the containers of one pod, in exact nano-units.

Kubernetes: ``component-helpers/resource/helpers.go`` PodRequests, of which kube-scheduler and Kueue both make use.
"""

from collections.abc import Iterable, Mapping

from classifier.fit.gang import GangError
from classifier.objects import Quantity
from classifier.quantity import QuantityError, parse

#: Milli-cpu, else whole units, by resource.
Amounts = dict[str, int]
#: The same in nano-units.
Nanos = dict[str, int]


def read(quantities: Mapping[str, Quantity] | None, path: str) -> Nanos:
    """Raises GangError naming the field for a quantity the API server would refuse."""
    found: Nanos = {}
    if not quantities:
        return found
    for resource, quantity in quantities.items():
        try:
            nanos = parse(quantity)
        except QuantityError as error:
            raise GangError(f"{path}[{resource}]: {error}") from None
        if nanos < 0:
            raise GangError(f"{path}[{resource}]: {str(quantity)[:32]} is less than 0")
        found[resource] = nanos
    return found


def together(containers: Iterable[Nanos], init: Iterable[tuple[Nanos, bool]]) -> Nanos:
    """What the containers need at the worst moment; with each init container, whether it keeps running beside them."""
    steady: Nanos = {}
    for own in containers:
        add(steady, own)
    peak: Nanos = {}
    sidecars: Nanos = {}
    for own, keeps_running in init:
        if keeps_running:
            add(steady, own)
            add(sidecars, own)
            _raise_to(peak, sidecars)
        else:
            beside = dict(own)
            add(beside, sidecars)
            _raise_to(peak, beside)
    _raise_to(steady, peak)
    return steady


def pod_level(resource: str) -> bool:
    """Whether a pod as a whole may request it (Kubernetes: IsSupportedPodLevelResource)."""
    return resource in ("cpu", "memory") or resource.startswith("hugepages-")


def add(total: Nanos, more: Mapping[str, int]) -> None:
    for resource, nanos in more.items():
        total[resource] = total.get(resource, 0) + nanos


def _raise_to(total: Nanos, floor: Nanos) -> None:
    for resource, nanos in floor.items():
        total[resource] = max(total.get(resource, 0), nanos)
