"""Packing by brute force, to hold ``pack`` against: it shares no idea with it but the rules of one node."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from hypothesis import strategies as st

from classifier.fit.pack import Bin, Part

RESOURCES = ("cpu", "memory", "gpu")


def exists(parts: Sequence[Part], bins: Sequence[Bin]) -> bool:
    """Whether some way of giving each node some pods gives every pod a node: every total that can be reached is."""
    goal = tuple(part.count for part in parts)
    totals = {tuple(0 for _ in parts)}
    for index, one in enumerate(bins):
        contents = _fullest({pods for pods in _up_to(goal) if holds(parts, index, one, pods)})
        for _ in range(sum(goal) if one.nodes is None else one.nodes):
            totals = {
                tuple(min(want, a + b) for want, a, b in zip(goal, total, pods, strict=True))
                for total in totals
                for pods in contents
            }
    return goal in totals


def holds(parts: Sequence[Part], index: int, one: Bin, pods: tuple[int, ...]) -> bool:
    """Whether these pods of each part may share a node of the bin."""
    present = [(part, count) for part, count in zip(parts, pods, strict=True) if count]
    if any(index not in part.bins or (part.alone and count > 1) for part, count in present):
        return False
    taken = [port for part, _ in present for port in part.ports]
    if len(taken) != len(set(taken)):
        return False
    return all(
        sum(count * part.requests.get(resource, 0) for part, count in present) <= offer
        for resource, offer in one.offers.items()
    )


def _fullest(contents: set[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Those to which no pod can be added: whatever a node may hold, it may hold less of."""
    return [
        pods
        for pods in contents
        if not any((*pods[:at], count + 1, *pods[at + 1 :]) in contents for at, count in enumerate(pods))
    ]


def _up_to(goal: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    if not goal:
        yield ()
        return
    for first in range(goal[0] + 1):
        for rest in _up_to(goal[1:]):
            yield (first, *rest)


@st.composite
def worlds(draw: st.DrawFn, most_parts: int = 4, endless: bool = False) -> tuple[list[Part], list[Bin]]:
    """Up to 12 pods of a few shapes, up to 3 bins of up to 4 nodes."""
    nodes = st.one_of(st.none(), st.integers(0, 4)) if endless else st.integers(1, 4)
    bins = [
        Bin(f"bin-{i}", draw(st.dictionaries(st.sampled_from(RESOURCES), st.integers(5, 12), min_size=2)), draw(nodes))
        for i in range(draw(st.integers(1, 3)))
    ]
    parts: list[Part] = []
    anywhere = st.just(set(range(len(bins))))
    for i in range(draw(st.integers(1, most_parts))):
        part = Part(
            name=f"part-{i}",
            count=draw(st.integers(1, 12 // most_parts)),
            requests=draw(st.dictionaries(st.sampled_from(RESOURCES), st.integers(1, 6), min_size=1)),
            bins=frozenset(draw(st.one_of(anywhere, anywhere, st.sets(st.sampled_from(range(len(bins))), min_size=1)))),
            alone=draw(st.sampled_from([False, False, False, True])),
            ports=draw(
                st.sampled_from([frozenset[str](), frozenset[str](), frozenset({"80"}), frozenset({"80", "90"})])
            ),
        )
        parts.append(part)
    return parts, bins


def shuffled(parts: Sequence[Part], bins: Sequence[Bin], order: Sequence[int]) -> tuple[list[Part], list[Bin]]:
    """The same world, told backwards, its bins in another ``order``."""
    place = {old: new for new, old in enumerate(order)}
    moved = [replace(part, bins=frozenset(place[index] for index in part.bins)) for part in reversed(parts)]
    return moved, [bins[old] for old in order]
