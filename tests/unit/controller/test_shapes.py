"""What is kept of podsets: of what waits, once for all that are alike, and no longer than it waits."""

import gc
from typing import Any

import pytest

from classifier import api
from classifier.objects import PodSet, Workload
from controller.shapes import Shapes, Waiting
from controller.trim import trim_workload
from tests.builders import WorkloadBuilder, workload

JOB_NAME = "batch.kubernetes.io/job-name"


def waiting(name: str = "one", affinity: Any = None) -> WorkloadBuilder:
    made = workload(name).podset("main", 2)
    template = made.spec["podSets"][0]["template"]
    template["metadata"] = {"labels": {JOB_NAME: name}, "annotations": {"example.com/run": name}}
    template["spec"]["affinity"] = affinity
    return made


def podsets(trimmed: Workload) -> list[PodSet]:
    assert isinstance(trimmed, Waiting)
    assert trimmed.shape is not None
    assert trimmed.spec is not None
    assert trimmed.spec.pod_sets is None
    return trimmed.shape.podsets()


def test_those_that_differ_in_names_alone_share_one_shape() -> None:
    shapes = Shapes()
    kept = [trim_workload(waiting(f"w{number}").done(), shapes) for number in range(20)]
    assert len(shapes) == 1
    (found,) = podsets(kept[0])
    assert (found.name, found.count) == ("main", 2)


def test_a_shape_goes_with_the_last_that_has_it() -> None:
    shapes = Shapes()
    kept = [trim_workload(waiting(f"w{number}").done(), shapes) for number in range(2)]
    for left in (1, 0):
        kept.pop()
        gc.collect()
        assert len(shapes) == left


def test_labels_count_where_pods_keep_away_from_pods() -> None:
    apart: Any = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": []}}
    shapes = Shapes()
    kept = [trim_workload(waiting(name, apart).done(), shapes) for name in ("one", "two")]
    assert len(shapes) == 2
    (found,) = podsets(kept[0])
    assert found.template is not None
    assert found.template.metadata is not None
    assert found.template.metadata.labels == {JOB_NAME: "one"}


@pytest.mark.parametrize(
    "other",
    [
        waiting().condition(api.QUOTA_RESERVED, True),
        waiting().condition(api.FINISHED, True),
        waiting().active(False),
        waiting().label(api.MULTIKUEUE_ORIGIN, "manager"),
    ],
    ids=["admitted", "finished", "inactive", "remote copy"],
)
def test_of_what_does_not_wait_nothing_is_kept(other: WorkloadBuilder) -> None:
    shapes = Shapes()
    trimmed = trim_workload(other.done(), shapes)
    assert not isinstance(trimmed, Waiting)
    assert trimmed.spec is not None
    assert trimmed.spec.pod_sets is None
    assert len(shapes) == 0


def test_what_was_evicted_waits_again() -> None:
    again = waiting().condition(api.QUOTA_RESERVED, False).condition(api.ADMITTED, False)
    assert podsets(trim_workload(again.done(), Shapes()))
