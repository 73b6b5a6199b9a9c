"""The webhook behind the real API server: what a user sees at submit, and what no user may ever see."""

import asyncio
import base64
import copy
import json
import ssl
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio
from aiohttp import web

from classifier import api
from classifier.instant import MINUTE, SECOND, parse_instant
from e2e import builders, view
from e2e.builders import GPU, Document, Queues
from e2e.controlplane.chart import Muster
from e2e.controlplane.cluster import Cluster
from e2e.controlplane.context import ADMINISTRATORS
from e2e.controlplane.egress import Fault
from e2e.wait import eventually

STAMPS = {api.SUBMITTED_AT, api.ADMISSION_DEADLINE, api.CAPACITY_PROFILE, api.PREFLIGHT}
DENIED = (
    'admission webhook "vjob.muster.dev" denied the request: preflight: gang needs 3 node(s) of gpupool (max 2): '
    f"cannot fit; request at most 16 {GPU} or raise the pool's maximum"
)


@dataclass
class Answer:
    """What the API server told a person: the object, or the Status of a refusal."""

    status: int
    warnings: list[str]
    body: Document

    @property
    def annotations(self) -> dict[str, str]:
        return view.annotations(self.body)


class Person:
    """Somebody with kubectl: sees status codes, Statuses and warnings."""

    def __init__(self, session: aiohttp.ClientSession, server: str) -> None:
        self._session = session
        self._server = server

    async def submit(self, job: Document, **params: str) -> Answer:
        url = self._server + api.JOBS.path(job["metadata"]["namespace"])
        async with self._session.post(url, json=job, params=params) as answer:
            # 299 - "text", with quotes and backslashes escaped (RFC 7234 §5.5).
            said = [json.loads(w.split(" ", 2)[2]) for w in answer.headers.getall("Warning", [])]
            return Answer(answer.status, said, await answer.json())


@pytest_asyncio.fixture(loop_scope="session")
async def alice(cluster: Cluster, tmp_path: Path) -> AsyncIterator[Person]:
    authority = cluster.context.authority
    file = tmp_path / "alice.pem"
    file.write_bytes(b"".join(authority.client("alice", [ADMINISTRATORS])))
    context = ssl.create_default_context(cadata=authority.certificate.decode())
    context.load_cert_chain(file)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context)) as session:
        yield Person(session, cluster.context.server)


@pytest_asyncio.fixture(loop_scope="session")
async def policy(cluster: Cluster, muster: Muster, queues: Queues, alice: Person) -> AsyncIterator[Document]:
    """A profile that enforces 2 nodes x 8 GPU and bounds the wait; both replicas know it when the test begins."""
    profile = builders.profile(
        queues.cluster_queue,
        queues.flavor,
        [builders.pool("gpupool", queues, max_nodes=2, allocatable={GPU: 8})],
        closed=True,
        preflight="Enforce",
        admission={"timeout": "30m"},
    )
    await cluster.applier.apply([profile])
    in_a_row = 0

    async def known() -> bool:
        nonlocal in_a_row
        probe = await alice.submit(gang("probe", queues), dryRun="All")
        in_a_row = in_a_row + 1 if api.CAPACITY_PROFILE in probe.annotations else 0
        return in_a_row >= 4

    await eventually(known, what="the profile is known to the webhook")
    yield profile
    await cluster.applier.delete([profile])


def gang(name: str, queues: Queues, nodes: int = 2, annotations: dict[str, str] | None = None) -> Document:
    return builders.job(name, queues, pods=nodes, requests={GPU: 8}, annotations=annotations)


async def counters(muster: Muster) -> dict[str, float]:
    """Counters of record, summed over the replicas."""
    total: dict[str, float] = {}
    for pod in muster.webhooks:
        for name, value in (await view.metrics(pod)).items():
            if name.startswith(("muster_verdicts_total", "muster_denials_total", "muster_preflight_skipped_total")):
                total[name] = total.get(name, 0) + value
    return total


