"""A Workload's podsets are its own."""

from typing import Any

import msgspec
import pytest

from classifier.fit.gang import GangError
from classifier.objects import Workload, WorkloadStatus
from tests.unit.fit.kinds.shapes import made, only, podsets, template


def workload(*pod_sets: dict[str, Any]) -> Workload:
    return made(Workload, {"podSets": list(pod_sets)})


def test_podsets_as_they_stand() -> None:
    driver, workers = podsets(
        workload(
            {"name": "driver", "template": template({"cpu": 1})},
            {"name": "workers", "count": 4, "minCount": 2, "template": template()},
        )
    )
    assert (driver.name, driver.count, driver.min_count, driver.path) == ("driver", 1, 1, "/spec/podSets/0/template")
    assert (workers.name, workers.count, workers.min_count, workers.fewest) == ("workers", 4, 2, 2)
    assert workers.path == "/spec/podSets/1/template"


def test_name_and_count_that_are_absent() -> None:
    assert (only(workload({})).name, only(workload({})).count) == ("main", 1)


@pytest.mark.parametrize(
    ("pod_sets", "says"),
    [
        ([], "spec.podSets has no pods"),
        ([{}, {}], "two podsets of name 'main'"),
        ([{"name": f"a{index}"} for index in range(19)], "19 podsets, more than the 18"),
        ([{"count": -1}], r"spec.podSets\[0\].count is -1"),
        ([{"count": 2, "minCount": 3}], "minCount is 3, not between 1 and its count of 2"),
        ([{"count": 2, "minCount": 0}], "minCount is 0"),
        ([{"name": "a", "minCount": 1}, {"name": "b", "minCount": 1}], "more than one minCount"),
    ],
)
def test_what_kueue_refuses(pod_sets: list[dict[str, Any]], says: str) -> None:
    with pytest.raises(GangError, match=says):
        podsets(workload(*pod_sets))


def test_pods_that_have_ended_are_not_asked_for_again() -> None:
    made_again = workload(
        {"name": "a", "count": 4, "minCount": 3}, {"name": "b", "count": 2}, {"name": "c", "count": 2}
    )
    ended = {"reclaimablePods": [{"name": "a", "count": 2}, {"name": "b", "count": 5}, {"name": "x", "count": 1}]}
    made_again.status = msgspec.convert(ended, WorkloadStatus)
    assert [(one.count, one.min_count, one.fewest) for one in podsets(made_again)] == [(4, 2, 2), (2, 0, 0), (2, 2, 2)]
