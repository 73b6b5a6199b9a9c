"""``muster audit``, offline."""

from typing import Any

import pytest
import yaml

from classifier.fence_spec import EXPECTED_BINDING_SPEC, EXPECTED_POLICY_SPEC
from tests.schemas import check_schema
from tests.unit.cli.conftest import WORLD, Muster, Write, gang, waiting

NOW = ("--now", "2026-11-29T10:29:00Z")
FENCE = yaml.safe_dump_all(
    {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": "muster-fence", "creationTimestamp": "2026-11-01T00:00:00Z"},
        "spec": spec,
    }
    for kind, spec in (
        ("ValidatingAdmissionPolicy", EXPECTED_POLICY_SPEC),
        ("ValidatingAdmissionPolicyBinding", EXPECTED_BINDING_SPEC("muster-fence")),
    )
)


@pytest.fixture
def dump(write: Write) -> str:
    return write(
        "dump.yaml",
        WORLD,
        FENCE,
        gang("late", uid="u1"),
        waiting("late", "u1", deadline="2026-11-29T10:28:00Z"),
        gang("soon", uid="u2"),
        waiting("soon", "u2", deadline="2026-11-29T10:30:00Z", labels={"team": "a"}),
        gang("huge", 3, uid="u3"),
        waiting("huge", "u3", deadline="2026-11-29T12:00:00Z"),
        gang("fine", uid="u4"),
        waiting("fine", "u4", deadline="2026-11-29T12:00:00Z"),
    )


def test_the_weightiest_first_and_what_to_do(muster: Muster, dump: str) -> None:
    ran = muster("audit", "-A", "-f", dump, *NOW)
    assert ran.code == 3
    found = [line.split()[:2] for line in ran.out.splitlines() if line.split()[1].startswith("team-a/")]
    assert found == [
        ["never-fits", "team-a/job-huge-abcde"],
        ["deadline-passed", "team-a/job-late-abcde"],
        ["deadline-near", "team-a/job-soon-abcde"],
    ]
    assert "to do: see whether muster-controller is running" in ran.out


def test_json_is_the_contract(muster: Muster, dump: str) -> None:
    ran = muster("audit", "-n", "team-a", "-f", dump, "-o", "json", *NOW)
    check_schema("audit.json", ran.json)
    assert [f["problem"] for f in ran.json] == ["never-fits", "deadline-passed", "deadline-near"]
    assert ran.json[2]["until"] == "2026-11-29T10:30:00Z"
    assert ran.json[2]["owner"] == "Job/soon"
    as_yaml = yaml.safe_load(muster("audit", "-n", "team-a", "-f", dump, "-o", "yaml", *NOW).out)
    assert as_yaml == ran.json


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("team=a", ["soon"]),
        ("team", ["soon"]),
        ("team in (a, b)", ["soon"]),
        ("!team", ["huge", "late"]),
        ("team!=a", ["huge", "late"]),
        ("team notin (a),kueue.x-k8s.io/job-uid==u1", ["late"]),
        ("team=b", []),
    ],
)
def test_selectors(muster: Muster, dump: str, selector: str, names: list[str]) -> None:
    found = muster("audit", "-A", "-f", dump, "-o", "json", "-l", selector, *NOW).json
    assert [f["owner"].removeprefix("Job/") for f in found] == names


def test_a_bad_selector_is_a_usage_error(muster: Muster, dump: str) -> None:
    ran = muster("audit", "-f", dump, "-l", "a=b=c")
    assert ran.code == 2
    assert "'a=b=c' is no label selector" in ran.err


def test_nothing_found(muster: Muster, dump: str) -> None:
    ran = muster("audit", "-n", "elsewhere", "-f", dump, *NOW)
    assert (ran.code, ran.out) == (0, "")
    assert "there is no Workload in namespace elsewhere" in ran.err
    assert muster("audit", "-n", "elsewhere", "-f", dump, "-o", "json", *NOW).json == []


