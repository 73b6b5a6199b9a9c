"""Keeps the certificate right: the CA's Secret, the ``caBundle`` of both configurations, the leaf that is served.

Mode ``selfSigned``, after cert-manager's dynamic authority (reference/engineering.md §D.3): the replicas share one CA
in a Secret, each signs its own short leaf in memory. No mounted Secret, no kubelet lag, no race about the leaf. A mode
with certificates from elsewhere is another class with ``run``, ``trouble`` and ``leaf``, chosen in ``main``.

Every pass reads what it changes afresh; the watches only say when to look. So a pass is safe whatever other replicas
do: the Secret is written against the resourceVersion that was read, and the bundle is a function of the Secret.
"""

import asyncio
import base64
import logging
import ssl
import time
from typing import Any, Final

import msgspec

from classifier import api
from classifier.cluster.backoff import Backoff
from classifier.cluster.client import JSON_PATCH, MERGE_PATCH, ApiError, Client, ClientError
from classifier.cluster.reflector import Reflector
from classifier.objects import Meta, Obj
from webhook import certs, rotation, tls
from webhook.rotation import Trust
from webhook.settings import Settings

log = logging.getLogger(__name__)

#: Seconds between passes when nothing stirs: a cleared bundle is back within a minute even if a watch is deaf.
PERIOD: Final = 20.0
#: Seconds between two passes at least, however often somebody edits the objects.
REST: Final = 0.5
#: Seconds a CA has been in both bundles before a leaf of it replaces one that works: API servers learn it by watch.
SETTLE: Final = 10.0

_CONFIGURATIONS: Final = (api.MUTATING_WEBHOOKS, api.VALIDATING_WEBHOOKS)


class _Overtaken(Exception):
    """Another replica has changed what our answer was made from; the next pass reads it."""


class _Secret(Meta):
    data: dict[str, str] | None = None


class _Service(Obj):
    name: str = ""
    namespace: str = ""


class _ClientConfig(Obj):
    ca_bundle: str | None = None
    service: _Service | None = None


class _Webhook(Obj):
    name: str = ""
    client_config: _ClientConfig | None = None


class _Configuration(Meta):
    webhooks: list[_Webhook] | None = None


