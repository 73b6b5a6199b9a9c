"""A Workload that a person made: its podsets are its own (Kueue: apis/kueue/v1beta2/workload_types.go)."""

from classifier.fit.gang import GangError, Podset, Runtimes
from classifier.fit.kinds.common import count_of, gang
from classifier.fit.kinds.topology import topology_of_workload
from classifier.objects import PodSet, PodTemplate, Workload, WorkloadSpec, WorkloadStatus


def workload_podsets(workload: Workload, runtimes: Runtimes) -> list[Podset]:
    declared = (workload.spec or WorkloadSpec()).pod_sets or []
    ended = {one.name: one.count for one in (workload.status or WorkloadStatus()).reclaimable_pods or ()}
    found = [_podset(one, index, workload.namespace, ended.get(one.name, 0)) for index, one in enumerate(declared)]
    if sum(one.min_count is not None for one in declared) > 1:
        raise GangError("spec.podSets has more than one minCount")
    return gang(found, "spec.podSets")


def _podset(declared: PodSet, index: int, namespace: str, ended: int) -> Podset:
    """``count`` is 1 if absent (the CRD's default). Of those that have ``ended`` Kueue asks for none.

    Raises GangError for a ``minCount`` Kueue refuses.
    """
    field = f"spec.podSets[{index}]"
    count = count_of(declared.count, f"{field}.count")
    least = count_of(declared.min_count, f"{field}.minCount", count)
    if declared.min_count is not None and not 1 <= least <= count:
        raise GangError(f"{field}.minCount is {least}, not between 1 and its count of {count}")
    return Podset(
        name=declared.name,
        count=count,
        min_count=min(least, max(0, count - max(0, ended))),
        template=declared.template or PodTemplate(),
        namespace=namespace,
        path=f"/spec/podSets/{index}/template" if declared.template is not None else None,
        topology=topology_of_workload(declared.topology_request),
    )
