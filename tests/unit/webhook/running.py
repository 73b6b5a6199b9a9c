"""A webhook that runs, and a client that trusts it as the API server does."""

import io
import json
import ssl
from dataclasses import dataclass
from typing import Any

import aiohttp

from classifier.cluster.client import Client
from classifier.fit import Outcome, Verdict
from tests.unit.webhook.builders import Object, review
from webhook import tls
from webhook.authority import Authority
from webhook.metrics import Metrics
from webhook.server import Server
from webhook.settings import Settings
from webhook.snapshot import Snapshot

LINE = "preflight: gang needs 3 node(s) of gpupool (max 2): cannot fit"


def judgement(obj: Any, world: Any, now: int) -> Verdict:
    """A stand-in for the fit: three pods do not fit, others do, and a job named ``bug`` finds one."""
    if obj.name == "bug":
        raise ZeroDivisionError("found")
    if obj.spec.parallelism > 2:
        reason = "gang needs 3 node(s) of gpupool (max 2)"
        return Verdict(
            outcome=Outcome.NEVER_FITS, denied=True, mode="Enforce", profile="gpu-a100-8", line=LINE, reason=reason
        )
    return Verdict(
        outcome=Outcome.FITS,
        mode="Enforce",
        line="preflight: fits",
        reason="gang needs 2 node(s)",
        profile="gpu-a100-8",
    )


@dataclass
class Webhook:
    """A running webhook and a client that trusts it as the API server does."""

    settings: Settings
    server: Server
    authority: Authority
    metrics: Metrics
    snapshot: Snapshot
    client: Client
    session: aiohttp.ClientSession
    context: ssl.SSLContext

    async def post(self, path: str, body: Any, *, timeout: str = "2s", **options: Any) -> aiohttp.ClientResponse:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        options.setdefault("headers", {"Content-Type": "application/json"})
        url = f"https://{self.settings.bind_address}:{self.settings.port}{path}?timeout={timeout}"
        return await self.session.post(
            url,
            data=options.pop("data", io.BytesIO(data)),
            ssl=tls.verify_context(self.authority.bundle),
            server_hostname=self.settings.server_name,
            **options,
        )

    async def ask(self, path: str, obj: Object, **request: Any) -> Object:
        """The response part of the review's answer."""
        sent = review(obj, **request)
        async with await self.post(path, sent) as answer:
            assert answer.status == 200
            decoded = await answer.json()
        assert (decoded["apiVersion"], decoded["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
        response: Object = decoded["response"]
        assert response["uid"] == sent["request"]["uid"]
        return response

    async def is_ready(self) -> bool:
        return (await self.probe("/readyz"))[0] == 200

    async def probe(self, path: str) -> tuple[int, str]:
        async with self.session.get(
            f"http://{self.settings.bind_address}:{self.settings.metrics_port}{path}"
        ) as answer:
            return answer.status, await answer.text()

    def count(self, name: str, **labels: str) -> float:
        return self.metrics.registry.get_sample_value(name, labels) or 0.0