# --- stamp and deny ------------------------------------------------------------------------------------------------


async def test_a_job_under_a_policy_is_stamped(queues: Queues, policy: Document, alice: Person) -> None:
    answer = await alice.submit(gang("train", queues))
    assert answer.status == 201
    assert answer.warnings == []
    assert answer.annotations.keys() == STAMPS
    submitted = parse_instant(answer.annotations[api.SUBMITTED_AT])
    assert abs(submitted - parse_instant(answer.body["metadata"]["creationTimestamp"])) <= 3 * SECOND
    assert parse_instant(answer.annotations[api.ADMISSION_DEADLINE]) == submitted + 30 * MINUTE
    assert answer.annotations[api.CAPACITY_PROFILE] == policy["metadata"]["name"]
    assert answer.annotations[api.PREFLIGHT] == "fits-after-scale-up: gang needs 2 node(s) of gpupool (max 2)"


async def test_a_gang_that_can_never_fit_is_refused_with_the_line(
    cluster: Cluster, muster: Muster, queues: Queues, policy: Document, alice: Person
) -> None:
    before = await counters(muster)
    answer = await alice.submit(gang("train", queues, nodes=3))
    assert (answer.status, answer.body["reason"]) == (403, "Forbidden")
    assert answer.body["message"] == DENIED
    (cause,) = answer.body["details"]["causes"]
    assert cause["reason"] == "nodes"
    assert cause["field"] == "podSets[main]"
    assert f"CapacityProfile/{policy['metadata']['name']}" in cause["message"]
    assert await view.every(cluster.admin, api.JOBS, queues.namespace) == []
    denials = f'muster_denials_total{{profile="{policy["metadata"]["name"]}"}}'
    assert (await counters(muster)).get(denials, 0) == before.get(denials, 0) + 1


async def test_a_dry_run_is_answered_alike_and_leaves_no_trace(
    cluster: Cluster, muster: Muster, queues: Queues, policy: Document, alice: Person
) -> None:
    before = await counters(muster)
    refused = await alice.submit(gang("train", queues, nodes=3), dryRun="All")
    assert refused.body["message"] == DENIED
    stamped = await alice.submit(gang("train", queues), dryRun="All")
    assert stamped.annotations.keys() == STAMPS
    assert await view.every(cluster.admin, api.JOBS, queues.namespace) == []
    assert await counters(muster) == before


async def test_a_copied_manifest_starts_afresh(queues: Queues, policy: Document, alice: Person) -> None:
    old = "2026-01-01T00:00:00Z"
    copied = {
        **dict.fromkeys((*api.CONTROLLER_KEYS, api.SUBMITTED_AT), old),
        api.CAPACITY_PROFILE: "another",
        api.ADMISSION_TIMEOUT: "45m",
        "example.com/kept": "kept",
        "other": "x" * 10_000,
    }
    answer = await alice.submit(gang("train", queues, annotations=copied))
    assert answer.status == 201
    assert answer.annotations.keys() == STAMPS | {api.ADMISSION_TIMEOUT, "example.com/kept", "other"}
    assert old not in answer.annotations.values()
    assert answer.annotations[api.ADMISSION_TIMEOUT] == "45m", "people's keys are never rewritten"
    submitted = parse_instant(answer.annotations[api.SUBMITTED_AT])
    assert parse_instant(answer.annotations[api.ADMISSION_DEADLINE]) == submitted + 45 * MINUTE


# --- bad input -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["soon", "-5m", "0", "9999999h999999999m", "1e3s", "１h", "5m\n"])
async def test_a_bad_duration_is_told_and_ignored(queues: Queues, policy: Document, alice: Person, text: str) -> None:
    answer = await alice.submit(gang("train", queues, annotations={api.ADMISSION_TIMEOUT: text}), dryRun="All")
    assert answer.status == 201
    (warning,) = answer.warnings
    assert warning.startswith("muster: job: muster.dev/admission-timeout: ")
    assert len(warning) <= 120
    assert answer.annotations[api.ADMISSION_TIMEOUT] == text
    submitted = parse_instant(answer.annotations[api.SUBMITTED_AT])
    assert parse_instant(answer.annotations[api.ADMISSION_DEADLINE]) == submitted + 30 * MINUTE


