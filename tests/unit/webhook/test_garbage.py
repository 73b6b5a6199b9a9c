"""Whatever stands in the CA's Secret is a CA that can sign, or garbage with a reason; it never ends the process."""

import asyncio
import base64
import warnings

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from classifier.instant import SECOND
from tests.unit.webhook.apiserver import ApiServer
from tests.unit.webhook.builders import NOW
from tests.unit.webhook.conftest import MUTATING, SECRET, Connect, Eventually
from webhook import certs, rotation, tls
from webhook.authority import Authority
from webhook.settings import Settings

CA = certs.make_ca("ca", NOW)
BODY = CA.certificate.tbs_certificate_bytes
KEY = CA.key.private_bytes(serialization.Encoding.DER, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
#: ecdsa-with-SHA256, as a certificate names it.
ALGORITHM = bytes.fromhex("300a06082a8648ce3d040302")


def pem(der: bytes, label: str) -> bytes:
    return f"-----BEGIN {label}-----\n".encode() + base64.encodebytes(der) + f"-----END {label}-----\n".encode()


def signed(body: bytes, key: ec.EllipticCurvePrivateKey = CA.key) -> bytes:
    """A certificate in PEM of any body, with a signature that is right: what is wrong inside is met later."""
    signature = b"\0" + key.sign(body, ec.ECDSA(hashes.SHA256()))
    inner = body + ALGORITHM + _tlv(0x03, signature)
    return pem(_tlv(0x30, inner), "CERTIFICATE")


def _tlv(tag: int, content: bytes) -> bytes:
    size = len(content)
    length = bytes([size]) if size < 0x80 else bytes([0x82, *size.to_bytes(2)])
    return bytes([tag]) + length + content


def with_version(body: bytes, version: int) -> bytes:
    return body.replace(bytes.fromhex("a003020102"), bytes.fromhex("a0030201") + bytes([version]), 1)


def with_an_extension_twice(body: bytes) -> bytes:
    """The subject's key identifier (2.5.29.14), renamed to the basic constraints (2.5.29.19) that are there already."""
    return body.replace(bytes.fromhex("0603551d0e"), bytes.fromhex("0603551d13"), 1)


BROKEN = {
    "unknown version": signed(with_version(BODY, 5)),
    "an extension twice": signed(with_an_extension_twice(BODY)),
    "no extension read": signed(BODY[:-4] + b"\xff\xff\xff\xff"),
    "binary": b"\xff\xfe\x00",
}


def mutations(of: bytes) -> st.SearchStrategy[bytes]:
    """Up to three bytes changed, left out or put in."""
    edit = st.tuples(
        st.integers(0, len(of) - 1), st.sampled_from(["set", "cut", "put"]), st.binary(min_size=1, max_size=3)
    )

    def edited(edits: list[tuple[int, str, bytes]]) -> bytes:
        changed = bytearray(of)
        for at, how, with_ in edits:
            changed[at : at + (0 if how == "put" else len(with_))] = b"" if how == "cut" else with_
        return bytes(changed)

    return st.lists(edit, min_size=1, max_size=3).map(edited)


def read(certificate: bytes, key: bytes) -> rotation.Reading:
    with warnings.catch_warnings():
        # The library says that it will refuse certain serial numbers one day; then they are garbage too.
        warnings.simplefilter("ignore")
        data = {"ca.crt": certificate, "ca.key": key, "previous.crt": certificate}
        return rotation.read(data, NOW)


@examples(max_examples=400)
@given(mutations(BODY).map(signed) | mutations(BODY).map(lambda der: pem(der, "CERTIFICATE")) | st.binary(max_size=64))
def test_any_certificate_is_a_ca_that_signs_or_garbage_with_a_reason(certificate: bytes) -> None:
    assert_sound(read(certificate, CA.key_pem))


@examples(max_examples=400)
@given(mutations(KEY).map(lambda der: pem(der, "PRIVATE KEY")) | st.binary(max_size=64))
def test_any_key_is_the_cas_or_garbage_with_a_reason(key: bytes) -> None:
    assert_sound(read(CA.certificate_pem, key))


def assert_sound(reading: rotation.Reading) -> None:
    """What was taken for good is good for all we do with it; what was not is named and replaced."""
    planned = rotation.plan(reading, name="ca", now=NOW, published=True)
    trust = reading.trust or (planned.trust if planned else None)
    assert trust is not None
    assert reading.trust is not None or reading.problems
    leaf = certs.sign_leaf(trust.current, ["a"], NOW)
    leaf.certificate.verify_directly_issued_by(trust.current.certificate)
    tls.serve(tls.server_context(), leaf)
    tls.verify_context(trust.bundle())


@pytest.mark.parametrize("certificate", BROKEN.values(), ids=BROKEN)
@pytest.mark.parametrize("key", ["ca.crt", "next.crt", "previous.crt"])
def test_broken_certificates_are_named_wherever_they_stand(certificate: bytes, key: str) -> None:
    sound = {"ca.crt": CA.certificate_pem, "ca.key": CA.key_pem, "next.key": CA.key_pem}
    reading = rotation.read({**sound, key: certificate}, NOW)
    assert [problem for problem in reading.problems if problem.startswith(key)]
    assert (reading.trust is None) == (key == "ca.crt")


@pytest.mark.parametrize("certificate", BROKEN.values(), ids=BROKEN)
async def test_the_process_replaces_them_and_goes_on(
    apiserver: ApiServer,
    connect: Connect,
    settings: Settings,
    eventually: Eventually,
    certificate: bytes,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    stored = {"ca.crt": certificate, "ca.key": CA.key_pem, "previous.crt": certificate}
    apiserver.put(SECRET, {"data": {key: base64.b64encode(value).decode() for key, value in stored.items()}})
    authority = Authority(await connect(), settings, tls.server_context(), settle=0.2, rest=0.01)
    running = asyncio.create_task(authority.run())
    await eventually(lambda: authority.trouble is None or running.done())
    assert not running.done(), running.exception()
    running.cancel()
    entry = apiserver.objects[MUTATING]["webhooks"][1]
    trusted = base64.b64decode(entry["clientConfig"]["caBundle"])
    assert certs.read_ca_certificate(trusted, authority._client.time.now() // SECOND * SECOND)
    assert [r for r in caplog.records if "ca.crt: it is n" in getattr(r, "why", "")]
