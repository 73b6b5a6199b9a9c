"""``muster status``, offline, and the command's habits."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from classifier.cli.output import colours, paint
from tests.schemas import check_schema
from tests.unit.cli.conftest import WORLD, Muster, Write, gang, waiting

NOW = ("--now", "2026-11-29T10:00:40Z")
CREATED = "2026-11-29T10:00:00Z"


@pytest.fixture
def dump(write: Write) -> str:
    return write(
        "dump.yaml",
        WORLD,
        gang(uid="u1", created=CREATED),
        waiting("train", "u1", deadline="2026-11-29T10:30:00Z"),
    )


def test_the_phases_of_a_dump(muster: Muster, dump: str) -> None:
    ran = muster("status", "job/train", "-n", "team-a", "-f", dump, *NOW)
    assert (ran.code, ran.err) == (0, "")
    assert "  ✓ Submitted              Job applied (suspended)" in ran.out
    assert (
        "  … Quota reserved         waiting 40s in LocalQueue gpu of ClusterQueue gpu-a100; Kueue: no quota; "
        "deadline in 29m20s"
    ) in ran.out
    assert "\x1b[" not in ran.out


@pytest.mark.parametrize("target", [("job/train",), ("jobs.batch/train",), ("Job", "train")])
def test_json_is_the_contract(muster: Muster, dump: str, target: tuple[str, ...]) -> None:
    ran = muster("status", *target, "-n", "team-a", "--with", dump, "-o", "json", *NOW)
    check_schema("status.json", ran.json)
    assert ran.json["ref"] == {"kind": "Job", "namespace": "team-a", "name": "train", "uid": "u1"}
    assert ran.json["deadline"] == {
        "at": "2026-11-29T10:30:00Z",
        "startedAt": CREATED,
        "timeout": "30m",
        "source": "CapacityProfile/gpu-a100-8",
        "committedAt": None,
    }


def test_nothing_of_a_message_reaches_the_terminal(muster: Muster, write: Write) -> None:
    workload = waiting("train", "u1")
    workload["status"]["conditions"][0]["message"] = "no \x1b[2J\x9bquota\u202e"
    path = write("odd.yaml", WORLD, gang(uid="u1", created=CREATED), workload)
    for form in ((), ("-o", "json")):
        ran = muster("status", "job/train", "-f", path, *form, *NOW)
        assert not set("\x1b\x9b\u202e") & set(ran.out)
    assert "no \x1b[2J\x9bquota\u202e" in ran.json["observation"]["cause"]["detail"], "JSON says it all the same"


def test_provisioning_checks_stand_for_capacity(muster: Muster, write: Write) -> None:
    workload = waiting("train", "u1")
    workload["status"] = {
        "conditions": [{"type": "Evicted", "status": "True", "reason": "AdmissionCheck", "message": "again"}],
        "admissionChecks": [{"name": "capacity", "state": "Pending"}],
    }
    path = write("evicted.yaml", WORLD, gang(uid="u1", created=CREATED), workload)
    told = muster("status", "job/train", "-f", path, "-o", "json", *NOW).json
    assert told["observation"]["cause"]["kind"] == "no-capacity"


def test_now_fixes_the_clock(muster: Muster, dump: str) -> None:
    at = ("status", "job/train", "-n", "team-a", "-f", dump, "--now")
    assert "deadline in 1m" in muster(*at, "2026-11-29T10:29:00Z").out
    assert "deadline passed 1m ago" in muster(*at, "2026-11-29T10:31:00Z").out
    assert muster(*at, "2026-11-29T10:29:00Z").out == muster(*at, "2026-11-29T10:29:00Z").out


@pytest.mark.parametrize(
    ("argv", "code", "says"),
    [
        (("status", "job/none", "-n", "team-a"), 1, "there is no Job team-a/none in these files; see -n"),
        (("status", "train"), 2, "'train' does not name one object; write for example job/train"),
        (("status", "cronjob/x"), 2, "no status for kind 'cronjob'; kinds: job\n"),
        (("status", "trainjob/x"), 2, "no status for kind 'trainjob'; kinds: job; try muster explain trainjob/x\n"),
        (("status", "job/train", "-w"), 2, "files do not change; leave it out"),
        (("status", "job/train", "--context", "c"), 2, "--context has no meaning when the cluster is read from files"),
        (("status", "job/train", "--now", "noon"), 2, "'noon' is not an RFC 3339 time"),
        (("status", "job/train", "--as-group", "g"), 2, "--as-group needs --as; name the user too"),
        (("status", "job/train", "--as", "a\nb"), 2, "holds control characters"),
        (("status", "job/train", "-o", "xml"), 2, "invalid choice: 'xml'"),
    ],
)
def test_errors_are_one_line_that_says_what_to_do(
    muster: Muster, dump: str, argv: tuple[str, ...], code: int, says: str
) -> None:
    ran = muster(*argv, "-f", dump)
    assert ran.code == code
    assert says in ran.err
    assert len(ran.err.splitlines()) == 1
    assert ran.out == ""


def test_no_cluster_is_one_line_too(muster: Muster) -> None:
    ran = muster("status", "job/train", "-n", "team-a")
    assert ran.code == 1
    assert "--kubeconfig" in ran.err
    assert len(ran.err.splitlines()) == 1


def test_libraries_add_no_line_of_their_own(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "classifier.cli.main", "explain", "train"]
    environment = {**os.environ, "HOME": str(tmp_path)}
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
        environment.pop(name, None)
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert len(ran.stderr.splitlines()) == 1, ran.stderr


def test_a_cluster_that_does_not_answer(muster: Muster, write: Write) -> None:
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
        "users": [{"name": "c", "user": {}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c", "namespace": "from-context"}}],
    }
    ran = muster("status", "job/train", "--kubeconfig", write("config", config))
    assert (ran.code, ran.out) == (1, "")
    assert "no answer from http://127.0.0.1:1 to GET /apis/batch/v1/namespaces/from-context/jobs/train" in ran.err
    assert ran.err.endswith("; is the cluster up, and is this the right --context?\n")
    assert len(ran.err.splitlines()) == 1


def test_help_and_missing_command(muster: Muster) -> None:
    assert muster("--help").code == 0
    assert muster("status", "--help").code == 0
    assert muster().code == 2


def test_usage_names_the_command_as_it_is_typed(muster: Muster, monkeypatch: pytest.MonkeyPatch) -> None:
    for called, typed in (("/usr/local/bin/muster", "muster"), ("/usr/local/bin/kubectl-muster", "kubectl muster")):
        monkeypatch.setattr("sys.argv", [called])
        assert muster("status").err.startswith(f"{typed} status: the following arguments are required")


@pytest.mark.parametrize("command", ["status", "explain", "preflight", "audit"])
def test_an_unknown_option_is_told_by_the_command_that_got_it(muster: Muster, command: str) -> None:
    ran = muster(command, *([] if command in ("audit", "preflight") else ["job/train"]), "--nonsense")
    assert ran.code == 2
    assert ran.err.splitlines()[-1].startswith(f"muster {command}: ")
    assert ran.err.endswith(f"see muster {command} --help\n")


def test_colours_only_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal:
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert colours(terminal)  # type: ignore[arg-type]  # isatty is all that is asked
    monkeypatch.setenv("NO_COLOR", "1")
    assert not colours(terminal)  # type: ignore[arg-type]  # likewise
    assert paint("  ✗ Running                Failed") == "  \x1b[31m✗\x1b[0m Running                Failed"
    assert paint("✓ TrainJob ns/x: ended") == "\x1b[32m✓\x1b[0m TrainJob ns/x: ended"
    assert paint("Node pool gpupool: 0/2 nodes") == "Node pool gpupool: 0/2 nodes"
