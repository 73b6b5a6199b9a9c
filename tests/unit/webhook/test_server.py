"""The webhook as the API server meets it: over TLS, with every kind of body, while it drains and while it rotates."""

import asyncio
import base64
import io
import json
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import aiohttp
import jsonpatch
import pytest
from aiohttp import web

from classifier import api, fit
from classifier.cluster.client import Client
from classifier.fit import Outcome, Verdict
from tests.unit.webhook.apiserver import ApiServer
from tests.unit.webhook.builders import Object, job, local_queue, namespace, profile, review
from tests.unit.webhook.conftest import Connect, Eventually, free_port
from webhook import certs, pipeline, tls
from webhook.authority import Authority
from webhook.decide import Judge, Reviewer
from webhook.metrics import Metrics
from webhook.review import Answer
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
        url = f"https://127.0.0.1:{self.settings.port}{path}?timeout={timeout}"
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
        async with self.session.get(f"http://127.0.0.1:{self.settings.metrics_port}{path}") as answer:
            return answer.status, await answer.text()

    def count(self, name: str, **labels: str) -> float:
        return self.metrics.registry.get_sample_value(name, labels) or 0.0


@pytest.fixture
def judge() -> Judge:
    return judgement


@pytest.fixture
async def webhook(
    apiserver: ApiServer, connect: Connect, settings: Settings, judge: Judge, eventually: Eventually
) -> AsyncIterator[Webhook]:
    client, metrics, context = await connect(), Metrics(), tls.server_context()
    snapshot = Snapshot(client, settings)
    authority = Authority(client, settings, context, settle=0.2, rest=0.01)
    reviewer = Reviewer(snapshot, client.time, metrics, judge)
    server = Server(settings, context, reviewer=reviewer, snapshot=snapshot, authority=authority, metrics=metrics)
    await server.start()
    tasks = [asyncio.create_task(snapshot.run()), asyncio.create_task(authority.run())]
    async with aiohttp.ClientSession() as session:
        yield Webhook(settings, server, authority, metrics, snapshot, client, session, context)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await server.stop()


@pytest.fixture
async def ready(webhook: Webhook, eventually: Eventually) -> Webhook:
    await eventually(webhook.is_ready)
    return webhook


async def test_a_job_is_stamped_and_asked_again_unchanged(ready: Webhook) -> None:
    obj = job(annotations={"muster.dev/admission-timeout": "30m"})
    response = await ready.ask("/mutate", obj)
    stamped = jsonpatch.apply_patch(obj, json.loads(base64.b64decode(response["patch"])))
    assert stamped["metadata"]["annotations"].keys() == {
        "muster.dev/admission-timeout",
        "muster.dev/submitted-at",
        "muster.dev/admission-deadline",
        "muster.dev/capacity-profile",
        "muster.dev/preflight",
    }
    assert "patch" not in await ready.ask("/mutate", stamped)
    assert ready.count("muster_reviews_total", phase="mutate", kind="Job", result="patched") == 1


async def test_a_gang_that_cannot_fit_is_denied_with_exactly_the_line(ready: Webhook) -> None:
    response = await ready.ask("/validate", job(pods=3))
    assert response["allowed"] is False
    assert response["status"]["code"] == 403
    assert response["status"]["message"] == LINE
    assert ready.count("muster_denials_total", profile="gpu-a100-8") == 1
    assert ready.count("muster_verdicts_total", verdict="never-fits", mode="Enforce") == 1


async def test_a_dry_run_is_answered_alike_and_leaves_no_trace(ready: Webhook) -> None:
    assert (await ready.ask("/validate", job(pods=3), dryRun=True))["allowed"] is False
    assert ready.count("muster_denials_total", profile="gpu-a100-8") == 0
    assert ready.count("muster_verdicts_total", verdict="never-fits", mode="Enforce") == 0


