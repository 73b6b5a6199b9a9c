"""ClusterQueues whose quota is just enough, just not, or plenty; their own, borrowed, or lent with limits."""

from dataclasses import dataclass
from typing import Any, Final

from e2e import builders
from e2e.builders import KUEUE, Document
from e2e.oracle.dice import Dice
from e2e.oracle.room import Amounts, text

PLENTY: Final = 10


@dataclass(frozen=True)
class Share:
    """Of what a flavor can give at most: nominal in the queue, and the rest by ``way`` from elsewhere."""

    potential: Amounts
    way: str

    def split(self) -> tuple[Amounts, Amounts]:
        own = {resource: amount // 3 for resource, amount in self.potential.items()}
        return own, {resource: self.potential[resource] - own[resource] for resource in own}


WAYS: Final = ("own", "own", "own", "own", "lender", "borrowing limit", "lending limit", "cohort", "parent")


def draw_potential(dice: Dice, total: Amounts, tags: set[str]) -> Amounts:
    """For each resource enough; but for one of them, sometimes, one unit less or far less."""
    way = dice.of(*["exact"] * 4, *["plenty"] * 4, "one less", "one less", "half", "zero")
    scale = PLENTY if way == "plenty" else 1
    found = {resource: amount * scale for resource, amount in total.items()}
    short = dice.choice(sorted(total))
    if way == "one less":
        found[short] = max(0, total[short] - 1)
    elif way == "half":
        found[short] = total[short] // 2
    elif way == "zero" and dice.one_in(2):
        found[short] = 0
    tags.add(f"quota {way}")
    return found


def queue(
    name: str,
    groups: list[list[tuple[str, Amounts]]],
    way: str,
    selector: Document | None,
) -> list[Document]:
    """The case's queue and whom it borrows from. ``groups``: of each resource group its flavors in order, each with
    the most it can give."""
    shares = [[(flavor, Share(potential, way)) for flavor, potential in group] for group in groups]
    spec: dict[str, Any] = {} if way == "own" else {"cohortName": f"{name}-cohort"}
    found: list[Document] = []
    own = [[_flavor(flavor, *_mine(share)) for flavor, share in group] for group in shares]
    found.append(_queue(name, own, selector=selector, **spec))
    if way in ("lender", "borrowing limit", "lending limit"):
        lent = [[_flavor(flavor, *_lenders(share)) for flavor, share in group] for group in shares]
        found.append(_queue(f"{name}-lender", lent, selector=None, **spec))
    if way in ("cohort", "parent"):
        rest = [[_flavor(flavor, share.split()[1]) for flavor, share in group] for group in shares]
        groups_of = _groups(rest)
        if way == "cohort":
            found.append(_cohort(f"{name}-cohort", resourceGroups=groups_of))
        else:
            limited = [
                [_flavor(flavor, dict.fromkeys(share.potential, 0), share.split()[1]) for flavor, share in group]
                for group in shares
            ]
            parent = [[_flavor(f, dict.fromkeys(s.potential, 10**7)) for f, s in group] for group in shares]
            child = {"parentName": f"{name}-parent", "resourceGroups": _groups(limited)}
            found.append(_cohort(f"{name}-cohort", **child))
            found.append(_cohort(f"{name}-parent", resourceGroups=_groups(parent)))
    return found


def _mine(share: Share) -> tuple[Amounts, Amounts | None, Amounts | None]:
    """Nominal, borrowing limit, lending limit of the queue itself."""
    if share.way == "own":
        return share.potential, None, None
    own, rest = share.split()
    return own, rest if share.way == "borrowing limit" else None, None


def _lenders(share: Share) -> tuple[Amounts, Amounts | None, Amounts | None]:
    rest = share.split()[1]
    if share.way == "lender":
        return rest, None, None
    more = {resource: amount * 5 + 10 for resource, amount in rest.items()}
    return more, None, rest if share.way == "lending limit" else None


def _flavor(
    name: str, nominal: Amounts, borrowing: Amounts | None = None, lending: Amounts | None = None
) -> tuple[str, list[Document]]:
    resources = []
    for resource, amount in nominal.items():
        quota: Document = {"name": resource, "nominalQuota": text(resource, amount)}
        if borrowing is not None:
            quota["borrowingLimit"] = text(resource, borrowing[resource])
        if lending is not None:
            quota["lendingLimit"] = text(resource, lending[resource])
        resources.append(quota)
    return name, resources


def _groups(groups: list[list[tuple[str, list[Document]]]]) -> list[Document]:
    return [
        {
            "coveredResources": [quota["name"] for quota in group[0][1]],
            "flavors": [{"name": name, "resources": resources} for name, resources in group],
        }
        for group in groups
    ]


def _queue(
    name: str, groups: list[list[tuple[str, list[Document]]]], *, selector: Document | None, **spec: Any
) -> Document:
    made = builders.cluster_queue(name, {"none": {}}, **spec)
    made["spec"]["resourceGroups"] = _groups(groups)
    del made["spec"]["namespaceSelector"]
    if selector is not None:
        made["spec"]["namespaceSelector"] = selector
    return made


def _cohort(name: str, **spec: Any) -> Document:
    return {"apiVersion": KUEUE, "kind": "Cohort", "metadata": {"name": name}, "spec": spec}
