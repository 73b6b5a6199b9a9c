"""A counterexample made small: whatever can be left out of a world while it still breaks the same law."""

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any

from classifier import api
from tests.soundness.submit import kinds_for
from tests.soundness.truth import OWN, Case, Flavor, Podset, Pool, Quota

#: What a field is where it says nothing.
_PLAIN: dict[type[Any], dict[str, Any]] = {
    Podset: {
        "selector": {},
        "terms": (),
        "tolerates": (),
        "alone": False,
        "port": None,
        "required": None,
        "slices": None,
        "group": None,
        "unconstrained": False,
        "late": False,
        "written": "plain",
    },
    Pool: {
        "labels": {},
        "taints": (),
        "live": (),
        "all_resources": True,
        "tells_labels": True,
        "all_labels": True,
        "tells_racks": True,
        "understated": 0,
        "daemons": 0,
    },
    Flavor: {"taints": (), "tolerates": (), "topology": False, "told": True, "closed": True, "mode": "Enforce"},
}


def smallest(case: Case, still: Callable[[Case], bool]) -> Case:
    """``still``: whether it is a counterexample of the same kind."""
    found = True
    while found:
        found = False
        for other in _steps(case):
            if still(other):
                case, found = other, True
                break
    return case


def _steps(case: Case) -> Iterator[Case]:
    for at in range(len(case.podsets)):
        if len(case.podsets) > 1:
            yield from _of_kind(case, case.podsets[:at] + case.podsets[at + 1 :])
    if case.kind is not api.JOBSETS and api.JOBSETS in kinds_for(case.podsets):
        yield replace(case, kind=api.JOBSETS)
    if len(case.branches) > 1:
        own = next(one for one in case.branches if one.name == OWN)
        yield replace(case, branches=(replace(own, parent=None),))
    for at in range(len(case.pools)):
        yield replace(case, pools=case.pools[:at] + case.pools[at + 1 :])
    for name in (one.name for one in case.flavors if len(case.flavors) > 1):
        yield _without(case, name)
    for at, podset in enumerate(case.podsets):
        for other in _plainer(podset):
            yield from _of_kind(case, (*case.podsets[:at], other, *case.podsets[at + 1 :]))
        if 1 < podset.count == podset.fewest == podset.least:
            fewer = podset.count - 1
            other = replace(podset, count=fewer, fewest=fewer, least=fewer)
            yield from _of_kind(case, (*case.podsets[:at], other, *case.podsets[at + 1 :]))
        for name in podset.requests:
            less = {key: amount for key, amount in podset.requests.items() if key != name}
            if less:
                yield from _of_kind(case, (*case.podsets[:at], replace(podset, requests=less), *case.podsets[at + 1 :]))
    for at, pool in enumerate(case.pools):
        for plain in _plainer(pool):
            yield replace(case, pools=(*case.pools[:at], plain, *case.pools[at + 1 :]))
        if pool.nodes > max(0, len(pool.live)) and not pool.racks:
            yield replace(case, pools=(*case.pools[:at], replace(pool, nodes=pool.nodes - 1), *case.pools[at + 1 :]))
    for at, flavor in enumerate(case.flavors):
        for bare in _plainer(flavor):
            yield replace(case, flavors=(*case.flavors[:at], bare, *case.flavors[at + 1 :]))
    for at, branch in enumerate(case.branches):
        for key, quota in branch.quotas.items():
            if quota.borrowing is not None or quota.lending is not None:
                quotas = {**branch.quotas, key: Quota(quota.nominal)}
                other_branch = replace(branch, quotas=quotas)
                yield replace(case, branches=(*case.branches[:at], other_branch, *case.branches[at + 1 :]))


def _of_kind(case: Case, podsets: tuple[Podset, ...]) -> Iterator[Case]:
    """With these podsets, as the same kind if it can say them."""
    kinds = kinds_for(podsets)
    yield replace(case, podsets=podsets, kind=case.kind if case.kind in kinds else kinds[0])


def _plainer(one: Any) -> Iterator[Any]:
    known = _PLAIN[type(one)]
    for field in fields(one):
        if field.name == "live" and (not one.declared or one.understated):
            continue  # they are what the truth is known by
        if field.name in known and getattr(one, field.name) != known[field.name]:
            yield replace(one, **{field.name: known[field.name]})


def _without(case: Case, name: str) -> Case:
    groups = tuple((covered, tuple(one for one in names if one != name)) for covered, names in case.groups)
    return replace(
        case,
        groups=tuple(group for group in groups if group[1]),
        flavors=tuple(one for one in case.flavors if one.name != name),
        pools=tuple(one for one in case.pools if name not in one.flavors),
    )
