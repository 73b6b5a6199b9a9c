"""A broken webhook in Muster's place, trusted as Muster is. What it does wrong stands on the object it is asked about.

async with StandIn(muster) as stand_in:
    await alice.submit(gang("train", queues, annotations={DOES: "garbage"}))
"""

import asyncio
import base64
import contextlib
import ssl
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType
from typing import Any, Final, Self

import msgspec
from aiohttp import web

from classifier import api
from e2e.controlplane.chart import NAMESPACE, WEBHOOK, Muster
from webhook import certs

DOES: Final = "e2e.muster.dev/stand-in"
#: Seconds. The API server waits for 2, and then a second time in the other phase.
LATE: Final = 3.0

Document = dict[str, Any]
Misdeed = Callable[[web.Request, Document], Awaitable[web.StreamResponse]]


def _review(uid: str, *, allowed: bool = False, **response: Any) -> Document:
    status = {"code": 403, "message": "denied by a stand-in"}
    response = {"uid": uid, "allowed": allowed, **({} if allowed else {"status": status}), **response}
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}


def _says(body: bytes | Document, status: int = 200, **headers: str) -> Misdeed:
    async def say(http: web.Request, asked: Document) -> web.Response:
        data = body if isinstance(body, bytes) else msgspec.json.encode(body)
        return web.Response(status=status, body=data, headers={"Content-Type": "application/json", **headers})

    return say


async def _denies(http: web.Request, asked: Document) -> web.Response:
    return web.json_response(_review(asked["uid"]))


async def _denies_late(http: web.Request, asked: Document) -> web.Response:
    await asyncio.sleep(LATE)
    return await _denies(http, asked)


async def _answers_nothing(http: web.Request, asked: Document) -> web.Response:
    await asyncio.Event().wait()
    raise AssertionError("nobody sets it")


async def _breaks_off(http: web.Request, asked: Document) -> web.StreamResponse:
    if http.transport is not None:
        http.transport.abort()
    return web.Response()


async def _breaks_off_half_way(http: web.Request, asked: Document) -> web.StreamResponse:
    answer = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": "1000"})
    await answer.prepare(http)
    await answer.write(b'{"apiVersion": "admission.k8s.io/v1", "kind"')
    return await _breaks_off(http, asked)


async def _never_ends(http: web.Request, asked: Document) -> web.StreamResponse:
    answer = web.StreamResponse(headers={"Content-Type": "application/json"})
    await answer.prepare(http)
    with contextlib.suppress(ConnectionError):
        while True:
            await answer.write(b" ")
            await asyncio.sleep(0.1)
    return answer


async def _patches_without_type(http: web.Request, asked: Document) -> web.Response:
    patch = base64.b64encode(b'[{"op": "remove", "path": "/spec/parallelism"}]').decode()
    return web.json_response(_review(asked["uid"], allowed=True, patch=patch))


async def _patches_what_is_not_there(http: web.Request, asked: Document) -> web.Response:
    patch = base64.b64encode(b'[{"op": "remove", "path": "/spec/none"}]').decode()
    return web.json_response(_review(asked["uid"], allowed=True, patch=patch, patchType="JSONPatch"))


#: What the API server takes for a call that failed, so that ``failurePolicy`` decides.
FAILURES: Final[Mapping[str, Misdeed]] = {
    "a-500": _says(b"boom", 500),
    "a-503": _says(b"", 503),
    "a-429": _says(b"", 429, **{"Retry-After": "60"}),
    "a-404": _says(b"404 page not found", 404),
    "a-401": _says(b"", 401),
    "a-redirect": _says(b"", 302, Location="/elsewhere"),
    "nothing-at-all": _says(b""),
    "garbage": _says(b"\x00\xff{"),
    "html": _says(b"<html><body>Welcome</body></html>"),
    "an-array": _says(b"[]"),
    "no-response": _says({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}),
    "another-kind": _says({"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": 403}),
    "an-old-version": _says({**_review("x"), "apiVersion": "admission.k8s.io/v1beta1"}),
    "another-uid": _says(_review("00000000-0000-0000-0000-000000000000")),
    "no-uid": _says(_review("")),
    "a-patch-without-type": _patches_without_type,
    "breaks-off": _breaks_off,
    "breaks-off-half-way": _breaks_off_half_way,
    "silence": _answers_nothing,
    "an-answer-without-end": _never_ends,
    "a-denial-too-late": _denies_late,
}
ALL: Final[Mapping[str, Misdeed]] = {
    **FAILURES,
    "a-denial": _denies,
    "a-patch-that-does-not-apply": _patches_what_is_not_there,
}


class StandIn:
    """Answers in the place of Muster's webhook while the block lasts.

    ``trusted``: with a certificate of Muster's CA; else with one of a CA that nobody knows.
    """

    def __init__(self, muster: Muster, *, trusted: bool = True) -> None:
        self._muster = muster
        self._trusted = trusted

    async def __aenter__(self) -> Self:
        cluster = self._muster.cluster
        app = web.Application()
        app.router.add_post("/{phase}", self._answer)
        self._runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
        await self._runner.setup()
        address = cluster.context.subnet.pod_address()
        await web.TCPSite(self._runner, address, 9443, ssl_context=await self._context()).start()
        self._service = await cluster.service_address(NAMESPACE, WEBHOOK, 443)
        await cluster.egress.stand_in(self._service, f"{address}:9443")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._muster.cluster.egress.stand_in(self._service, None)
        await self._runner.cleanup()

    async def _answer(self, http: web.Request) -> web.StreamResponse:
        asked = (await http.json())["request"]
        annotations = asked["object"]["metadata"].get("annotations") or {}
        return await ALL[annotations[DOES]](http, asked)

    async def _context(self) -> ssl.SSLContext:
        client = self._muster.cluster.admin
        if self._trusted:
            path = api.SECRETS.path(NAMESPACE, "muster-webhook-ca")
            data = msgspec.json.decode(await client.request("GET", path))["data"]
            pair = [base64.b64decode(data[name]) for name in ("ca.crt", "ca.key")]
            authority = certs.read_ca(pair[0], pair[1], client.time.now())
        else:
            authority = certs.make_ca("nobody", client.time.now())
        leaf = certs.sign_leaf(authority, [f"{WEBHOOK}.{NAMESPACE}.svc"], client.time.now())
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        with tempfile.NamedTemporaryFile() as file:
            file.write(leaf.certificate_pem + leaf.key_pem)
            file.flush()
            context.load_cert_chain(file.name)
        return context
