"""The policies that protect what Muster's controller wrote, on the real API server, for every kind that has a Workload.

Muster itself does not run here: it would take off again what nobody decided. What it writes meanwhile is played.
"""

import copy
from collections.abc import AsyncIterator
from typing import Any, Final

import pytest
import pytest_asyncio
from prometheus_client import parser

from classifier import api
from classifier.cluster.client import APPLY_PATCH, MERGE_PATCH
from e2e import builders, kinds, view
from e2e.builders import GPU, Document
from e2e.controlplane.cluster import Cluster
from e2e.members import JSON_PATCH, STRATEGIC, path_of
from e2e.protected import (
    DRY,
    JOBS,
    OURS,
    POLICIES,
    QUEUES,
    REQUESTS,
    Stage,
    fresh,
    policies,
    refused,
    resource_of,
    staged,
)
from e2e.submit import Answer
from e2e.wait import eventually
from tests.chart.render import of_kind

pytestmark = [pytest.mark.timeout(600), pytest.mark.usefixtures("nothing_forbidden_of_every_kind")]

MIRROR: Final = [key for key in api.MIRROR_KEYS if key in OURS]
KEPT: Final = [key for key in OURS if key not in api.MIRROR_KEYS]
#: And the Workload that Kueue made of the Job.
ALL: Final = (*JOBS, "workload")
BUILT_IN: Final = ("job", "pod")

