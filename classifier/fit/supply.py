"""What stands behind each flavor, worked out once for a state of profiles and nodes and not once for a job.

The lists are the version: whoever changes one makes a new one, and the same lists mean the same answer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from classifier.fit.faults import faults
from classifier.fit.live import Live, Shown, by_kind, see, show, tell_the_same
from classifier.fit.pools import Pool, declared_pool
from classifier.objects import CapacityProfile, Node, ResourceFlavor


@dataclass(frozen=True, slots=True)
class Backing:
    """``profiles`` of the flavor, whatever queues they name; their ``pools``; live nodes in none of them, by kind.

    Such a stray node is capacity the profiles do not know; that they are closed does not make it vanish.
    """

    profiles: Sequence[CapacityProfile]
    pools: Sequence[Pool]
    strays: Sequence[Shown]
    fault: str | None

    @property
    def open(self) -> tuple[str, ...]:
        """Names of the profiles that do not say that their pools are all there is."""
        return tuple(profile.name for profile in self.profiles if profile.spec.closed is not True)


class Supply:
    """Keeps the answers for the lists it was last asked about, and what it has read of each node until that changes."""

    def __init__(self) -> None:
        self._profiles: list[CapacityProfile] = []
        self._nodes: list[Node] | None = None
        self._seen: dict[str, tuple[Node, Live]] = {}
        self._lives: list[Live] = []
        self._forget()

    def profiles_of(
        self, flavor: str, profiles: list[CapacityProfile], nodes: list[Node] | None
    ) -> Sequence[CapacityProfile]:
        self._follow(profiles, nodes)
        return self._by_flavor.get(flavor, ())

    def behind(self, flavor: ResourceFlavor, profiles: list[CapacityProfile], nodes: list[Node] | None) -> Backing:
        self._follow(profiles, nodes)
        kept = self._backings.get(flavor.name)
        if kept is None or kept[0] is not flavor:
            kept = self._backings[flavor.name] = (flavor, self._work_out(flavor))
        return kept[1]

    def look(self, node: Node) -> Live:
        """The node as preflight sees it. Looked at as they come, thousands of nodes keep no judgement waiting."""
        node_before, live = self._seen.get(node.name) or (None, None)
        if node_before is None or live is None or not (node_before is node or tell_the_same(node_before, node)):
            live = see(node)
            self._seen[node.name] = (node, live)
        return live

    def _follow(self, profiles: list[CapacityProfile], nodes: list[Node] | None) -> None:
        if profiles is self._profiles and nodes is self._nodes:
            return
        if nodes is not self._nodes:
            self._seen = {node.name: (node, self.look(node)) for node in nodes or ()}
            self._lives = [live for _, live in self._seen.values()]
        self._profiles, self._nodes = profiles, nodes
        self._forget()

    def _forget(self) -> None:
        self._by_flavor: dict[str, list[CapacityProfile]] = {}
        for profile in self._profiles:
            self._by_flavor.setdefault(profile.spec.flavor, []).append(profile)
        self._backings: dict[str, tuple[ResourceFlavor, Backing]] = {}
        self._carriers: dict[str, dict[str | None, list[Live]]] = {}
        self._shown: dict[frozenset[tuple[str, str]], Shown] = {}

    def _work_out(self, flavor: ResourceFlavor) -> Backing:
        labels = (flavor.spec.node_labels if flavor.spec else None) or {}
        profiles = self._by_flavor.get(flavor.name, ())
        pools = [
            declared_pool(profile, declared, labels, self._show(declared.node_labels or labels))
            for profile in profiles
            for declared in profile.spec.pools or ()
        ]
        members = {id(pool.lives): pool.lives for pool in pools}  # pools of the same labels share one list
        known = {live.name for lives in members.values() for live in lives}
        strays = by_kind(live for live in self._carrying(labels) if live.name not in known)
        return Backing(profiles, pools, strays, next(iter(faults(flavor, profiles)), None))

    def _show(self, labels: Mapping[str, str]) -> Shown:
        key = frozenset(labels.items())
        if key not in self._shown:
            self._shown[key] = show(self._carrying(labels))
        return self._shown[key]

    def _carrying(self, labels: Mapping[str, str]) -> Sequence[Live]:
        """The live nodes with all these labels."""
        if not labels:
            return self._lives
        fewest = min((self._with(key).get(value, []) for key, value in labels.items()), key=len)
        return fewest if len(labels) == 1 else [live for live in fewest if labels.items() <= live.labels.items()]

    def _with(self, key: str) -> dict[str | None, list[Live]]:
        """The live nodes by their value of one label."""
        if key not in self._carriers:
            found: dict[str | None, list[Live]] = {}
            for live in self._lives:
                found.setdefault(live.labels.get(key), []).append(live)
            self._carriers[key] = found
        return self._carriers[key]
