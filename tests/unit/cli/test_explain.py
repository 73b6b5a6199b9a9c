"""``muster explain`` on files: the vectors of reference/classification.md §D as dumps, and the command's habits."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import ValidationError

from classifier import api
from tests.schemas import check_schema
from tests.unit.cli.conftest import WORLD, Muster, Write, dumped, gang, waiting
from tests.unit.state import test_vectors_ended, test_vectors_orphans, test_vectors_running, test_vectors_stopped
from tests.unit.state.builders import (
    FORBIDDEN,
    JS,
    NAMESPACE,
    TJ,
    WL,
    Captured,
    Input,
    Said,
    Told,
    child_job,
    node,
    pod,
    ready,
)
from tests.unit.state.test_vectors_orphans import Orphan, left, stray

NOW = ("--now", "2026-11-29T10:34:00Z")
FAILED = "Failed=True/FailedJobs: jobset failed"
VECTORS = [
    *test_vectors_ended.VECTORS,
    *test_vectors_running.VECTORS,
    *test_vectors_stopped.VECTORS,
]


def said_by(data: dict[str, Any]) -> Said:
    """A printed observation as the page writes it down."""
    check_schema("explain.json", data)
    run, cause = data["execution"], data["cause"]
    return Said(
        data["state"],
        cause["kind"],
        cause["provenance"],
        cause["detail"],
        run["admission"] + run["restart"] if run else None,
        data["adminHeld"],
        data["holdInstance"],
        data["foreign"],
        data["submission"],
    )


# --- files read as clusters do ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("given", "want"), VECTORS)
def test_a_vector_reads_the_same_from_files(muster: Muster, write: Write, given: Input, want: Said) -> None:
    told = [thing for thing in given.things if isinstance(thing, Told)]
    named = {thing.raw()["metadata"]["name"] for thing in told}
    nodes = [ready(name) for name in ("n1", "n2") if name not in named]
    options = ["-f", write("dump.yaml", *dumped(*told, *nodes)), "--mode", str(given.settings.mode)]
    if gone := [thing.pod.raw() for thing in given.things if isinstance(thing, Captured)]:
        options += ["--captured", write("captured.yaml", *gone)]
    if FORBIDDEN in given.things:
        options.append("--no-nodes")
    for check in sorted(given.settings.capacity_checks):
        options += ["--capacity-check", check]
    ran = muster("explain", "trainjob/train-3", *options, "-o", "json", *NOW)
    assert ran.code == 0, ran.err
    assert said_by(ran.json) == want
    assert ran.json["seenAt"] == "2026-11-29T10:34:00Z"


@pytest.mark.parametrize(
    ("things", "want"), [pytest.param(things, want, id=name) for name, things, want in test_vectors_orphans.VECTORS]
)
def test_an_orphan_reads_the_same_from_files(
    muster: Muster, write: Write, things: list[Told[Any]], want: list[Orphan]
) -> None:
    dump = write("dump.yaml", *dumped(*things))
    ran = muster("explain", "train", "-n", NAMESPACE, "-f", dump, "--mode", "plain", "-o", "json")
    assert ran.code == 0
    check_schema("explain.json", ran.json)
    found = [Orphan(one["ref"]["kind"], one["ref"]["name"], said_by(one)) for one in ran.json]
    assert [orphan for orphan in found if orphan.kind != "TrainJob"] == want


# --- T28, T29, T06: what a person reads -------------------------------------------------------------------------


@pytest.fixture
def lost(write: Write) -> str:
    """T28: a node is silent, and a peer has exited before."""
    silent = node("n2", "Ready=Unknown/NodeStatusUnknown@10:01:00: Kubelet stopped posting node status.")
    return write(
        "dump.yaml",
        *dumped(TJ(), JS(), pod("p0").failed().exit(1), pod("p1").on("n2"), ready("n1"), silent),
    )


def test_T28_the_lines_of_a_lost_node(muster: Muster, lost: str) -> None:
    ran = muster("explain", "trainjob/train-3", "-f", lost, "--mode", "plain", *NOW)
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert lines[:4] == [
        "✗ TrainJob ns/train-3: running (node-lost): a node was lost under it",
        "  since:     2026-11-29T10:01:00Z, 33m ago",
        "  why:       pod p1: node n2 Ready=Unknown: NodeStatusUnknown: Kubelet stopped posting node status.",
        lines[3],
    ]
    assert lines[3].startswith("  evidence:  2026-11-29T10:01:00Z  ")
    assert "  execution: 1 (admission 1, restart 0)" in lines
    assert lines[-1] == "             what is wrong with the node: kubectl describe node n2"
    assert "\x1b[" not in ran.out


def test_T29_without_nodes_the_peer_is_to_blame(muster: Muster, lost: str) -> None:
    ran = muster("explain", "trainjob/train-3", "-f", lost, "--mode", "plain", "--no-nodes", *NOW)
    lines = ran.out.splitlines()
    assert lines[0] == "✗ TrainJob ns/train-3: running (non-zero-exit): one of its processes ended with an error"
    assert "             Nodes could not be read" in lines
    assert "  next:      read the log of the pod that failed first: kubectl logs p0 -n ns -c node" in lines


def test_T06_pods_that_are_gone_are_evidence_from_a_file(muster: Muster, write: Write) -> None:
    dump = write("dump.yaml", *dumped(TJ(FAILED), JS()))
    told = ("explain", "trainjob/train-3", "-f", dump, "--mode", "plain", "-o", "json")
    assert muster(*told).json["cause"]["kind"] == "unknown"
    gone = write("gone.yaml", pod("p0").failed().exit(1).raw())
    assert muster(*told, "--captured", gone).json["cause"] == {
        "kind": "non-zero-exit",
        "provenance": "container",
        "detail": "pod p0: exit code 1",
    }


def test_captured_pods_of_others_are_left_out_and_counted(muster: Muster, write: Write) -> None:
    dump = write("dump.yaml", *dumped(TJ(FAILED), JS()))
    others = [
        pod("other").of_jobset("train-2", "js-9").failed().exit(1),
        pod("older").of_jobset(uid="js-0").failed().exit(1),
        pod("elsewhere").metadata(namespace="other").failed().exit(1),
    ]
    gone = write("gone.yaml", *dumped(*others, pod("p0").failed().exit(3)))
    ran = muster("explain", "trainjob/train-3", "-f", dump, "--mode", "plain", "--captured", gone, "-o", "json")
    assert ran.json["cause"]["detail"] == "pod p0: exit code 3"
    assert ran.err == f"muster: {gone}: 3 of 4 pods were of other jobs, and are left out\n"


@pytest.mark.parametrize("left", [[], [child_job().label("jobset.sigs.k8s.io/jobset-name", "train-3")]], ids=len)
def test_captured_pods_count_though_their_jobset_is_gone(muster: Muster, write: Write, left: list[Told[Any]]) -> None:
    dump = write("dump.yaml", *dumped(TJ(FAILED), *left))
    gone = write("gone.yaml", pod("p0").failed().exit(3).raw())
    ran = muster("explain", "trainjob/train-3", "-f", dump, "--mode", "plain", "--captured", gone, "-o", "json")
    assert (ran.json["cause"]["kind"], ran.err) == ("non-zero-exit", "")


# --- jobs of dispatch -------------------------------------------------------------------------------------------


def test_O2_the_lines_of_a_job_with_orphans(muster: Muster, write: Write) -> None:
    dump = write("dump.yaml", *dumped(TJ(name="train-4").uid("tj-4"), left(), stray()))
    ran = muster("explain", "train", "-f", dump, "--mode", "plain", *NOW)
    assert (ran.code, ran.err) == (0, "")
    heads = [line for line in ran.out.splitlines() if line and not line.startswith(" ")]
    assert heads == [
        "… TrainJob ns/train-4: running: it may run, but nothing of it is there yet",
        "· JobSet ns/train-3: running (unknown): left behind by a job that is gone",
        "· Pod ns/p0: running (unknown): left behind by a job that is gone",
    ]
    assert "  foreign:   JobSet train-3 has no live TrainJob, its owner was uid tj-0" in ran.out
    assert "kubectl delete jobset train-3 -n ns" in ran.out
    assert ran.out.count("\n\n") == 2


@pytest.mark.parametrize("scope", [(), ("-n", "ns")])
def test_a_job_without_objects_is_no_error(muster: Muster, write: Write, scope: tuple[str, ...]) -> None:
    dump = write("dump.yaml", *dumped(TJ()))
    ran = muster("explain", "nobody", "-f", dump, *scope)
    assert (ran.code, ran.out) == (0, "")
    assert "no object of job nobody exists" in ran.err
    assert "trainjob/nobody, job/nobody" in ran.err
    assert len(ran.err.splitlines()) == 1
    told = muster("explain", "nobody", "-f", dump, *scope, "-o", "json")
    assert (told.code, told.json, told.err) == (0, [], "")


def test_without_a_namespace_all_of_the_files_are_searched(muster: Muster, write: Write) -> None:
    both = [TJ(), TJ().metadata(namespace="other")]
    dump = write("dump.yaml", *dumped(*both))
    told = ("-f", dump, "--mode", "plain", "-o", "json")
    assert [one["ref"]["namespace"] for one in muster("explain", "train", *told).json] == ["ns", "other"]
    assert [one["ref"]["namespace"] for one in muster("explain", "train", "-n", "other", *told).json] == ["other"]
    several = muster("explain", "trainjob/train-3", *told)
    assert (several.code, several.out) == (1, "")
    assert "these files hold several trainjobs train-3, ns/train-3, other/train-3; choose with -n" in several.err


def test_another_prefix(muster: Muster, write: Write) -> None:
    body = yaml.safe_dump(TJ().raw()).replace(api.DISPATCH_PREFIX, "example.com/").replace("train-3", "odd")
    dump = write("dump.yaml", body)
    told = ("explain", "train", "-f", dump, "--mode", "plain", "-o", "json")
    assert muster(*told).json == []
    for prefix in ("example.com", "example.com/"):
        assert [one["submission"] for one in muster(*told, "--prefix", prefix).json] == [3]


# --- naming objects ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "target",
    [
        ("trainjob/train-3",),
        ("TrainJob", "train-3"),
        ("trainjobs/train-3",),
        ("trainjobs.trainer.kubeflow.org/train-3",),
        ("trainjob.v1alpha1.trainer.kubeflow.org", "train-3"),
        ("workload/trainjob-train-3-ab12c",),
        ("workloads.kueue.x-k8s.io/trainjob-train-3-ab12c",),
        ("kwl/trainjob-train-3-ab12c",),
    ],
)
def test_an_object_by_any_of_its_names(muster: Muster, write: Write, target: tuple[str, ...]) -> None:
    dump = write("dump.yaml", *dumped(TJ().suspend(), WL("QuotaReserved=False/Pending: no quota")))
    ran = muster("explain", *target, "-f", dump, "-o", "json", *NOW)
    assert (ran.code, ran.err) == (0, "")
    assert (ran.json["ref"]["kind"], ran.json["state"]) == ("TrainJob", "pending")


@pytest.mark.parametrize("kind", ["po", "pod", "pods"])
def test_a_pod_of_a_job_names_what_to_explain_instead(muster: Muster, write: Write, kind: str) -> None:
    dump = write("dump.yaml", *dumped(TJ(), JS(), pod("p0")))
    ran = muster("explain", f"{kind}/p0", "-f", dump, "--mode", "plain", *NOW)
    assert ran.code == 0
    assert "  foreign:   Pod is controlled by Job train-3-node-0" in ran.out
    assert "explain that instead: muster explain job/train-3-node-0 -n ns" in ran.out


def test_wide_names_objects(muster: Muster, write: Write) -> None:
    dump = write("dump.yaml", *dumped(TJ().suspend(), WL("QuotaReserved=False/Pending: no quota")))
    ran = muster("explain", "trainjob/train-3", "-f", dump, "-o", "wide", *NOW)
    assert "  uid:       tj-1" in ran.out
    assert "  workload:  trainjob-train-3-ab12c" in ran.out


def test_a_dump_without_workloads_says_what_it_lacks(muster: Muster, write: Write) -> None:
    dump = write("dump.yaml", *dumped(TJ().suspend()))
    ran = muster("explain", "trainjob/train-3", "-f", dump, *NOW)
    assert "there is no Workload in these files: add them, or say --mode plain" in ran.err
    assert "it names no queue (label kueue.x-k8s.io/queue-name)" in ran.out
    assert muster("explain", "trainjob/train-3", "-f", dump, "--mode", "plain").err == ""


def test_a_dump_without_jobsets_says_what_it_lacks(muster: Muster, write: Write) -> None:
    asked = ("explain", "trainjob/train-3", "--mode", "plain", "-o", "json", "-f")
    told = muster(*asked, write("dump.yaml", *dumped(TJ(), pod("p0"))))
    assert "muster: there is no JobSet in these files: add them, for they tell whose the pods are" in told.err
    assert "no JobSet in these files" not in muster(*asked, write("whole.yaml", *dumped(TJ(), JS(), pod("p0")))).err


def test_provisioning_checks_stand_for_capacity(muster: Muster, write: Write) -> None:
    evicted = WL("Evicted=True/AdmissionCheck: retry").check("prov", "Pending")
    check = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "AdmissionCheck",
        "metadata": {"name": "prov"},
        "spec": {"controllerName": "kueue.x-k8s.io/provisioning-request"},
    }
    alone = write("alone.yaml", *dumped(TJ().suspend(), evicted))
    full = write("full.yaml", *dumped(TJ().suspend(), evicted), check)
    told = ("explain", "trainjob/train-3", "-o", "json", "-f")
    assert muster(*told, alone).json["cause"]["kind"] == "unknown"
    assert muster(*told, alone, "--capacity-check", "prov").json["cause"]["kind"] == "no-capacity"
    assert muster(*told, full).json["cause"]["kind"] == "no-capacity"


def test_a_group_of_pods_is_a_pod_to_programs(muster: Muster, write: Write) -> None:
    """A group is no kind of Kubernetes: its name and UID are those of its oldest pod."""
    group = "kueue.x-k8s.io/pod-group-name"
    dump = write("dump.yaml", *dumped(pod("b").label(group, "gang").born("10:00:00"), pod("a").label(group, "gang")))
    ran = muster("explain", "pod/a", "-f", dump, "--mode", "plain", "-o", "json")
    check_schema("explain.json", ran.json)
    assert ran.json["ref"] == {"kind": "Pod", "namespace": NAMESPACE, "name": "b", "uid": "uid-b"}
    assert "PodGroup ns/b: running" in muster("explain", "pod/a", "-f", dump, "--mode", "plain").out


def test_the_schema_knows_the_kinds_of_kubernetes_alone(muster: Muster, write: Write) -> None:
    ran = muster("explain", "trainjob/train-3", "-f", write("dump.yaml", *dumped(TJ())), "-o", "json")
    with pytest.raises(ValidationError):
        check_schema("explain.json", ran.json | {"ref": ran.json["ref"] | {"kind": "PodGroup"}})


def test_yaml_says_the_same(muster: Muster, lost: str) -> None:
    told = ("explain", "trainjob/train-3", "-f", lost, "--mode", "plain", *NOW, "-o")
    assert yaml.safe_load(muster(*told, "yaml").out) == muster(*told, "json").json


@pytest.mark.parametrize("odd", ["\x1b[2J\x9b31m\u202e", "only\u202eturned"])
def test_nothing_of_a_message_reaches_the_terminal(muster: Muster, write: Write, odd: str) -> None:
    dump = write("dump.yaml", yaml.safe_dump(TJ(f"Failed=True/Odd: {odd}").raw()))
    for form in ((), ("-o", "wide"), ("-o", "json"), ("-o", "yaml")):
        out = muster("explain", "trainjob/train-3", "-f", dump, "--mode", "plain", *form).out
        assert not set("\x1b\x9b\u202e") & set(out)
    for data in ("json", "yaml"):
        out = muster("explain", "trainjob/train-3", "-f", dump, "--mode", "plain", "-o", data).out
        assert odd in yaml.safe_load(out)["cause"]["detail"], "it says it all the same"


# --- beside status ----------------------------------------------------------------------------------------------


def test_status_holds_the_same_observation(muster: Muster, write: Write) -> None:
    dump = write("dump.yaml", WORLD, gang(uid="u1", created="2026-11-29T10:00:00Z"), waiting("train", "u1"))
    status = muster("status", "job/train", "-f", dump, "-o", "json", *NOW).json
    check_schema("status.json", status)
    assert status["observation"] == muster("explain", "job/train", "-f", dump, "-o", "json", *NOW).json
    assert status["observation"]["cause"]["detail"] == "Workload QuotaReserved: Pending: no quota"


def test_a_folder(muster: Muster, write: Write, tmp_path: Path) -> None:
    write("folder/a.yaml", *dumped(TJ()))
    write("folder/b.yaml", *dumped(JS()))
    ran = muster("explain", "trainjob/train-3", "--with", str(tmp_path / "folder"), "--mode", "plain", "-o", "json")
    assert ran.json["cause"]["detail"] == ""
