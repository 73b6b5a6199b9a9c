"""Job kinds and their gangs: one small file a kind, entered in ``KINDS``.

The next kind (JobSet, RayJob, TrainJob, ... of design §4) is a file beside ``job.py`` with a function from the object
to its podsets, and one line here. Counts equal those of the Workload Kueue makes (reference/kueue.md §4.7). A kind of
several podsets also needs the heterogeneous packing of reference/capacity.md §3.7 in ``pack.py``.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from classifier import api
from classifier.fit.gang import Podset
from classifier.fit.kinds.job import job_managed_by, job_podsets
from classifier.objects import Job, Meta, OwnerReference


class Kind(NamedTuple):
    """How one kind is read. ``podsets`` raises GangError on what the API server would refuse."""

    struct: type[Meta]
    podsets: Callable[[Any], list[Podset]]
    #: The foreign controller in charge of the object, or None.
    foreign: Callable[[Any], str | None]


KINDS: Final[dict[tuple[str, str], Kind]] = {
    (api.JOBS.group, api.JOBS.kind): Kind(Job, job_podsets, job_managed_by),
}

#: Kinds Kueue queues as a whole: what they own is judged with them, never by itself.
#: Pairs of group and kind; an empty kind stands for every kind of the group.
_GANG_OWNERS: Final = frozenset(
    {
        ("batch", "Job"),
        ("jobset.x-k8s.io", ""),
        ("kubeflow.org", ""),
        ("trainer.kubeflow.org", ""),
        ("ray.io", ""),
        ("leaderworkerset.x-k8s.io", ""),
        ("workload.codeflare.dev", ""),
    }
)


def kind_of(obj: Meta) -> Kind | None:
    """The table's entry. Items of a decoded list carry no kind: their type tells."""
    if obj.kind is None:
        return next((kind for kind in KINDS.values() if isinstance(obj, kind.struct)), None)
    found = KINDS.get(((obj.api_version or "").rpartition("/")[0], obj.kind))
    return found if found is not None and isinstance(obj, found.struct) else None


def is_gang_owner(owner: OwnerReference) -> bool:
    return (owner.group, owner.kind) in _GANG_OWNERS or (owner.group, "") in _GANG_OWNERS