@pytest.mark.parametrize(
    ("obj", "request_"),
    [
        (job(queue=None), {}),
        (job(pods=3), {"operation": "UPDATE"}),
        (job(pods=3), {"subResource": "status"}),
        (job(pods=3), {"group": "example.com", "kind": "Widget"}),
        (None, {"operation": "DELETE"}),
        ({**job(pods=3), "spec": {"parallelism": 3, "managedBy": "example.com/other"}}, {}),
    ],
    ids=["no-queue", "update", "subresource", "other-kind", "delete", "managed-elsewhere"],
)
async def test_what_is_not_ours_is_allowed_untouched(ready: Webhook, obj: Object, request_: dict[str, Any]) -> None:
    for path in ("/mutate", "/validate"):
        assert (await ready.ask(path, obj, **request_)).keys() == {"uid", "allowed"}


async def test_a_queue_without_any_policy_leaves_the_job_alone(
    ready: Webhook, apiserver: ApiServer, eventually: Eventually
) -> None:
    apiserver.remove(api.CAPACITY_PROFILES.path(name="gpu-a100-8"))

    async def untouched() -> bool:
        return (await ready.ask("/mutate", job())).keys() == {"uid", "allowed"}

    await eventually(untouched)


async def test_bad_durations_warn_and_name_the_object(ready: Webhook, apiserver: ApiServer) -> None:
    apiserver.put(api.LOCAL_QUEUES.path("team", "lax"), {"metadata": {"namespace": "team"}, **lax()})
    response = await ready.ask("/validate", job(queue="lax", annotations={"muster.dev/admission-timeout": "-5m"}))
    assert response["allowed"] is True
    assert [w.partition(": '")[0] for w in response["warnings"]] == [
        "muster: job: muster.dev/admission-timeout",
        "muster: LocalQueue/lax: muster.dev/admission-timeout",
    ]


def lax() -> Object:
    return {"spec": {"clusterQueue": "gpu-a100"}} | {
        "metadata": {"name": "lax", "namespace": "team", "annotations": {"muster.dev/admission-timeout": "soon"}}
    }


async def test_an_object_that_cannot_be_read_is_allowed_and_the_field_named(ready: Webhook) -> None:
    obj = job()
    obj["spec"]["parallelism"] = "three"
    response = await ready.ask("/validate", obj)
    assert response["allowed"] is True
    assert response["warnings"] == [
        "muster: this Job cannot be read: Expected `int | null`, got `str` at `spec.parallelism`"
    ]
    assert "patch" not in await ready.ask("/mutate", obj)
    assert ready.count("muster_review_errors_total", cause="object") == 1


async def test_our_own_bug_allows_the_job(ready: Webhook, caplog: pytest.LogCaptureFixture) -> None:
    response = await ready.ask("/validate", job("bug"))
    assert response["allowed"] is True
    assert response["warnings"] == ["muster: preflight skipped: internal error"]
    assert ready.count("muster_review_errors_total", cause="internal") == 1
    assert "ZeroDivisionError" in caplog.text


# --- what the snapshot may lack ------------------------------------------------------------------------------------


async def test_before_the_first_list_jobs_pass_with_a_warning(
    webhook: Webhook, apiserver: ApiServer, eventually: Eventually
) -> None:
    held = asyncio.Event()

    async def hold(request: web.Request) -> None:
        if request.path.endswith("/resourceflavors"):
            await held.wait()

    apiserver.before = hold
    await eventually(lambda: webhook.authority.trouble is None)
    response = await webhook.ask("/validate", job(pods=3))
    status, text = await webhook.probe("/readyz")
    held.set()
    assert response["allowed"] is True
    assert response["warnings"] == ["muster: preflight skipped: it has not read the cluster yet"]
    assert webhook.count("muster_preflight_skipped_total", cause="unsynced") == 1
    assert status == 503
    assert "snapshot: not listed yet: resourceflavors" in text


