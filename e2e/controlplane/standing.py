"""A control plane that outlives the command that started it: one a folder, found again by the folder's lock."""

import asyncio
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, TypedDict

from e2e.controlplane import build
from e2e.controlplane.cluster import Cluster
from e2e.controlplane.processes import tail

#: Held by the process that keeps the cluster; holds its pid.
LOCK: Final = "up.lock"
#: Written when it is up.
STATE: Final = "up.json"
#: Long enough to build everything first, seconds.
START_TIMEOUT: Final = 1800
STOP_TIMEOUT: Final = 30


class StandingError(Exception):
    """It runs already, or it does not; the text says what to do."""


class Also(TypedDict):
    """What is wanted beside the rest: arguments of :class:`Cluster`, and options of ``up``."""

    jobset: bool
    trainer: bool
    kinds: bool


def default_folder() -> Path:
    return build.cache().parent / "up"


def folder_argument(text: str) -> Path:
    return Path(text).expanduser().resolve()


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / LOCK).open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StandingError(
                f"a control plane runs in {folder} already: `down` stops it, --folder starts another"
            ) from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


def _keeper(folder: Path) -> int | None:
    """The pid of the process that holds the lock; None where none does."""
    try:
        with (folder / LOCK).open("r+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return int(file.read())
    except FileNotFoundError:
        pass
    return None


def _state(folder: Path) -> dict[str, Any]:
    if _keeper(folder) is None:
        raise StandingError(f"no control plane runs in {folder}: start one with `up`")
    try:
        state: dict[str, Any] = json.loads((folder / STATE).read_text())
    except FileNotFoundError:
        raise StandingError(f"the control plane in {folder} is still starting") from None
    return state


def kubeconfig(folder: Path) -> Path:
    """Where its administrator's kubeconfig is. Raises :class:`StandingError`."""
    return Path(_state(folder)["kubeconfig"])


def status(folder: Path) -> str:
    """A few lines: where it is, and each program's pid."""
    state = _state(folder)
    lines = [f"up in {folder}", f"server      {state['server']}", f"kubeconfig  {state['kubeconfig']}"]
    for name, pid in state["programs"].items():
        alive = Path(f"/proc/{pid}").exists()
        lines.append(f"{name:20} {f'pid {pid}' if alive else 'has ended'}   {folder / 'logs' / name}.log")
    return "\n".join(lines)


def up(folder: Path, also: Also, *, detach: bool) -> None:
    """Start one and, unless detached, keep it until Ctrl-C or SIGTERM."""
    if detach:
        _detach(folder, [f"--{name}" for name, wanted in also.items() if wanted])
        return
    with _held(folder):
        for old in folder.iterdir():
            if old.name not in (LOCK, "up.log"):
                shutil.rmtree(old) if old.is_dir() else old.unlink()
        with suppress(KeyboardInterrupt):
            asyncio.run(_keep(folder, also))
        (folder / STATE).unlink(missing_ok=True)


async def _keep(folder: Path, also: Also) -> None:
    task = asyncio.current_task()
    if task is None:
        raise RuntimeError("not in a task")
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    with suppress(asyncio.CancelledError):
        async with Cluster(folder, **also) as cluster:
            state = {
                "kubeconfig": str(cluster.kubeconfig),
                "server": cluster.context.server,
                "programs": {name: process.pid for name, process in cluster.processes.items()},
            }
            partial = folder / f".{STATE}"
            partial.write_text(json.dumps(state))
            partial.rename(folder / STATE)
            print(f"export KUBECONFIG={cluster.kubeconfig}", flush=True)
            build.say_on_stderr("Ctrl-C stops it")
            told: set[str] = set()
            while True:
                for name, process in cluster.processes.items():
                    if not process.running and name not in told:
                        told.add(name)
                        build.say_on_stderr(process.describe(f"ended with exit code {process.exit_code}"))
                await asyncio.sleep(1)


def _detach(folder: Path, flags: list[str]) -> None:
    if _keeper(folder) is not None:
        raise StandingError(f"a control plane runs in {folder} already: `down` stops it, --folder starts another")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / STATE).unlink(missing_ok=True)
    # Here rather than in the background, where nobody sees the progress.
    build.ensure()
    log = folder / "up.log"
    with log.open("wb") as output:
        keeper = subprocess.Popen(
            [sys.executable, "-m", "e2e.controlplane", "up", "--folder", str(folder), *flags],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    deadline = time.monotonic() + START_TIMEOUT
    while not (folder / STATE).exists():
        if keeper.poll() is not None or time.monotonic() > deadline:
            raise StandingError(f"it did not start; the end of {log}:\n{tail(log)}")
        time.sleep(0.1)
    print(f"export KUBECONFIG={kubeconfig(folder)}")


def down(folder: Path) -> None:
    """Stop the one in this folder, and wait until it is gone."""
    pid = _keeper(folder)
    if pid is None:
        raise StandingError(f"no control plane runs in {folder}")
    os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + STOP_TIMEOUT
    while _keeper(folder) is not None:
        if time.monotonic() > deadline:
            # Its programs die with it (launch.py).
            os.kill(pid, signal.SIGKILL)
            deadline = time.monotonic() + STOP_TIMEOUT
        time.sleep(0.1)
    print(f"stopped; its files stay in {folder}")
