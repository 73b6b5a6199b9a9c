"""Pools as topology sees them: nodes by domain, declared and live."""

from collections.abc import Mapping, Sequence

from classifier.fit.matching.match import Labels
from classifier.fit.supplied.live import Live
from classifier.fit.supplied.pools import Pool
from classifier.fit.topology import Survey, survey

BLOCK, RACK = "example.com/block", "example.com/rack"
LEVELS = (BLOCK, RACK, "kubernetes.io/hostname")


def pool(
    most: int | None,
    domains: Mapping[str, int | None] | None = None,
    live: Sequence[str | None] = (),
    *,
    name: str = "pool",
    level: str | None = RACK,
    sure: int | None = None,
    stray: bool = False,
    shows: str = RACK,
) -> Pool:
    """``domains`` of the ``level``; ``live``: for each node its value of the label ``shows``, or None."""
    nodes = [
        Live(f"{name}-{at}", {shows: value} if value is not None else {}, [], {}, True, "")
        for at, value in enumerate(live)
    ]
    return Pool(
        name=name,
        source="CapacityProfile/p",
        labels=Labels({}),
        taints=[],
        upper={},
        lower={},
        complete=False,
        max_nodes=most if most is None else max(most, len(nodes)),
        declared_nodes=most,
        sure_nodes=most if sure is None else sure,
        max_source="CapacityProfile/p",
        ready=len(nodes),
        lives=nodes,
        stray=stray,
        domains=tuple((domains or {}).items()),
        level=level,
    )


def surveyed(*pools: Pool, level: str = RACK, levels: Sequence[str] = LEVELS, recent: bool = True) -> list[Survey]:
    return [survey(one, level, levels, one.sure_nodes or 0, recent=recent) for one in pools]
