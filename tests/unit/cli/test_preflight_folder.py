"""``muster preflight`` on a folder of manifests, as a pipeline has it."""

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from classifier.cli import progress
from tests.schemas import check_schema
from tests.unit.cli.conftest import Muster, Write, gang

QUEUE = {"kueue.x-k8s.io/queue-name": "gpu"}
UNSURE = {"kueue.x-k8s.io/queue-name": "no-such-queue"}


def service(name: str = "web") -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": {}}


def jobset(name: str, pods: int, labels: dict[str, str] | None = QUEUE) -> dict[str, Any]:
    template = gang(nodes=pods)["spec"]
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": name, "namespace": "team-a", **({"labels": labels} if labels else {})},
        "spec": {"replicatedJobs": [{"name": "workers", "replicas": 1, "template": {"spec": template}}]},
    }


def pod(name: str, group: str = "", total: int = 0) -> dict[str, Any]:
    extra = {"kueue.x-k8s.io/pod-group-name": group} if group else {}
    notes = {"kueue.x-k8s.io/pod-group-total-count": str(total)} if group else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "team-a", "labels": {**QUEUE, **extra}, "annotations": notes},
        "spec": gang()["spec"]["template"]["spec"],
    }


@pytest.fixture
def folder(write: Write) -> str:
    """Jobs of two kinds, one of them too large, among other things."""
    write("manifests/a/web.yaml", service(), service("other"))
    write("manifests/a/train.yaml", gang("train"))
    write("manifests/b.yaml", jobset("huge", 3), jobset("unqueued", 3, None))
    return write("manifests/c.yaml", gang("small", 1)).rsplit("/", 1)[0]


def rows(out: str) -> dict[str, str]:
    """The verdicts, by name."""
    table = [line.split() for line in out.splitlines() if not line.startswith("preflight:")]
    assert table[0][:4] == ["NAMESPACE", "KIND", "NAME", "VERDICT"]
    return {row[2]: row[3] for row in table[1:]}


def test_all_that_can_be_judged_is_and_the_rest_is_counted(muster: Muster, folder: str, world: str) -> None:
    ran = muster("preflight", "-f", folder, "--with", world)
    assert rows(ran.out) == {
        "train": "fits-after-scale-up",
        "huge": "never-fits",
        "unqueued": "skipped",
        "small": "fits-after-scale-up",
    }
    assert (ran.code, ran.err) == (3, "muster: 3 objects judged, 1 skipped, 2 other documents ignored\n")


def test_json_is_a_list_of_them(muster: Muster, folder: str, world: str) -> None:
    ran = muster("preflight", "-f", folder, "--with", world, "-o", "json")
    check_schema("preflight.json", ran.json)
    assert [(one["ref"]["kind"], one["ref"]["name"]) for one in ran.json] == [
        ("Job", "train"),
        ("JobSet", "huge"),
        ("JobSet", "unqueued"),
        ("Job", "small"),
    ]
    assert ran.code == 3


def test_wide_names_queue_profile_and_the_number_that_binds(muster: Muster, folder: str, world: str) -> None:
    out = muster("preflight", "-f", folder, "--with", world, "-o", "wide").out.splitlines()
    header = next(line for line in out if line.startswith("NAMESPACE"))
    huge = next(line for line in out if " huge " in line)
    cells = {name: huge[header.index(name) :].split("   ")[0].strip() for name in header.split()}
    assert (cells["QUEUE"], cells["PROFILE"], cells["PODSET"], cells["BINDING"]) == (
        "gpu",
        "gpu-a100-8",
        "workers",
        "nodes",
    )
    assert (cells["NEEDS"], cells["LIMIT"], cells["SOURCE"]) == ("3", "2", "CapacityProfile/gpu-a100-8")