def test_a_missing_fence_is_why_a_deadline_passed(muster: Muster, write: Write) -> None:
    late = (WORLD, gang("late", uid="u1"), waiting("late", "u1", deadline="2026-11-29T10:28:00Z"))
    ran = muster("audit", "-f", write("a.yaml", *late), *NOW)
    assert "nobody ended the wait; the fence muster-fence may not be read" in ran.out, "a dump need not hold policies"
    policies = FENCE.replace("name: muster-fence", "name: another")
    ran = muster("audit", "-f", write("b.yaml", *late, policies), *NOW)
    assert "not enforced: ValidatingAdmissionPolicy muster-fence does not exist" in ran.out


def test_a_queue_that_is_not_there_is_why_nothing_bounds_the_wait(muster: Muster, write: Write) -> None:
    lost = waiting("lost", "u1")
    lost["spec"]["queueName"] = "gppu"
    path = write("lost.yaml", WORLD, FENCE, gang("lost", uid="u1"), lost)
    (found,) = muster("audit", "-A", "-f", path, "-o", "json", *NOW).json
    assert (found["problem"], found["why"]) == (
        "unbounded",
        "no bound on its wait: LocalQueue team-a/gppu does not exist",
    )
    assert found["advice"] == "make that LocalQueue, or have the job name one that exists"


def test_a_workload_of_a_kind_that_is_not_bounded(muster: Muster, write: Write) -> None:
    workload = waiting("ray", "u9")
    workload["metadata"]["ownerReferences"][0] |= {"apiVersion": "ray.io/v1", "kind": "RayService"}
    ran = muster("audit", "-A", "-f", write("d.yaml", WORLD, FENCE, workload), "-o", "json", *NOW)
    assert [(f["problem"], f["owner"]) for f in ran.json] == [("unbounded", "RayService/ray")]


def queued(name: str, owner: dict[str, Any] | None, pods: int) -> dict[str, Any]:
    """A pending Workload of so many pods that fill a node each."""
    made = waiting(name, f"u-{name}")
    made["metadata"]["ownerReferences"] = [owner] if owner else []
    made["spec"]["podSets"] = [{"name": "main", "count": pods, "template": gang()["spec"]["template"]}]
    return made


@pytest.mark.parametrize(
    "owner",
    [
        {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "name": "x", "uid": "u", "controller": True},
        {"apiVersion": "batch/v1", "kind": "Job", "name": "gone", "uid": "u", "controller": True},
        None,
    ],
    ids=["JobSet", "a Job that is not there", "nobody"],
)
def test_what_can_never_fit_is_listed_whoever_owns_it(
    muster: Muster, write: Write, world: str, owner: dict[str, Any] | None
) -> None:
    dump = write("dump.yaml", queued("huge", owner, 3), queued("fine", owner, 2))
    ran = muster("audit", "-f", dump, "--with", world, "-o", "json")
    check_schema("audit.json", ran.json)
    found = {one["workload"]: one for one in ran.json}
    huge, fine = found["team-a/job-huge-abcde"], found["team-a/job-fine-abcde"]
    assert (huge["problem"], huge["why"]) == ("never-fits", "gang needs 3 node(s) of gpupool (max 2)")
    assert "16 nvidia.com/gpu" in huge["advice"]
    assert fine["problem"] in ("unbounded", "unknown")
    assert ran.code == 3


def test_status_tells_the_verdict_of_now_not_that_of_submit(muster: Muster, write: Write, world: str) -> None:
    stamped = {"muster.dev/preflight": "fits: gang needs 3 node(s) of gpupool (max 4)"}
    dump = write("dump.yaml", gang("huge", 3, uid="u1", annotations=stamped), waiting("huge", "u1"))
    ran = muster("status", "job/huge", "-f", dump, "--with", world)
    assert "gang needs 3 node(s) of gpupool (max 2): cannot fit" in ran.out
    listed = muster("audit", "-f", dump, "--with", world)
    assert listed.out.splitlines()[1].startswith("never-fits")
