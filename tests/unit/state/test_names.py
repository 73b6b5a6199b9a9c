"""Which job and submission an object belongs to (reference/classification.md §C11, §C13, F27)."""

from collections.abc import Callable
from typing import Any

import pytest

from classifier.objects import Job, Meta, Metadata, Pod, TrainJob
from classifier.state import Settings, job_of, submission_of
from classifier.state.names import submission_in

P = Settings().prefix
SETTINGS = Settings()


def made(type_: Callable[..., Any], name: str, job: str | None = None, submission: str | None = None) -> Meta:
    labels = {P + "job-id": job, P + "submission": submission}
    meta: Meta = type_(metadata=Metadata(name=name, labels={k: v for k, v in labels.items() if v is not None} or None))
    return meta


@pytest.mark.parametrize(
    ("obj", "job", "submission"),
    [
        (made(TrainJob, "train-3"), "train", 3),
        (made(TrainJob, "train-big-12"), "train-big", 12),
        (made(TrainJob, "train-3", "other", "9"), "train", 3),
        (made(TrainJob, "train-3-4"), "train-3", 4),
        (made(TrainJob, "solo"), None, None),
        (made(TrainJob, "solo", "train", "4"), "train", 4),
        (made(TrainJob, "solo", "", ""), None, None),
        (made(TrainJob, "solo", "train", "four"), "train", None),
        (made(TrainJob, "-3"), None, None),
        (made(TrainJob, "3"), None, None),
        (made(TrainJob, "train-"), None, None),
        (made(TrainJob, "train-3x"), None, None),
        (made(TrainJob, "train-\u0663"), None, None),
        (made(TrainJob, "train-3\n"), None, None),
        (made(TrainJob, "train-99999999999999999999"), None, None),
        (made(TrainJob, f"train-{'9' * 5000}", "train", "4"), "train", 4),
        (made(Job, "pi-2024"), None, None),
        (made(Job, "pi-2024", "pi"), "pi", 2024),
        (made(Job, "pi-2024", "pi-2024", "7"), "pi-2024", 7),
        (made(Job, "anything", "pi", "7"), "pi", 7),
        (made(Pod, "train-3-node-0-0-24567", "train", "3"), "train", 3),
    ],
)
def test_job_and_submission(obj: Meta, job: str | None, submission: int | None) -> None:
    assert (job_of(obj, SETTINGS), submission_of(obj, SETTINGS)) == (job, submission)


@pytest.mark.parametrize(
    ("name", "job", "want"),
    [
        ("train-3", "train", 3),
        ("train-big-3", "train", None),
        ("train-big-3", "train-big", 3),
        ("train3", "train", None),
        ("train", "train", None),
        ("train-", "train", None),
        ("train-3-0", "train", None),
        ("-3", "", 3),
    ],
)
def test_F27_a_name_is_the_jobs_only_with_nothing_but_digits(name: str, job: str, want: int | None) -> None:
    assert submission_in(name, job) == want


def test_the_prefix_is_configuration() -> None:
    settings = Settings(prefix="example.com/")
    obj = TrainJob(metadata=Metadata(name="solo", labels={"example.com/job-id": "a", "example.com/submission": "2"}))
    assert (job_of(obj, settings), submission_of(obj, settings)) == ("a", 2)
    assert job_of(obj, SETTINGS) is None
