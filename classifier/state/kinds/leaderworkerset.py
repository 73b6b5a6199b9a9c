"""``LeaderWorkerSet``: groups of pods that serve, each admitted by a Workload of its own.

It cannot be stopped itself: Kueue gates the pods of a group until that group's Workload is admitted (Kueue:
pkg/controller/jobs/leaderworkerset). So it is never suspended here, and runs when its Workloads are admitted: of
several the one farthest from that decides.
"""

from typing import Final

from classifier import api
from classifier.objects import LeaderWorkerSet
from classifier.state.kinds.fields import conditions, direct, endless, never, nobody
from classifier.state.kinds.view import KindView, Labels
from classifier.state.settings import Settings

# lws: api/leaderworkerset/v1/leaderworkerset_types.go.
NAME: Final = "leaderworkerset.sigs.k8s.io/name"


def never_stopped(job: LeaderWorkerSet) -> bool:
    return False


def foreign(job: LeaderWorkerSet) -> str | None:
    """There is no ``managedBy``."""
    return None


def pods(job: LeaderWorkerSet, settings: Settings) -> tuple[Labels, ...]:
    return ({NAME: job.name},)


VIEW = KindView(
    resource=api.LEADER_WORKER_SETS,
    type_=LeaderWorkerSet,
    suspended=never_stopped,
    foreign=foreign,
    paused=never_stopped,
    ending=endless,
    conditions=conditions,
    known=frozenset({"Available", "Progressing", "UpdateInProgress"}),
    children=direct,
    pods=pods,
    # StatefulSets and leader pods stand between; the pods themselves bear no UID of the set.
    part_of=nobody,
    restart=never,
    many_workloads=True,
    controls_workload=False,
    gates_pods=True,
)
