"""A world of a seed: always the same one. Small, and near the edge: about as much of everything as the gang needs."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Final

from classifier import api
from tests.builders import GPU
from tests.soundness.submit import kinds_for
from tests.soundness.truth import BLOCK, HOST, OWN, RACK, RESOURCES, Branch, Case, Flavor, Podset, Pool, Quota, Term

_STEP: Final = {"cpu": 500, "memory": 512}
_TAINTS: Final = ("sku", "team")
_MODELS: Final = ("a", "b")


def draw(seed: int) -> Case:
    return _Draw(Random(seed)).case()


class _Draw:
    def __init__(self, random: Random) -> None:
        self.random = random
        #: Half of the worlds are wholly told.
        self.plain = self.often(0.5)
        self.topology = self.often(0.2)
        #: Quota, or nodes, are no matter in many worlds: then the other decides.
        self.ample_quota = self.often(0.6)
        self.ample_nodes = self.often(0.35)
        self.resources = [name for name in RESOURCES if name != "memory" or self.often(0.3)]

    def often(self, share: float) -> bool:
        return self.random.random() < share

    def case(self) -> Case:
        groups = self._groups()
        flavors = self._flavors(groups)
        podsets = self._podsets(groups, flavors)
        pools = self._pools(groups, flavors, podsets)
        kind: api.Resource = self.random.choice(kinds_for(podsets))
        branches = self._branches(groups, podsets)
        return Case(kind, podsets, groups, flavors, pools, branches, provisioned=self.often(0.7))

    def _groups(self) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
        pods = ["pods"] if self.often(0.1) else []
        if not self.topology and self.often(0.25):
            first = (*(name for name in self.resources if name != GPU), *pods)
            others = tuple(f"g{at}" for at in range(self.random.choice((1, 1, 2))))
            return (first, tuple(f"c{at}" for at in range(self.random.choice((1, 2))))), ((GPU,), others)
        names = tuple(f"f{at}" for at in range(self.random.choice((1, 1, 2, 2, 3))))
        return (((*self.resources, *pods), names),)

    def _flavors(self, groups: Sequence[tuple[tuple[str, ...], tuple[str, ...]]]) -> tuple[Flavor, ...]:
        found = []
        all_placed = self.often(0.8)
        for at, (_, names) in enumerate(groups):
            for name in names:
                bare = len(groups) == 1 and self.often(0.3)
                clash = at == 1 and self.often(0.05)
                key = "kind" if at == 0 or clash else "device"
                told = self.plain or not self.often(0.05)
                found.append(
                    Flavor(
                        name,
                        {} if bare else {key: name},
                        taints=tuple(taint for taint in _TAINTS if self.often(0.12)),
                        tolerates=tuple(taint for taint in _TAINTS if self.often(0.08)),
                        topology=self.topology and (all_placed or self.often(0.5)),
                        told=told,
                        closed=self.plain or not self.often(0.08),
                        mode="Enforce" if self.often(0.8) else "Warn",
                    )
                )
        if any(not one.labels for one in found):
            # Its pods may use every node: of a flavor that nobody tells of there would be some that nobody knows.
            return tuple(replace(one, told=True) for one in found)
        return tuple(found)

    def _podsets(
        self, groups: Sequence[tuple[tuple[str, ...], tuple[str, ...]]], flavors: Sequence[Flavor]
    ) -> tuple[Podset, ...]:
        number = self.random.choice((1, 1, 2, 2, 2, 3, 4))
        counts = [self.random.randint(1, 12 // number) for _ in range(number)]
        if number > 1 and self.often(0.3):
            counts[0] = 1
        staged = number > 1 and self.often(0.12)
        found = [self._podset(at, count, flavors) for at, count in enumerate(counts)]
        if self.topology and number == 2 and not staged and self.often(0.25):
            level = self.random.choice((RACK, HOST))
            found = [self._with(one, required=level, slices=None, unconstrained=False, group="all") for one in found]
            found[0] = self._with(found[0], count=1, fewest=1, least=1)
        elif staged:
            found[1:] = [self._with(one, late=self.often(0.6)) for one in found[1:]]
        elif self.often(0.12):
            at = self.random.randrange(number)
            least = self.random.randint(1, found[at].count)
            if number <= 2 and at == number - 1 and self.often(0.4):
                found[at] = self._with(found[at], least=least)
            else:
                found[at] = self._with(found[at], fewest=least)
        elif number > 1 and self.often(0.04):
            found[1] = self._with(found[1], count=0, fewest=0, least=0)
        return tuple(found)

    @staticmethod
    def _with(one: Podset, **changes: object) -> Podset:
        return Podset(**{**one.__dict__, **changes})

    def _podset(self, at: int, count: int, flavors: Sequence[Flavor]) -> Podset:
        random = self.random
        requests = {"cpu": 500 * random.choice((1, 1, 2, 2, 3, 4, 6))}
        if "memory" in self.resources and self.often(0.8):
            requests["memory"] = 512 * random.choice((1, 1, 2, 3, 4))
        if self.often(0.6):
            requests[GPU] = random.choice((0, 1, 1, 1, 2, 2, 3, 4))
        slices = required = None
        unconstrained = False
        if self.topology and self.often(0.75):
            if self.often(0.6):
                required = random.choice((RACK, RACK, BLOCK, HOST))
            if self.often(0.4):
                level = HOST if required == HOST else random.choice((RACK, HOST))
                slices = (level, random.randint(1, max(1, min(4, count))))
            unconstrained = required is None and slices is None
        return Podset(
            f"p{at}",
            count,
            requests,
            fewest=count,
            least=count,
            selector=self._selector(flavors),
            terms=self._terms(flavors),
            tolerates=tuple(taint for taint in _TAINTS if self.often(0.85)),
            alone=self.often(0.1),
            port=random.choice((80, 81)) if self.often(0.15) else None,
            required=required,
            slices=slices,
            unconstrained=unconstrained,
            written=random.choice(("plain", "plain", "limits", "init", "two")),
        )

    def _selector(self, flavors: Sequence[Flavor]) -> Mapping[str, str]:
        if self.often(0.85):
            return {}
        if self.often(0.5):
            return {"model": self.random.choice(_MODELS)}
        return dict(self.random.choice(flavors).labels)

    def _terms(self, flavors: Sequence[Flavor]) -> tuple[Term, ...]:
        if self.often(0.9):
            return ()
        found: list[Term] = []
        for _ in range(self.random.choice((1, 1, 2))):
            if self.often(0.5):
                key, values = "model", tuple(v for v in _MODELS if self.often(0.6)) or _MODELS[:1]
            else:
                key, value = next(iter(self.random.choice(flavors).labels.items()), ("model", "a"))
                values = (value,)
            operator = self.random.choice(("In", "NotIn", "Exists", "DoesNotExist"))
            found.append((key, operator, values if operator in ("In", "NotIn") else ()))
        return tuple(found)

    def _pools(
        self,
        groups: Sequence[tuple[tuple[str, ...], tuple[str, ...]]],
        flavors: Sequence[Flavor],
        podsets: Sequence[Podset],
    ) -> tuple[Pool, ...]:
        homes: list[tuple[str, ...]] = []
        if len(groups) == 2:
            for name in groups[0][1]:
                homes.append((name, self.random.choice(groups[1][1])))
            homes += [(self.random.choice(groups[0][1]), name) for name in groups[1][1] if self.often(0.7)]
            # Nodes without devices.
            homes += [(self.random.choice(groups[0][1]),)] if self.often(0.3) else []
            loose = [name for name in groups[1][1] if not any(name in home for home in homes)]
            homes += [(groups[0][1][0], name) for name in loose]
        else:
            homes = [(name,) for name in groups[0][1]]
            homes += [(self.random.choice(groups[0][1]),)] if self.often(0.5) else []
        clashing = {one.name for one in flavors if one.name[0] == "g" and "kind" in one.labels}
        # No node has the labels of two that clash.
        homes = [part for home in homes for part in (zip(home) if clashing & {*home[1:]} else [home])]
        both = len(groups) == 2
        return tuple(self._pool(f"n{at}", home, flavors, both) for at, home in enumerate(homes))

    def _pool(self, name: str, home: tuple[str, ...], flavors: Sequence[Flavor], both: bool) -> Pool:
        random = self.random
        nodes = random.choice((0, 1, 1, 2, 2, 3, 3))
        offers = {"cpu": 500 * random.randint(2, 16), "pods": random.choice((1, 2, 3, 4, 8, 110))}
        if "memory" in self.resources:
            offers["memory"] = 512 * random.randint(2, 12)
        if self.often(0.9):
            offers[GPU] = random.choice((0, 1, 2, 3, 4, 4, 8, 8))
        if self.ample_nodes:
            nodes = max(nodes, 2)
            offers = {one: amount if self.often(0.2) else 3 * amount + 4 for one, amount in offers.items()}
        racks: tuple[tuple[str, int], ...] = ()
        if self.topology:
            where = random.sample(("r0", "r1", "r2"), random.choice((1, 2, 2, 3)))
            racks = tuple((rack, random.randint(0, nodes)) for rack in where)
            short = nodes - sum(cap for _, cap in racks)
            racks = tuple((rack, cap + (max(0, short) if at == 0 else 0)) for at, (rack, cap) in enumerate(racks))
        stray = not self.plain and self.often(0.08)
        places = [rack for rack, cap in racks for _ in range(cap)] if racks else [""] * nodes
        random.shuffle(places)
        nodes = len(places[:nodes])
        live = places[:nodes] if stray else places[: random.choice((0, 0, random.randint(0, nodes)))]
        listed = {one.name: set(one.taints) for one in flavors}
        taints = [taint for taint in _TAINTS if any(taint in listed[one] for one in home) and self.often(0.7)]
        if self.plain:
            taints = [taint for taint in taints if all(taint in listed[one] for one in home)]
        elif self.often(0.05):
            taints = list(_TAINTS[:1])
        told = [one.name for one in flavors if one.told and one.name in home]
        declared = tuple(told)
        say = (lambda share: True) if self.plain else self.often
        tells_labels = say(0.5)
        # The nodes of one flavor may be told of by the profile of another, if that says that they are of both.
        if both and tells_labels and len(told) > 1:
            declared = tuple(random.sample(told, random.choice((1, 2))))
        return Pool(
            name,
            home,
            nodes,
            offers,
            labels={"model": random.choice(_MODELS)} if self.often(0.6) else {},
            taints=tuple(taints),
            racks=racks,
            live=tuple(live),
            declared=() if stray else declared,
            resources=frozenset(offers if say(0.6) else (one for one in offers if self.often(0.7))),
            all_resources=say(0.8),
            tells_labels=tells_labels,
            all_labels=say(0.6),
            tells_racks=say(0.7),
            understated=random.randint(1, 2) if live and not stray and not say(0.8) else 0,
            daemons=random.choice((100, 500)) if self.often(0.1) and not stray else 0,
        )

    def _branches(
        self, groups: Sequence[tuple[tuple[str, ...], tuple[str, ...]]], podsets: Sequence[Podset]
    ) -> tuple[Branch, ...]:
        totals: dict[str, int] = {"pods": sum(one.count for one in podsets)}
        for one in podsets:
            for name, amount in one.requests.items():
                totals[name] = totals.get(name, 0) + one.count * amount
        if self.often(0.45):
            return (self._branch(OWN, None, groups, totals),)
        deep = self.often(0.4)
        found = [
            self._branch(OWN, "team", groups, totals, poor=True),
            self._branch("team", "all" if deep else None, groups, totals, cohort=True, poor=True),
            self._branch("other", "team", groups, totals),
        ]
        if deep:
            found.append(self._branch("all", None, groups, totals, cohort=True, poor=True))
            found.append(self._branch("far", "all", groups, totals))
        return tuple(found)

    def _branch(
        self,
        name: str,
        parent: str | None,
        groups: Sequence[tuple[tuple[str, ...], tuple[str, ...]]],
        totals: Mapping[str, int],
        *,
        cohort: bool = False,
        poor: bool = False,
    ) -> Branch:
        quotas = {}
        rich = self.ample_quota if name == OWN else not poor and self.often(0.3)
        for covered, flavors in groups:
            for flavor in flavors:
                for resource in covered:
                    quotas[flavor, resource] = self._quota(totals.get(resource, 0), resource, parent, rich, poor)
        return Branch(name, parent, quotas, cohort)

    def _quota(self, total: int, resource: str, parent: str | None, rich: bool, poor: bool) -> Quota:
        random, step = self.random, _STEP.get(resource, 1)
        if rich:
            nominal = 4 * total + step
        elif poor:
            nominal = random.choice((0, 0, total // 4, total // 2, total))
        else:
            nominal = max(
                0, random.choice((total // 2, total - step, total, total, total + step, 2 * total, 2 * total))
            )
        limits = [None, None, None, 0, step, total // 4, total // 2, total]
        if parent is None:
            return Quota(nominal)
        return Quota(nominal, borrowing=random.choice(limits), lending=random.choice(limits))
