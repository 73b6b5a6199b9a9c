"""Which resource groups a pod needs a flavor of (reference/kueue.md §6.3)."""

import pytest

from classifier.fit.quota import touched_groups, with_pods
from tests.builders import GPU, ClusterQueueBuilder, cluster_queue


def queue() -> ClusterQueueBuilder:
    return cluster_queue().group(["cpu", "memory"], "spot").group([GPU], "a100").group(["pods"], "count")


def touched(amounts: dict[str, int], *, ignore_undeclared: bool = False) -> tuple[list[str], tuple[str, ...]]:
    groups, uncovered = touched_groups(queue().done(), amounts, ignore_undeclared=ignore_undeclared)
    return [flavor.name for group in groups for flavor in group.flavors or ()], uncovered


@pytest.mark.parametrize(
    ("amounts", "flavors", "uncovered"),
    [
        ({"cpu": 1000}, ["spot"], ()),
        ({GPU: 8, "memory": 1}, ["spot", "a100"], ()),
        ({GPU: 0}, ["a100"], ()),  # Kueue looks for a flavor all the same
        ({"amd.com/gpu": 1, "cpu": 1}, ["spot"], ("amd.com/gpu",)),
        ({"amd.com/gpu": 0}, [], ()),
        ({}, [], ()),
    ],
    ids=[
        "one group",
        "two groups",
        "nothing of a covered resource",
        "uncovered",
        "nothing of an uncovered one",
        "nothing",
    ],
)
def test_groups(amounts: dict[str, int], flavors: list[str], uncovered: tuple[str, ...]) -> None:
    assert touched(amounts) == (flavors, uncovered)


def test_kueue_may_be_told_to_ignore_what_is_not_declared() -> None:
    assert touched({"amd.com/gpu": 1, "cpu": 1}, ignore_undeclared=True) == (["spot"], ())


def test_each_pod_is_one_of_pods_where_the_queue_covers_them() -> None:
    assert with_pods(queue().done(), {"cpu": 1000}) == {"cpu": 1000, "pods": 1}
    assert with_pods(cluster_queue().group(["cpu"], "spot").done(), {"cpu": 1000}) == {"cpu": 1000}


def test_a_queue_may_have_no_groups() -> None:
    assert touched_groups(cluster_queue().done(), {"cpu": 1000}) == ((), ("cpu",))
