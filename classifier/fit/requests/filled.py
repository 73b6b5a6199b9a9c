"""A pod's requests with everything Kueue fills in (Kueue: ``pkg/workload/resources.go`` AdjustResources)."""

from dataclasses import dataclass

from classifier.fit.requests.amounts import Nanos, add, pod_level, read, together
from classifier.fit.requests.limitrange import Limits
from classifier.fit.requests.terms import Terms
from classifier.objects import Container, PodSpec, ResourceRequirements


@dataclass(frozen=True, slots=True)
class Resources:
    """Of one container, or of the pod as a whole, in nano-units."""

    path: str
    requests: Nanos
    limits: Nanos
    #: What a limit stands for that has no request: a LimitRange's ``defaultRequest`` would come before it.
    from_limits: frozenset[str]
    keeps_running: bool = False


@dataclass(frozen=True, slots=True)
class Filled:
    containers: tuple[Resources, ...]
    init: tuple[Resources, ...]
    pod: Resources | None
    overhead: Nanos

    @property
    def all(self) -> tuple[Resources, ...]:
        return (*self.containers, *self.init, *((self.pod,) if self.pod else ()))

    def total(self) -> Nanos:
        """Those of the whole pod (Kubernetes: PodRequests)."""
        total = together(
            (one.requests for one in self.containers), ((one.requests, one.keeps_running) for one in self.init)
        )
        if self.pod is not None:
            total.update({resource: nanos for resource, nanos in self.pod.requests.items() if pod_level(resource)})
        add(total, self.overhead)
        return total


def filled(spec: PodSpec, terms: Terms) -> Filled:
    """Raises GangError naming the field for a quantity the API server would refuse."""
    of_container = terms.ranges.container
    return Filled(
        containers=tuple(
            _container(one, f"containers[{index}]", of_container) for index, one in enumerate(spec.containers or ())
        ),
        init=tuple(
            _container(one, f"initContainers[{index}]", of_container)
            for index, one in enumerate(spec.init_containers or ())
        ),
        pod=_fill(spec.resources, "resources", terms.ranges.pod) if spec.resources is not None else None,
        overhead=read(spec.overhead or (terms.overhead if spec.runtime_class_name else None), "overhead"),
    )


def _container(container: Container, path: str, limits: Limits) -> Resources:
    resources = container.resources or ResourceRequirements()
    return _fill(resources, f"{path}.resources", limits, keeps_running=container.restart_policy == "Always")


def _fill(resources: ResourceRequirements, path: str, ranges: Limits, *, keeps_running: bool = False) -> Resources:
    limits = ranges.default | read(resources.limits, f"{path}.limits")
    requests = ranges.default_request | read(resources.requests, f"{path}.requests")
    return Resources(path, limits | requests, limits, frozenset(limits.keys() - requests.keys()), keeps_running)
