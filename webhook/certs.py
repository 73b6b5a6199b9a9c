"""Certificates: a CA, the leaf it signs, and reading both back. Pure: PEM and instants in, PEM out.

Lives and the renewal point are cert-manager's design for webhooks that sign for themselves
(reference/engineering.md §D.3, §E 12). Instants are milliseconds since the epoch.
"""

import ipaddress
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from classifier.instant import HOUR, SECOND

DAY: Final = 24 * HOUR
CA_LIFE: Final = 365 * DAY
LEAF_LIFE: Final = 7 * DAY
#: A certificate is valid from this long before it was made: the API servers' clocks may be behind ours.
BACKDATE: Final = HOUR


@dataclass(frozen=True)
class Keypair:
    """A certificate and its private key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @cached_property
    def certificate_pem(self) -> bytes:
        return to_pem(self.certificate)

    @cached_property
    def key_pem(self) -> bytes:
        return self.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )


def to_pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def fingerprint(certificate: x509.Certificate) -> str:
    """SHA-256 of the DER form, in hex."""
    return certificate.fingerprint(hashes.SHA256()).hex()


def made_at(certificate: x509.Certificate) -> int:
    return _millis(certificate.not_valid_before_utc) + BACKDATE


def ends_at(certificate: x509.Certificate) -> int:
    return _millis(certificate.not_valid_after_utc)


def renew_at(certificate: x509.Certificate) -> int:
    """When two thirds of its life are over."""
    made = made_at(certificate)
    return made + (ends_at(certificate) - made) * 2 // 3


def make_ca(name: str, now: int, life: int = CA_LIFE) -> Keypair:
    """A self-signed CA on P-256 with a fresh key, able to sign leaves and nothing below them."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = _name(name)
    usage = x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=True,
        crl_sign=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
    certificate = (
        _builder(subject, subject, key.public_key(), now, now + life)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .sign(key, hashes.SHA256())
    )
    return Keypair(certificate, key)


def sign_leaf(ca: Keypair, names: Sequence[str], now: int, life: int = LEAF_LIFE) -> Keypair:
    """A server certificate for DNS names (or addresses), never outliving its CA."""
    key = ec.generate_private_key(ec.SECP256R1())
    end = min(now + life, ends_at(ca.certificate))
    certificate = (
        _builder(_name(names[0]), ca.certificate.subject, key.public_key(), now, end)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([_alternative(name) for name in names]), critical=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(ca.key.public_key()),
            critical=False,
        )
        .sign(ca.key, hashes.SHA256())
    )
    return Keypair(certificate, key)


def read_ca_certificate(pem: bytes, now: int) -> x509.Certificate:
    """The CA certificate in ``pem``. Raises ValueError that says why it cannot be trusted as one, now."""
    with _garbage("it is no certificate in PEM"):
        certificate = x509.load_pem_x509_certificate(pem)
        # The library reads all but the frame on demand: whoever uses the certificate must not be the first to ask.
        extensions, _ = certificate.extensions, certificate.subject
        start, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    try:
        basic = extensions.get_extension_for_class(x509.BasicConstraints).value
    except x509.ExtensionNotFound:
        raise ValueError("it is not a CA") from None
    if not basic.ca:
        raise ValueError("it is not a CA")
    if not _millis(start) <= now < _millis(end):
        raise ValueError(f"it is valid from {start:%F %T} to {end:%F %T} UTC only")
    with _garbage("it is not signed by itself"):
        certificate.verify_directly_issued_by(certificate)
    return certificate


def read_ca(certificate_pem: bytes, key_pem: bytes, now: int) -> Keypair:
    """A CA with the key that belongs to it. Raises ValueError that says what is wrong with the pair."""
    certificate = read_ca_certificate(certificate_pem, now)
    with _garbage("its key is no unencrypted private key in PEM"):
        key = serialization.load_pem_private_key(key_pem, password=None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise ValueError("its key is not an elliptic curve key")
    if key.public_key() != certificate.public_key():
        raise ValueError("the key belongs to another certificate")
    return Keypair(certificate, key)


@contextmanager
def _garbage(what: str) -> Iterator[None]:
    """Any failure to read bytes that anybody may have written is a ValueError that says ``what`` they are not.

    Any: InvalidVersion, DuplicateExtension and others are no ValueErrors, and the library's list of them grows.
    """
    try:
        yield
    except Exception as error:
        raise ValueError(f"{what} ({type(error).__name__})") from error


def _name(text: str) -> x509.Name:
    # 64 characters is X.520's limit for a common name; clients look at the alternative names only.
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text[:64])])


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _builder(
    subject: x509.Name, issuer: x509.Name, public: ec.EllipticCurvePublicKey, now: int, end: int
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(_datetime(now - BACKDATE))
        .not_valid_after(_datetime(end))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
    )


def _datetime(at: int) -> datetime:
    return datetime.fromtimestamp(0, UTC) + timedelta(seconds=at // SECOND)


def _millis(at: datetime) -> int:
    return int(at.timestamp()) * SECOND
