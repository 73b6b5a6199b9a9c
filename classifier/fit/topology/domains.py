"""The domains of one level across pools, as nodes of every pool: domains of one name are one domain."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from classifier.fit.topology.survey import Survey


@dataclass(frozen=True, slots=True)
class Domain:
    """``nodes`` of each pool, in the order of the surveys; None: no limit is known. ``name`` None: some domain that
    nobody declared."""

    name: str | None
    nodes: tuple[int | None, ...]


def possible(surveys: Sequence[Survey]) -> list[Domain]:
    """Whatever domain there may ever be has no more nodes than one of these: for proofs. There is always one."""
    if any(one.hosts for one in surveys):
        return _hosts(surveys, [one.most for one in surveys]) or [Domain(None, tuple(0 for _ in surveys))]
    level = named_by(surveys)
    by_name = [one.possible if one.possible is not None and one.named_by == level else None for one in surveys]
    # A pool whose domains have no names, or names of another level, may be wherever the others are.
    anywhere = [one.most if one.possible is None else max(one.possible.values(), default=0) for one in surveys]
    names = sorted({name for some in by_name if some is not None for name in some})
    found = [
        Domain(name, tuple(anywhere[at] if some is None else some.get(name, 0) for at, some in enumerate(by_name)))
        for name in names
    ]
    found.append(Domain(None, tuple(anywhere[at] if some is None else 0 for at, some in enumerate(by_name))))
    return _largest(found)


def named_by(surveys: Sequence[Survey]) -> str | None:
    """The level by whose names domains of several pools are told to be one."""
    return min((one.named_by for one in surveys if one.possible is not None and one.named_by), default=None)


def certain(surveys: Sequence[Survey]) -> list[Domain]:
    """Domains that are surely there, with nodes that surely are in them: for promises."""
    if any(one.hosts for one in surveys):
        return _hosts(surveys, [one.sure for one in surveys])
    names = sorted({name for one in surveys for name in one.certain or ()})
    return _largest(Domain(name[1], tuple((one.certain or {}).get(name, 0) for one in surveys)) for name in names)


def _hosts(surveys: Sequence[Survey], nodes: Sequence[int | None]) -> list[Domain]:
    """One node of each pool that has any."""
    return [
        Domain(f"a node of {one.pool}", tuple(int(other == at) for other in range(len(surveys))))
        for at, one in enumerate(surveys)
        if nodes[at] != 0
    ]


def _largest(domains: Iterable[Domain]) -> list[Domain]:
    """Without those of which a single other one has as many nodes of every pool; the first of equals stays. Of very
    many, which would be long to compare, only equals are left out."""
    apart = {one.nodes: one for one in sorted(domains, key=lambda one: one.name or "", reverse=True)}
    ordered = sorted(
        apart.values(), key=lambda one: (-sum(_ENDLESS if n is None else n for n in one.nodes), one.name or "")
    )
    if len(ordered) > _COMPARED:
        return ordered
    kept: list[Domain] = []
    for one in ordered:
        if not any(_covers(other, one) for other in kept):
            kept.append(one)
    return kept


#: More nodes than any pool declares, to sort by.
_ENDLESS: Final = 1 << 62
_COMPARED: Final = 64


def _covers(large: Domain, small: Domain) -> bool:
    return all(
        more is None or (less is not None and less <= more) for more, less in zip(large.nodes, small.nodes, strict=True)
    )
