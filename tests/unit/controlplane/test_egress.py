"""The proxy that stands for Services: routes and faults, with the real proxy process."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from e2e.controlplane.egress import Egress, Fault

SERVICE = "10.0.0.7:443"
Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@asynccontextmanager
async def echo(answer: bytes) -> AsyncIterator[str]:
    """A backend that answers each line with ``answer`` and the line."""

    connections: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while line := await reader.readline():
                writer.write(answer + line)
        await close((reader, writer))

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.add(asyncio.ensure_future(serve(reader, writer)))

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    try:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        await asyncio.gather(*connections)


@asynccontextmanager
async def running(folder: Path) -> AsyncIterator[Egress]:
    egress = Egress(folder, folder)
    await egress.start()
    try:
        yield egress
    finally:
        await egress.process.stop()


async def connect(egress: Egress, target: str = SERVICE) -> tuple[str, Stream]:
    reader, writer = await asyncio.open_unix_connection(str(egress.socket))
    writer.write(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
    head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 10)
    return head.split(b" ", 2)[1].decode(), (reader, writer)


async def ask(stream: Stream, line: bytes) -> bytes:
    """What comes back, b"" if the connection ended."""
    reader, writer = stream
    try:
        writer.write(line)
        await writer.drain()
        return await asyncio.wait_for(reader.readline(), 10)
    except ConnectionError:
        return b""


async def close(*streams: Stream) -> None:
    for _, writer in streams:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


async def test_a_service_leads_to_its_ready_pods_in_turn(tmp_path: Path) -> None:
    async with running(tmp_path) as egress, echo(b"a:") as a, echo(b"b:") as b:
        await egress.route(SERVICE, [a, b])
        answers = []
        for _ in range(2):
            code, stream = await connect(egress)
            assert code == "200"
            answers.append(await ask(stream, b"x\n"))
            await close(stream)
    assert sorted(answers) == [b"a:x\n", b"b:x\n"]


async def test_a_service_without_ready_pods_is_refused(tmp_path: Path) -> None:
    async with running(tmp_path) as egress:
        code, stream = await connect(egress)
        await close(stream)
        assert code == "503"


async def test_connections_to_a_pod_that_left_are_the_pods_to_end(tmp_path: Path) -> None:
    async with running(tmp_path) as egress, echo(b"a:") as a, echo(b"b:") as b:
        await egress.route(SERVICE, [a])
        _, old = await connect(egress)
        assert await ask(old, b"x\n") == b"a:x\n"
        await egress.route(SERVICE, [b])
        _, new = await connect(egress)
        assert await ask(new, b"x\n") == b"b:x\n"
        assert await ask(old, b"y\n") == b"a:y\n"
        await close(old, new)


@pytest.mark.parametrize(("fault", "code"), [(Fault.RESET, "200"), (Fault.REFUSE, "503")])
async def test_a_broken_service_breaks_old_and_new_connections_and_heals(
    tmp_path: Path, fault: Fault, code: str
) -> None:
    async with running(tmp_path) as egress, echo(b"a:") as a:
        await egress.route(SERVICE, [a])
        _, old = await connect(egress)
        assert await ask(old, b"x\n") == b"a:x\n"
        await egress.fault(SERVICE, fault)
        assert await ask(old, b"x\n") == b""
        got, new = await connect(egress)
        assert (got, await ask(new, b"x\n")) == (code, b"")
        await egress.fault(SERVICE, None)
        _, healed = await connect(egress)
        assert await ask(healed, b"y\n") == b"a:y\n"
        await close(old, new, healed)


async def test_a_hanging_service_goes_on_when_it_heals(tmp_path: Path) -> None:
    async with running(tmp_path) as egress, echo(b"a:") as a:
        await egress.route(SERVICE, [a])
        _, (reader, writer) = await connect(egress)
        await egress.fault(SERVICE, Fault.HANG)
        code, new = await connect(egress)
        assert code == "200"
        writer.write(b"x\n")
        answer = asyncio.ensure_future(reader.readline())
        done, _ = await asyncio.wait([answer], timeout=0.3)
        assert not done
        await egress.fault(SERVICE, None)
        assert await asyncio.wait_for(answer, 10) == b"a:x\n"
        await close(new, (reader, writer))


async def test_a_restarted_proxy_knows_its_routes(tmp_path: Path) -> None:
    async with running(tmp_path) as egress, echo(b"a:") as a:
        await egress.route(SERVICE, [a])
        await egress.process.kill()
        await egress.start()
        _, stream = await connect(egress)
        assert await ask(stream, b"x\n") == b"a:x\n"
        await close(stream)
