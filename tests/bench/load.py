"""Reviews over TLS on connections that stay open, as an API server sends them, and what they cost who answers."""

import asyncio
import ssl
from collections.abc import Sequence
from typing import Final

from e2e.load.cost import cpu_seconds

CONNECTIONS: Final = 8
#: As kube-apiserver's client writes it (kubernetes/kubernetes: staging/src/k8s.io/apiserver/pkg/util/webhook).
_HEAD: Final = (
    "POST {path}?timeout=2s HTTP/1.1\r\n"
    "Host: {address}\r\n"
    "User-Agent: kube-apiserver-admission\r\n"
    "Content-Length: {length}\r\n"
    "Accept: application/json, */*\r\n"
    "Content-Type: application/json\r\n"
    "Accept-Encoding: gzip\r\n"
    "\r\n"
)


class Target:
    """A server: its process, where it listens, and its paths, asked in turn."""

    def __init__(self, name: str, pid: int | None, address: str, paths: Sequence[str]) -> None:
        self.name = name
        if pid is None:
            raise ProcessLookupError(f"{name} does not run")
        self._pid = pid
        self._address = address
        self._paths = paths
        #: What each round took of CPU, in microseconds for one review.
        self.rounds: list[float] = []
        #: Responses as they came, of the last round.
        self.answers: list[bytes] = []

    async def round(self, bodies: Sequence[bytes]) -> None:
        """Every body to every path."""
        self.answers = []
        wanted = [(path, body) for body in bodies for path in self._paths]
        connections = await asyncio.gather(*(_connect(self._address) for _ in range(CONNECTIONS)))
        before = cpu_seconds(self._pid)
        await asyncio.gather(
            *(self._send(streams, wanted[index::CONNECTIONS]) for index, streams in enumerate(connections))
        )
        self.rounds.append((cpu_seconds(self._pid) - before) / len(wanted) * 1e6)
        for _, writer in connections:
            writer.transport.abort()

    async def _send(
        self, streams: tuple[asyncio.StreamReader, asyncio.StreamWriter], wanted: Sequence[tuple[str, bytes]]
    ) -> None:
        reader, writer = streams
        for path, body in wanted:
            writer.write(_HEAD.format(path=path, address=self._address, length=len(body)).encode() + body)
            lines = (await reader.readuntil(b"\r\n\r\n")).lower().split(b"\r\n")
            if b" 200 " not in lines[0]:
                raise AssertionError(f"{self.name} answered {lines[0].decode()}")
            length = next(int(line.split(b":")[1]) for line in lines if line.startswith(b"content-length:"))
            self.answers.append(await reader.readexactly(length))


async def _connect(address: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    host, _, port = address.rpartition(":")
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return await asyncio.open_connection(host, int(port), ssl=context)
