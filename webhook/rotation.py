"""The CA Secret: what it may hold, and the next step of a rotation. Pure; ``authority`` carries the steps out.

A CA becomes ``next`` in the Secret and in both ``caBundle``s, is promoted to ``current`` when every API server has had
time to learn it, and stays trusted as ``previous`` while leaves it signed may be served. So no leaf in use is ever
unknown, whichever replica does which step: each step is one write guarded by the Secret's resourceVersion
(https://github.com/open-policy-agent/cert-controller/issues/13, .../gatekeeper/issues/1045 show the price of less).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from cryptography import x509

from classifier.instant import MINUTE
from webhook import certs
from webhook.certs import DAY, Keypair

CURRENT_CERT: Final = "ca.crt"
CURRENT_KEY: Final = "ca.key"
NEXT_CERT: Final = "next.crt"
NEXT_KEY: Final = "next.key"
PREVIOUS: Final = "previous.crt"
KEYS: Final = (CURRENT_CERT, CURRENT_KEY, NEXT_CERT, NEXT_KEY, PREVIOUS)

#: From a CA's making to its promotion: API servers learn a bundle in seconds, replicas the Secret in a minute.
OVERLAP: Final = 10 * MINUTE
#: From a CA's making until its predecessor is forgotten: longer than any leaf of the predecessor lives.
FORGET: Final = OVERLAP + certs.LEAF_LIFE + DAY


@dataclass(frozen=True)
class Trust:
    """``current`` signs, ``next`` will, ``previous`` did. All are in the bundle."""

    current: Keypair
    next: Keypair | None = None
    previous: tuple[x509.Certificate, ...] = ()

    @property
    def certificates(self) -> tuple[x509.Certificate, ...]:
        """By age, so that a promotion leaves the bundle as it is, byte for byte."""
        upcoming = (self.next.certificate,) if self.next else ()
        unique = {certs.fingerprint(c): c for c in (self.current.certificate, *upcoming, *self.previous)}
        return tuple(sorted(unique.values(), key=lambda c: (certs.made_at(c), certs.fingerprint(c))))

    def bundle(self) -> bytes:
        """The PEM that goes into ``caBundle``."""
        return b"".join(map(certs.to_pem, self.certificates))

    def data(self) -> dict[str, bytes | None]:
        """The Secret's data; None for a key that has to go."""
        return {
            CURRENT_CERT: self.current.certificate_pem,
            CURRENT_KEY: self.current.key_pem,
            NEXT_CERT: self.next.certificate_pem if self.next else None,
            NEXT_KEY: self.next.key_pem if self.next else None,
            PREVIOUS: b"".join(map(certs.to_pem, self.previous)) or None,
        }


@dataclass(frozen=True)
class Reading:
    """A Secret as found. ``trust`` is None when nothing in it can sign; ``salvage`` may still be trusted then."""

    trust: Trust | None = None
    salvage: tuple[x509.Certificate, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class Step:
    """What the Secret should hold now, and why, for the log."""

    trust: Trust
    why: str


def read(data: Mapping[str, bytes], now: int) -> Reading:
    """Take from a Secret what is sound, whoever wrote it, and name what is not."""
    if not data:
        return Reading()
    problems: list[str] = []

    def pair(cert_key: str, private_key: str) -> Keypair | None:
        try:
            return certs.read_ca(data[cert_key], data[private_key], now)
        except KeyError as error:
            problems.append(f"{error.args[0]} is missing")
        except ValueError as error:
            problems.append(f"{cert_key}: {error}")
        return None

    def trusted(key: str) -> tuple[x509.Certificate, ...]:
        found = []
        for pem in _split(data.get(key, b"")):
            try:
                found.append(certs.read_ca_certificate(pem, now))
            except ValueError as error:
                problems.append(f"{key}: {error}")
        return tuple(found)

    current = pair(CURRENT_CERT, CURRENT_KEY)
    upcoming = pair(NEXT_CERT, NEXT_KEY) if NEXT_CERT in data or NEXT_KEY in data else None
    previous = trusted(PREVIOUS)
    if current is not None:
        return Reading(Trust(current, upcoming, previous), previous, tuple(problems))
    said = tuple(problems)
    # Its key is lost, but other replicas may be serving leaves it signed.
    return Reading(None, (*trusted(CURRENT_CERT), *trusted(NEXT_CERT), *previous), said)


def plan(
    reading: Reading, *, name: str, now: int, published: bool, serving: Iterable[x509.Certificate] = ()
) -> Step | None:
    """The next write of the Secret, or None when it is as it should be.

    ``published``: both webhook configurations carry the bundle of ``reading``. ``serving``: CAs of leaves in use here,
    which stay trusted when the Secret was deleted under us.
    """
    trust = reading.trust
    if trust is None:
        kept = (*reading.salvage, *(ca for ca in serving if now < certs.ends_at(ca)))
        why = "; ".join(reading.problems) or "there is no CA yet"
        return Step(Trust(certs.make_ca(name, now), previous=_unique(kept)), why)
    if reading.problems:
        return Step(trust, "; ".join(reading.problems))
    if trust.next is not None:
        if published and now >= certs.made_at(trust.next.certificate) + OVERLAP:
            previous = _unique((*trust.previous, trust.current.certificate))
            return Step(Trust(trust.next, previous=previous), "the next CA is known everywhere")
        return None
    if now >= certs.renew_at(trust.current.certificate):
        return Step(replace(trust, next=certs.make_ca(name, now)), "two thirds of the CA's life are over")
    if trust.previous and now >= certs.made_at(trust.current.certificate) + FORGET:
        return Step(replace(trust, previous=()), "no leaf of the previous CA can be in use any more")
    return None


def _unique(certificates: Iterable[x509.Certificate]) -> tuple[x509.Certificate, ...]:
    return tuple({certs.fingerprint(c): c for c in certificates}.values())


def _split(pems: bytes) -> list[bytes]:
    end = b"-----END CERTIFICATE-----"
    *whole, rest = pems.split(end)
    return [part.lstrip() + end + b"\n" for part in whole] + ([rest] if rest.strip() else [])
