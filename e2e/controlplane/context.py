"""What every program of one cluster is started with: programs, folders, addresses, credentials."""

import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import yaml

from e2e.controlplane.certs import Authority, certificate_credential, write_kubeconfig
from e2e.controlplane.loopback import Subnet
from e2e.controlplane.processes import Check

ADMINISTRATORS = "system:masters"


@dataclass
class Context:
    """One run. Everything it writes lies in ``folder``."""

    folder: Path
    programs: Mapping[str, Path]
    modules: Mapping[str, Path]
    subnet: Subnet
    authority: Authority
    server: str  # https://<address>:<port> of the API server

    @property
    def logs(self) -> Path:
        return self.folder / "logs"

    def file(self, name: str, content: bytes | Mapping[str, Any] | Sequence[Any]) -> Path:
        """Write a file of the run; anything but bytes as YAML."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else yaml.safe_dump(content).encode())
        return path

    def kubeconfig(self, name: str, user: str, groups: Sequence[str]) -> Path:
        """A kubeconfig whose client certificate makes its bearer this user in these groups."""
        return write_kubeconfig(
            self.kubeconfig_path(name),
            server=self.server,
            ca=self.authority.certificate,
            user=certificate_credential(*self.authority.client(user, groups)),
        )

    def kubeconfig_path(self, name: str) -> Path:
        return self.folder / "kubeconfigs" / f"{name}.yaml"


def answers(url: str) -> Check:
    """A check: does GET of ``url`` answer 200? Certificates are not looked at: it is our own process on loopback."""
    insecure = ssl.create_default_context()
    insecure.check_hostname = False
    insecure.verify_mode = ssl.CERT_NONE

    async def check() -> bool:
        try:
            async with (
                aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=2)) as session,
                session.get(url, ssl=insecure) as response,
            ):
                return response.status == 200
        except (aiohttp.ClientError, OSError, TimeoutError):
            return False

    return check
