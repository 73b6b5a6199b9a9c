"""One podset a replicated Job, and which of them run at one time."""

from typing import Any

import msgspec
import pytest

from classifier.fit.gang import GangError
from classifier.objects import JobSet
from tests.unit.fit.kinds.shapes import counts, made, podsets, template


def jobset(*jobs: dict[str, Any]) -> JobSet:
    return made(JobSet, {"replicatedJobs": list(jobs)})


def step(name: str, *after: tuple[str, str], replicas: int | None = None, **spec: Any) -> dict[str, Any]:
    job: dict[str, Any] = {"name": name, "template": {"spec": {"template": template(), **spec}}}
    if replicas is not None:
        job["replicas"] = replicas
    if after:
        job["dependsOn"] = [{"name": name, "status": status} for name, status in after]
    return job


@pytest.mark.parametrize(
    ("job", "count"),
    [
        (step("a"), 1),
        (step("a", replicas=3), 3),
        (step("a", parallelism=4), 4),
        (step("a", replicas=3, parallelism=4), 12),
        (step("a", replicas=3, parallelism=4, completions=2), 6),
        (step("a", replicas=0, parallelism=4), 0),
        ({"name": "a"}, 1),
    ],
)
def test_replicas_times_the_pods_of_one_job(job: dict[str, Any], count: int) -> None:
    assert counts(jobset(job)) == {"a": count}


def test_as_many_podsets_as_a_workload_may_have() -> None:
    assert len(counts(jobset(*(step(f"a{index}") for index in range(18))))) == 18


def test_every_replicated_job_in_order_and_in_lower_case() -> None:
    assert list(counts(jobset(step("leader"), step("Worker", replicas=2)))) == ["leader", "worker"]
    assert [podset.path for podset in podsets(jobset(step("a"), step("b")))] == [
        "/spec/replicatedJobs/0/template/spec/template",
        "/spec/replicatedJobs/1/template/spec/template",
    ]


@pytest.mark.parametrize(
    ("jobs", "stages"),
    [
        ([step("a"), step("b")], [0, 0]),
        ([step("a"), step("b", ("a", "Complete"))], [0, 1]),
        ([step("a"), step("b", ("a", "Ready"))], [0, 0]),
        # Those that wait for one another run together.
        ([step("a"), step("b", ("a", "Complete")), step("c", ("a", "Complete"))], [0, 1, 1]),
        ([step("a"), step("b", ("a", "Complete")), step("c", ("b", "Ready"))], [0, 1, 1]),
        # Those that wait for different ones may never meet.
        ([step("a"), step("b"), step("c", ("a", "Complete")), step("d", ("b", "Complete"))], [0, 0, 1, 2]),
        ([step("a"), step("b", ("a", "Complete")), step("c", ("b", "Complete"))], [0, 1, 2]),
    ],
)
def test_what_starts_when_others_have_completed_is_a_stage_of_its_own(
    jobs: list[dict[str, Any]], stages: list[int]
) -> None:
    assert [podset.stage for podset in podsets(jobset(*jobs))] == stages


@pytest.mark.parametrize(
    ("jobs", "says"),
    [
        ([], "spec.replicatedJobs has no pods"),
        ([step("a"), step("A")], "two podsets of name 'a'"),
        ([step("")], "a podset without a name"),
        ([step(f"a{index}") for index in range(19)], "19 podsets, more than the 18 of a Workload"),
        ([step("a", replicas=-1)], r"spec.replicatedJobs\[0\].replicas is -1, less than 0"),
        ([step("a", parallelism=-1)], r"spec.replicatedJobs\[0\].template.spec.parallelism is -1"),
        ([step("a", replicas=2**20, parallelism=2**20)], "the number of pods of .* is 1099511627776, more than"),
    ],
)
def test_what_no_workload_can_be_made_of(jobs: list[dict[str, Any]], says: str) -> None:
    with pytest.raises(GangError, match=says):
        counts(jobset(*jobs))


def test_jobs_of_a_set_that_have_succeeded_are_not_needed_again() -> None:
    jobs = [
        {"name": "a", "replicas": 3, "template": {"spec": {"parallelism": 2}}},
        {"name": "b", "template": {"spec": {"parallelism": 5}}},
        {"name": "c", "replicas": 0},
    ]
    done = [{"name": "a", "succeeded": 2}, {"name": "b", "succeeded": 1}, {"name": "c", "succeeded": 1}, {"name": "x"}]
    raw = {"spec": {"replicatedJobs": jobs}, "status": {"replicatedJobsStatus": done}}
    found = podsets(msgspec.convert(raw, JobSet))
    assert [(one.count, one.min_count) for one in found] == [(6, 2), (5, 0), (0, 0)]
