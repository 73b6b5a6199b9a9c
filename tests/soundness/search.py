"""Whether a gang can run in a world at all: every choice of flavors within quota, every place of every pod, tried out.

Written from the definition, slowly and plainly. Two readings of what is not settled:

- generous, to refute a proof of impossibility: as few pods as may start, tolerations that may still be added, nodes
  that no closed profile rules out, only whole slices, which are what Kueue counts;
- strict, to refute a promise: all pods, the taints as they are, only the nodes that are really there.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from tests.soundness.truth import BLOCK, BLOCK_OF, HOST, OWN, Branch, Case, Flavor, Podset, Pool, Quota, Term

#: The flavors of one podset.
Chosen = tuple[Flavor, ...]


def can_run(case: Case, *, generous: bool) -> bool:
    return _Search(case, generous).found()


class _Search:
    def __init__(self, case: Case, generous: bool) -> None:
        self.case, self.generous = case, generous
        self.branches = {one.name: one for one in case.branches}
        self.subtrees: dict[tuple[str, tuple[str, str]], int] = {}

    def found(self) -> bool:
        if any(self._uncovered(podset) for podset in self.case.podsets):
            return False
        return any(self._placed(chosen) for chosen in self._choices(0, (), {}))

    def _covers_pods(self) -> bool:
        return any("pods" in covered for covered, _ in self.case.groups)

    def _quota_requests(self, podset: Podset) -> dict[str, int]:
        return {**podset.requests, **({"pods": 1} if self._covers_pods() else {})}

    def _uncovered(self, podset: Podset) -> bool:
        covered = {name for names, _ in self.case.groups for name in names}
        return any(amount > 0 and name not in covered for name, amount in podset.requests.items())

    def _choices(
        self, at: int, chosen: tuple[Chosen, ...], used: Mapping[tuple[str, str], int]
    ) -> Iterator[tuple[Chosen, ...]]:
        """For each podset one flavor of every resource group it touches, all of them together within quota."""
        if at == len(self.case.podsets):
            yield chosen
            return
        podset = self.case.podsets[at]
        asked = self._quota_requests(podset)
        touched = [(covered, names) for covered, names in self.case.groups if any(name in asked for name in covered)]
        count = podset.fewest if self.generous else podset.count
        for names in product(*(names for _, names in touched)):
            flavors = tuple(self.case.flavor(name) for name in names)
            if not all(self._may_get(podset, flavor) for flavor in flavors):
                continue
            if self._parted(podset, flavors, chosen):
                continue
            total = dict(used)
            for (covered, _), name in zip(touched, names, strict=True):
                for resource in covered:
                    if asked.get(resource):
                        total[name, resource] = total.get((name, resource), 0) + asked[resource] * count
            if all(self._admits(self.branches[OWN], key, amount) for key, amount in total.items()):
                yield from self._choices(at + 1, (*chosen, flavors), total)

    def _parted(self, podset: Podset, flavors: Chosen, chosen: tuple[Chosen, ...]) -> bool:
        """Podsets of one podSetGroupName get the same flavors."""
        return podset.group is not None and any(
            other.group == podset.group and own != flavors
            for other, own in zip(self.case.podsets, chosen, strict=False)
        )

    def _may_get(self, podset: Podset, flavor: Flavor) -> bool:
        """Whether Kueue lets the podset have it (reference/kueue.md §6.4)."""
        if not set(flavor.taints) <= {*podset.tolerates, *flavor.tolerates}:
            return False
        if any(flavor.labels.get(key, value) != value for key, value in podset.selector.items()):
            return False
        own = [term for term in podset.terms if term[0] in flavor.labels]
        if podset.terms and len(own) == len(podset.terms) and not any(_meets(term, flavor.labels) for term in own):
            return False
        if podset.asks_topology:
            return flavor.topology
        offered = [self.case.flavor(name) for _, names in self.case.groups for name in names]
        return not flavor.topology or all(one.topology for one in offered)

    def _admits(self, node: Branch, key: tuple[str, str], amount: int) -> bool:
        """Whether the branch can use so much while nobody else uses any: its own first, the rest from above."""
        whole = self._subtree(node, key)
        if node.parent is None:
            return amount <= whole
        quota = node.quotas.get(key, Quota(0))
        if quota.borrowing is not None and amount > whole + quota.borrowing:
            return False
        kept = whole - self._lends(node, key)
        return amount <= kept or self._admits(self.branches[node.parent], key, amount - kept)

    def _subtree(self, node: Branch, key: tuple[str, str]) -> int:
        found = self.subtrees.get((node.name, key))
        if found is None:
            below = (one for one in self.case.branches if one.parent == node.name)
            found = node.quotas.get(key, Quota(0)).nominal + sum(self._lends(one, key) for one in below)
            self.subtrees[node.name, key] = found
        return found

    def _lends(self, node: Branch, key: tuple[str, str]) -> int:
        whole, limit = self._subtree(node, key), node.quotas.get(key, Quota(0)).lending
        return whole if limit is None else min(whole, limit)

    def _placed(self, chosen: tuple[Chosen, ...]) -> bool:
        """Whether the nodes hold all podsets that run at the same time, with these flavors."""
        for late in (False, True):
            pods = []
            for podset, flavors in zip(self.case.podsets, chosen, strict=True):
                if podset.late is not late or (
                    self.generous and any(not one.told or not one.closed for one in flavors)
                ):
                    continue
                open_to = frozenset(
                    at for at, pool in enumerate(self.case.pools) if self._may_stand(podset, flavors, pool)
                )
                pods += list(self._pods(podset, open_to))
            if not _Nodes(self.case.pools, pods).hold():
                return False
        return True

    def _may_stand(self, podset: Podset, flavors: Chosen, pool: Pool) -> bool:
        labels = dict(pool.labels)
        for name in pool.flavors:
            labels |= self.case.flavor(name).labels
        asked = [*podset.selector.items(), *(item for one in flavors for item in one.labels.items())]
        if any(labels.get(key) != value for key, value in asked):
            return False
        if podset.terms and not any(_meets(term, labels) for term in podset.terms):
            return False
        held = {*podset.tolerates, *(taint for one in flavors for taint in one.tolerates)}
        return self.generous or set(pool.taints) <= held

    def _pods(self, podset: Podset, open_to: frozenset[int]) -> "Iterator[_Pod]":
        count = min(podset.fewest, podset.least) if self.generous else podset.count
        whole = (podset.group or podset.name, podset.required)
        for number in range(count):
            bonds: list[_Bond] = []
            if podset.required is not None:
                bonds.append((*whole, -1))
            if podset.slices is not None:
                level, size = podset.slices
                if not self.generous or number < count // size * size:
                    bonds.append((podset.name, level, number // size))
            needs = tuple(sorted({**podset.requests, "pods": 1}.items()))
            yield _Pod(podset.name, needs, open_to, podset.alone, podset.port, tuple(bonds))


def _meets(term: Term, labels: Mapping[str, str]) -> bool:
    key, operator, values = term
    match operator:
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case _:
            assert operator == "DoesNotExist"
            return key not in labels


#: Whose, of what level, and which: the pods of one bond share one domain.
_Bond = tuple[str, str | None, int]


@dataclass(frozen=True)
class _Pod:
    name: str
    needs: tuple[tuple[str, int], ...]
    open_to: frozenset[int]
    alone: bool
    port: int | None
    bonds: tuple[_Bond, ...]


#: Pool, rack, what is left, and what stands on it, a bit each: pods that want to be alone, ports, bonds to the host.
_Node = tuple[int, str, tuple[int, ...], int]
_Bound = frozenset[tuple[_Bond, str]]


class _Nodes:
    """All the nodes there may be, opened one after the other; nodes of one state are not told apart."""

    def __init__(self, pools: tuple[Pool, ...], pods: "list[_Pod]") -> None:
        self.pools = pools
        # Bonds first and large ones first: what is impossible shows early.
        self.pods = sorted(pods, key=lambda pod: (-len(pod.bonds), pod.bonds[:1], [-n for _, n in pod.needs], pod.name))
        self.resources = sorted({name for pod in pods for name, _ in pod.needs})
        self.caps = [dict(pool.racks) or {"": pool.nodes} for pool in pools]
        self.bits: dict[object, int] = {}
        self.failed: set[tuple[int, tuple[_Node, ...], _Bound]] = set()

    def hold(self) -> bool:
        for at, name in enumerate(self.resources):
            needs = sum(dict(pod.needs).get(name, 0) for pod in self.pods)
            if needs > sum(pool.nodes * self._fresh(number)[at] for number, pool in enumerate(self.pools)):
                return False
        return self._place(0, (), frozenset())

    def _fresh(self, pool: int) -> tuple[int, ...]:
        return tuple(self.pools[pool].offers.get(name, 0) for name in self.resources)

    def _place(self, at: int, nodes: tuple[_Node, ...], bound: _Bound) -> bool:
        if at == len(self.pods):
            return True
        state = (at, nodes, bound)
        if state in self.failed:
            return False
        pod = self.pods[at]
        for index, node in enumerate(nodes):
            if index and node == nodes[index - 1]:
                continue
            others = (*nodes[:index], *nodes[index + 1 :])
            if self._with(at, pod, node, others, bound):
                return True
        for number, pool in enumerate(self.pools):
            if number not in pod.open_to or sum(node[0] == number for node in nodes) >= pool.nodes:
                continue
            for rack, cap in self.caps[number].items():
                if sum(node[0] == number and node[1] == rack for node in nodes) < cap:
                    fresh: _Node = (number, rack, self._fresh(number), 0)
                    if self._with(at, pod, fresh, nodes, bound):
                        return True
        self.failed.add(state)
        return False

    def _with(self, at: int, pod: _Pod, node: _Node, others: tuple[_Node, ...], bound: _Bound) -> bool:
        number, rack, left, stands = node
        if number not in pod.open_to:
            return False
        marks = self._bit(("alone", pod.name)) if pod.alone else 0
        marks |= self._bit(("port", pod.port)) if pod.port is not None else 0
        if stands & marks:
            return False
        needs = dict(pod.needs)
        after = tuple(have - needs.get(name, 0) for name, have in zip(self.resources, left, strict=True))
        if min(after) < 0:
            return False
        known, new = dict(bound), set(bound)
        for bond in pod.bonds:
            if bond[1] == HOST:
                if (bond in known) is not bool(stands & self._bit(bond)):
                    return False
                marks |= self._bit(bond)
                new.add((bond, ""))
                continue
            domain = BLOCK_OF[rack] if bond[1] == BLOCK else rack
            if known.get(bond, domain) != domain:
                return False
            new.add((bond, domain))
        placed: _Node = (number, rack, after, stands | marks)
        return self._place(at + 1, tuple(sorted((*others, placed))), frozenset(new))

    def _bit(self, mark: object) -> int:
        return 1 << self.bits.setdefault(mark, len(self.bits))