class Authority:
    """``leaf`` is what ``context`` serves; ``bundle`` (PEM) is what trusts it."""

    def __init__(
        self, client: Client, settings: Settings, context: ssl.SSLContext, *, settle: float = SETTLE, rest: float = REST
    ) -> None:
        self.leaf: certs.Keypair | None = None
        self.bundle = b""
        self._client = client
        self._settings = settings
        self._context = context
        self._settle = settle
        self._rest = rest
        self._signer: certs.Keypair | None = None
        self._published: dict[str, float] = {}
        self._trouble = "not begun"
        self._wake = asyncio.Event()

    @property
    def trouble(self) -> str | None:
        """Why the API server cannot trust what we serve; None when it does."""
        if self.leaf is None or self._signer is None:
            return f"no certificate yet: {self._trouble}"
        if certs.fingerprint(self._signer.certificate) not in self._published:
            return f"caBundle is not in place: {self._trouble}"
        return None

    def seconds_left(self, kind: str) -> float:
        """Seconds until the ``ca`` or the ``leaf`` ends; 0 while there is none."""
        pair = self._signer if kind == "ca" else self.leaf
        return (certs.ends_at(pair.certificate) - self._client.time.now()) / 1000 if pair else 0.0

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as group:
            for watch in self._watches():
                group.create_task(watch.run())
            backoff = Backoff(self._rest, PERIOD)
            while True:
                self._wake.clear()
                wait, trouble = PERIOD, ""
                try:
                    trouble = await self._pass()
                    backoff.reset()
                except ApiError as error:
                    trouble, wait = str(error), backoff.next(error.retry_after)
                except (ClientError, msgspec.MsgspecError) as error:
                    trouble, wait = str(error), backoff.next()
                if trouble and trouble != self._trouble:
                    log.warning("certificates: %s", trouble)
                self._trouble = trouble
                await asyncio.sleep(self._rest)
                try:
                    async with asyncio.timeout(min(wait, self._settle) if trouble or self._waits else wait):
                        await self._wake.wait()
                except TimeoutError:
                    continue

    def _watches(self) -> list[Reflector[Meta]]:
        def stir(key: str, old: Meta | None, new: Meta | None) -> None:
            self._wake.set()

        named = f"metadata.name={self._settings.configuration}"
        secret = f"metadata.name={self._settings.ca_secret}"
        return [
            *(Reflector(self._client, r, Meta, field_selector=named, on_change=stir) for r in _CONFIGURATIONS),
            Reflector(
                self._client,
                api.SECRETS,
                Meta,
                namespace=self._settings.namespace,
                field_selector=secret,
                on_change=stir,
            ),
        ]

    async def _pass(self) -> str:
        """Secret, bundles, leaf: in this order, so that nothing is served before it is trusted. What still stands in
        the way, in words, or nothing."""
        trust = await self._trust()
        bundle, problems, unknown = trust.bundle(), [], False
        for resource in _CONFIGURATIONS:
            try:
                problem = await self._publish(resource, bundle)
            except (ApiError, ClientError, msgspec.MsgspecError, _Overtaken) as error:
                # What was in place still is, for all we know; and a leaf that is due must not wait for this.
                problem, unknown = f"{resource.kind} {self._settings.configuration}: {error}", True
            if problem:
                problems.append(problem)
        if not unknown:
            now = time.monotonic()
            carried = {certs.fingerprint(c) for c in trust.certificates} if not problems else set()
            self._published = {fingerprint: self._published.get(fingerprint, now) for fingerprint in carried}
        self._serve(trust)
        return "; ".join(problems)

    # --- the Secret -------------------------------------------------------------------------------------------

    async def _trust(self) -> Trust:
        while True:
            secret = await self._read_secret()
            now = self._client.time.now()
            reading = rotation.read(_decoded(secret), now)
            known = {certs.fingerprint(c) for c in reading.trust.certificates} if reading.trust else set()
            step = rotation.plan(
                reading,
                name=f"{self._settings.service}-ca",
                now=now,
                published=bool(known) and known <= self._published.keys(),
                serving=[self._signer.certificate] if self._signer else [],
            )
            if step is None and reading.trust is not None:
                return reading.trust
            assert step is not None
            try:
                await self._write_secret(secret, step.trust)
            except ApiError as error:
                # Another replica was quicker (or the Secret went away): read what there is now.
                if error.conflict or (error.missing and secret is not None):
                    log.info("the CA's Secret was written by another replica; reading it again")
                    await asyncio.sleep(self._rest)
                    continue
                raise
            log.info("wrote the CA's Secret", extra={"secret": self._settings.ca_secret, "why": step.why})
            return step.trust

    async def _read_secret(self) -> _Secret | None:
        path = api.SECRETS.path(self._settings.namespace, self._settings.ca_secret)
        try:
            return await self._client.get(path, _Secret)
        except ApiError as error:
            if error.missing:
                return None
            raise

    async def _write_secret(self, secret: _Secret | None, trust: Trust) -> None:
        settings, params = self._settings, {"fieldManager": api.WEBHOOK_MANAGER}
        data = {key: value and base64.b64encode(value).decode() for key, value in trust.data().items()}
        if secret is None:
            body = {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": settings.ca_secret, "namespace": settings.namespace},
                "type": "Opaque",
                "data": {key: value for key, value in data.items() if value},
            }
            await self._client.request("POST", api.SECRETS.path(settings.namespace), params=params, body=body)
            return
        body = {"metadata": {"resourceVersion": secret.metadata.resource_version}, "data": data}
        path = api.SECRETS.path(settings.namespace, settings.ca_secret)
        await self._client.request("PATCH", path, params=params, body=body, content_type=MERGE_PATCH)

    # --- the bundles ------------------------------------------------------------------------------------------

    async def _publish(self, resource: api.Resource, bundle: bytes) -> str | None:
        """Put the bundle into every entry of one configuration that names our Service; the problem if it cannot be."""
        settings, encoded = self._settings, base64.b64encode(bundle).decode()
        path = resource.path(name=settings.configuration)
        try:
            found = await self._client.get(path, _Configuration)
        except ApiError as error:
            if error.missing:
                return f"{resource.kind} {settings.configuration} does not exist"
            raise
        patch: list[dict[str, Any]] = []
        ours = 0
        for index, webhook in enumerate(found.webhooks or ()):
            service = webhook.client_config.service if webhook.client_config else None
            if service is None or (service.namespace, service.name) != (settings.namespace, settings.service):
                continue
            ours += 1
            if webhook.client_config and webhook.client_config.ca_bundle != encoded:
                patch.append({"op": "add", "path": f"/webhooks/{index}/clientConfig/caBundle", "value": encoded})
        if not ours:
            return (
                f"no webhook of {resource.kind} {settings.configuration} names Service "
                f"{settings.namespace}/{settings.service}"
            )
        if patch:
            await self._write_bundle(path, found, bundle, patch)
            log.info("put the caBundle in place", extra={"kind": resource.kind, "webhook": settings.configuration})
        return None

    async def _write_bundle(self, path: str, found: _Configuration, bundle: bytes, patch: list[dict[str, Any]]) -> None:
        """Never an older bundle over a newer one, however slow we were: who publishes has written the Secret before, so
        what it says after the configuration was read is at least as new as what stands there; and the write goes to
        the very configuration that was read, which also binds the indices of ``patch`` to its entries."""
        reading = rotation.read(_decoded(await self._read_secret()), self._client.time.now())
        if reading.trust is None or reading.trust.bundle() != bundle:
            raise _Overtaken("the CA's Secret has changed meanwhile")
        unchanged = {"op": "test", "path": "/metadata/resourceVersion", "value": found.metadata.resource_version}
        params = {"fieldManager": api.WEBHOOK_MANAGER}
        await self._client.request("PATCH", path, params=params, body=[unchanged, *patch], content_type=JSON_PATCH)

    # --- the leaf ---------------------------------------------------------------------------------------------

    @property
    def _waits(self) -> bool:
        """Whether a published CA is on its way to be served."""
        return any(time.monotonic() - since < self._settle for since in self._published.values())

    def _serve(self, trust: Trust) -> None:
        now = self._client.time.now()
        current = certs.fingerprint(trust.current.certificate)
        served = certs.fingerprint(self._signer.certificate) if self._signer else None
        self.bundle = trust.bundle()
        if self.leaf is not None and served == current:
            if now < certs.renew_at(self.leaf.certificate):
                return
        elif self.leaf is not None and served in self._published:
            since = self._published.get(current)
            if since is None or time.monotonic() - since < self._settle:
                return
        leaf = certs.sign_leaf(trust.current, self._settings.dns_names, now)
        tls.serve(self._context, leaf)
        self.leaf, self._signer = leaf, trust.current
        log.info(
            "serving a new certificate",
            extra={
                "fingerprint": certs.fingerprint(leaf.certificate),
                "until": str(leaf.certificate.not_valid_after_utc),
            },
        )


def _decoded(secret: _Secret | None) -> dict[str, bytes]:
    """The Secret's data; what is no base64 counts as garbage, which reading it names."""
    data: dict[str, bytes] = {}
    for key, value in ((secret.data if secret else None) or {}).items():
        if key in rotation.KEYS:
            try:
                data[key] = base64.b64decode(value, validate=True)
            except ValueError:
                data[key] = b"not base64"
    return data
