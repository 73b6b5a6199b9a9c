"""What carries the ledger of one wait: a job, a bare pod, the pods of a group, or a Workload that nobody owns. Pure.

A group of pods is no object: what it says is on every pod of it, and what is said to it goes to every pod.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from classifier import api
from classifier.ledger import format_ledger, merge, parse_ledger
from classifier.objects import Meta, Pod, PodGroup, Workload
from classifier.scope import BOUNDED, POD_GROUP
from classifier.state.kinds import KindView
from classifier.state.kinds.podgroup import group_name


class Owned(NamedTuple):
    """The owner of a Workload's wait as one, and the objects it consists of where it is a group."""

    view: KindView
    owner: Meta
    members: tuple[Meta, ...] = ()

    @property
    def carriers(self) -> tuple[Meta, ...]:
        """The objects that are written to."""
        return self.members or (self.owner,)


def workload_name(owned: Owned) -> str | None:
    """The name of its Workload where that is known without asking; None where Kueue made one up."""
    if isinstance(owned.owner, PodGroup):
        return group_name(owned.owner)
    return owned.owner.name if isinstance(owned.owner, Workload) else None


def group_of(pods: Iterable[Pod], *, going: bool = False) -> Owned | None:
    """Pods of one group as the owner of their Workload; None if there is none.

    The oldest pod that is not on its way out stands for the group. Those on their way out count as long as they may
    still run, and are written to no more. ``going``: the group's deletion was decided, and goes on to its end.
    """
    everyone = sorted(pods, key=lambda pod: (pod.metadata.creation_timestamp or "", pod.name))
    staying = [pod for pod in everyone if pod.metadata.deletion_timestamp is None] or everyone
    if not staying:
        return None
    metadata = msgspec.structs.replace(staying[0].metadata, annotations=_merged(staying))
    if going:
        metadata.deletion_timestamp = None
    return Owned(BOUNDED[POD_GROUP], PodGroup(metadata=metadata, pods=everyone), tuple(staying))


def without(owned: Owned, left_out: Collection[str]) -> Owned:
    """A group as its other pods tell of it, where some, by UID, cannot be written to. That they may run still counts.

    One of which no pod is left stays as it is.
    """
    members = tuple(member for member in owned.members if member.uid not in left_out)
    if not members or len(members) == len(owned.members) or not isinstance(owned.owner, PodGroup):
        return owned
    deleted = owned.owner.metadata.deletion_timestamp
    metadata = msgspec.structs.replace(members[0].metadata, annotations=_merged(members), deletion_timestamp=deleted)
    return Owned(owned.view, PodGroup(metadata=metadata, pods=owned.owner.pods), members)


def _merged(pods: Sequence[Meta]) -> dict[str, str]:
    """What a group says: of each key what its first pod says that says anything, and one ledger of all."""
    said: dict[str, str] = {}
    for pod in reversed(pods):
        said |= pod.metadata.annotations or {}
    said.pop(api.ADMISSION_CLOCK, None)
    ledger = merge(ledger for pod in pods if (ledger := parse_ledger(pod)) is not None)
    if ledger is not None:
        said[api.ADMISSION_CLOCK] = format_ledger(msgspec.structs.replace(ledger, uid=pods[0].uid))
    return said


def addressed(annotations: Mapping[str, str | None], member: Meta) -> dict[str, str | None]:
    """What of these a member does not show yet, as it belongs there: a ledger bears the uid of its object."""
    wanted = dict(annotations)
    ledger = wanted.get(api.ADMISSION_CLOCK)
    if ledger is not None:
        fields = msgspec.json.decode(ledger, type=dict[str, str | int])
        wanted[api.ADMISSION_CLOCK] = msgspec.json.encode(fields | {"uid": member.uid}).decode()
    return {key: value for key, value in wanted.items() if member.annotation(key) != value}
