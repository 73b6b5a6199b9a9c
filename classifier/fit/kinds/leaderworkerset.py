"""LeaderWorkerSet: one group of it, for each has a Workload of its own.

Kueue: pkg/controller/jobs/leaderworkerset/leaderworkerset_reconciler.go podSets.
"""

from classifier.fit.gang import GangError, Podset, Runtimes, Unresolved
from classifier.fit.kinds.common import count_of, podset
from classifier.objects import LeaderWorkerSet, LeaderWorkerSetSpec, LeaderWorkerTemplate


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
    if group.leader_template is None:
        return [podset("main", size, workers, lws.namespace, path)]
    leader = podset("leader", 1, group.leader_template, lws.namespace, f"{at}/leaderTemplate")
    return [leader, podset("worker", size - 1, workers, lws.namespace, path)]
