"""The input of the rules: one job and everything read about it at one moment (reference/classification.md §C0)."""

from collections.abc import Mapping
from typing import Any

import msgspec

from classifier.objects import Meta, Node, Pod, Workload
from classifier.state.kinds.view import KindView


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """The order of any sequence never matters."""

    job: Any  # of the view's type
    view: KindView
    #: What stands between the job and its pods: its JobSet, RayCluster, child Jobs. Namesakes of others included.
    children: tuple[Meta, ...] = ()
    #: All that carry the job's UID label or are controlled by it.
    workloads: tuple[Workload, ...] = ()
    #: Live pods selected by the view, Terminating ones included.
    pods: tuple[Pod, ...] = ()
    #: Last states of pods that were deleted while a watch was open. One that is also live is read live.
    captured: tuple[Pod, ...] = ()
    #: By name; a name that is missing does not exist. None: Nodes may not be read.
    nodes: Mapping[str, Node] | None = None
