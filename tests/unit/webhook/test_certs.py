"""Certificates and the plan of a rotation, over a year of days."""

import ssl
import time

import pytest

from classifier.instant import HOUR, MINUTE, SECOND
from tests.unit.webhook.builders import NOW
from webhook import certs, rotation, tls
from webhook.rotation import Trust

DAY = certs.DAY


def handshake(bundle: bytes, leaf: certs.Keypair, name: str) -> str:
    """The TLS version both sides agree on, in memory; raises ssl.SSLError as the API server's client would."""
    context = tls.server_context()
    tls.serve(context, leaf)
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = context.wrap_bio(to_server, to_client, server_side=True)
    client = tls.verify_context(bundle).wrap_bio(to_client, to_server, server_hostname=name)
    for _ in range(4):
        for side in (client, server):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
    return client.version() or ""


def test_a_leaf_is_trusted_by_its_bundle_and_for_its_names_only() -> None:
    # OpenSSL judges by the machine's clock.
    now = int(time.time()) * SECOND
    ca = certs.make_ca("muster-webhook-ca", now)
    leaf = certs.sign_leaf(ca, ["muster-webhook.muster-system.svc", "127.0.0.1"], now)
    assert handshake(ca.certificate_pem, leaf, "muster-webhook.muster-system.svc") == "TLSv1.3"
    assert handshake(ca.certificate_pem, leaf, "127.0.0.1") == "TLSv1.3"
    with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
        handshake(ca.certificate_pem, leaf, "elsewhere.muster-system.svc")
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(certs.make_ca("muster-webhook-ca", now).certificate_pem, leaf, "127.0.0.1")


def test_lives_and_the_time_of_renewal() -> None:
    ca = certs.make_ca("ca", NOW)
    leaf = certs.sign_leaf(ca, ["a"], NOW)
    assert (certs.ends_at(ca.certificate) - NOW, certs.ends_at(leaf.certificate) - NOW) == (365 * DAY, 7 * DAY)
    assert certs.renew_at(leaf.certificate) == NOW + 7 * DAY * 2 // 3
    late = certs.sign_leaf(ca, ["a"], NOW + 364 * DAY)
    assert certs.ends_at(late.certificate) == certs.ends_at(ca.certificate), "a leaf never outlives its CA"


OTHER = certs.make_ca("other", NOW)
CA = certs.make_ca("ca", NOW)
LEAF = certs.sign_leaf(CA, ["a"], NOW)


@pytest.mark.parametrize(
    ("certificate", "key", "at", "says"),
    [
        (b"", CA.key_pem, NOW, "no certificate"),
        (b"not a certificate", CA.key_pem, NOW, "no certificate"),
        (CA.certificate_pem, b"garbage", NOW, "its key"),
        (CA.certificate_pem, OTHER.key_pem, NOW, "another certificate"),
        (LEAF.certificate_pem, LEAF.key_pem, NOW, "not a CA"),
        (CA.certificate_pem, CA.key_pem, NOW + 366 * DAY, "valid from"),
        (CA.certificate_pem, CA.key_pem, NOW - DAY, "valid from"),
    ],
    ids=["empty", "no-pem", "no-key", "foreign-key", "leaf", "expired", "not-yet"],
)
def test_what_cannot_sign_is_refused_with_the_reason(certificate: bytes, key: bytes, at: int, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        certs.read_ca(certificate, key, at)


def stored(trust: Trust) -> dict[str, bytes]:
    return {key: value for key, value in trust.data().items() if value}


def step(data: dict[str, bytes], now: int, *, published: bool = True) -> rotation.Step | None:
    return rotation.plan(rotation.read(data, now), name="ca", now=now, published=published)


def test_an_empty_secret_gets_a_ca_and_then_nothing_changes() -> None:
    first = step({}, NOW)
    assert first is not None
    assert step(stored(first.trust), NOW + DAY) is None


def test_a_rotation_overlaps_so_that_every_leaf_in_use_is_trusted() -> None:
    """Two replicas look at the Secret at their own times through a year; no leaf either serves is ever unknown."""
    begun = step({}, NOW)
    assert begun is not None
    data, now = stored(begun.trust), NOW
    leaves: dict[int, tuple[certs.Keypair, certs.Keypair]] = {}
    steps = 0
    while now < NOW + 400 * DAY:
        for replica in (0, 1):
            planned = step(data, now)
            if planned is not None:
                steps += 1
                data = stored(planned.trust)
            trust = rotation.read(data, now).trust
            assert trust is not None
            trusted = {certs.fingerprint(c) for c in trust.certificates}
            for _, signer in leaves.values():
                assert certs.fingerprint(signer.certificate) in trusted
            # A replica signs anew when its leaf is due, or for the new CA when it looks next.
            held = leaves.get(replica)
            if held is None or held[1].certificate != trust.current.certificate:
                leaves[replica] = (certs.sign_leaf(trust.current, ["a"], now), trust.current)
        now += 5 * MINUTE if rotation.NEXT_CERT in data else 12 * HOUR
    assert steps >= 3, "next, promotion, forgetting"


def test_promotion_waits_for_time_and_publication_and_leaves_the_bundle_alone() -> None:
    begun = step({}, NOW)
    assert begun is not None
    later = NOW + 250 * DAY
    prepared = step(stored(begun.trust), later)
    assert prepared is not None
    assert prepared.trust.next is not None
    data = stored(prepared.trust)
    assert step(data, later + rotation.OVERLAP - 1) is None
    assert step(data, later + rotation.OVERLAP, published=False) is None
    promoted = step(data, later + rotation.OVERLAP)
    assert promoted is not None
    assert promoted.trust.current.certificate == prepared.trust.next.certificate
    assert promoted.trust.bundle() == prepared.trust.bundle()
    forgotten = step(stored(promoted.trust), later + rotation.FORGET)
    assert forgotten is not None
    assert forgotten.trust.previous == ()


def test_a_broken_secret_is_replaced_but_what_others_may_serve_stays_trusted() -> None:
    reading = rotation.read({"ca.crt": CA.certificate_pem, "ca.key": OTHER.key_pem}, NOW)
    assert reading.trust is None
    planned = rotation.plan(reading, name="ca", now=NOW, published=True)
    assert planned is not None
    assert CA.certificate in planned.trust.certificates
    assert "another certificate" in planned.why


def test_garbage_beside_a_sound_ca_is_cleared_away() -> None:
    data = {**stored(Trust(CA)), "next.crt": b"-----BEGIN", "next.key": b"", "previous.crt": b"what is this?"}
    planned = step(data, NOW)
    assert planned is not None
    assert stored(planned.trust) == stored(Trust(CA))


def test_a_deleted_secret_keeps_what_we_serve_trusted() -> None:
    planned = rotation.plan(rotation.read({}, NOW), name="ca", now=NOW, published=False, serving=[CA.certificate])
    assert planned is not None
    assert CA.certificate in planned.trust.previous
