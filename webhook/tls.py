"""The live TLS context: one object for the process's life, whose certificate changes under it.

Loading a chain into a live context serves it from the next handshake on, and leaves open connections alone
(reference/engineering.md §B): no restart on rotation.
"""

import os
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from webhook.certs import Keypair

VERSIONS: Final = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}
#: For TLS 1.2: forward secrecy and authenticated encryption only. All suites of 1.3 are so.
_CIPHERS: Final = "ECDHE+AESGCM:ECDHE+CHACHA20"


def server_context(minimum: str = "1.2") -> ssl.SSLContext:
    """A server's context without a certificate yet: every handshake fails until :func:`serve` gave it one."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = VERSIONS[minimum]
    context.set_ciphers(_CIPHERS)
    return context


def serve(context: ssl.SSLContext, leaf: Keypair) -> None:
    """Present ``leaf`` from the next handshake on."""
    with _readable(leaf.certificate_pem + leaf.key_pem) as path:
        context.load_cert_chain(path)


def verify_context(bundle: bytes) -> ssl.SSLContext:
    """A client's context that trusts ``bundle`` (PEM) alone, as the API server does with a ``caBundle``."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cadata=bundle.decode("ascii"))
    return context


@contextmanager
def _readable(content: bytes) -> Iterator[str]:
    """A path OpenSSL can read ``content`` from. In memory where the system can: the key never touches a disk, and
    the container's root is read-only."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("chain", os.MFD_CLOEXEC)
        try:
            os.write(descriptor, content)
            yield f"/proc/self/fd/{descriptor}"
        finally:
            os.close(descriptor)
    else:
        with tempfile.NamedTemporaryFile() as file:
            file.write(content)
            file.flush()
            yield file.name
