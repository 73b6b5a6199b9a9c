"""Pools as nodes at full size, and the profiles that declare just these."""

from dataclasses import dataclass, field
from typing import Any, Final

from e2e import builders
from e2e.builders import POOL_LABEL, Document
from e2e.oracle.constraints import ARCH, SIZES, TIERS
from e2e.oracle.dice import Dice
from e2e.oracle.pods import HOSTNAME, RACK, SIZE, TAINT, TIER
from e2e.oracle.room import ROOMS, Room

TOPOLOGY: Final = "oracle"
LEVELS: Final = (RACK, HOSTNAME)
OS: Final = "kubernetes.io/os"
#: Tells the pools of one flavor apart.
NODES_OF: Final = "oracle.muster.dev/nodes-of"


@dataclass
class Pool:
    """Nodes of one kind behind a flavor."""

    name: str
    room: Room
    nodes: int
    labels: dict[str, str]
    tainted: bool
    #: Racks its nodes are spread over, in turn; 0: they carry no such label.
    racks: int = 0
    labels_complete: bool = True

    @property
    def taints(self) -> list[Document]:
        return [{"key": TAINT, "value": "yes", "effect": "NoSchedule"}] if self.tainted else []

    def rack(self, index: int) -> str:
        return f"{self.name}-{index % self.racks}"


@dataclass
class Flavor:
    """A ResourceFlavor with what stands behind it."""

    name: str
    labels: dict[str, str]
    pools: list[Pool]
    topology: bool = False
    spec: Document = field(default_factory=dict)

    def objects(self) -> list[Document]:
        spec = {**self.spec, **({"topologyName": TOPOLOGY} if self.topology else {})}
        return [builders.flavor(self.name, self.labels, **spec), *(node for pool in self.pools for node in nodes(pool))]

    def profile(self) -> Document:
        more: dict[str, Any] = {"topology": {"nodeLabel": RACK}} if self.topology else {}
        pools = [declared(pool) for pool in self.pools]
        return builders.profile(self.name, self.name, pools, closed=True, preflight="Enforce", **more)


def draw_pool(dice: Dice, name: str, labels: dict[str, str], tags: set[str], topology: bool) -> Pool:
    more = {NODES_OF: name, TIER: dice.of(*TIERS), SIZE: dice.of(*SIZES)}
    tainted = dice.one_in(6)
    if tainted:
        tags.add("taint")
    complete = not dice.one_in(6)
    if not complete:
        tags.add("labels incomplete")
    count = dice.of(1, 1, 1, 2, 2, 3)
    racks = dice.of(1, 2, 2) if topology else 0
    return Pool(name, dice.choice(ROOMS), count, labels | more, tainted, min(racks, count), complete)


def draw_flavor(dice: Dice, name: str, tags: set[str], topology: bool) -> Flavor:
    labels = {POOL_LABEL: name}
    pools = [draw_pool(dice, f"{name}-p", labels, tags, topology)]
    if not topology and dice.one_in(6):
        pools.append(draw_pool(dice, f"{name}-q", labels, tags, topology))
        tags.add("two pools")
    spec: Document = {}
    if all(pool.tainted for pool in pools):
        way = dice.of("listed", "listed", "tolerated", "unlisted")
        if way == "listed":
            spec["nodeTaints"] = pools[0].taints
        if way == "tolerated":
            spec["tolerations"] = [{"key": TAINT, "operator": "Equal", "value": "yes", "effect": "NoSchedule"}]
        tags.add(f"taint {way}")
    if dice.one_in(16):
        # The flavor asks for more than the pool's label.
        labels[TIER] = dice.of(*TIERS)
        tags.add("flavor names a tier")
    return Flavor(name, labels, pools, topology, spec)


def nodes(pool: Pool) -> list[Document]:
    found = []
    for index in range(pool.nodes):
        name = f"{pool.name}{index}"
        labels = {**pool.labels, HOSTNAME: name, ARCH: "amd64", OS: "linux"}
        if pool.racks:
            labels[RACK] = pool.rack(index)
        made = builders.node(name, labels, pool.room.allocatable)
        made["status"] = {"allocatable": pool.room.allocatable, "capacity": pool.room.allocatable}
        if pool.tainted:
            made["spec"]["taints"] = pool.taints
        found.append(made)
    return found


def declared(pool: Pool) -> Document:
    """The pool as an administrator declares it: exactly what there is."""
    node: Document = {
        "allocatable": pool.room.allocatable,
        "labels": {**pool.labels, ARCH: "amd64", OS: "linux"},
        "labelsComplete": pool.labels_complete,
        "allocatableComplete": True,
    }
    if pool.tainted:
        node["taints"] = pool.taints
    found = {
        "name": pool.name,
        "nodeLabels": {NODES_OF: pool.name},
        "maxNodes": pool.nodes,
        "node": node,
    }
    if pool.racks:
        racks = [pool.rack(index) for index in range(pool.nodes)]
        found["domains"] = [{"name": rack, "maxNodes": racks.count(rack)} for rack in dict.fromkeys(racks)]
    return found
