"""What one pod takes of quota, as Kueue counts it (reference/kueue.md §6.2).

Kueue: ``pkg/workload/workload.go`` totalRequestsFromPodSets. Left out is what Kueue adds for devices of resource
claims, which can only add.
"""

from dataclasses import dataclass

from classifier.fit.gang import Podset
from classifier.fit.requests.amounts import Amounts
from classifier.fit.requests.filled import Filled, filled
from classifier.fit.requests.terms import Terms
from classifier.fit.requests.transform import transformed
from classifier.quantity import MAX_INT64, amount_of, is_extended


@dataclass(frozen=True, slots=True)
class Counted:
    """``amounts`` of one pod (milli-cpu, else whole units), those of 0 included: Kueue gives them a flavor too.

    ``doubtful``: resources of which Kueue may count less, so that nothing is proven with them.
    """

    amounts: Amounts
    doubtful: frozenset[str]


def quota_requests(podset: Podset, terms: Terms, pod: Filled | None = None) -> Counted:
    """Raises GangError naming the field for a quantity the API server would refuse.

    Without ``pods``, of which Kueue counts one each only where the ClusterQueue covers it. ``pod``: its counted spec,
    where that was filled already.
    """
    pod = pod or filled(podset.counted_spec, terms)
    total = pod.total()
    if terms.config is not None:
        total = transformed(total, terms.config)
    amounts = {
        resource: _share(amount_of(resource, nanos), podset.count)
        for resource, nanos in total.items()
        if resource != "pods"
    }
    return Counted(amounts, frozenset(amounts) if terms.config is None else _doubtful(pod, terms, amounts))


def _share(amount: int, count: int) -> int:
    """Where the total ends at int64, what one pod has of it: of fewer pods Kueue counts so much each (``ScaledTo``)."""
    return amount if amount * count <= MAX_INT64 else MAX_INT64 // count


def _doubtful(pod: Filled, terms: Terms, amounts: Amounts) -> frozenset[str]:
    found: set[str] = set()
    if not terms.ranges.known:
        found.update(*(one.from_limits for one in pod.all))
    assert terms.config is not None
    for resource in amounts:
        # A device that Kueue knows by its class it counts under the class, and without init containers that stay.
        if is_extended(resource) and (
            terms.config.device_classes or any(one.keeps_running and one.requests.get(resource) for one in pod.init)
        ):
            found.add(resource)
    if found and not terms.config.transformations.keys().isdisjoint(found):
        found.update(*(rule.outputs for name, rule in terms.config.transformations.items()))
    return frozenset(found)
