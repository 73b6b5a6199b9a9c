"""The CA's Secret and the bundles, against an API server: created once, repaired, re-asserted, rotated live."""

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace

import pytest
from aiohttp import web

from tests.unit.webhook.apiserver import ApiServer
from tests.unit.webhook.conftest import MUTATING, SECRET, VALIDATING, Connect, Eventually
from webhook import certs, rotation, tls
from webhook.authority import Authority
from webhook.settings import Settings

Start = Callable[[], Awaitable[Authority]]


@pytest.fixture
async def start(connect: Connect, settings: Settings) -> AsyncIterator[Start]:
    """Starts one replica after another."""
    tasks: list[asyncio.Task[None]] = []

    async def authority() -> Authority:
        one = Authority(await connect(), settings, tls.server_context(), settle=0.2, rest=0.01)
        tasks.append(asyncio.create_task(one.run()))
        return one

    yield authority
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def bundle(server: ApiServer, path: str, index: int) -> bytes:
    encoded = server.objects[path]["webhooks"][index]["clientConfig"].get("caBundle", "")
    return base64.b64decode(encoded)


def secret(server: ApiServer) -> dict[str, bytes]:
    return {key: base64.b64decode(value) for key, value in server.objects[SECRET]["data"].items()}


async def test_a_first_replica_makes_the_ca_and_is_trusted(
    apiserver: ApiServer, start: Start, eventually: Eventually
) -> None:
    authority = await start()
    await eventually(lambda: authority.trouble is None)
    assert bundle(apiserver, MUTATING, 1) == bundle(apiserver, VALIDATING, 0) == secret(apiserver)["ca.crt"]
    assert "caBundle" not in apiserver.objects[MUTATING]["webhooks"][0]["clientConfig"], "not ours, not touched"
    assert set(apiserver.managers) == {"muster-webhook"}
    assert authority.leaf is not None
    assert (
        authority.leaf.certificate.issuer
        == certs.read_ca_certificate(secret(apiserver)["ca.crt"], certs.made_at(authority.leaf.certificate)).subject
    )
    assert 6 * 86_400 < authority.seconds_left("leaf") <= 7 * 86_400


async def test_replicas_that_start_together_agree_on_one_ca(
    apiserver: ApiServer, start: Start, eventually: Eventually
) -> None:
    met = asyncio.Barrier(3)
    posts: list[str] = []

    async def meet(request: web.Request) -> None:
        # Nobody creates the Secret before everybody has seen that there is none.
        if request.method == "POST" and len(posts) < 3:
            posts.append(request.path)
            await met.wait()

    apiserver.before = meet
    replicas = [await start() for _ in range(3)]
    await eventually(lambda: all(r.trouble is None for r in replicas))
    assert [w for w in apiserver.writes if w[0] == "POST"] == [("POST", SECRET)]
    trusted = bundle(apiserver, MUTATING, 1)
    assert {r.bundle for r in replicas} == {trusted}
    assert bundle(apiserver, VALIDATING, 0) == trusted


async def test_a_cleared_bundle_is_put_back(apiserver: ApiServer, start: Start, eventually: Eventually) -> None:
    authority = await start()
    await eventually(lambda: authority.trouble is None)
    right = bundle(apiserver, VALIDATING, 0)
    configuration = apiserver.objects[VALIDATING]
    configuration["webhooks"][0]["clientConfig"]["caBundle"] = ""
    apiserver.put(VALIDATING, configuration)
    await eventually(lambda: bundle(apiserver, VALIDATING, 0) == right)


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"ca.crt": "", "ca.key": ""},
        {"ca.crt": "@@@", "ca.key": "@@@"},
        {"ca.crt": base64.b64encode(b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----").decode()},
    ],
    ids=["empty", "no-values", "no-base64", "no-certificate"],
)
async def test_a_secret_with_garbage_is_replaced(
    apiserver: ApiServer, start: Start, eventually: Eventually, data: dict[str, str]
) -> None:
    apiserver.put(SECRET, {"data": data})
    authority = await start()
    await eventually(lambda: authority.trouble is None)
    assert bundle(apiserver, MUTATING, 1) == secret(apiserver)["ca.crt"]


async def test_a_deleted_secret_is_made_anew_without_a_moment_of_distrust(
    apiserver: ApiServer, start: Start, eventually: Eventually
) -> None:
    authority = await start()
    await eventually(lambda: authority.trouble is None)
    before = authority.leaf
    old = secret(apiserver)["ca.crt"]
    apiserver.remove(SECRET)
    await eventually(lambda: old in bundle(apiserver, MUTATING, 1) and bundle(apiserver, MUTATING, 1) != old)
    await eventually(lambda: authority.leaf is not before)
    assert authority.trouble is None
    assert old in bundle(apiserver, MUTATING, 1), "other replicas may still serve what it signed"