async def test_a_stale_snapshot_never_denies(ready: Webhook, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("classifier.cluster.reflector.Reflector.age", lambda self: 181.0)
    response = await ready.ask("/validate", job(pods=3))
    assert response["allowed"] is True
    assert response["warnings"] == ["muster: preflight skipped: its view of the cluster is 181s old"]
    assert "patch" not in await ready.ask("/mutate", job())
    assert ready.count("muster_preflight_skipped_total", cause="stale") == 1


async def test_a_queue_applied_together_with_its_job_is_looked_up_live(ready: Webhook, apiserver: ApiServer) -> None:
    held = asyncio.Event()

    async def hold(request: web.Request) -> None:
        if "watch" in request.query:
            await held.wait()

    apiserver.before = hold
    apiserver.events.clear()  # what happens from here on reaches no watch
    path = api.LOCAL_QUEUES.path("team", "fresh")
    apiserver.objects[path] = {**local_queue(), "metadata": {"name": "fresh", "namespace": "team"}}
    response = await ready.ask("/validate", job(pods=3, queue="fresh"))
    held.set()
    assert response["allowed"] is False


@pytest.mark.parametrize("queue", ["../../../../../api/v1/namespaces/kube-system/secrets/x", "a?b", "..", "A", ""])
async def test_no_request_is_made_of_a_label_that_is_no_name(ready: Webhook, apiserver: ApiServer, queue: str) -> None:
    asked: list[str] = []

    async def listen(request: web.Request) -> None:
        asked.append(request.path)

    apiserver.before = listen
    assert (await ready.ask("/mutate", job(queue=queue)))["allowed"] is True
    assert not [path for path in asked if "localqueues/" in path or "kube-system" in path]


async def test_a_node_role_withheld_is_no_obstacle(
    webhook: Webhook, apiserver: ApiServer, eventually: Eventually
) -> None:
    def forbid(request: web.Request) -> web.Response | None:
        if request.path == "/api/v1/nodes":
            return web.json_response({"reason": "Forbidden", "message": "no"}, status=403)
        return None

    apiserver.fail = forbid
    await eventually(webhook.is_ready)
    view = await webhook.snapshot.view("team", "gpu")
    assert view.world.nodes is None


class TestWithTheRealJudgement:
    @pytest.fixture
    def judge(self) -> Judge:
        return fit.judge

    async def test_the_line_of_the_design_reaches_the_user(self, ready: Webhook) -> None:
        response = await ready.ask("/validate", job(pods=3))
        assert response["allowed"] is False
        assert response["status"]["message"] == (
            "preflight: gang needs 3 node(s) of gpupool (max 2): cannot fit; "
            "request at most 16 nvidia.com/gpu or raise the pool's maximum"
        )
        (cause,) = response["status"]["details"]["causes"]
        assert (cause["reason"], cause["field"]) == ("nodes", "podSets[main]")

    async def test_warn_lets_the_same_gang_in(
        self, ready: Webhook, apiserver: ApiServer, eventually: Eventually
    ) -> None:
        apiserver.put(api.CAPACITY_PROFILES.path(name="gpu-a100-8"), profile(mode="Warn"))

        async def allowed() -> bool:
            return bool((await ready.ask("/validate", job(pods=3)))["allowed"])

        await eventually(allowed)
        response = await ready.ask("/validate", job(pods=3))
        assert response["warnings"][0] == "muster: preflight: gang needs 3 node(s) of gpupool (max 2): cannot fit"

    async def test_the_break_glass_works_where_it_may_and_is_logged_and_counted(
        self, ready: Webhook, apiserver: ApiServer, caplog: pytest.LogCaptureFixture, eventually: Eventually
    ) -> None:
        obj = job(pods=3, annotations={api.PREFLIGHT_MODE: "Off"})
        assert (await ready.ask("/validate", obj))["allowed"] is False
        assert ready.count("muster_preflight_skipped_total", cause="break-glass") == 0
        apiserver.put(api.NAMESPACES.path(name="team"), namespace({api.PREFLIGHT_OPTIONAL: "true"}))

        async def allowed() -> bool:
            return bool((await ready.ask("/validate", obj))["allowed"])

        await eventually(allowed)
        assert ready.count("muster_preflight_skipped_total", cause="break-glass") == 1
        (record,) = (r for r in caplog.records if "skipped preflight by its own annotation" in r.message)
        assert (record.user, record.job) == ("alice", "train")  # type: ignore[attr-defined]  # from ``extra``


# --- bodies --------------------------------------------------------------------------------------------------------


async def refused(webhook: Webhook, body: Any, **options: Any) -> Object:
    async with await webhook.post("/validate", body, **options) as answer:
        decoded: Object = await answer.json()
    assert decoded["kind"] == "AdmissionReview"
    assert decoded["response"]["allowed"] is False
    assert decoded["response"]["status"]["code"] == answer.status
    return dict(decoded["response"]["status"])


@pytest.mark.parametrize("body", [b"", b"{", b"null", b"[" * 100_000, b'{"kind":"Pod"}', b"\x00\xff"])
async def test_a_malformed_body_is_the_callers_fault(ready: Webhook, body: bytes) -> None:
    assert (await refused(ready, body))["code"] == 400
    assert ready.count("muster_review_errors_total", cause="malformed") == 1


async def test_another_content_type_is_refused(ready: Webhook) -> None:
    status = await refused(ready, review(job()), headers={"Content-Type": "application/yaml"})
    assert (status["code"], status["message"]) == (
        415,
        "the content type must be application/json, not application/yaml",
    )


async def test_a_body_above_seven_mebibytes_is_413(ready: Webhook) -> None:
    status = await refused(ready, b" " * (pipeline.BODY_LIMIT + 1))
    assert (status["code"], status["message"]) == (413, "the body is longer than 7340032 bytes")


async def test_an_endless_body_is_413(ready: Webhook) -> None:
    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield b" " * 65_536

    try:
        status = await refused(ready, None, data=endless())
    except aiohttp.ClientConnectionError:
        status = {"code": 413}  # the server may close while we still write
    assert status["code"] == 413
    assert ready.count("muster_review_errors_total", cause="too-large") == 1


async def test_a_review_of_six_mebibytes_is_read(ready: Webhook) -> None:
    obj = job(annotations={"large": "x" * 3_000_000})
    assert (await ready.ask("/validate", obj, oldObject=obj))["allowed"] is True


async def test_a_broken_off_body_harms_nobody(ready: Webhook) -> None:
    context = tls.verify_context(ready.authority.bundle)
    for rest in (
        b"Content-Length: 100\r\n\r\n{",
        b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd",
    ):
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", ready.settings.port, ssl=context, server_hostname=ready.settings.server_name
        )
        writer.write(b"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n" + rest)
        await writer.drain()
        if b"gzip" not in rest and b"chunked" not in rest:
            writer.transport.abort()
            continue
        answer = await reader.readline()
        assert answer.split()[1] == b"400", answer
        writer.transport.abort()
    assert (await ready.ask("/validate", job()))["allowed"] is True


