"""What is packed into what, and the answer."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, Literal

#: Offered of a resource that is no constraint.
ENDLESS: Final = 1 << 200


@dataclass(frozen=True, slots=True)
class Bin:
    """Empty nodes of one kind. ``key`` is unique. A resource that is not in ``offers`` is no constraint."""

    key: str
    offers: Mapping[str, int]
    #: None: no limit is known.
    nodes: int | None


@dataclass(frozen=True, slots=True)
class Part:
    """``count`` identical pods. ``name`` is unique. ``requests`` are of one pod, above 0."""

    name: str
    count: int
    requests: Mapping[str, int]
    #: Indexes of the bins that a pod may stand in.
    bins: frozenset[int]
    #: At most one pod of this part stands on a node.
    alone: bool = False
    #: Parts that have one of these in common never share a node. What pods of one part do is for ``alone`` to say.
    ports: frozenset[str] = frozenset()


class Fate(Enum):
    """``FITS``: a packing was constructed. ``NEVER``: none exists, which is proven. ``UNKNOWN``: neither, in time."""

    FITS = "fits"
    NEVER = "never"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Packing:
    fate: Fate
    #: Nodes that the construction uses of each bin it uses; the fewest there are where the gang has one part.
    nodes: dict[int, int] = field(default_factory=dict)
    #: Of a proof: no node holds even one pod of ``part`` (``needs`` and ``limit`` are amounts of ``resource``), or
    #: there are too few nodes (``needs``, which more may follow, and ``limit`` are nodes).
    binding: Literal["pod-size", "nodes"] | None = None
    #: The part that cannot stand even alone, if it is one.
    part: str | None = None
    #: What there is too little of, where it is one resource.
    resource: str | None = None
    needs: int | None = None
    limit: int | None = None
    #: The parts and the bins that the proof is about; others do not matter to it.
    parts: tuple[str, ...] = ()
    bins: frozenset[int] = frozenset()
    #: Only exact search found the packing: an autoscaler that places first-fit-decreasing may not.
    tight: bool = False
