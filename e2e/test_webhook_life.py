"""The webhook among others: asked again after another one, its trust taken away, its replicas replaced."""

import asyncio
import base64
import json
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest_asyncio
from aiohttp import web

from classifier import api
from e2e.builders import Document, Queues
from e2e.controlplane.chart import Muster
from e2e.controlplane.cluster import Cluster
from e2e.submit import STAMPS, Answer, Person, enforced, gang, person
from e2e.wait import eventually


@pytest_asyncio.fixture(loop_scope="session")
async def alice(cluster: Cluster, tmp_path: Path) -> AsyncIterator[Person]:
    async with person(cluster, "alice", tmp_path) as who:
        yield who


@pytest_asyncio.fixture(loop_scope="session")
async def policy(cluster: Cluster, muster: Muster, queues: Queues, alice: Person) -> AsyncIterator[Document]:
    async with enforced(cluster, queues, alice) as profile:
        yield profile


# --- other webhooks ------------------------------------------------------------------------------------------------


@pytest_asyncio.fixture(loop_scope="session")
async def late_webhook(cluster: Cluster, ns: str) -> AsyncIterator[None]:
    """Somebody else's mutating webhook, after ours by name: it makes each Job smaller, so ours is asked again."""

    async def mutate(request: web.Request) -> web.Response:
        review = await request.json()
        patch = [
            {"op": "replace", "path": "/spec/parallelism", "value": 1},
            {"op": "replace", "path": "/spec/completions", "value": 1},
        ]
        response = {
            "uid": review["request"]["uid"],
            "allowed": True,
            "patchType": "JSONPatch",
            "patch": base64.b64encode(json.dumps(patch).encode()).decode(),
        }
        return web.json_response({"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response})

    address, port = cluster.context.subnet.pod_address(), 8443
    certificate = cluster.context.folder / "late.pem"
    certificate.write_bytes(b"".join(cluster.context.authority.server([f"late.{ns}.svc"])))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    app = web.Application()
    app.router.add_post("/", mutate)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, address, port, ssl_context=context).start()

    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "late", "namespace": ns},
        "spec": {"ports": [{"port": 443}]},
    }
    configuration = _late_configuration(ns, cluster.context.authority.certificate)
    await cluster.applier.apply([service])
    backend = await cluster.service_address(ns, "late", 443)
    await cluster.egress.route(backend, [f"{address}:{port}"])
    await cluster.applier.apply([configuration])
    yield
    await cluster.applier.delete([configuration, service])
    await cluster.egress.unroute(backend)
    await runner.cleanup()


def _late_configuration(ns: str, ca: bytes) -> Document:
    rule: dict[str, Any] = {
        "apiGroups": ["batch"],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["jobs"],
    }
    service = {"name": "late", "namespace": ns, "path": "/", "port": 443}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": f"zz-{ns}"},
        "webhooks": [
            {
                "name": "late.example.com",
                "admissionReviewVersions": ["v1"],
                "sideEffects": "None",
                "failurePolicy": "Fail",
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": ns}},
                "clientConfig": {"caBundle": base64.b64encode(ca).decode(), "service": service},
                "rules": [rule],
            }
        ],
    }


async def test_asked_again_after_another_webhook_the_stamps_speak_of_what_was_made_of_the_job(
    queues: Queues, policy: Document, late_webhook: None, alice: Person
) -> None:
    async def smaller() -> Answer:
        answer = await alice.submit(gang("train", queues, nodes=3), dryRun="All")
        assert answer.status == 201, "three nodes never fit; one does"
        assert answer.body["spec"]["parallelism"] == 1
        return answer

    answer = await eventually(smaller)
    assert answer.annotations.keys() == STAMPS
    assert answer.annotations[api.PREFLIGHT] == "fits-after-scale-up: gang needs 1 node(s) of gpupool (max 2)"
    assert answer.warnings == []


# --- certificates and restarts -------------------------------------------------------------------------------------


async def test_a_cleared_ca_bundle_is_put_back(cluster: Cluster, muster: Muster) -> None:
    path = api.VALIDATING_WEBHOOKS.path(name="muster-webhook")
    before = json.loads(await cluster.admin.request("GET", path))
    right = before["webhooks"][0]["clientConfig"]["caBundle"]
    patch = [{"op": "remove", "path": "/webhooks/0/clientConfig/caBundle"}]
    await cluster.admin.request("PATCH", path, body=patch, content_type="application/json-patch+json")

    async def back() -> bool:
        now = json.loads(await cluster.admin.request("GET", path))
        return bool(now["webhooks"][0]["clientConfig"].get("caBundle") == right)

    await eventually(back)


async def test_no_job_slips_through_while_replicas_are_replaced(
    muster: Muster, queues: Queues, policy: Document, alice: Person
) -> None:
    """Reviews go on all the while; fail-open would show as a job without stamps."""
    unstamped: list[Answer] = []
    done = asyncio.Event()

    async def keep_submitting() -> int:
        count = 0
        while not done.is_set():
            answer = await alice.submit(gang(f"train-{count}", queues), dryRun="All")
            if answer.annotations.keys() != STAMPS:
                unstamped.append(answer)
            count += 1
        return count

    submitting = asyncio.create_task(keep_submitting())
    old = muster.webhooks
    await muster.apply({"webhook": {"podAnnotations": {"example.com/restarted": queues.namespace}}})
    await muster.node.wait_ready("muster-webhook")

    async def gone() -> bool:
        return not any(pod.process.running for pod in old)

    await eventually(gone)
    done.set()
    assert await submitting > 10
    assert unstamped == []
