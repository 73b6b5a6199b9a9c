"""Slices: each of so many pods shares a domain of its level; two slices need not share one.

Kueue counts whole slices, pods divided by the size rounded down (pkg/cache/scheduler/tas_flavor_snapshot.go
findLevelWithFitDomains), so no more than that enters a proof.
"""

from collections.abc import Sequence

from classifier.fit.topology.domains import named_by
from classifier.fit.topology.survey import Survey


def slices_wanted(pods: int, size: int, *, surely: bool = False) -> int:
    """Slices that ``pods`` make at least; ``surely``: that are enough for every one of them."""
    return -(-pods // size) if surely else pods // size


def slices_at_most(surveys: Sequence[Survey], per_node: Sequence[int | None], size: int) -> int | None:
    """Upper bound on the slices that the pools hold. ``per_node``: pods on one node of each at most, 0 where the podset
    may not stand; None: no bound is known. None: no bound."""
    if any(
        pods != 0 and one.most != 0 and (pods is None or one.most is None) for one, pods in _each(surveys, per_node)
    ):
        return None
    total = sum((pods or 0) * (one.most or 0) for one, pods in _each(surveys, per_node))
    if any(one.hosts for one in surveys):
        return sum((pods or 0) // size * (one.most or 0) for one, pods in _each(surveys, per_node))
    level = named_by(surveys)
    rooms: dict[str, int] = {}
    free = 0
    for one, pods in _each(surveys, per_node):
        if one.possible is None or one.named_by != level:
            free += (pods or 0) * (one.most or 0)
            continue
        for name, nodes in one.possible.items():
            rooms[name] = rooms.get(name, 0) + (pods or 0) * nodes
    slices = sum(room // size for room in rooms.values())
    # Pods of pools without known domains fill up what the others leave, the fullest first.
    for missing in sorted(size - room % size for room in rooms.values() if room % size):
        if missing <= free:
            free -= missing
            slices += 1
    return min(slices + free // size, total // size)


def slices_surely(surveys: Sequence[Survey], per_node: Sequence[int], size: int) -> int:
    """Slices that surely find a domain each, if no other podset is there."""
    if any(one.hosts for one in surveys):
        return sum(pods // size * one.sure for one, pods in zip(surveys, per_node, strict=True))
    names = {name for one in surveys for name in one.certain or ()}
    # Names of one label are apart; those of two labels may be domains within each other.
    labels = {label for label, _ in names}
    most = 0
    for label in labels:
        left = [one.sure for one in surveys]
        slices = 0
        for name in sorted(name for name in names if name[0] == label):
            room = 0
            for at, one in enumerate(surveys):
                nodes = min(left[at], (one.certain or {}).get(name, 0))
                left[at] -= nodes
                room += nodes * per_node[at]
            slices += room // size
        most = max(most, slices)
    return most


def _each(surveys: Sequence[Survey], per_node: Sequence[int | None]) -> list[tuple[Survey, int | None]]:
    return list(zip(surveys, per_node, strict=True))
