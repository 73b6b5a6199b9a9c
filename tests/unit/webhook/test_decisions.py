"""What is answered to whom: stamped, denied, warned, left alone; and when the snapshot lacks something."""

import asyncio
import base64
import copy
import json
from typing import Any

import jsonpatch
import pytest
from aiohttp import web

from classifier import api, fit
from tests.unit.webhook.apiserver import ApiServer
from tests.unit.webhook.builders import Object, cluster_queue, job, local_queue, namespace, profile
from tests.unit.webhook.conftest import Eventually
from tests.unit.webhook.running import LINE, Webhook
from webhook.decide import Judge


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


FORGED = dict.fromkeys(api.CONTROLLER_KEYS, "forged")
PARENT = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "name": "x", "uid": "1", "controller": True}


@pytest.mark.parametrize(
    "obj",
    [
        job(queue=None),
        job(queue="missing"),
        job(ownerReferences=[PARENT]),
        job(labels={api.QUEUE_NAME: "gpu", api.MULTIKUEUE_ORIGIN: "a"}),
        {**job(), "spec": {"parallelism": 1, "managedBy": "example.com/other"}},
        {**job(), "spec": {"parallelism": "three"}},
    ],
    ids=["no-queue", "unknown-queue", "part-of-another", "copy-of-another-cluster", "managed-elsewhere", "unreadable"],
)
async def test_no_job_is_created_with_the_controllers_keys_whosever_it_is(ready: Webhook, obj: Object) -> None:
    forged = copy.deepcopy(obj)
    forged["metadata"]["annotations"] = {**FORGED, "team": "ml"}
    response = await ready.ask("/mutate", forged)
    assert response["allowed"] is True
    stripped = jsonpatch.apply_patch(forged, json.loads(base64.b64decode(response["patch"])))
    assert stripped == {**obj, "metadata": {**obj["metadata"], "annotations": {"team": "ml"}}}
    assert "patch" not in await ready.ask("/mutate", stripped)


@pytest.mark.parametrize("request_", [{"operation": "UPDATE"}, {"subResource": "status"}])
async def test_the_controllers_keys_stay_on_what_is_there_already(ready: Webhook, request_: dict[str, str]) -> None:
    assert "patch" not in await ready.ask("/mutate", job(queue=None, annotations=FORGED), **request_)


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


# --- no policy, no words ------------------------------------------------------------------------------------------


def no_profile(apiserver: ApiServer) -> None:
    apiserver.remove(api.CAPACITY_PROFILES.path(name="gpu-a100-8"))


def another_queues_profile(apiserver: ApiServer) -> None:
    path = api.CAPACITY_PROFILES.path(name="gpu-a100-8")
    apiserver.put(path, {**profile(), "spec": {**profile()["spec"], "flavor": "spot"}})


