"""What Kueue refuses to queue for its content, as long as the LimitRanges stay as they are.

Kueue: ``pkg/workload/resources.go`` ValidateResources and ValidateLimitRange. Such a Workload waits as Inadmissible,
and its pods would be refused too. It is a warning and no denial: a LimitRange is not the job's, and may change.
"""

from classifier.fit.gang import Podset
from classifier.fit.requests.amounts import Nanos
from classifier.fit.requests.filled import Filled, Resources, filled
from classifier.fit.requests.terms import Terms
from classifier.quantity import amount_of


def content_fault(podset: Podset, terms: Terms, pod: Filled | None = None) -> str | None:
    """The first fault as ``worker: containers[0] requests more cpu than its limit``; None if there is none.

    ``pod``: its counted spec, where that was filled already. Raises GangError naming the field for a quantity the API
    server would refuse.
    """
    pod = pod or filled(podset.counted_spec, terms)
    fault = _above_limit(pod) or _outside_ranges(pod, terms)
    return fault and f"{podset.name}: {fault}"


def _above_limit(pod: Filled) -> str | None:
    for one in pod.all:
        above = _exceeding(one.requests, one.limits)
        if above:
            return f"{_owner(one)} requests more {above} than its limit"
    return None


def _outside_ranges(pod: Filled, terms: Terms) -> str | None:
    of_container, of_pod = terms.ranges.container, terms.ranges.pod
    for one in (*pod.init, *pod.containers):
        above = _exceeding(_either(one, largest=True), of_container.max)
        if above:
            return f"{_owner(one)} asks for more {above} than a LimitRange allows"
        below = _exceeding(of_container.min, _either(one, largest=False))
        if below:
            return f"{_owner(one)} asks for less {below} than a LimitRange demands"
    total = pod.total()
    above = _exceeding(total, of_pod.max)
    if above:
        return f"a pod asks for more {above} than a LimitRange allows"
    below = _exceeding(of_pod.min, total)
    return f"a pod asks for less {below} than a LimitRange demands" if below else None


def _either(one: Resources, *, largest: bool) -> Nanos:
    choose = max if largest else min
    return one.limits | {
        resource: choose(nanos, one.limits.get(resource, nanos)) for resource, nanos in one.requests.items()
    }


def _exceeding(asked: Nanos, bound: Nanos) -> str | None:
    """The first resource, by name, of which more is asked for; one that the bound does not name has none."""
    return next(
        (
            resource
            for resource, nanos in sorted(asked.items())
            if resource in bound and amount_of(resource, nanos) > amount_of(resource, bound[resource])
        ),
        None,
    )


def _owner(one: Resources) -> str:
    return "the pod" if one.path == "resources" else one.path.removesuffix(".resources")
