"""LeaderWorkerSet: one group of it, for each has a Workload of its own.

Kueue: pkg/controller/jobs/leaderworkerset/leaderworkerset_reconciler.go podSets.
"""

from typing import Final

from msgspec.structs import replace

from classifier.fit.gang import GangError, Podset, Runtimes, Unresolved
from classifier.fit.kinds.common import count_of, podset
from classifier.objects import LeaderWorkerSet, LeaderWorkerSetSpec, LeaderWorkerTemplate

#: A group, or a subgroup of it, has a domain to itself (LWS: leaderworkerset_types.go).
_EXCLUSIVE: Final = (
    "leaderworkerset.sigs.k8s.io/exclusive-topology",
    "leaderworkerset.sigs.k8s.io/subgroup-exclusive-topology",
)


def leader_worker_set_podsets(lws: LeaderWorkerSet, runtimes: Runtimes) -> list[Podset]:
    """``main`` of ``size`` pods, or a ``leader`` and ``size - 1`` of ``worker`` where the leader has its own template.

    Raises Unresolved for a set of no groups, which waits for nothing.
    """
    spec = lws.spec or LeaderWorkerSetSpec()
    if count_of(spec.replicas, "spec.replicas") == 0:
        raise Unresolved("spec.replicas is 0: no group is asked for")
    group, at = spec.leader_worker_template or LeaderWorkerTemplate(), "/spec/leaderWorkerTemplate"
    size = count_of(group.size, "spec.leaderWorkerTemplate.size")
    if size < 1:
        raise GangError("spec.leaderWorkerTemplate.size is 0, less than 1")
    workers, path = group.worker_template, f"{at}/workerTemplate"
    exclusive = next((level for key in _EXCLUSIVE if (level := lws.annotation(key))), None)
    if group.leader_template is None:
        return [replace(podset("main", size, workers, lws.namespace, path), exclusive=exclusive)]
    leader = podset("leader", 1, group.leader_template, lws.namespace, f"{at}/leaderTemplate")
    worker = podset("worker", size - 1, workers, lws.namespace, path)
    return [replace(leader, exclusive=exclusive), replace(worker, exclusive=exclusive)]
