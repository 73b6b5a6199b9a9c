"""A small world as it really is, and what is told of it. Amounts are milli-cpu, Mi of memory, else counts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from classifier import api
from tests.builders import GPU

BLOCK: Final = "example.com/block"
RACK: Final = "example.com/rack"
HOST: Final = "kubernetes.io/hostname"
#: Of the Topology, widest first.
LEVELS: Final = (BLOCK, RACK, HOST)
#: Each rack stands in one block.
BLOCK_OF: Final = {"r0": "b0", "r1": "b0", "r2": "b1"}
#: The ClusterQueue the gang is sent to.
OWN: Final = "gpu-a100"
RESOURCES: Final = ("cpu", "memory", GPU)
UNITS: Final = {"cpu": "m", "memory": "Mi"}

#: Key, operator, values of a required node affinity; the terms have one expression each.
Term = tuple[str, str, tuple[str, ...]]


@dataclass(frozen=True)
class Flavor:
    """``told``: a profile speaks for it. What it tells is all there is only where it is ``closed``."""

    name: str
    labels: Mapping[str, str]
    taints: tuple[str, ...] = ()
    tolerates: tuple[str, ...] = ()
    topology: bool = False
    told: bool = True
    closed: bool = True
    mode: str = "Enforce"


@dataclass(frozen=True)
class Pool:
    """``nodes`` at most, of which ``racks`` says how many each rack has room for (none: there are no racks).

    ``offers`` is what pods can have of each node. ``live``: the nodes that stand, by rack.
    """

    name: str
    #: Whose labels its nodes carry.
    flavors: tuple[str, ...]
    nodes: int
    offers: Mapping[str, int]
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[str, ...] = ()
    racks: tuple[tuple[str, int], ...] = ()
    live: tuple[str, ...] = ()
    #: In whose profiles it is declared; nowhere: its nodes all stand, and nobody speaks of them.
    declared: tuple[str, ...] = ()
    #: What is told of it: resources, and whether they are said to be all; labels, likewise; the racks.
    resources: frozenset[str] = frozenset()
    all_resources: bool = True
    tells_labels: bool = True
    all_labels: bool = True
    tells_racks: bool = True
    #: By how much the declaration lags behind what a live node shows.
    understated: int = 0
    #: What daemons take of each node's cpu, beside ``offers``.
    daemons: int = 0


@dataclass(frozen=True)
class Quota:
    nominal: int
    borrowing: int | None = None
    lending: int | None = None


@dataclass(frozen=True)
class Branch:
    """A ClusterQueue or Cohort of the quota tree, by (flavor, resource)."""

    name: str
    parent: str | None
    quotas: Mapping[tuple[str, str], Quota]
    cohort: bool = False


@dataclass(frozen=True)
class Podset:
    """``count`` pods of ``requests`` each.

    ``fewest``: pods quota must hold at least; ``least``: pods nodes must hold at least.
    """

    name: str
    count: int
    requests: Mapping[str, int]
    fewest: int
    least: int
    selector: Mapping[str, str] = field(default_factory=dict)
    terms: tuple[Term, ...] = ()
    tolerates: tuple[str, ...] = ()
    alone: bool = False
    port: int | None = None
    required: str | None = None
    #: Level and size of slices.
    slices: tuple[str, int] | None = None
    #: podSetGroupName.
    group: str | None = None
    unconstrained: bool = False
    #: It starts when the first podset has completed.
    late: bool = False
    #: How the requests are written: ``plain``, as ``limits``, of an ``init`` container, or of ``two`` containers.
    written: str = "plain"

    @property
    def asks_topology(self) -> bool:
        return self.unconstrained or self.required is not None or self.slices is not None


@dataclass(frozen=True)
class Case:
    """``groups``: resource groups of the own queue, each what it covers and its flavors in order."""

    kind: api.Resource
    podsets: tuple[Podset, ...]
    groups: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]
    flavors: tuple[Flavor, ...]
    pools: tuple[Pool, ...]
    branches: tuple[Branch, ...]
    #: A ProvisioningRequest brings nodes.
    provisioned: bool = True

    def flavor(self, name: str) -> Flavor:
        return next(one for one in self.flavors if one.name == name)

    @property
    def shapes(self) -> int:
        return len(self.podsets)

    @property
    def wholly_told(self) -> bool:
        """Whether all that is true is told, and said to be all there is, so that every question has an answer."""
        return all(flavor.told and flavor.closed for flavor in self.flavors) and all(
            pool.declared
            and pool.all_resources
            and pool.resources.issuperset(pool.offers)
            and pool.tells_labels
            and pool.all_labels
            and pool.tells_racks
            and not pool.understated
            # An untolerated taint that is the pool's alone proves nothing by design (reference/capacity.md §3.12b).
            and all(set(pool.taints) <= set(self.flavor(name).taints) for name in pool.flavors)
            for pool in self.pools
        )
