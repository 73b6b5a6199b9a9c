"""How much of a flavor a queue may ever use (reference/kueue.md §6.5)."""

from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from classifier.fit.quota import UNLIMITED, QuotaTree
from classifier.objects import ClusterQueue, Cohort, ResourceQuota
from tests.builders import GPU
from tests.unit.fit.quota.trees import cohort, queue

INT64 = 2**63 - 1


def potential(queues: dict[str, ClusterQueue], cohorts: dict[str, Cohort] | None = None, name: str = "mine") -> int:
    return QuotaTree(queues, cohorts or {}).potential(name, "a", GPU)


TREES: dict[str, tuple[dict[str, ClusterQueue], dict[str, Cohort], int]] = {
    "alone it has its own": ({"mine": queue(4)}, {}, 4),
    "alone it borrows from nobody": ({"mine": queue(4, borrowing=3, lending=1)}, {}, 4),
    "a cohort lends all of its members' quota": ({"mine": queue(4, cohort="x"), "other": queue(6, cohort="x")}, {}, 10),
    "and its own": ({"mine": queue(4, cohort="x")}, {"x": cohort(5)}, 9),
    "no more than the borrowing limit": (
        {"mine": queue(4, borrowing=3, cohort="x"), "other": queue(6, cohort="x")},
        {},
        7,
    ),
    "nothing with a borrowing limit of 0": (
        {"mine": queue(4, borrowing=0, cohort="x"), "other": queue(6, cohort="x")},
        {},
        4,
    ),
    "no more than others lend": ({"mine": queue(4, cohort="x"), "other": queue(6, lending=2, cohort="x")}, {}, 6),
    "what is not lent stays one's own": (
        {"mine": queue(4, lending=1, cohort="x"), "other": queue(6, cohort="x")},
        {},
        10,
    ),
    "a lending limit above the quota lends the quota": (
        {"mine": queue(4, cohort="x"), "other": queue(6, lending=9, cohort="x")},
        {},
        10,
    ),
    "the quota of another cohort is out of reach": (
        {"mine": queue(4, cohort="x"), "other": queue(6, cohort="y")},
        {},
        4,
    ),
    "a parent lends what its other children lend it": (
        {"mine": queue(4, cohort="x"), "other": queue(6, cohort="y")},
        {"x": cohort(parent="top"), "y": cohort(parent="top")},
        10,
    ),
    "within the limits of the cohorts between": (
        {"mine": queue(4, cohort="x"), "other": queue(6, cohort="y")},
        {"x": cohort(0, borrowing=3, parent="top"), "y": cohort(0, lending=2, parent="top"), "top": cohort(1)},
        7,
    ),
    "limits of a root mean nothing": (
        {"mine": queue(4, cohort="x"), "other": queue(6, cohort="x")},
        {"x": cohort(1, borrowing=0, lending=0)},
        11,
    ),
    "a cohort may lend where the queue has nothing": (
        {"mine": queue(0, cohort="x"), "other": queue(6, cohort="x")},
        {},
        6,
    ),
    "a Cohort without members lends too": (
        {"mine": queue(1, cohort="x")},
        {"x": cohort(parent="top"), "spare": cohort(7, parent="top")},
        8,
    ),
    "quota as large as int64 is no limit": ({"mine": queue(INT64)}, {}, UNLIMITED),
    "sums end at int64": ({"mine": queue(INT64 - 1, cohort="x"), "other": queue(6, cohort="x")}, {}, UNLIMITED),
    "unlimited quota is lent without limit": (
        {"mine": queue(4, cohort="x"), "other": queue(INT64, cohort="x")},
        {},
        UNLIMITED,
    ),
    "unlimited quota with a lending limit lends nothing": (  # a quirk of Kueue's: unlimited less unlimited is 0
        {"mine": queue(4, cohort="x"), "other": queue(INT64, lending=3, cohort="x")},
        {},
        4,
    ),
}


@pytest.mark.parametrize(("queues", "cohorts", "expected"), TREES.values(), ids=TREES)
def test_potential(queues: dict[str, ClusterQueue], cohorts: dict[str, Cohort], expected: int) -> None:
    assert potential(queues, cohorts) == expected


def test_a_stopped_member_lends_all_the_same() -> None:
    stopped = queue(6, cohort="x")
    assert stopped.spec is not None
    stopped.spec.stop_policy = "HoldAndDrain"
    assert potential({"mine": queue(4, cohort="x"), "other": stopped}) == 10


def test_cpu_is_counted_in_thousandths() -> None:
    tree = QuotaTree({"mine": queue("1500m", resource="cpu")}, {})
    assert tree.potential("mine", "a", "cpu") == 1500