def test_wide_names_no_podset_where_only_all_together_decide(muster: Muster, write: Write, world: str) -> None:
    """Two podsets of two pods, each of which fits alone: of the pool's two nodes they need four."""
    both = jobset("both", 2)
    first = both["spec"]["replicatedJobs"][0]
    both["spec"]["replicatedJobs"].append({**first, "name": "servers"})
    write("pair/both.yaml", both)
    path = write("pair/one.yaml", gang("one", 1)).rsplit("/", 1)[0]
    out = muster("preflight", "-f", path, "--with", world, "-o", "wide").out.splitlines()
    header = next(line for line in out if line.startswith("NAMESPACE"))
    rows = {line.split()[2]: line for line in out if line.startswith("team-a")}
    cells = {name: line[header.index("PODSET") : header.index("WHY")].split() for name, line in rows.items()}
    assert cells["both"] == ["-"] * 5
    assert cells["one"][0] == "main"
    assert "gang needs 4 node(s)" in rows["both"]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("a: [1", "broken.yaml: line 2"),
        ("just text", "broken.yaml: document 1 (line 1): a str"),
        ("kind: Job", "no apiVersion"),
        (yaml.safe_dump(gang() | {"spec": 7}), "Job train: "),
        (yaml.safe_dump({"apiVersion": "batch/v1", "kind": "Job", "metadata": {}}), "Job without metadata.name"),
        (b"\xff\xfe".decode("latin-1"), "broken.yaml"),
    ],
)
def test_what_cannot_be_read_is_said_and_the_rest_is_judged(
    muster: Muster, write: Write, folder: str, world: str, text: str, what: str
) -> None:
    Path(folder, "broken.yaml").write_bytes(text.encode("latin-1"))
    ran = muster("preflight", "-f", folder, "--with", world)
    assert len(rows(ran.out)) == 4
    assert ran.code == 1
    first, last = ran.err.splitlines()
    assert what in first
    assert last == "muster: 3 objects judged, 1 skipped, 1 not read, 2 other documents ignored"


def test_of_a_stream_the_documents_beside_a_broken_one_are_judged(muster: Muster, write: Write, world: str) -> None:
    text = yaml.safe_dump_all([gang("first"), ["no object"], gang("third")])
    ran = muster("preflight", "-f", write("stream.yaml", text), "--with", world)
    assert list(rows(ran.out)) == ["first", "third"]
    assert ran.code == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_said(muster: Muster, folder: str, world: str) -> None:
    Path(folder, "c.yaml").chmod(0)
    ran = muster("preflight", "-f", folder, "--with", world)
    assert "c.yaml: Permission denied" in ran.err
    assert ran.code == 1


def test_a_broken_world_is_no_world(muster: Muster, write: Write, folder: str) -> None:
    ran = muster("preflight", "-f", folder, "--with", write("world.yaml", "a: [1"))
    assert (ran.code, ran.out) == (1, "")


def test_a_file_that_is_not_there_keeps_no_other_from_being_judged(muster: Muster, folder: str, world: str) -> None:
    ran = muster("preflight", "-f", folder, "-f", "no-such-file.yaml", "--with", world)
    assert "no-such-file.yaml: No such file" in ran.err
    assert (len(rows(ran.out)), ran.code) == (4, 1)


def test_nothing_that_could_be_judged_is_an_error(muster: Muster, write: Write, world: str) -> None:
    ran = muster("preflight", "-f", write("web.yaml", service()), "--with", world)
    assert ran.code == 1
    assert "no job in it" in ran.err


@pytest.mark.parametrize(("pods", "verdict"), [(2, "fits-after-scale-up"), (3, "never-fits")])
def test_pods_of_one_group_are_one_gang(muster: Muster, write: Write, world: str, pods: int, verdict: str) -> None:
    members = [pod(f"p{number}", "ring", pods) for number in range(pods)]
    path = write("pods.yaml", *members, pod("alone"))
    ran = muster("preflight", "-f", path, "--with", world)
    assert rows(ran.out) == {"ring": verdict, "alone": "fits-after-scale-up"}
    data = muster("preflight", "-f", path, "--with", world, "-o", "json").json
    check_schema("preflight.json", data)
    assert data[0]["ref"]["kind"] == "PodGroup"
    assert data[0]["podSets"][0]["count"] == pods


def test_the_worst_verdict_decides(muster: Muster, write: Write, world: str) -> None:
    path = write("jobs.yaml", gang("fine", 1), gang("unsure", labels=UNSURE))
    assert muster("preflight", "-f", path, "--with", world).code == 4


def test_what_takes_long_says_so(muster: Muster, folder: str, world: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "FIRST", 0.0)
    ran = muster("preflight", "-f", folder, "--with", world)
    assert "muster: still reading files ..." in ran.err
    assert len(rows(ran.out)) == 4


@pytest.mark.parametrize("command", ["preflight", "status", "audit", "explain"])
def test_help_describes_the_command_with_examples_and_exit_codes(muster: Muster, command: str) -> None:
    ran = muster(command, "--help")
    assert ran.code == 0
    text = " ".join(ran.out.split())
    assert f"examples: muster {command}" in text
    assert "exit codes" in text
