"""Programs under supervision, with real processes."""

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from e2e.controlplane.processes import Process, ProgramFailed, tail, together

SLEEP = [sys.executable, "-c", "import time; print('here', flush=True); time.sleep(600)"]
STUBBORN = [
    sys.executable,
    "-c",
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('here', flush=True); time.sleep(600)",
]


def wait_until(check: Callable[[], bool], timeout: float = 20) -> None:
    deadline = time.monotonic() + timeout
    while not check():
        assert time.monotonic() < deadline
        time.sleep(0.02)


async def started(process: Process) -> Process:
    process.start()

    async def speaks() -> bool:
        return "here" in tail(process.log)

    await process.ready(speaks, 20)
    return process


async def test_a_program_is_stopped_and_may_be_started_again(tmp_path: Path) -> None:
    process = await started(Process("p", SLEEP, log=tmp_path / "p.log"))
    await process.stop()
    assert process.exit_code == -signal.SIGTERM
    process.start()
    assert process.running
    await process.kill()
    assert process.exit_code == -signal.SIGKILL


async def test_a_program_that_ignores_sigterm_is_killed(tmp_path: Path) -> None:
    process = await started(Process("p", STUBBORN, log=tmp_path / "p.log"))
    await process.stop(grace=0.2)
    assert process.exit_code == -signal.SIGKILL


async def test_a_paused_program_can_be_stopped(tmp_path: Path) -> None:
    process = await started(Process("p", SLEEP, log=tmp_path / "p.log"))
    process.pause()
    await process.stop()
    assert not process.running


async def test_a_failed_start_shows_the_program_and_the_end_of_its_log(tmp_path: Path) -> None:
    script = "print('cannot bind: address in use'); raise SystemExit(3)"
    process = Process("etcd", [sys.executable, "-c", script], log=tmp_path / "etcd.log")
    process.start()

    async def never() -> bool:
        return False

    with pytest.raises(ProgramFailed, match=r"etcd ended with exit code 3(.|\n)*cannot bind: address in use"):
        await process.ready(never, 20)


async def test_a_program_sees_only_its_own_environment_if_asked(tmp_path: Path) -> None:
    script = "import os; print(sorted(k for k in os.environ if k in ('HOME', 'PATH', 'MINE')))"
    log = tmp_path / "p.log"
    process = Process("p", [sys.executable, "-c", script], log=log, env={"MINE": "1"}, inherit=False)
    process.start()
    assert await process.ended(20)
    assert tail(log) == "['MINE']"


def dead(pid: int) -> bool:
    """A zombie is dead: whoever has to collect it may not have done so yet."""
    try:
        return "\nState:\tZ" in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_programs_die_with_a_run_that_is_killed(tmp_path: Path) -> None:
    script = f"""
import time
from pathlib import Path
from e2e.controlplane.processes import Process
process = Process("p", {SLEEP!r}, log=Path({str(tmp_path / "p.log")!r}))
process.start()
print(process.pid, flush=True)
time.sleep(600)
"""
    root = Path(__file__).parents[3]
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, cwd=root) as run:
        assert run.stdout is not None
        pid = int(run.stdout.readline())
        wait_until(lambda: "here" in tail(tmp_path / "p.log"))
        run.kill()
    wait_until(lambda: dead(pid))


async def test_when_one_fails_the_others_end_too() -> None:
    cancelled = asyncio.Event()

    async def waits() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    async def fails() -> None:
        raise ProgramFailed("no")

    with pytest.raises(ProgramFailed, match="no"):
        await together(waits(), fails())
    assert cancelled.is_set()
