"""What Muster must know of a job kind, besides its podsets, in one struct (reference/classification.md §E)."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from classifier.api import Resource
from classifier.objects import Condition, Meta, Pod
from classifier.state.observation import CauseKind
from classifier.state.settings import Settings

#: Label pairs that must all be there.
Labels = dict[str, str]

#: Among the names of step containers: the first of the pod, whatever it is called.
FIRST: Final = ""


class Ending(msgspec.Struct, frozen=True):
    """How a job ended, in its own words.

    ``kind`` None means that only its pods know why (§C2, third row).
    """

    kind: CauseKind | None
    words: Condition
    #: Whether its pods may know better: ``kind`` is then what stands where they say nothing.
    pods_first: bool = False


class Selection(msgspec.Struct, frozen=True):
    """Objects of one kind in the job's namespace: of one name, or with all these labels."""

    resource: Resource
    name: str | None = None
    labels: Labels = {}


class KindView(msgspec.Struct, frozen=True, kw_only=True):
    """One kind that Kueue queues. The functions take an object of ``type_``, whatever it lacks, and never raise."""

    resource: Resource
    type_: type[Meta]
    #: Whether its spec stops it: nothing of it may run.
    suspended: Callable[[Any], bool]
    #: The foreign controller that runs it instead of the kind's own (MultiKueue among them), or None.
    foreign: Callable[[Any], str | None]
    #: Whether its status says that it is stopped (``Suspended=True``).
    paused: Callable[[Any], bool]
    #: How it ended; None while it has not. Complete is asked before failed.
    ending: Callable[[Any], Ending | None]
    #: Its status conditions, and the types among them that say nothing unknown (§C7).
    conditions: Callable[[Any], Sequence[Condition]]
    known: frozenset[str]
    #: Those of them that come before the terminal condition, while what still runs is deleted.
    interim: frozenset[str] = frozenset()
    #: What stands between it and its pods, the middle object first.
    children: Callable[[Any], tuple[Selection, ...]]
    #: The kind of the child without which nothing of it can run; None where there is none.
    middle: Resource | None = None
    #: Which pods are its own: those that match any of these.
    pods: Callable[[Any, Settings], tuple[Labels, ...]]
    #: The UID of the object a pod says it is part of; None where it says nothing. A pod whose UID is neither the
    #: job's nor one of its children's (walking controller references up) belongs to another.
    part_of: Callable[[Pod], str | None]
    #: Names of the containers whose exit counts; FIRST stands for the first of the pod.
    steps: tuple[str, ...] = (FIRST,)
    #: J of §C10 as the pod carries it, plain decimal; "0" for kinds that never restart. None: not counted.
    restart: Callable[[Pod], str | None]
    #: Whether its pods are there before it is admitted, and gated; else they are made at each admission.
    gates_pods: bool = False
    #: Whether Kueue makes several Workloads of one such job.
    many_workloads: bool = False
    #: Whether its Workload names it as its controller; Kueue only lists it as an owner of a Workload it shares.
    controls_workload: bool = True

    @property
    def provenance(self) -> str:
        """The word for a cause that the job itself states."""
        return self.resource.kind.lower()
