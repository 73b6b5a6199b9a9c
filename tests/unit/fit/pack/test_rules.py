"""Each rule by which gangs fit, or cannot, with the numbers it is explained by."""

import pytest

from classifier.fit.budget import STEPS, Budget
from classifier.fit.pack import Bin, Fate, Packing, Part, pack

GPU = "nvidia.com/gpu"


def pool(nodes: int | None, key: str = "pool", **offers: int) -> Bin:
    return Bin(key, {GPU if name == "gpu" else name: amount for name, amount in offers.items()}, nodes)


def part(name: str, count: int, bins: str = "0", alone: bool = False, ports: str = "", **requests: int) -> Part:
    """``bins`` and ``ports`` by their digits: ``"01"`` may stand in bins 0 and 1."""
    asks = {GPU if name == "gpu" else name: amount for name, amount in requests.items()}
    return Part(name, count, asks, frozenset(map(int, bins)), alone, frozenset(ports))


def packed(parts: list[Part], *bins: Bin) -> Packing:
    return pack(parts, bins, Budget(STEPS))


@pytest.mark.parametrize(
    ("parts", "bins", "nodes"),
    [
        pytest.param([part("w", 2, gpu=8)], [pool(2, gpu=8)], {0: 2}, id="as many nodes as one part needs"),
        pytest.param(
            [part("w", 3, "01", gpu=1)], [pool(9, "a", gpu=1), pool(2, "b", gpu=2)], {1: 2}, id="fullest nodes first"
        ),
        pytest.param([part("w", 2, gpu=8), part("head", 1, cpu=4)], [pool(2, gpu=8, cpu=8)], {0: 2}, id="head beside"),
        pytest.param([part("w", 2, alone=True, cpu=1)], [pool(2, cpu=8)], {0: 2}, id="one pod of the part a node"),
        pytest.param(
            [part("a", 2, alone=True, cpu=1), part("b", 2, alone=True, cpu=1)], [pool(2, cpu=8)], {0: 2}, id="two alone"
        ),
        pytest.param(
            [part("a", 1, ports="8", cpu=1), part("b", 1, ports="8", cpu=1)], [pool(2, cpu=8)], {0: 2}, id="one port"
        ),
        pytest.param(
            [part("a", 1, ports="8", cpu=1), part("b", 1, ports="9", cpu=1)], [pool(2, cpu=8)], {0: 1}, id="two ports"
        ),
        pytest.param(
            [part("w", 4, cpu=9, rare=1)], [pool(4, cpu=9)], {0: 4}, id="an undeclared resource binds nothing"
        ),
        pytest.param([part("w", 0, gpu=99)], [pool(1, gpu=1)], {}, id="no pods"),
        pytest.param([], [], {}, id="no parts"),
        pytest.param([part("w", 7, gpu=4)], [pool(None, gpu=8)], {0: 4}, id="no limit of nodes"),
        pytest.param(
            [part("a", 5, "01", gpu=8), part("b", 1, gpu=8)],
            [pool(1, "a", gpu=8), pool(None, "b", gpu=8)],
            {0: 1, 1: 5},
            id="who may stand in a pool without end leaves the other",
        ),
    ],
)
def test_fits_in_these_nodes(parts: list[Part], bins: list[Bin], nodes: dict[int, int]) -> None:
    found = packed(parts, *bins)
    assert (found.fate, found.nodes, found.tight) == (Fate.FITS, nodes, False)