async def test_the_callers_time_is_respected(ready: Webhook, apiserver: ApiServer) -> None:
    held = asyncio.Event()

    async def hold(request: web.Request) -> None:
        if request.path.endswith("/localqueues/slow"):
            await held.wait()

    apiserver.before = hold
    async with await ready.post("/validate", review(job(queue="slow")), timeout="300ms") as answer:
        response = (await answer.json())["response"]
    held.set()
    assert response["allowed"] is True
    assert response["warnings"] == ["muster: preflight skipped: it took too long"]
    assert ready.count("muster_review_errors_total", cause="deadline") == 1


@pytest.mark.parametrize(
    ("query", "seconds"),
    [(None, 0.9), ("", 0.9), ("soon", 0.9), ("2s", 1.0), ("10s", 1.0), ("500ms", 0.4), ("50ms", 0.0)],
)
def test_our_time_is_a_little_less_than_the_callers(query: str | None, seconds: float) -> None:
    assert pipeline.budget(query) == pytest.approx(seconds)


# --- its life ------------------------------------------------------------------------------------------------------


async def test_ready_means_the_api_server_would_be_answered(ready: Webhook) -> None:
    status, text = await ready.probe("/readyz")
    assert (status, text) == (200, "serving: ok\nsnapshot: ok\ntrust: ok\ntls: ok\n")
    assert await ready.probe("/healthz") == (200, "ok\n")
    foreign = certs.sign_leaf(certs.make_ca("x", ready.client.time.now()), ["x"], ready.client.time.now())
    tls.serve(ready.context, foreign)
    status, text = await ready.probe("/readyz")
    assert status == 503
    assert "tls: own TLS port" in text