async def test_a_rotation_serves_the_new_ca_only_after_both_bundles_have_it(
    apiserver: ApiServer, start: Start, eventually: Eventually, connect: Connect
) -> None:
    now = (await connect()).time.now()
    old = certs.make_ca("old", now - 300 * certs.DAY)
    trust = rotation.Trust(old, next=certs.make_ca("new", now - 2 * rotation.OVERLAP))
    data = {key: base64.b64encode(value).decode() for key, value in trust.data().items() if value}
    apiserver.put(SECRET, {"data": data})
    authority = await start()
    await eventually(lambda: authority.leaf is not None)
    first = authority.leaf
    assert first is not None
    first.certificate.verify_directly_issued_by(old.certificate)
    await eventually(lambda: authority.leaf is not first)
    assert authority.leaf is not None
    assert trust.next is not None
    authority.leaf.certificate.verify_directly_issued_by(trust.next.certificate)
    assert bundle(apiserver, MUTATING, 1) == trust.bundle()
    assert "next.crt" not in secret(apiserver)
    assert secret(apiserver)["previous.crt"] == old.certificate_pem


@pytest.mark.parametrize(
    ("path", "says"),
    [(MUTATING, "MutatingWebhookConfiguration muster-webhook does not exist"), (VALIDATING, "does not exist")],
)
async def test_a_missing_configuration_is_named(
    apiserver: ApiServer, start: Start, eventually: Eventually, path: str, says: str
) -> None:
    kept = apiserver.objects[path]
    apiserver.remove(path)
    authority = await start()
    await eventually(lambda: says in (authority.trouble or ""))
    apiserver.put(path, kept)
    await eventually(lambda: authority.trouble is None)


async def test_a_configuration_for_another_service_is_named(
    apiserver: ApiServer, start: Start, eventually: Eventually
) -> None:
    apiserver.put(VALIDATING, {"webhooks": [{"name": "v", "clientConfig": {"service": {"name": "x"}}}]})
    authority = await start()
    await eventually(lambda: "names Service muster-system/muster-webhook" in (authority.trouble or ""))


async def test_a_forbidden_secret_is_named_and_survived(
    apiserver: ApiServer, start: Start, eventually: Eventually
) -> None:
    def forbid(request: web.Request) -> web.Response | None:
        if "/secrets" in request.path:
            return web.json_response({"reason": "Forbidden", "message": "secrets is forbidden"}, status=403)
        return None

    apiserver.fail = forbid
    authority = await start()
    await eventually(lambda: "secrets is forbidden" in (authority.trouble or ""))
    apiserver.fail = None
    await eventually(lambda: authority.trouble is None)


def test_only_strong_tls_is_spoken() -> None:
    context = tls.server_context()
    assert context.minimum_version is ssl.TLSVersion.TLSv1_2
    assert all("GCM" in c["name"] or "CHACHA20" in c["name"] for c in context.get_ciphers())
    assert tls.server_context("1.3").minimum_version is ssl.TLSVersion.TLSv1_3


@pytest.mark.parametrize("method", ["GET", "PATCH"], ids=["before-it-looks", "before-it-writes"])
async def test_an_older_bundle_is_never_put_over_a_newer(
    apiserver: ApiServer, start: Start, eventually: Eventually, connect: Connect, method: str
) -> None:
    """A replica that was slow has read the Secret as it was before another one changed it and told everybody."""
    now = (await connect()).time.now()
    older = rotation.Trust(certs.make_ca("old", now - certs.DAY))
    newer = replace(older, next=certs.make_ca("new", now))
    apiserver.put(SECRET, stored(older))
    overtaken: list[int] = []

    async def overtake(request: web.Request) -> None:
        if (request.method, request.path) == (method, MUTATING) and not overtaken:
            apiserver.put(SECRET, stored(newer))
            for path in (MUTATING, VALIDATING):
                configuration = apiserver.objects[path]
                for webhook in configuration["webhooks"]:
                    if "service" in webhook["clientConfig"]:
                        webhook["clientConfig"]["caBundle"] = base64.b64encode(newer.bundle()).decode()
                apiserver.put(path, configuration)
            overtaken.append(apiserver.version)

    apiserver.before = overtake
    authority = await start()
    await eventually(lambda: authority.trouble is None and authority.bundle == newer.bundle())
    assert overtaken
    later = [path for version, _, path, _ in apiserver.events if version > overtaken[0]]
    assert MUTATING not in later
    assert VALIDATING not in later


def stored(trust: rotation.Trust) -> dict[str, dict[str, str]]:
    return {"data": {key: base64.b64encode(value).decode() for key, value in trust.data().items() if value}}
