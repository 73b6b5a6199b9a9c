"""One podset of parallelism pods, limited by completions."""

import msgspec
import pytest

from classifier import api
from classifier.fit.gang import GangError
from classifier.objects import Job
from tests.unit.fit.kinds.shapes import made, only, template


@pytest.mark.parametrize(
    ("spec", "count"),
    [
        ({}, 1),
        ({"parallelism": 3}, 3),
        ({"completions": 5}, 1),
        ({"parallelism": 3, "completions": 2}, 2),
        ({"parallelism": 0}, 0),
        (None, 1),
    ],
)
def test_pods_that_run_at_once(spec: dict[str, int] | None, count: int) -> None:
    podset = only(made(Job, spec))
    assert (podset.name, podset.count, podset.min_count) == ("main", count, count)


@pytest.mark.parametrize(
    ("text", "least"),
    [("2", 2), ("+2", 2), ("0", 4), ("4", 4), ("9", 4), ("two", 4), ("²", 4), ("9" * 5000, 4), ("0" * 5000 + "2", 2)],
)
def test_partial_admission_starts_as_few_as_the_annotation_says(text: str, least: int) -> None:
    assert only(made(Job, {"parallelism": 4}, annotations={api.MIN_PARALLELISM: text})).min_count == least


@pytest.mark.parametrize(
    ("number", "least"), [(2**32 + 2, 2), (2**32, 4), (2**31 + 1, 4), (2**63 - 2**32 + 3, 3), (2**63 + 2, 4)]
)
def test_a_least_parallelism_past_32_bits_is_what_kueue_keeps_of_it(number: int, least: int) -> None:
    assert only(made(Job, {"parallelism": 4}, annotations={api.MIN_PARALLELISM: str(number)})).min_count == least


def test_an_elastic_job_starts_as_few_as_one() -> None:
    assert only(made(Job, {"parallelism": 4}, annotations={api.ELASTIC_JOB: "true"})).min_count == 1
    assert only(made(Job, {"parallelism": 0}, annotations={api.ELASTIC_JOB: "true"})).min_count == 0


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ({"parallelism": -1}, "spec.parallelism is -1, less than 0"),
        ({"completions": -2}, "spec.completions is -2, less than 0"),
        ({"parallelism": 2**31}, "spec.parallelism is 2147483648, more than 2147483647"),
    ],
)
def test_counts_the_api_server_refuses(spec: dict[str, int], says: str) -> None:
    with pytest.raises(GangError, match=says):
        only(made(Job, spec))


def test_the_template_and_where_it_stands() -> None:
    podset = only(made(Job, {"template": template({"cpu": 1})}))
    assert podset.path == "/spec/template"
    assert podset.namespace == "team"
    assert podset.spec.containers is not None
    assert only(made(Job, {})).path is None  # no labels can be put on what is not there


@pytest.mark.parametrize(
    ("spec", "status", "least"),
    [
        ({"parallelism": 4, "completions": 6}, {"succeeded": 1}, 4),
        ({"parallelism": 4, "completions": 6}, {"succeeded": 4}, 2),
        ({"parallelism": 4, "completions": 6}, {"succeeded": 9}, 0),
        ({"parallelism": 4}, {"succeeded": 3}, 1),
        ({"parallelism": 4, "completions": 4}, {"succeeded": 1, "failedIndexes": "0-2"}, 0),
        ({"parallelism": 4, "completions": 4}, {"failed": 3}, 4),
    ],
)
def test_a_job_that_runs_again_needs_no_pods_that_have_ended(
    spec: dict[str, int], status: dict[str, object], least: int
) -> None:
    podset = only(msgspec.convert({"spec": spec, "status": status}, Job))
    assert (podset.min_count, podset.fewest, podset.count) == (least, least, 4)
