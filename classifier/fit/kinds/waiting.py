"""A Workload that Kueue has queued: its podsets are what is counted, whoever made it, and tell less of what will run.

Where the job knows better (a JobSet's order, a Ray cluster's minimum, what an AppWrapper leaves out of its copy) the
Workload alone proves less of nodes; of quota it is always the whole truth.
"""

from collections.abc import Callable
from typing import Final

from msgspec.structs import replace

from classifier import api
from classifier.fit.gang import Podset, Runtimes
from classifier.fit.kinds.workload import workload_podsets
from classifier.objects import OwnerReference, Workload

Understood = Callable[[int, Podset], Podset]


def waiting_podsets(workload: Workload, runtimes: Runtimes) -> list[Podset]:
    """As Kueue counts them, with what the kind of the owner leaves open about nodes."""
    understood = _UNDERSTOOD.get(_maker(workload), _only_counted)
    return [understood(index, podset) for index, podset in enumerate(workload_podsets(workload, runtimes))]


def _as_it_is(index: int, podset: Podset) -> Podset:
    return podset


def _one_by_one(index: int, podset: Podset) -> Podset:
    """Each podset may run when the others have completed, and so on their nodes."""
    return replace(podset, stage=index)


def _only_counted(index: int, podset: Podset) -> Podset:
    """How many pods there will be, and of what template, only the job knows."""
    return replace(podset, stage=index, least=0)


def _mpi(index: int, podset: Podset) -> Podset:
    """Kueue counts one worker where the job names no number of them, and the operator makes none."""
    return replace(podset, least=0) if podset.name == "worker" and podset.count == 1 else podset


def _elastic(index: int, podset: Podset) -> Podset:
    """An elastic policy, which only the job tells, may start with fewer workers."""
    return replace(podset, least=min(1, podset.count)) if podset.name == "worker" else podset


def _maker(workload: Workload) -> tuple[str, str]:
    """Group and kind of whom it was made of; of a person's own Workload, none."""
    owners = workload.metadata.owner_references or ()
    owner: OwnerReference | None = workload.controller or next(iter(owners), None)
    return (owner.group, owner.kind) if owner is not None else ("", "")


def _key(resource: api.Resource) -> tuple[str, str]:
    return resource.group, resource.kind


_UNDERSTOOD: Final[dict[tuple[str, str], Understood]] = {
    ("", ""): _as_it_is,
    **{
        _key(resource): _as_it_is
        for resource in (
            api.JOBS,
            api.PODS,
            api.TF_JOBS,
            api.XGBOOST_JOBS,
            api.JAX_JOBS,
            api.LEADER_WORKER_SETS,
        )
    },
    _key(api.MPI_JOBS): _mpi,
    _key(api.PYTORCH_JOBS): _elastic,
    _key(api.PADDLE_JOBS): _elastic,
    _key(api.JOBSETS): _one_by_one,
    _key(api.TRAIN_JOBS): _one_by_one,
}
