"""What was found about a gang: what binds it as a whole, and what each podset comes to."""

from collections.abc import Sequence
from typing import NamedTuple

from classifier.fit.finding import Finding
from classifier.fit.supplied.pools import Pool


class Found(NamedTuple):
    """``gang``: what binds it as a whole. ``podsets``: each by itself, with the flavors of the best assignment."""

    gang: Finding
    podsets: list[Finding]
    #: For the user, beside the verdict.
    notes: tuple[str, ...] = ()
    #: Of what a promise rests on, the pools that autoscalers tell something of.
    pools: tuple[Pool, ...] = ()


def adding_up(needs: Sequence[int], nodes: int) -> list[int]:
    """What each podset adds to the ``nodes`` of the gang: whoever ``needs`` few stands on those of the others."""
    found = list(needs)
    over = sum(needs) - nodes
    if over <= 0:
        return found
    for at in sorted(range(len(found)), key=found.__getitem__):
        less = min(over, found[at])
        found[at] -= less
        over -= less
        if not over:
            break
    return found
