"""What the API server makes of a Pod before anybody sees it, and of no template (Kubernetes: SetDefaults_Pod).

Kueue counts a bare pod as it is stored, a Job's template as it is written: a limit alone is a request in the one, and a
LimitRange's default request in the other.
"""

from collections.abc import Iterable

import msgspec

from classifier.objects import Container, PodSpec, Quantity, ResourceRequirements

#: Of these a pod-level limit stands in for a request only where no container asks (``defaultPodRequests``).
_OVERCOMMITTED = ("cpu", "memory")


def as_created(spec: PodSpec) -> PodSpec:
    """Its requests: limits where a container has none, and no pod-level limit for what the containers ask for."""
    if spec.resources is None and not any(_defaulted(one) for one in _all(spec)):
        return spec
    containers = [_created(one) for one in spec.containers or ()]
    init = [_created(one) for one in spec.init_containers or ()]
    asked = {resource for one in (*containers, *init) for resource in _requests(one)}
    return msgspec.structs.replace(
        spec, containers=containers, init_containers=init, resources=_of_pod(spec.resources, asked)
    )


def _all(spec: PodSpec) -> Iterable[Container]:
    return (*(spec.containers or ()), *(spec.init_containers or ()))


def _requests(container: Container) -> dict[str, Quantity]:
    return (container.resources.requests if container.resources else None) or {}


def _defaulted(container: Container) -> bool:
    resources = container.resources
    return resources is not None and bool((resources.limits or {}).keys() - (resources.requests or {}).keys())


def _created(container: Container) -> Container:
    if container.resources is None or not _defaulted(container):
        return container
    requests = (container.resources.limits or {}) | _requests(container)
    return msgspec.structs.replace(container, resources=msgspec.structs.replace(container.resources, requests=requests))


def _of_pod(resources: ResourceRequirements | None, asked: set[str]) -> ResourceRequirements | None:
    """Without the limits that would count as requests, though the containers' sum is the request."""
    if resources is None or not resources.limits:
        return resources
    requests = resources.requests or {}
    limits = {
        resource: quantity
        for resource, quantity in resources.limits.items()
        if resource in requests or resource not in asked or resource not in _OVERCOMMITTED
    }
    return msgspec.structs.replace(resources, limits=limits)
