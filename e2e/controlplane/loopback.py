"""A piece of 127.0.0.0/8 for each cluster: addresses that no other run uses, without any configuration (Linux).

Connections to loopback come from 127.0.0.1, so a port that is free on an address of ours stays free until we bind it.
"""

import random
import socket
from typing import Final, Self

#: Bound on each subnet's first address for as long as the cluster lives. The kernel lets it go if we die.
CLAIM_PORT: Final = 20001


class Subnet:
    """``127.a.b.0/24``: ``.1`` is the control plane's, the rest are pods' addresses."""

    def __init__(self, prefix: str, claim: socket.socket) -> None:
        self._prefix = prefix
        self._claim = claim
        self._next = 10
        self._given: set[int] = set()

    @classmethod
    def claim(cls) -> Self:
        """A subnet nobody uses. Raises OSError where loopback has but one address (macOS)."""
        last: OSError | None = None
        for _ in range(100):
            prefix = f"127.{random.randint(64, 250)}.{random.randint(1, 250)}"
            claim = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            try:
                claim.bind((f"{prefix}.1", CLAIM_PORT))
            except OSError as error:
                claim.close()
                last = error
                continue
            return cls(prefix, claim)
        raise OSError(f"no free address in 127.0.0.0/8 ({last}); the control plane needs Linux's loopback")

    @property
    def address(self) -> str:
        return f"{self._prefix}.1"

    def free_port(self) -> int:
        """A port of ``address`` that nobody listens on, and that was never given out before."""
        while True:
            with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
                probe.bind((self.address, 0))
                port = int(probe.getsockname()[1])
            if port not in self._given:
                self._given.add(port)
                return port

    def pod_address(self) -> str:
        """An address for one more pod; addresses come round after 240 pods."""
        address = f"{self._prefix}.{self._next}"
        self._next = 10 + (self._next - 9) % 240
        return address

    def release(self) -> None:
        self._claim.close()
