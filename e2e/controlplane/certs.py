"""Keys and certificates of one run: a CA, the server's certificate, client certificates, the ServiceAccount key."""

import base64
import datetime
import ipaddress
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFETIME: Final = datetime.timedelta(days=7)


def new_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def public_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)


def _subject(common_name: str, organisations: Sequence[str] = ()) -> x509.Name:
    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, name) for name in organisations]
    return x509.Name([*attributes, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


class Authority:
    """A CA that lives as long as the run. It signs for the API server, its clients and other servers of the run."""

    def __init__(self, name: str = "muster-e2e") -> None:
        self._key = new_key()
        self._name = _subject(name)
        usage = x509.KeyUsage(True, False, False, False, False, True, True, False, False)  # signs, CRLs, certificates
        self._certificate = (
            self._builder(self._name, self._key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(usage, critical=True)
            .sign(self._key, hashes.SHA256())
        )

    def _builder(self, subject: x509.Name, public_key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        now = datetime.datetime.now(datetime.UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(public_key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(minutes=5))
            .not_valid_after(now + LIFETIME)
        )

    @property
    def certificate(self) -> bytes:
        """The CA's certificate, PEM."""
        return self._certificate.public_bytes(serialization.Encoding.PEM)

    def server(self, names: Sequence[str]) -> tuple[bytes, bytes]:
        """Certificate and key (PEM) for a server known by these DNS names and IP addresses."""
        alternatives: list[x509.GeneralName] = []
        for name in names:
            try:
                alternatives.append(x509.IPAddress(ipaddress.ip_address(name)))
            except ValueError:
                alternatives.append(x509.DNSName(name))
        key = new_key()
        certificate = (
            self._builder(_subject(names[0]), key.public_key())
            .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        return certificate.public_bytes(serialization.Encoding.PEM), pem(key)

    def client(self, user: str, groups: Sequence[str]) -> tuple[bytes, bytes]:
        """Certificate and key (PEM) of a user: the common name is the user, the organisations are the groups."""
        key = new_key()
        certificate = (
            self._builder(_subject(user, groups), key.public_key())
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        return certificate.public_bytes(serialization.Encoding.PEM), pem(key)


def write_secret(path: Path, content: bytes) -> Path:
    """Write a file only its owner can read."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)
    path.write_bytes(content)
    return path


def write_kubeconfig(path: Path, *, server: str, ca: bytes, user: dict[str, str], namespace: str = "default") -> Path:
    """A kubeconfig with one context. ``user`` holds the credential's fields as kubectl knows them."""
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": "muster",
                "cluster": {"server": server, "certificate-authority-data": base64.b64encode(ca).decode()},
            }
        ],
        "users": [{"name": "user", "user": user}],
        "contexts": [{"name": "muster", "context": {"cluster": "muster", "user": "user", "namespace": namespace}}],
        "current-context": "muster",
    }
    # JSON is YAML, and kubectl reads it.
    return write_secret(path, json.dumps(document, indent=1).encode())


def certificate_credential(certificate: bytes, key: bytes) -> dict[str, str]:
    return {
        "client-certificate-data": base64.b64encode(certificate).decode(),
        "client-key-data": base64.b64encode(key).decode(),
    }
