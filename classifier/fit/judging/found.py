"""What was found about a gang: what binds it as a whole, and what each podset comes to."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

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


def adding_up(each: Sequence[Finding], nodes: int) -> list[Finding]:
    """With what each podset adds to the gang's nodes: whoever needs few stands on those of the others."""
    needs = [one.needs if isinstance(one.needs, int) else 0 for one in each]
    found = list(each)
    over = sum(needs) - nodes
    for at in sorted(range(len(each)), key=needs.__getitem__):
        if over <= 0:
            break
        less = min(over, needs[at])
        if less > 0:
            found[at] = msgspec.structs.replace(each[at], needs=needs[at] - less)
            over -= less
    return found