each = pytest.mark.parametrize("kind", ALL)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def stage(every_kind: Cluster, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    async with staged(every_kind, tmp_path_factory.mktemp("members")) as made:
        yield made


# --- the API server takes them as they are ---------------------------------------------------------------------


async def test_the_api_server_finds_nothing_to_warn_of(stage: Stage) -> None:
    """Its own type check of every expression against the schema of every kind it reaches."""

    async def checked() -> dict[str, Any] | None:
        found = {}
        for name in (*POLICIES,):
            policy = await view.read(stage.cluster.admin, api.ADMISSION_POLICIES, None, name)
            status = policy.get("status") or {}
            if status.get("observedGeneration") != policy["metadata"]["generation"]:
                return None
            found[name] = (status.get("typeChecking") or {}).get("expressionWarnings") or []
        return found

    assert await eventually(checked, what="the policies' types are checked") == {name: [] for name in POLICIES}


async def test_what_is_stored_is_what_is_rendered(stage: Stage) -> None:
    for policy in of_kind(policies(), "ValidatingAdmissionPolicy"):
        stored = await view.read(stage.cluster.admin, api.ADMISSION_POLICIES, None, policy["metadata"]["name"])
        assert stored["spec"] == policy["spec"]


# --- nobody else changes the keys ------------------------------------------------------------------------------


def changed(annotations: dict[str, Any]) -> Document:
    return {"metadata": {"annotations": annotations}}


@each
@pytest.mark.parametrize("key", OURS)
async def test_nobody_changes_a_key(stage: Stage, kind: str, key: str) -> None:
    """Merge patch, strategic merge patch, JSON patch, server-side apply and replace, whichever the kind takes."""
    resource, path, obj = resource_of(kind), stage.path(kind), await stage.read(kind)
    pointer = "/metadata/annotations/" + key.replace("/", "~1")
    head = {"apiVersion": resource.api_version, "kind": resource.kind}
    replaced = copy.deepcopy(obj)
    replaced["metadata"]["annotations"][key] = "forged"
    attempts = {
        "merge": await stage.dev.annotate(path, {key: "forged"}, **DRY),
        "json": await stage.dev.patch(path, [{"op": "replace", "path": pointer, "value": "x"}], JSON_PATCH, **DRY),
        "apply": await stage.dev.patch(
            path, {**head, "metadata": {"annotations": {key: "forged"}}}, APPLY_PATCH, **DRY
        ),
        "replace": await stage.dev.replace(path, replaced, **DRY),
        "editor": await stage.batch.annotate(path, {key: "forged"}, **DRY) if kind in BUILT_IN else None,
        "strategic": await stage.dev.patch(path, changed({key: "x"}), STRATEGIC, **DRY) if kind in BUILT_IN else None,
    }
    wrong = {
        name: why
        for name, answer in attempts.items()
        if answer is not None
        and (
            why := refused(answer, "muster-keys", f"only Muster's controller writes {key}:", "set muster.dev/admission")
        )
    }
    assert not wrong


@each
@pytest.mark.parametrize("key", KEPT)
async def test_nobody_takes_off_a_key(stage: Stage, kind: str, key: str) -> None:
    path, obj = stage.path(kind), await stage.read(kind)
    pointer = "/metadata/annotations/" + key.replace("/", "~1")
    del obj["metadata"]["annotations"][key]
    attempts = {
        "merge": await stage.dev.annotate(path, {key: None}, **DRY),
        "json": await stage.dev.patch(path, [{"op": "remove", "path": pointer}], JSON_PATCH, **DRY),
        "replace": await stage.dev.replace(path, obj, **DRY),
        "strategic": await stage.dev.patch(path, changed({key: None}), STRATEGIC, **DRY) if kind in BUILT_IN else None,
    }
    wrong = {name: why for name, answer in attempts.items() if answer and (why := refused(answer, "muster-keys", key))}
    assert not wrong


@each
async def test_nobody_adds_a_key_and_all_are_named(stage: Stage, kind: str) -> None:
    """Onto an object without any; and what replaces the whole object is told of everything that would go."""
    path, obj = stage.path(kind), await stage.read(kind)
    answer = await stage.dev.annotate(path, {api.ADMISSION_OUTCOME_OF: "forged"}, **DRY)
    assert not refused(answer, "muster-keys", f"writes {api.ADMISSION_OUTCOME_OF}:")
    obj["metadata"].pop("annotations")
    answer = await stage.dev.replace(path, obj, **DRY)
    assert not refused(answer, "muster-keys", f"writes {', '.join(KEPT)}: leave out of what you apply")
    assert "group system:masters, kubeadm:cluster-admins" in answer.body["message"]


@each
async def test_anybody_takes_off_what_only_copies_a_decision(stage: Stage, kind: str) -> None:
    answer = await stage.dev.annotate(stage.path(kind), dict.fromkeys(MIRROR), **DRY)
    assert answer.status == 200, answer.body
    assert not answer.annotations.keys() & set(MIRROR)


@each
async def test_no_subresource_is_a_way_around(stage: Stage, kind: str) -> None:
    """Of Jobs and pods a write of the status carries annotations; of all others the API server drops them."""
    through = {}
    for subresource in ("status", "scale", "resize", "ephemeralcontainers", "approval"):
        path = stage.path(kind, subresource)
        answer = await stage.dev.annotate(path, {api.ADMISSION_CLOCK: "forged"}, **DRY)
        if subresource == "status" and kind in BUILT_IN:
            assert not refused(answer, "muster-keys", api.ADMISSION_CLOCK)
            assert answer.status == 403
        elif answer.status == 200 and answer.annotations.get(api.ADMISSION_CLOCK) == "forged":
            through[subresource] = answer.annotations
    assert not through
    await stage.dev.annotate(stage.path(kind, "scale"), {api.ADMISSION_CLOCK: "forged"})
    assert view.annotations(await stage.read(kind))[api.ADMISSION_CLOCK] == OURS[api.ADMISSION_CLOCK]


@each
async def test_everything_else_passes(stage: Stage, kind: str) -> None:
    path, obj = stage.path(kind), await stage.read(kind)
    resource = resource_of(kind)
    head = {"apiVersion": resource.api_version, "kind": resource.kind}
    same = copy.deepcopy(obj)
    same["metadata"].setdefault("labels", {})["team"] = "ml"
    answers = {
        "label": await stage.dev.patch(path, {"metadata": {"labels": {"team": "ml"}}}, **DRY),
        "annotation": await stage.dev.annotate(path, {"team": "ml", api.ADMISSION_TIMEOUT: "2h"}, **DRY),
        "finalizer": await stage.dev.patch(path, {"metadata": {"finalizers": ["example.com/hold"]}}, **DRY),
        "the same": await stage.dev.annotate(path, OURS, **DRY),
        "replace as read": await stage.dev.replace(path, same, **DRY),
        "apply without keys": await stage.dev.patch(
            path, {**head, "metadata": {"annotations": {"team": "ml"}}}, APPLY_PATCH, **DRY
        ),
        "apply the same": await stage.dev.patch(path, {**head, "metadata": {"annotations": OURS}}, APPLY_PATCH, **DRY),
        "delete": await stage.dev.send("DELETE", path, {"dryRun": ["All"]}),
        "status": await stage.dev.patch(stage.path(kind, "status"), {"status": {}}, **DRY),
    }
    assert not {name: a.body for name, a in answers.items() if a.status not in (200, 202)}


@each
async def test_creating_is_never_refused(stage: Stage, kind: str) -> None:
    """A manifest saved from a decided object: the webhook takes the keys off, and they carry another's uid anyway."""
    obj = fresh(kind)
    obj["metadata"]["annotations"] = {**(obj["metadata"].get("annotations") or {}), **OURS}
    answer = await stage.dev.send("POST", resource_of(kind).path(QUEUES.namespace), obj, params=DRY)
    assert answer.status == 201, answer.body


async def test_a_member_of_the_team_meets_rbac_first(stage: Stage) -> None:
    """Kueue gives Workloads to batch admins alone, and the policy holds those as well."""
    answer = await stage.editor.annotate(stage.path("workload"), {api.ADMISSION_DEADLINE: "forged"}, **DRY)
    assert answer.status == 403
    assert "cannot patch resource" in answer.body["message"]
    answer = await stage.batch.annotate(stage.path("workload"), {api.ADMISSION_DEADLINE: "forged"}, **DRY)
    assert not refused(answer, "muster-keys", api.ADMISSION_DEADLINE)
    answer = await stage.editor.annotate(stage.path("job"), {api.ADMISSION_CLOCK: "forged"}, **DRY)
    assert not refused(answer, "muster-keys", api.ADMISSION_CLOCK)
    answer = await stage.editor.annotate(stage.path("job"), {api.ADMISSION_TIMEOUT: "2h"}, **DRY)
    assert answer.status == 200


# --- who may -------------------------------------------------------------------------------------------------------


@each
async def test_the_controller_and_administrators_may(stage: Stage, kind: str) -> None:
    for key in OURS:
        answer = await stage.thief.annotate(stage.path(kind), {key: "newer"}, **DRY)
        assert answer.status == 200, answer.body
        answer = await stage.thief.annotate(stage.path(kind), {key: None}, **DRY)
        assert answer.status == 200, answer.body
    await stage.cluster.admin.request(
        "PATCH", stage.path(kind), params=DRY, body=changed(dict.fromkeys(OURS)), content_type=MERGE_PATCH
    )


# --- a job that is about to be deleted ------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
async def test_what_will_be_deleted_is_not_activated_again(stage: Stage, version: str) -> None:
    path = stage.path("workload").replace("/v1beta2/", f"/{version}/")
    admin = stage.cluster.admin
    await admin.request("PATCH", path, body={"spec": {"active": False}}, content_type=MERGE_PATCH)
    for who in (stage.batch, stage.dev):
        answer = await who.patch(path, {"spec": {"active": True}})
        assert not refused(answer, "muster-cleanup", "its job is about to be deleted", "Submit the job again")
        # Absent is active as well.
        answer = await who.patch(path, {"spec": {"active": None}})
        assert not refused(answer, "muster-cleanup")
        assert (await who.patch(path, {"metadata": {"labels": {"team": "ml"}}}, **DRY)).status == 200
    both = {"metadata": {"annotations": {api.CLEANUP_COMMITTED: None}}, "spec": {"active": True}}
    answer = await stage.boss.patch(path, both)
    assert not refused(answer, "muster-cleanup", "takes muster.dev/cleanup-committed off first")
    assert (await stage.boss.annotate(path, {api.CLEANUP_COMMITTED: None})).status == 200
    assert (await stage.batch.patch(path, {"spec": {"active": True}})).status == 200
    assert (await stage.boss.annotate(path, {api.CLEANUP_COMMITTED: OURS[api.CLEANUP_COMMITTED]})).status == 200


# --- the controller's own token ------------------------------------------------------------------------------------

MINER: Final = {"spec": {"containers": [{"name": "main", "image": "example.com/miner"}]}}
#: Of what it holds suspended the API server itself lets a template's annotations be changed, but no image.
TEMPLATE: Final = {"spec": {"template": {"metadata": {"annotations": {"mine": "yes"}}}}}
#: By whom, what is attempted, and the words of the refusal.
SPEC: Final = "changes nothing of a spec"
META: Final = "changes no labels, owners or finalizers"
OTHERS: Final = "changes no annotations but its own"
OWNER: Final = {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "1"}
STOLEN: Final[dict[str, tuple[str, Document, str]]] = {
    "image": ("rayjob", {"spec": {"rayClusterSpec": {"headGroupSpec": {"template": MINER}}}}, SPEC),
    "template": ("job", TEMPLATE, SPEC),
    "start": ("job", {"spec": {"suspend": False}}, SPEC),
    "size": ("job", {"spec": {"parallelism": 9}}, SPEC),
    "field": ("job", {"spec": {"activeDeadlineSeconds": 5}}, SPEC),
    "start of a PyTorchJob": ("pytorchjob", {"spec": {"runPolicy": {"suspend": False}}}, SPEC),
    "size of a RayCluster": ("raycluster", {"spec": {"workerGroupSpecs": []}}, SPEC),
    "gate": ("pod", {"spec": {"schedulingGates": [{"$patch": "delete", "name": kinds.POD_GATE}]}}, SPEC),
    "image of a pod": ("pod", MINER, SPEC),
    "queue": ("workload", {"spec": {"queueName": "another"}}, SPEC),
    "priority": ("workload", {"spec": {"priority": 9}}, SPEC),
    "both": ("workload", {"spec": {"active": False, "priority": 9}}, SPEC),
    "label": ("job", {"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "another"}}}, META),
    "owner": ("job", {"metadata": {"ownerReferences": [OWNER]}}, META),
    "finalizer": ("workload", {"metadata": {"finalizers": None}}, META),
    "people's annotation": ("job", changed({api.ADMISSION_TIMEOUT: "1s"}), OTHERS),
    "another annotation": ("workload", changed({"kueue.x-k8s.io/priority-boost": "9"}), OTHERS),
    "an annotation's removal": ("podless", changed({"team": None}), OTHERS),
}


@pytest.mark.parametrize("attempt", STOLEN)
async def test_a_stolen_token_does_nothing_but_the_controllers_work(stage: Stage, attempt: str) -> None:
    kind, body, words = STOLEN[attempt]
    if kind == "podless":
        kind = "job"
        assert (await stage.dev.annotate(stage.path(kind), {"team": "ml"})).status == 200
    content_type = STRATEGIC if kind == "pod" else MERGE_PATCH
    answer = await stage.thief.patch(stage.path(kind), body, content_type, **DRY)
    assert not refused(answer, "muster-controller", f"Muster's controller {words}")


@each
async def test_a_stolen_token_makes_nothing_and_writes_no_status(stage: Stage, kind: str) -> None:
    answer = await stage.thief.send("POST", resource_of(kind).path(QUEUES.namespace), fresh(kind), params=DRY)
    assert not refused(answer, "muster-controller", "creates no jobs, pods or Workloads")
    answer = await stage.thief.patch(stage.path(kind, "status"), {"status": {}}, **DRY)
    assert not refused(answer, "muster-controller", "writes no subresource")


async def test_the_controllers_work_passes(stage: Stage) -> None:
    """Its two writes of a decision, and that it never reverses one."""
    path = stage.path("workload")
    decision = {**changed({api.COMMITTED: "now", api.ADMISSION_DEADLINE: None}), "spec": {"active": False}}
    assert (await stage.thief.patch(path, decision, **DRY)).status == 200
    assert (await stage.boss.annotate(path, {api.CLEANUP_COMMITTED: None})).status == 200
    assert (await stage.thief.patch(path, {"spec": {"active": False}})).status == 200
    answer = await stage.thief.patch(path, {"spec": {"active": True}}, **DRY)
    assert not refused(answer, "muster-controller", "activates no Workload")
    assert (await stage.thief.annotate(path, {api.ADMISSION_DEADLINE: "x"}, **DRY)).status == 200
    assert (await stage.boss.patch(path, {"spec": {"active": True}})).status == 200
    assert (await stage.boss.annotate(path, {api.CLEANUP_COMMITTED: OURS[api.CLEANUP_COMMITTED]})).status == 200


def deletion(obj: Document, *fields: str) -> Document:
    """DeleteOptions that hold it to the very copy that was seen."""
    preconditions = {field: obj["metadata"][field] for field in fields}
    return {"dryRun": ["All"], "propagationPolicy": "Background", "preconditions": preconditions}


HELD: Final = [kind for kind in JOBS if JOBS[kind].held is not kinds.never]


@pytest.mark.parametrize("kind", HELD)
async def test_it_deletes_only_what_kueue_holds_and_only_the_copy_it_saw(stage: Stage, kind: str) -> None:
    async def attempt(*fields: str) -> Answer:
        """The object may move meanwhile."""

        async def settled() -> Answer:
            obj = await stage.read(kind)
            answer = await stage.thief.send("DELETE", stage.path(kind), deletion(obj, *fields))
            assert answer.status != 409
            return answer

        return await eventually(settled)

    words = "deletes only the very copy it has judged"
    for fields in ((), ("uid",), ("resourceVersion",)):
        assert not refused(await attempt(*fields), "muster-controller", words)
    assert (await attempt("uid", "resourceVersion")).status == 200


async def test_it_deletes_nothing_that_runs(stage: Stage) -> None:
    """Nor what is none of Kueue's, nor what a controller of its own would make again."""
    free = builders.job("free", QUEUES, requests=REQUESTS)
    free["metadata"].pop("labels")
    free["spec"]["suspend"] = False
    child = builders.job("child", QUEUES, requests=REQUESTS)
    parent = await stage.read("job")
    reference = {"apiVersion": "batch/v1", "kind": "Job", "name": parent["metadata"]["name"], "controller": True}
    child["metadata"]["ownerReferences"] = [{**reference, "uid": parent["metadata"]["uid"]}]
    for obj, words in ((free, "that Kueue does not hold back"), (child, "that has a controller of its own")):
        made = (await stage.dev.send("POST", api.JOBS.path(QUEUES.namespace), obj)).body
        answer = await stage.thief.send("DELETE", path_of(api.JOBS, made), deletion(made, "uid"))
        assert not refused(answer, "muster-controller", f"Muster's controller deletes nothing {words}"), answer.body
    obj = await stage.read("leaderworkerset")
    answer = await stage.thief.send("DELETE", stage.path("leaderworkerset"), deletion(obj, "uid", "resourceVersion"))
    assert not refused(answer, "muster-controller", "that Kueue does not hold back")
    workload = await stage.read("workload")
    answer = await stage.thief.send("DELETE", stage.path("workload"), deletion(workload, "uid"))
    assert not refused(answer, "muster-controller", "that Kueue does not hold back")


# --- what the API server counts, and that lives go on -----------------------------------------------------------------


async def test_refusals_are_counted_by_policy(stage: Stage) -> None:
    """The alert stands on this counter of the API server's own."""
    await stage.dev.annotate(stage.path("job"), {api.ADMISSION_CLOCK: "forged"}, **DRY)
    text = (await stage.cluster.admin.request("GET", "/metrics")).decode()
    found = [
        sample.labels
        for family in parser.text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == "apiserver_validating_admission_policy_check_total" and sample.value
    ]
    assert {"policy": "muster-keys", "enforcement_action": "deny"}.items() <= {
        key: value for labels in found if labels["policy"] == "muster-keys" for key, value in labels.items()
    }.items()


async def test_kueue_lets_every_kind_go_and_stops_it(stage: Stage) -> None:
    """Last: with the keys on them, and all of Kueue's and the operators' own writes under the policies."""
    quota: dict[str, dict[str, str | int]] = {QUEUES.flavor: {"cpu": 1000, "memory": "1000Gi", GPU: 1000}}
    before = {kind: view.annotations(await stage.read(kind)) for kind in HELD}
    for policy, held in (("None", False), ("HoldAndDrain", True)):
        queue = builders.cluster_queue(QUEUES.cluster_queue, quota, stopPolicy=policy)
        await stage.cluster.applier.apply([queue])
        for kind in HELD:
            if kind == "pod" and held:
                continue  # What runs of it is deleted.

            async def moved(kind: str = kind, held: bool = held) -> bool:
                return JOBS[kind].held(await stage.read(kind)) is held

            await eventually(moved, timeout=60, what=f"{kind} is {'held' if held else 'let go'}")
            after = view.annotations(await stage.read(kind))
            assert {key: after.get(key) for key in OURS} == {key: before[kind].get(key) for key in OURS}
