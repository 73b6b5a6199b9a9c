"""The command line as people run it: a process of its own."""

import asyncio
import json
import os
import signal
import sys
from typing import Any, NamedTuple

from e2e.controlplane.cluster import Cluster


def _interruptible() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Ran(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Shell:
    """Runs ``muster`` against a cluster, as its administrator."""

    def __init__(self, cluster: Cluster) -> None:
        self._environment = {**os.environ, "KUBECONFIG": str(cluster.kubeconfig), "PYTHONIOENCODING": "utf-8"}

    async def start(self, *argv: str) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "classifier.cli.main",
            *argv,
            env=self._environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            # As from a terminal: a run in the background inherits that interrupts are ignored.
            preexec_fn=_interruptible,
        )

    async def until(self, process: asyncio.subprocess.Process, text: str) -> str:
        """Read lines until one holds ``text``; everything read so far."""
        assert process.stdout is not None
        said = ""
        async with asyncio.timeout(60):
            while text not in said:
                line = await process.stdout.readline()
                assert line, f"muster ended before it said {text!r}; it said:\n{said}"
                said += line.decode()
        return said

    async def end(self, process: asyncio.subprocess.Process, said: str = "") -> Ran:
        """Wait for its end; ``said`` is what was read before."""
        try:
            async with asyncio.timeout(60):
                out, err = await process.communicate()
        except TimeoutError:
            process.kill()
            out, err = await process.communicate()
            raise AssertionError(f"muster did not end; it said:\n{out.decode()}\n{err.decode()}") from None
        assert process.returncode is not None
        return Ran(process.returncode, said + out.decode(), err.decode())

    async def run(self, *argv: str) -> Ran:
        return await self.end(await self.start(*argv))