class TestWithoutAPolicy:
    """A fresh install is not heard of by anybody, whatever is wrong with their jobs, with their queues or with us."""

    @pytest.fixture
    def judge(self) -> Judge:
        return fit.judge

    @pytest.fixture(params=[no_profile, another_queues_profile])
    def policy(self, request: pytest.FixtureRequest, apiserver: ApiServer) -> None:
        request.param(apiserver)

    @pytest.mark.parametrize("path", ["/mutate", "/validate"])
    @pytest.mark.parametrize(
        "obj",
        [
            job(),
            job(pods=1000),
            job(queue="missing"),
            job(annotations={api.PREFLIGHT_MODE: "Off"}),
            {**job(), "spec": {"parallelism": "three"}},
            {**job(), "spec": {"parallelism": 2}},
        ],
        ids=["fits", "never fits", "unknown queue", "break-glass", "unreadable", "no template"],
    )
    async def test_no_job_is_touched(self, policy: None, ready: Webhook, obj: Object, path: str) -> None:
        assert (await ready.ask(path, obj)).keys() == {"uid", "allowed"}

    async def test_what_cannot_be_read_as_a_duration_is_still_told(self, policy: None, ready: Webhook) -> None:
        response = await ready.ask("/validate", job(pods=1000, annotations={api.ADMISSION_TIMEOUT: "soon"}))
        assert response["allowed"] is True
        assert [warning.partition(": '")[0] for warning in response["warnings"]] == [
            "muster: job: muster.dev/admission-timeout"
        ]

    @pytest.mark.parametrize("reviewed", [False, True], ids=["first review", "later"])
    async def test_a_stale_copy_is_nobodys_business(
        self,
        apiserver: ApiServer,
        ready: Webhook,
        monkeypatch: pytest.MonkeyPatch,
        eventually: Eventually,
        reviewed: bool,
    ) -> None:
        no_profile(apiserver)

        async def gone() -> bool:
            return not (await ready.snapshot.view("team", "gpu")).world.profiles

        await eventually(gone)
        if reviewed:
            await ready.ask("/validate", job())
        monkeypatch.setattr("classifier.cluster.reflector.Reflector.age", lambda self: 181.0)
        assert (await ready.ask("/validate", job(pods=3))).keys() == {"uid", "allowed"}
        assert ready.count("muster_preflight_skipped_total", cause="stale") == 1

    @pytest.mark.parametrize("policy", [no_profile], indirect=True)
    @pytest.mark.parametrize("failing", [asyncio.Event().wait, ZeroDivisionError], ids=["slow", "bug"])
    async def test_our_own_trouble_is_counted_and_not_told(
        self, policy: None, ready: Webhook, monkeypatch: pytest.MonkeyPatch, failing: Any
    ) -> None:
        async def view(*_: object, **__: object) -> None:
            if isinstance(failing, type):
                raise failing
            await failing()

        await ready.ask("/validate", job())
        monkeypatch.setattr(ready.snapshot, "view", view)
        for path in ("/mutate", "/validate"):
            assert (
                await ready.ask(
                    path,
                    job(pods=3),
                )
            ).keys() == {"uid", "allowed"}
        caused = [ready.count("muster_review_errors_total", cause=cause) for cause in ("deadline", "internal")]
        assert sorted(caused) == [0, 2]


# --- what the snapshot may lack ------------------------------------------------------------------------------------


async def test_before_the_first_list_jobs_pass(webhook: Webhook, apiserver: ApiServer, eventually: Eventually) -> None:
    held = asyncio.Event()

    async def hold(request: web.Request) -> None:
        if request.path.endswith("/resourceflavors"):
            await held.wait()

    apiserver.before = hold
    await eventually(lambda: webhook.authority.trouble is None)
    response = await webhook.ask("/validate", job(pods=3))
    status, text = await webhook.probe("/readyz")
    held.set()
    assert response.keys() == {"uid", "allowed"}, "whether anybody wants jobs judged is not known yet"
    assert webhook.count("muster_preflight_skipped_total", cause="unsynced") == 1
    assert status == 503
    assert "snapshot: not listed yet: resourceflavors" in text


async def test_a_stale_snapshot_never_denies(ready: Webhook, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (await ready.ask("/validate", job(pods=3)))["allowed"] is False
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
    path = api.LOCAL_QUEUES.path("team", "fresh")
    apiserver.put(path, {**local_queue(), "metadata": {"name": "fresh", "namespace": "team"}})
    apiserver.events.clear()  # this reaches no watch
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

    async def test_quota_that_has_come_a_moment_ago_refutes_a_denial(
        self, ready: Webhook, apiserver: ApiServer, eventually: Eventually
    ) -> None:
        """That there is no such Cohort may be remembered for a while: never until a job is refused for it."""
        queue = cluster_queue()
        queue["spec"]["cohortName"] = "everybody"
        apiserver.put(api.CLUSTER_QUEUES.path(name="gpu-a100"), queue)
        apiserver.put(api.CAPACITY_PROFILES.path(name="gpu-a100-8"), profile(maximum=100))

        async def for_its_quota() -> bool:
            response = await ready.ask("/validate", job(pods=9))
            return "72" in response.get("status", {}).get("message", "")

        await eventually(for_its_quota)
        group = queue["spec"]["resourceGroups"][0]
        del queue["spec"]["resourceGroups"]
        apiserver.put(api.COHORTS.path(name="everybody"), {"spec": {"resourceGroups": [group]}})
        apiserver.events.pop()  # this reaches no watch
        assert (await ready.ask("/validate", job(pods=9)))["allowed"] is True

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