@pytest.mark.parametrize(
    ("parts", "bins", "why"),
    [
        pytest.param([part("w", 1, gpu=9)], [pool(2, gpu=8)], ("pod-size", "w", GPU, 9, 8), id="a pod above a node"),
        pytest.param(
            [part("w", 1, "01", gpu=9)],
            [pool(2, "a", gpu=4), pool(2, "b", gpu=8)],
            ("pod-size", "w", GPU, 9, 8),
            id="the nearest pool speaks",
        ),
        pytest.param(
            [part("w", 1, cpu=9, gpu=9)], [pool(2, gpu=0, cpu=0)], ("pod-size", "w", GPU, 9, 0), id="a device is named"
        ),
        pytest.param([part("w", 3, gpu=8)], [pool(2, gpu=8)], ("nodes", "w", GPU, 3, 2), id="pods above nodes"),
        pytest.param(
            [part("w", 5, alone=True, gpu=1)],
            [pool(2, gpu=8)],
            ("nodes", "w", None, 5, 2),
            id="alone, and too few nodes",
        ),
        pytest.param([part("w", 1, gpu=1)], [pool(0, gpu=8)], ("nodes", "w", None, 1, 0), id="a pool of no nodes"),
        pytest.param([part("w", 1, "", gpu=1)], [pool(3, gpu=8)], ("nodes", "w", None, 1, 0), id="no pool is open"),
        pytest.param(
            [part("a", 9, cpu=4), part("b", 9, cpu=4, gpu=1)],
            [pool(4, cpu=16, gpu=8)],
            ("nodes", None, "cpu", 5, 4),
            id="sums",
        ),
        pytest.param(
            [part("a", 2, cpu=9), part("b", 1, cpu=10)],
            [pool(2, cpu=16)],
            ("nodes", None, "cpu", 3, 2),
            id="two above half a node share none",
        ),
        pytest.param(
            [part("a", 4, cpu=6), part("b", 1, cpu=7)],
            [pool(2, cpu=17)],
            ("nodes", None, "cpu", 3, 2),
            id="of pods above a third two share a node",
        ),
        pytest.param(
            [part("a", 1, "0", cpu=8), part("b", 1, "0", cpu=8), part("c", 1, "01", cpu=8)],
            [pool(1, "a", cpu=8), pool(9, "b", cpu=8)],
            ("nodes", None, "cpu", 2, 1),
            id="Hall: two parts of which both may stand in one node only",
        ),
        pytest.param(
            [part("a", 2, alone=True, ports="8", cpu=1), part("b", 2, alone=True, ports="8", cpu=1)],
            [pool(3, cpu=64)],
            ("nodes", None, None, 4, 3),
            id="pods of one host port share no node",
        ),
        pytest.param(
            [part("a", 2, alone=True, cpu=1), part("b", 2, cpu=9), part("c", 1, cpu=1)],
            [pool(3, cpu=9)],
            ("nodes", None, None, 4, 3),
            id="a second pod of a part that stands alone finds no node beside full ones",
        ),
        pytest.param(
            [part("a", 3, cpu=5), part("b", 3, cpu=3), part("c", 1, cpu=2)],
            [pool(3, cpu=9)],
            ("nodes", None, None, 4, 3),
            id="by search, where no sum tells",
        ),
    ],
)
def test_never_fits_for_this_reason(
    parts: list[Part], bins: list[Bin], why: tuple[str, str | None, str | None, int, int]
) -> None:
    found = packed(parts, *bins)
    assert found.fate is Fate.NEVER
    assert (found.binding, found.part, found.resource, found.needs, found.limit) == why


def test_a_proof_names_the_parts_and_bins_it_is_about_and_no_others() -> None:
    tight = [part("a", 1, "0", cpu=8), part("b", 1, "0", cpu=8), part("c", 1, "01", cpu=8)]
    found = packed(tight, pool(1, "a", cpu=8), pool(9, "b", cpu=8))
    assert (found.parts, found.bins) == (("a", "b"), frozenset({0}))


def test_a_packing_that_first_fit_decreasing_does_not_find_is_called_tight() -> None:
    # Two nodes of 12: 5 + 4 + 3 each. By size 5 + 5 comes first, and leaves 2 that nothing fills.
    parts = [part("five", 2, cpu=5), part("four", 2, cpu=4), part("three", 2, cpu=3)]
    found = packed(parts, pool(2, cpu=12))
    assert (found.fate, found.nodes, found.tight) == (Fate.FITS, {0: 2}, True)


def test_a_search_beyond_its_share_is_unknown_and_leaves_the_rest_of_the_budget() -> None:
    parts = [part("five", 2, cpu=5), part("four", 2, cpu=4), part("three", 2, cpu=3)]
    budget = Budget(100)
    assert pack(parts, [pool(2, cpu=12)], budget).fate is Fate.UNKNOWN
    assert budget.left > 0


@pytest.mark.parametrize(("nodes", "fate"), [(18_752, Fate.FITS), (18_750, Fate.NEVER)])
def test_a_hundred_thousand_pods_cost_no_more_than_a_few(nodes: int, fate: Fate) -> None:
    budget = Budget(STEPS)
    parts = [part("one", 50_000, gpu=1), part("two", 50_000, gpu=2), part("five", 3, gpu=5)]
    assert pack(parts, [pool(nodes, gpu=8)], budget).fate is fate
    assert budget.left > STEPS - 100