def test_more_cpu_than_int64_holds_in_thousandths_is_no_limit() -> None:
    for quota, expected in ((INT64 // 1000, UNLIMITED), (INT64 // 1000 - 1, (INT64 // 1000 - 1) * 1000)):
        assert QuotaTree({"mine": queue(quota, resource="cpu")}, {}).potential("mine", "a", "cpu") == expected


def test_nominal_is_the_queues_own() -> None:
    tree = QuotaTree({"mine": queue(4, cohort="x"), "other": queue(6, cohort="x")}, {})
    assert tree.nominal("mine", "a", GPU) == 4
    assert tree.nominal("mine", "b", GPU) == 0


class TestWithoutBound:
    """Whatever is not known proves nothing."""

    def test_a_queue_that_is_not_known(self) -> None:
        assert potential({}) == UNLIMITED

    @pytest.mark.parametrize("bad", [queue("x", cohort="x"), queue(6, lending="x", cohort="x"), queue(-1, cohort="x")])
    def test_quota_that_cannot_be_read_anywhere_in_the_tree(self, bad: ClusterQueue) -> None:
        assert potential({"mine": queue(4, cohort="x"), "other": bad}) == UNLIMITED

    def test_cohorts_that_may_not_be_read(self) -> None:
        tree = QuotaTree({"mine": queue(4, cohort="x"), "alone": queue(4)}, {}, cohorts_known=False)
        assert tree.potential("mine", "a", GPU) == UNLIMITED
        assert tree.potential("alone", "a", GPU) == 4

    def test_cohorts_in_a_circle(self) -> None:
        circle = {"x": cohort(parent="y"), "y": cohort(parent="z"), "z": cohort(parent="y")}
        tree = QuotaTree({"mine": queue(4, cohort="x"), "other": queue(4, cohort="top")}, circle)
        assert tree.potential("mine", "a", GPU) == UNLIMITED
        assert tree.circular("mine") == "x"
        assert tree.circular("other") is None

    def test_a_cohort_below_a_circle_that_was_seen_before(self) -> None:
        circle = {"y": cohort(parent="z"), "z": cohort(parent="y"), "x": cohort(parent="y")}
        assert QuotaTree({"mine": queue(4, cohort="x")}, circle).circular("mine") == "x"

    def test_a_cohort_that_is_its_own_parent(self) -> None:
        assert QuotaTree({"mine": queue(4, cohort="x")}, {"x": cohort(parent="x")}).circular("mine") == "x"


def test_ten_thousand_cohorts_above_each_other_are_no_trouble() -> None:
    tall = {str(level): cohort(1, parent=str(level + 1)) for level in range(10_000)}
    assert potential({"mine": queue(4, cohort="0")}, tall) == 10_004


def test_cohorts_without_an_object_are_named() -> None:
    tree = QuotaTree({"mine": queue(4, cohort="x"), "alone": queue(4)}, {"x": cohort(parent="gone")})
    assert tree.missing_cohorts("mine") == ["gone"]
    assert tree.missing_cohorts("alone") == tree.missing_cohorts("nobody") == []


class Node(NamedTuple):
    """A queue, or a cohort with ``children``."""

    nominal: int
    borrowing: int | None
    lending: int | None
    children: "tuple[Node, ...]" = ()


limit = st.none() | st.integers(0, 6)
quotas = (st.integers(0, 6), limit, limit)
leaf = st.builds(Node, *quotas, st.just(()))
tree = st.recursive(
    leaf, lambda below: st.builds(Node, *quotas, st.lists(below, max_size=3).map(tuple)), max_leaves=6
).map(lambda top: top if top.children else Node(0, None, None, (top,)))


def objects(top: Node) -> tuple[dict[str, ClusterQueue], dict[str, Cohort]]:
    """A node without children is a queue; its name is the way to it."""
    queues: dict[str, ClusterQueue] = {}
    cohorts: dict[str, Cohort] = {}

    def make(node: Node, name: str, parent: str) -> None:
        quota: tuple[Any, Any, Any] = node[:3]
        if node.children:
            cohorts[name] = cohort(*quota, parent=parent)
            for index, child in enumerate(node.children):
                make(child, f"{name}.{index}", name)
        else:
            queues[name] = queue(*quota, cohort=parent)

    make(top, "t", "")
    return queues, cohorts


def holds(path: list[Node], demand: int) -> bool:
    """Whether the demand at the end of the path is met: each node keeps what it does not lend, passes the rest on."""
    *above, node = path
    if not above:
        return demand <= subtree(node)
    stored = subtree(node) if node.lending is None else min(subtree(node), node.lending)
    rest = max(0, demand - (subtree(node) - stored))
    return (node.borrowing is None or rest <= stored + node.borrowing) and holds(above, rest)


def subtree(node: Node) -> int:
    lent = (subtree(one) if one.lending is None else min(subtree(one), one.lending) for one in node.children)
    return node.nominal + sum(lent)


def paths(node: Node, before: tuple[Node, ...] = (), name: str = "t") -> list[tuple[str, list[Node]]]:
    here = (*before, node)
    if not node.children:
        return [(name, list(here))]
    return [found for index, child in enumerate(node.children) for found in paths(child, here, f"{name}.{index}")]


@given(tree)
def test_potential_is_the_largest_demand_that_every_ancestor_holds(top: Node) -> None:
    queues, cohorts = objects(top)
    quota = QuotaTree(queues, cohorts)
    for name, path in paths(top):
        assert quota.potential(name, "a", GPU) == max(demand for demand in range(200) if holds(path, demand))


def quotas_of(node: ClusterQueue | Cohort) -> list[ResourceQuota]:
    groups = (node.spec.resource_groups if node.spec else None) or []
    return [one for group in groups for flavor in group.flavors or () for one in flavor.resources or ()]


@given(tree, st.data())
def test_more_quota_or_a_higher_limit_never_takes_any_away(top: Node, data: st.DataObject) -> None:
    queues, cohorts = objects(top)
    before = QuotaTree(queues, cohorts)
    every = [one for queue in queues.values() for one in quotas_of(queue)]
    every += [one for cohort in cohorts.values() for one in quotas_of(cohort)]
    changed = data.draw(st.sampled_from(every))
    field = data.draw(st.sampled_from(["nominal_quota", "borrowing_limit", "lending_limit"]))
    raised = getattr(changed, field)
    asked = {name: before.potential(name, "a", GPU) for name in queues}
    if raised is not None:
        setattr(changed, field, raised + data.draw(st.integers(1, 5)))
    after = QuotaTree(queues, cohorts)
    assert all(after.potential(name, "a", GPU) >= was for name, was in asked.items())
