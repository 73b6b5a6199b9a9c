"""Our side of the egress proxy: which process stands for which Service, and which Service is broken on purpose."""

import asyncio
import json
import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Final

from e2e.controlplane.processes import Process, ProgramFailed

PROXY: Final = Path(__file__).with_name("egress_proxy.py")


class Fault(StrEnum):
    """How a Service is broken. All of them reach connections that are open already."""

    HANG = "hang"  # connections open and nothing ever comes back
    RESET = "reset"  # connections open and break at once
    REFUSE = "refuse"  # no connection, as with no ready endpoint


class Egress:
    """The table of Services. It is sent whole after each change, so a restarted proxy needs one :meth:`push`."""

    def __init__(self, folder: Path, logs: Path) -> None:
        self.socket = folder / "egress.sock"
        self._control = folder / "egress-control.sock"
        self.process = Process(
            "egress", [sys.executable, "-I", PROXY, self.socket, self._control], log=logs / "egress.log"
        )
        self._backends: dict[str, list[str]] = {}
        self._faults: dict[str, Fault] = {}
        self._stand_ins: dict[str, str] = {}

    @property
    def config(self) -> dict[str, object]:
        """The API server's ``EgressSelectorConfiguration``."""
        transport = {"uds": {"udsName": str(self.socket)}}
        connection = {"proxyProtocol": "HTTPConnect", "transport": transport}
        return {
            "apiVersion": "apiserver.k8s.io/v1beta1",
            "kind": "EgressSelectorConfiguration",
            "egressSelections": [{"name": "cluster", "connection": connection}],
        }

    async def start(self) -> None:
        """Start the proxy, or start it again; returns when the table is in force."""
        for leftover in (self.socket, self._control):
            leftover.unlink(missing_ok=True)
        self.process.start()
        await self.process.ready(self._listening, 10)
        await self.push()

    async def _listening(self) -> bool:
        return self.socket.exists() and self._control.exists()

    async def route(self, service: str, backends: Sequence[str]) -> None:
        """``service`` is ``<ClusterIP>:<port>``, ``backends`` are ``<address>:<port>``; none means no endpoints."""
        wanted = list(backends)
        if self._backends.get(service) != wanted:
            self._backends[service] = wanted
            await self.push()

    async def unroute(self, service: str) -> None:
        """Forget a Service that is gone, its fault included."""
        for table in (self._backends, self._faults, self._stand_ins):
            table.pop(service, None)
        await self.push()

    async def fault(self, service: str, fault: Fault | None) -> None:
        """Break a Service, or with None heal it."""
        if fault is None:
            self._faults.pop(service, None)
        else:
            self._faults[service] = fault
        await self.push()

    async def stand_in(self, service: str, backend: str | None) -> None:
        """Lead a Service to ``<address>:<port>`` whatever is routed, or with None to its own again.

        Connections that are open break: the API server keeps them for minutes.
        """
        if backend is None:
            self._stand_ins.pop(service, None)
        else:
            self._stand_ins[service] = backend
        await self.fault(service, Fault.RESET)
        await self.fault(service, None)

    async def push(self) -> None:
        """Send the table; returns when it is in force. Raises :class:`ProgramFailed` if it is not taken."""
        table = {
            service: {"backends": self._leads_to(service), "fault": self._faults.get(service)}
            for service in self._backends.keys() | self._faults.keys() | self._stand_ins.keys()
        }
        try:
            reader, writer = await asyncio.open_unix_connection(str(self._control))
            writer.write(json.dumps(table).encode() + b"\n")
            await writer.drain()
            answer = await asyncio.wait_for(reader.readline(), 5)
            writer.close()
            await writer.wait_closed()
        except (OSError, TimeoutError) as error:
            raise ProgramFailed(self.process.describe(f"does not take its table ({error!r})")) from error
        if answer != b"ok\n":
            raise ProgramFailed(self.process.describe("did not take its table"))

    def _leads_to(self, service: str) -> list[str]:
        return [self._stand_ins[service]] if service in self._stand_ins else self._backends.get(service, [])
