"""``egress_proxy.py SOCKET CONTROL``: stands for kube-proxy between the API server and the Services it calls.

The API server's egress selector asks on the unix socket SOCKET for ``CONNECT <ClusterIP>:<port>``; a table says which
local address stands for that Service, and may break it on purpose. The table comes over the unix socket CONTROL, one
JSON line a connection, always whole; ``ok`` answers it. A process of its own, so that a test that blocks its event loop
does not stall the cluster's webhooks. Standard library alone.
"""

import asyncio
import itertools
import json
import sys
from contextlib import suppress

HANG, RESET, REFUSE = "hang", "reset", "refuse"


class Service:
    """One ClusterIP and port: who stands for it, which fault it has, and the tunnels through it."""

    def __init__(self) -> None:
        self.backends: list[str] = []
        self.fault: str | None = None
        self.turn = itertools.count()
        self.flows = asyncio.Event()
        #: Both ends of each open tunnel.
        self.tunnels: set[tuple[asyncio.StreamWriter, asyncio.StreamWriter]] = set()

    def configure(self, backends: list[str], fault: str | None) -> None:
        """Faults reach open tunnels too: the API server keeps its connections to webhooks for minutes.

        A backend that leaves keeps its tunnels, as with kube-proxy: it is the draining pod that ends them.
        """
        self.backends, self.fault = backends, fault
        if fault == HANG:
            self.flows.clear()
        else:
            self.flows.set()
        for front, back in list(self.tunnels):
            if fault in (RESET, REFUSE):
                front.transport.abort()
                back.transport.abort()


class Proxy:
    """The table and the servers on both sockets."""

    def __init__(self) -> None:
        self.services: dict[str, Service] = {}

    async def control(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        table = json.loads(await reader.readline())
        for target in self.services.keys() | table.keys():
            entry = table.get(target, {"backends": [], "fault": None})
            self.services.setdefault(target, Service()).configure(entry["backends"], entry["fault"])
        writer.write(b"ok\n")
        await writer.drain()
        writer.close()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            method, target, _ = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ", 2)
            if method != "CONNECT":
                await answer(writer, f"405 {method} is not CONNECT")
                return
            await self.connect(target, reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError) as error:
            print(f"a connection broke: {error!r}", flush=True)
        finally:
            writer.close()

    async def connect(self, target: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        service = self.services.setdefault(target, Service())
        if service.fault == REFUSE or (service.fault is None and not service.backends):
            print(f"{target}: refused ({service.fault or 'no endpoints'})", flush=True)
            await answer(writer, f"503 no endpoints for {target}")
            return
        if service.fault == RESET:
            print(f"{target}: reset", flush=True)
            await answer(writer, "200 Connection established")
            writer.transport.abort()
            return
        if service.fault == HANG:
            print(f"{target}: hangs", flush=True)
            await answer(writer, "200 Connection established")
            await service.flows.wait()
            # As after a network that lost everything: what was waited for does not come.
            writer.transport.abort()
            return
        backend = service.backends[next(service.turn) % len(service.backends)]
        host, _, port = backend.rpartition(":")
        try:
            back_reader, back_writer = await asyncio.open_connection(host, int(port))
        except OSError as error:
            print(f"{target}: {backend} does not answer: {error}", flush=True)
            await answer(writer, f"502 {backend} does not answer")
            return
        tunnel = (writer, back_writer)
        service.tunnels.add(tunnel)
        try:
            await answer(writer, "200 Connection established")
            await asyncio.gather(pump(reader, back_writer, service), pump(back_reader, writer, service))
        finally:
            service.tunnels.discard(tunnel)
            back_writer.close()


async def answer(writer: asyncio.StreamWriter, status: str) -> None:
    writer.write(f"HTTP/1.1 {status}\r\n\r\n".encode())
    await writer.drain()


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, service: Service) -> None:
    """Copy until the end of either side; stop, and keep what came, while the service hangs."""
    with suppress(OSError):
        while data := await reader.read(65536):
            await service.flows.wait()
            writer.write(data)
            await writer.drain()
    writer.close()


async def main(path: str, control: str) -> None:
    proxy = Proxy()
    traffic = await asyncio.start_unix_server(proxy.serve, path)
    async with traffic, await asyncio.start_unix_server(proxy.control, control):
        await traffic.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