async def test_a_new_certificate_is_served_while_old_connections_go_on(ready: Webhook) -> None:
    """Reviews keep coming on kept and on new connections while the leaf changes many times: none fails."""
    leaves = set()
    now = ready.client.time.now()
    signer = ready.authority._signer
    assert signer is not None
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True)) as fresh:
        for _ in range(10):
            leaf = certs.sign_leaf(signer, ready.settings.dns_names, now)
            tls.serve(ready.context, leaf)
            ready.authority.leaf = leaf
            leaves.add(certs.fingerprint(leaf.certificate))
            kept = ready.session
            for session in (kept, fresh):
                ready.session = session
                assert (await ready.ask("/validate", job()))["allowed"] is True
            ready.session = kept
            assert (await ready.probe("/readyz"))[0] == 200
    assert len(leaves) == 10


async def test_draining_answers_and_closes(ready: Webhook) -> None:
    draining = asyncio.create_task(ready.server.drain(0.3))
    await asyncio.sleep(0)
    async with await ready.post("/validate", review(job(pods=3))) as answer:
        assert (await answer.json())["response"]["allowed"] is False
        assert answer.headers["Connection"] == "close"
    status, text = await ready.probe("/readyz")
    assert status == 503
    assert "serving: stopping" in text
    await draining
    await ready.server.stop()
    with pytest.raises(aiohttp.ClientConnectionError):
        await ready.post("/validate", review(job()))


async def test_the_metrics_name_what_the_alerts_need(ready: Webhook) -> None:
    _, text = await ready.probe("/metrics")
    for cause in ("internal", "malformed", "object", "too-large", "slow", "deadline"):
        assert f'muster_review_errors_total{{cause="{cause}"}} 0.0' in text
    assert 'muster_certificate_expiry_seconds{kind="ca"}' in text


async def test_a_suite_without_authenticated_encryption_is_refused(ready: Webhook) -> None:
    context = tls.verify_context(ready.authority.bundle)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers("ECDHE-ECDSA-AES128-SHA256")
    with pytest.raises((ssl.SSLError, ConnectionResetError)):
        await asyncio.open_connection(
            "127.0.0.1", ready.settings.port, ssl=context, server_hostname=ready.settings.server_name
        )


async def test_a_body_that_does_not_arrive_is_408() -> None:
    async def never(_: Any) -> Answer:
        raise AssertionError("not reached")

    metrics, port = Metrics(), free_port()
    app = web.Application()
    app.router.add_post("/validate", pipeline.endpoint("validate", never, metrics, closing=bool, body_seconds=0.05))
    runner = web.AppRunner(app, access_log=None, lingering_time=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(
        b"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
    )
    await writer.drain()
    answer = await reader.read()
    writer.close()
    await runner.cleanup()
    assert answer.startswith(b"HTTP/1.1 408")
    assert b"the body did not arrive within 0.05s" in answer
    assert metrics.registry.get_sample_value("muster_review_errors_total", {"cause": "slow"}) == 1
