"""ClusterQueues and Cohorts in as few words as a quota takes."""

from collections.abc import Mapping
from typing import Any

import msgspec

from classifier.objects import ClusterQueue, Cohort
from tests.builders import GPU

#: Nominal quota, borrowing limit, lending limit.
Quota = tuple[Any, Any, Any]


def group(quotas: Mapping[tuple[str, str], Quota]) -> list[dict[str, Any]]:
    """Resource groups of the quotas by (flavor, resource)."""
    flavors: dict[str, list[dict[str, Any]]] = {}
    for (flavor, resource), (nominal, borrowing, lending) in quotas.items():
        quota = {"name": resource, "nominalQuota": nominal, "borrowingLimit": borrowing, "lendingLimit": lending}
        flavors.setdefault(flavor, []).append(quota)
    covered = list(dict.fromkeys(resource for _, resource in quotas))
    each = [{"name": name, "resources": resources} for name, resources in flavors.items()]
    return [{"coveredResources": covered, "flavors": each}]


def queue(
    nominal: Any = None, borrowing: Any = None, lending: Any = None, *, cohort: str = "", resource: str = GPU
) -> ClusterQueue:
    """With quota of one resource in flavor ``a``."""
    spec = {"cohortName": cohort, "resourceGroups": group({("a", resource): (nominal, borrowing, lending)})}
    return msgspec.convert({"metadata": {"name": "q"}, "spec": spec}, ClusterQueue)


def cohort(nominal: Any = None, borrowing: Any = None, lending: Any = None, *, parent: str = "") -> Cohort:
    groups = group({("a", GPU): (nominal, borrowing, lending)}) if nominal is not None else []
    return msgspec.convert(
        {"metadata": {"name": "c"}, "spec": {"parentName": parent, "resourceGroups": groups}}, Cohort
    )
