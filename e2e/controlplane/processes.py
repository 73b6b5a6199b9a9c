"""Programs under supervision: started, waited for, paused, killed, stopped; each with a log of its own."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

#: Before our pid and a command: the command dies with us.
DIES_WITH_US: Final = (sys.executable, "-I", "-S", str(Path(__file__).with_name("launch.py")))
#: How often a condition is looked at, seconds.
POLL: Final = 0.05
TAIL: Final = 40

Check = Callable[[], Awaitable[bool]]


class ProgramFailed(Exception):
    """A program ended or did not become ready in time; the text ends with the tail of its log."""


def tail(path: Path, lines: int = TAIL) -> str:
    """The last lines of a log, at most 64 KiB; empty where there is none."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - 65536))
            text = file.read().decode(errors="replace")
    except FileNotFoundError:
        return ""
    return "\n".join(text.splitlines()[-lines:])


async def together(*work: Coroutine[Any, Any, None]) -> None:
    """All at once. When one fails the others are cancelled and awaited, and its own exception is raised."""
    tasks = [asyncio.ensure_future(each) for each in work]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Process:
    """One program. It may be started again after it ended; its log is then continued."""

    def __init__(
        self,
        name: str,
        command: Sequence[str | Path],
        *,
        log: Path,
        env: Mapping[str, str] | None = None,
        inherit: bool = True,
    ) -> None:
        self.name = name
        self.command = [str(part) for part in command]
        self.log = log
        #: Its environment: added to our own, or with ``inherit=False`` all of it.
        self.env = {**(os.environ if inherit else {}), **(env or {})}
        self._popen: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it. In a session of its own: Ctrl-C reaches us alone, and we stop the programs in order."""
        if self.running:
            raise RuntimeError(f"{self.name} runs already")
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            self._popen = subprocess.Popen(
                [*DIES_WITH_US, str(os.getpid()), *self.command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self.env,
                start_new_session=True,
            )

    @property
    def running(self) -> bool:
        return self._popen is not None and self._popen.poll() is None

    @property
    def pid(self) -> int | None:
        return self._popen.pid if self._popen and self.running else None

    @property
    def exit_code(self) -> int | None:
        """Of its last run; negative for a signal; None while it runs or was never started."""
        return self._popen.poll() if self._popen else None

    def signal(self, number: int) -> None:
        """Send a signal; no effect on a program that has ended."""
        if self._popen:
            self._popen.send_signal(number)

    def pause(self) -> None:
        """SIGSTOP: it keeps its connections and does nothing."""
        self.signal(signal.SIGSTOP)

    def resume(self) -> None:
        self.signal(signal.SIGCONT)

    async def ended(self, timeout: float) -> bool:
        """Wait until it has ended, at most ``timeout`` seconds."""
        deadline = time.monotonic() + timeout
        while self.running:
            if time.monotonic() >= deadline:
                return False
            await asyncio.sleep(POLL / 5)
        return True

    async def kill(self) -> None:
        """SIGKILL, and wait."""
        self.signal(signal.SIGKILL)
        await self.ended(10)

    async def stop(self, grace: float = 5.0) -> None:
        """SIGTERM, and SIGKILL where that does not end it in ``grace`` seconds."""
        if not self.running:
            return
        self.resume()
        self.signal(signal.SIGTERM)
        if not await self.ended(grace):
            await self.kill()

    async def ready(self, check: Check, timeout: float) -> None:
        """Wait until ``check`` says yes. Raises :class:`ProgramFailed` if the program ends before, or time is up."""
        deadline = time.monotonic() + timeout
        while not await check():
            if not self.running:
                raise ProgramFailed(self.describe(f"ended with exit code {self.exit_code} instead of becoming ready"))
            if time.monotonic() >= deadline:
                raise ProgramFailed(self.describe(f"was not ready after {timeout:.0f} s"))
            await asyncio.sleep(POLL)

    def describe(self, what: str) -> str:
        """One line, and below it the tail of the log."""
        return f"{self.name} {what}; the end of {self.log}:\n{tail(self.log) or '(empty)'}"
