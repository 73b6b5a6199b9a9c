"""How ``muster explain`` takes what it is given: usage, standard input, help, and what the documentation shows."""

import asyncio
import signal
import sys
from typing import Any

import pytest

from classifier.cli.target import EXPLAINED
from classifier.state import CauseKind, State
from tests.schemas import SCHEMAS
from tests.unit.cli.conftest import Muster, Write, dumped
from tests.unit.state.builders import (
    JS,
    TJ,
    WL,
    Told,
    pod,
)

FAILED = "Failed=True/FailedJobs: jobset failed"


def test_a_context_whose_namespace_is_none(muster: Muster, write: Write) -> None:
    context = {"name": "c", "context": {"cluster": "c", "user": "u", "namespace": "../../nodes"}}
    config = write("config", {"current-context": "c", "contexts": [context]})
    ran = muster("explain", "train", "--kubeconfig", config)
    assert (ran.code, len(ran.err.splitlines())) == (1, 1)
    assert "the context's namespace '../../nodes' cannot be the name of one; choose another with -n" in ran.err


def test_standard_input_that_is_closed(muster: Muster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)
    ran = muster("explain", "train", "-f", "-")
    assert (ran.code, ran.err) == (1, "muster: standard input is closed; name a file or a folder\n")


def test_standard_input_of_a_pipe(muster: Muster, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    with open(write("dump.yaml", *dumped(TJ(FAILED))), encoding="ascii") as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        ran = muster("explain", "train", "-f", "-", "--mode", "plain", "-o", "json")
    assert [one["state"] for one in ran.json] == ["ended"]


async def test_ctrl_c_ends_the_wait_for_standard_input() -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "classifier.cli.main", "explain", "train", "-f", "-"),
        stdin=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        # As from a terminal: a run in the background inherits that interrupts are ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL) and None,
    )
    assert process.stderr is not None
    try:
        async with asyncio.timeout(30):
            assert await process.stderr.readline() == b"muster: still reading files ...\n"
            process.send_signal(signal.SIGINT)
            assert (await process.wait(), await process.stderr.read()) == (130, b"")
    finally:
        if process.returncode is None:
            process.kill()


@pytest.mark.parametrize(
    ("argv", "code", "says"),
    [
        (("cronjob/x", "-f", "{dump}"), 2, "no explanation for kind 'cronjob'; kinds: appwrapper, jaxjob, job, "),
        (("a/b/c", "-f", "{dump}"), 2, "'a/b/c' does not name one object; write for example job/train"),
        (("trainjob/", "-f", "{dump}"), 2, "does not name one object"),
        (("trainjob/a b", "-f", "{dump}"), 2, "'a b' cannot be a name"),
        (("a?b", "-f", "{dump}"), 2, "'a?b' cannot be a name"),
        (("train", "-w", "-f", "{dump}"), 2, "files do not change; leave it out"),
        (("trainjob/train-3", "-w"), 2, "-w follows a JOB; for one object leave -w out"),
        (("job/train", "-w"), 2, "leave -w out, or muster status job/train -w"),
        (("train", "--captured", "{dump}"), 2, "--captured goes with files; name a dump with -f"),
        (("train", "--no-nodes"), 2, "--no-nodes goes with files; name a dump with -f"),
        (("train", "-f", "-", "--captured", "-"), 2, "standard input can be read once"),
        (
            ("train", "-f", "{dump}", "--context", "c"),
            2,
            "--context has no meaning when the cluster is read from files",
        ),
        (("train", "-f", "{dump}", "--mode", "slurm"), 2, "invalid choice: 'slurm'"),
        (("train", "-f", "{dump}", "--prefix", "a b"), 2, "'a b' is not a prefix such as dispatch.phpboyscout.uk/"),
        (("train", "-n", "../../nodes"), 2, "'../../nodes' cannot be the name of a namespace"),
        (("train", "-n", "ns?watch=1", "-f", "{dump}"), 2, "cannot be the name of a namespace"),
        ((), 2, "the following arguments are required: KIND/NAME | JOB"),
        (("trainjob/none", "-f", "{dump}"), 1, "there is no TrainJob none in these files"),
        (("trainjob/none", "-n", "ns", "-f", "{dump}"), 1, "there is no TrainJob ns/none in these files; see -n"),
        (
            ("workload/lost", "-f", "{dump}"),
            1,
            "Workload lost belongs to TrainJob train-9, which is gone in these files",
        ),
        (("train", "-f", "{dump}", "--captured", "{dump}"), 1, "no Pod in it"),
        (("train", "-f", "none.yaml"), 1, "none.yaml: No such file or directory"),
    ],
)
def test_errors_are_one_line_that_says_what_to_do(
    muster: Muster, write: Write, argv: tuple[str, ...], code: int, says: str
) -> None:
    lost = WL(name="lost", uid="wl-9").owner("tj-9", name="train-9")
    dump = write("dump.yaml", *dumped(TJ(), lost))
    ran = muster("explain", *(word.format(dump=dump) for word in argv))
    assert (ran.code, ran.out) == (code, "")
    assert says in ran.err
    assert len(ran.err.splitlines()) == 1


def test_help_says_how(muster: Muster) -> None:
    top = muster("--help").out
    assert "explain" in top
    own = muster("explain", "--help")
    assert own.code == 0
    for word in ("--captured", "--no-nodes", "--mode", "--prefix", "--capacity-check", "trainjob/train-3"):
        assert word in own.out


def test_the_example_of_the_documentation(muster: Muster, write: Write) -> None:
    ranks = [pod(f"train-3-node-0-{i}").run(1, 1).failed() for i in range(3)]
    ranks[0].exit(1, at="10:00:07", said="NCCL communicator was aborted")
    ranks[1].exit(137, "OOMKilled", at="10:00:05")
    ranks[2].exit(1, at="10:00:08", said="NCCL communicator was aborted")
    job = TJ("Failed=True/FailedJobs@10:00:12: jobset failed")
    admitted = WL("QuotaReserved=True/QuotaReserved", "Admitted=True/Admitted")
    told: list[Told[Any]] = [job, JS(), admitted, *ranks]
    things = [thing.metadata(namespace="team-a") for thing in told]
    dump = write("dump.yaml", *dumped(*things))
    ran = muster("explain", "trainjob/train-3", "-n", "team-a", "-f", dump, "--now", "2026-11-29T10:34:12Z")
    text = (SCHEMAS.parent / "cli.md").read_text("utf-8")
    assert f"$ muster explain trainjob/train-3 -n team-a\n{ran.out}```\n" in text


def test_the_documentation_names_every_kind_state_and_cause() -> None:
    text = (SCHEMAS.parent / "cli.md").read_text("utf-8")
    for name in (*State, *CauseKind, *(resource.kind.lower() for resource in EXPLAINED.values())):
        assert f"`{name}" in text, name
