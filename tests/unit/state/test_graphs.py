"""Random graphs of objects: nothing is raised, and every law holds (reference/classification.md §C0, §D).

A failure names its seed: ``check(graph(<seed>, <kind>))`` and ``check_heap(heap(<seed>))`` repeat it.
"""

from collections import Counter

import pytest

from classifier.state.observation import CauseKind, State
from tests.graphs.graph import VIEWS
from tests.graphs.heap import heap
from tests.graphs.heap_laws import check_heap
from tests.graphs.laws import check, look
from tests.graphs.making import graph

BLOCK = 250


@pytest.mark.parametrize("block", range(8))
def test_2000_graphs(block: int) -> None:
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        check(graph(seed))


@pytest.mark.parametrize("kind", VIEWS)
def test_graphs_of_every_kind(kind: str) -> None:
    states: Counter[State] = Counter()
    for seed in range(100):
        states[check(graph(seed, kind)).observation.state] += 1
    assert len(states) >= 3, f"these graphs say too little: {states}"


@pytest.mark.parametrize("block", range(2))
def test_heaps(block: int) -> None:
    found = 0
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        found += check_heap(heap(seed))
    assert found > BLOCK


def test_the_same_seed_makes_the_same_graph() -> None:
    assert graph(7) == graph(7)
    assert heap(7) == heap(7)
    assert graph(7) != graph(8)


def test_the_graphs_reach_every_state_and_every_cause() -> None:
    said = [look(graph(seed)).said.observation for seed in range(10_000, 11_500)]
    assert {observation.state for observation in said} == set(State)
    assert {observation.cause.kind for observation in said} == set(CauseKind)
    assert {observation.foreign for observation in said} == {True, False}
    assert sum(observation.execution is not None for observation in said) > 500
