"""What was found about a gang: what binds it as a whole, and what each podset comes to."""

from collections.abc import Sequence
from typing import NamedTuple

from classifier.fit.finding import Finding
from classifier.fit.gang import Podset
from classifier.fit.supplied.pools import Pool
from classifier.fit.verdict import PodSetVerdict


class Found(NamedTuple):
    """``gang``: what binds it as a whole. ``podsets``: each by itself, with the flavors of the best assignment."""

    gang: Finding
    podsets: list[Finding]
    #: For the user, beside the verdict.
    notes: tuple[str, ...] = ()
    #: Of what a promise rests on, the pools that autoscalers tell something of.
    pools: tuple[Pool, ...] = ()


class Told(NamedTuple):
    """What of it is told, whichever way it was found: ``podsets`` as if all was known just now, and the ``profiles``
    that speak for each of them."""

    gang: Finding
    podsets: list[PodSetVerdict]
    profiles: Sequence[tuple[str, ...]]
    notes: tuple[str, ...]
    pools: tuple[Pool, ...]


def tell(found: Found, podsets: Sequence[Podset]) -> Told:
    each = [tell_one(podset.name, podset.count, one) for podset, one in zip(podsets, found.podsets, strict=True)]
    return Told(found.gang, each, [one.profiles for one in found.podsets], found.notes, found.pools)


def tell_one(name: str, count: int, found: Finding) -> PodSetVerdict:
    return PodSetVerdict(
        name=name,
        count=count,
        verdict=found.outcome,
        binding=found.binding,
        pool=found.pool,
        flavor=found.flavor,
        resource=found.resource,
        needs=found.needs,
        limit=found.limit,
        source=found.source,
        age_seconds=0 if found.source is not None else None,
    )


def adding_up(needs: Sequence[int], nodes: int) -> list[int]:
    """What each podset adds to the ``nodes`` of the gang: whoever ``needs`` few stands on those of the others."""
    found = list(needs)
    over = sum(needs) - nodes
    if over <= 0:
        return found
    for at in sorted(range(len(found)), key=needs.__getitem__):
        if needs[at] >= over:
            found[at] -= over
            break
        over -= needs[at]
        found[at] = 0
    return found