@pytest.mark.parametrize(
    "change",
    [
        lambda job: job["spec"].update(parallelism=-1),
        lambda job: job["spec"].update(parallelism=2**31 - 1),
        lambda job: job["spec"].update(parallelism=0),
        lambda job: job["metadata"]["labels"].update({api.QUEUE_NAME: "../../../../api/v1/namespaces/default/secrets"}),
        lambda job: job["metadata"]["labels"].update({api.QUEUE_NAME: "missing"}),
        lambda job: job["spec"]["template"]["spec"]["containers"][0]["resources"].update(limits={GPU: "1.5"}),
        lambda job: job["spec"]["template"]["spec"]["containers"][0]["resources"].update(limits={GPU: "9" * 30}),
        lambda job: job["spec"]["template"]["spec"]["containers"][0]["resources"].update(limits={GPU: "-8"}),
        lambda job: job["spec"]["template"].update(spec=None),
        lambda job: job["metadata"].update(annotations={"a": ""}),
    ],
    ids=[
        "negative",
        "huge",
        "none",
        "queue-is-a-path",
        "queue-is-missing",
        "half-a-gpu",
        "thirty-nines",
        "negative-gpus",
        "no-pods",
        "empty-annotation",
    ],
)
async def test_odd_jobs_get_a_clear_answer(
    muster: Muster, queues: Queues, policy: Document, alice: Person, change: Callable[[Document], None]
) -> None:
    """Refused by the API server or by us, or accepted: never a 5xx, never a review that failed."""
    job = gang("train", queues)
    change(job)
    before = await failed(muster)
    answer = await alice.submit(job, dryRun="All")
    assert 200 <= answer.status < 500, answer.body
    assert not [w for w in answer.warnings if "internal error" in w]
    assert await failed(muster) == before


async def failed(muster: Muster) -> float:
    """Reviews that ended in an error of ours or of the API server's request."""
    samples = [await view.metrics(pod) for pod in muster.webhooks]
    return sum(value for s in samples for name, value in s.items() if name.startswith("muster_review_errors_total"))


# --- what must not change ------------------------------------------------------------------------------------------


async def test_a_job_that_no_policy_touches_is_the_same_object_as_without_muster(
    muster: Muster, queues: Queues, alice: Person
) -> None:
    with_muster = await alice.submit(gang("same", queues), dryRun="All")
    await muster.break_webhook(Fault.REFUSE)
    try:
        without = await alice.submit(gang("same", queues), dryRun="All")
    finally:
        await muster.break_webhook(None)
    assert with_muster.warnings == without.warnings == []
    assert _timeless(with_muster.body) == _timeless(without.body)


def _timeless(job: Document) -> Document:
    """Without what differs between any two objects."""
    job = copy.deepcopy(job)
    uid = job["metadata"].pop("uid")
    job["metadata"].pop("creationTimestamp")
    for field in job["metadata"]["managedFields"]:
        field.pop("time")
    text = json.dumps(job, sort_keys=True).replace(uid, "UID")
    timeless: Document = json.loads(text)
    return timeless


@pytest.mark.parametrize("fault", list(Fault))
async def test_without_the_webhook_jobs_are_admitted_unstamped(
    muster: Muster, queues: Queues, policy: Document, alice: Person, fault: Fault
) -> None:
    await muster.break_webhook(fault)
    try:
        answer = await alice.submit(gang("train", queues, nodes=3), dryRun="All")
    finally:
        await muster.break_webhook(None)
    assert answer.status == 201
    assert not STAMPS & answer.annotations.keys()


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
