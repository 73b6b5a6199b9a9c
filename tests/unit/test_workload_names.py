"""What Kueue calls the Workload of a job (reference values of Kueue's own code, pkg/controller/jobframework)."""

import pytest

from classifier.names import names_object, workload_names


def test_the_digest_is_of_kind_group_name_and_uid() -> None:
    assert workload_names("name", "uid", "Job", "batch") == {"job-name-ef3a1"}


def test_a_long_name_is_cut_before_its_digest_to_either_limit() -> None:
    names = workload_names("n" * 253, "uid", "Job", "batch")
    assert sorted(map(len, names)) == [63, 253]
    assert all(name.startswith("job-nnn") and names_object(name) for name in names)
    assert len({name[-6:] for name in names}) == 1


@pytest.mark.parametrize(
    "other", [("name", "uid2", "Job", "batch"), ("name", "uid", "JobSet", "batch"), ("name", "uid", "Job", "")]
)
def test_another_job_of_the_name_has_another_workload(other: tuple[str, str, str, str]) -> None:
    assert not workload_names("name", "uid", "Job", "batch") & workload_names(*other)
