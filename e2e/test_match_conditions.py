"""When the API server asks the webhook: by the chart's own conditions, failing closed, with nobody behind them.

An expression that fails on an odd object would refuse it under failurePolicy Fail, and under Ignore leave it
unreviewed. So no object may make one fail, however odd, and what is none of ours must pass although nobody answers.
"""

import copy
from collections.abc import Callable
from typing import Any, Final

import pytest
import pytest_asyncio

from classifier import api
from classifier.cluster.client import JSON, ApiError, Client
from e2e import builders, kinds, view
from e2e.builders import QUEUE_LABEL, Document, Queues
from e2e.controlplane.chart import CONTROLLER, WEBHOOK, Muster
from e2e.controlplane.cluster import Cluster
from tests.chart.render import of_kind, render

QUEUES: Final = Queues("conditions", "queue", "conditions", "conditions")
#: JobSets and TrainJobs have the conditions of all others, and their CRDs come with an operator each.
KINDS: Final = {kind.id: kind for kind in kinds.KINDS if kind.id not in ("jobset", "trainjob", "podgroup")}
CONFIGURATIONS: Final = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
GATES: Final = {"schedulingGates": [{"name": kinds.POD_GATE}]}

Change = Callable[[Document], object]

pytestmark = pytest.mark.timeout(600)


def workload(name: str) -> Document:
    template = kinds.template({"cpu": "1"}, restartPolicy="Never")
    spec = {"queueName": "queue", "podSets": [{"name": "main", "count": 1, "template": template}]}
    return kinds.job_object(api.WORKLOADS, name, QUEUES, spec)


def made(kind: str, name: str) -> tuple[api.Resource, Document]:
    """One that waits, as Kueue would have left it."""
    if kind == "workload":
        return api.WORKLOADS, workload(name)
    of = KINDS[kind]
    (obj,) = of.make(name, QUEUES, {"cpu": "1"})
    if of.held is kinds.suspended:
        obj["spec"]["suspend"] = True
    elif of.held is kinds.policy_suspended:
        obj["spec"].setdefault("runPolicy", {})["suspend"] = True
    elif kind == "pod":
        obj["spec"] |= GATES
    obj["metadata"]["annotations"] = {**(obj["metadata"].get("annotations") or {}), api.ADMISSION_COUNT: "0"}
    return of.resource, obj


ALL: Final = (*KINDS, "workload")
#: One of each form the conditions have; a typed one, and those whose schema is asked only after the webhooks.
FORMS: Final = ("job", "rayjob", "appwrapper", "pytorchjob", "leaderworkerset", "pod", "workload")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def unanswered(every_kind: Cluster, muster_of_every_kind: Muster) -> Cluster:
    """One object of every kind waits, and nobody answers. Muster and Kueue's webhooks, which would refuse what is odd
    before ours are asked about, are gone for good: no other scenario comes after these."""
    for name in (WEBHOOK, CONTROLLER):
        await muster_of_every_kind.node.scale(name, 0)
    for resource in (api.MUTATING_WEBHOOKS, api.VALIDATING_WEBHOOKS, api.ADMISSION_POLICY_BINDINGS):
        for found in await view.every(every_kind.admin, resource):
            await every_kind.admin.request("DELETE", resource.path(name=found["metadata"]["name"]))
    await every_kind.applier.apply([builders.namespace(QUEUES.namespace)])
    for kind in ALL:
        resource, obj = made(kind, "waits")
        obj["metadata"]["annotations"][api.ADMISSION_CLOCK] = "kept"
        await every_kind.admin.request("POST", resource.path(QUEUES.namespace), body=obj)
    rendered = render({"protection": {"administrators": {"groups": []}}})
    configurations = [each for kind in CONFIGURATIONS for each in of_kind(rendered, kind)]
    for each in configurations:
        for entry in each["webhooks"]:
            entry |= {"clientConfig": {"url": "https://127.0.0.1:1/"}, "failurePolicy": "Fail"}
    await every_kind.applier.apply(configurations)
    return every_kind


@pytest.fixture(scope="module")
def client(unanswered: Cluster) -> Client:
    """The administrator's connection."""
    return unanswered.admin


async def answer(client: Client, method: str, path: str, body: Document) -> str:
    """``passes``, ``asked`` (and nobody answered), or what else the API server says."""
    try:
        await client.request(method, path, params={"dryRun": "All"}, body=body, content_type=JSON)
    except ApiError as error:
        return "asked" if ".muster.dev" in error.message and "failed calling webhook" in error.message else str(error)
    return "passes"


async def create(client: Client, kind: str, change: Change = lambda obj: None) -> str:
    resource, obj = made(kind, "new")
    change(obj)
    return await answer(client, "POST", resource.path(QUEUES.namespace), obj)


async def update(client: Client, kind: str, change: Change) -> str:
    resource, _ = made(kind, "waits")
    obj = await view.read(client, resource, QUEUES.namespace, "waits")
    change(obj)
    return await answer(client, "PUT", resource.path(QUEUES.namespace, "waits"), obj)


def metadata(field: str, value: Any) -> Change:
    return lambda obj: obj["metadata"].update({field: value})


def spec(value: Any) -> Change:
    return lambda obj: obj.update({"spec": value})


def without(field: str) -> Change:
    return lambda obj: obj.pop(field, None)


def suspend(value: Any) -> Change:
    def change(obj: Document) -> None:
        holder = obj["spec"]["runPolicy"] if "runPolicy" in obj["spec"] else obj["spec"]
        holder["suspend"] = value

    return change


def both(*changes: Change) -> Change:
    def change(obj: Document) -> None:
        for each in changes:
            each(obj)

    return change


#: A list in the place of a map is the one thing not looked at: no schema of these kinds takes it either.
ODD: Final[dict[str, Change]] = {
    "no spec": without("spec"),
    "null spec": spec(None),
    "text spec": spec("text"),
    "number spec": spec(7),
    "empty spec": spec({}),
    "null run policy": spec({"runPolicy": None}),
    "text run policy": spec({"runPolicy": "text"}),
    "null suspend": suspend(None),
    "text suspend": suspend("true"),
    "number suspend": suspend(1),
    "null labels": metadata("labels", None),
    "empty labels": metadata("labels", {}),
    "null queue": metadata("labels", {QUEUE_LABEL: None}),
    "empty queue": metadata("labels", {QUEUE_LABEL: ""}),
    "null annotations": metadata("annotations", None),
    "null owners": metadata("ownerReferences", None),
    "owner that controls nothing": metadata(
        "ownerReferences", [{"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "1"}]
    ),
    "null status": lambda obj: obj.update(status=None),
    "null conditions": lambda obj: obj.update(status={"conditions": None}),
    "odd conditions": lambda obj: obj.update(status={"conditions": [{}, {"type": "QuotaReserved"}]}),
    "null queue name": lambda obj: obj["spec"].update(queueName=None),
}


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("kind", FORMS)
async def test_no_object_is_so_odd_that_a_condition_fails(client: Client, kind: str, odd: str) -> None:
    change = ODD[odd]
    found = [await create(client, kind, change), await update(client, kind, change)]
    if "run policy" not in odd:
        # And with what the mutating webhook looks at: a start, and keys of ours.
        found.append(await update(client, kind, both(suspend(False), change)))
    assert not [text for text in found if "expression" in text or "match condition" in text], found


async def test_a_condition_that_fails_would_be_seen_so(client: Client) -> None:
    """That the test above can fail."""
    (configuration,) = of_kind(render(), CONFIGURATIONS[1])
    broken = copy.deepcopy(configuration)
    broken["metadata"]["name"] = "broken"
    broken["webhooks"] = [entry for entry in broken["webhooks"] if entry["name"] == "vjob.muster.dev"]
    broken["webhooks"][0] |= {
        "clientConfig": {"url": "https://127.0.0.1:1/"},
        "failurePolicy": "Fail",
        "matchConditions": [{"name": "broken", "expression": "object.spec.nothing == 1"}],
        "rules": [{**broken["webhooks"][0]["rules"][0], "apiGroups": [""], "resources": ["configmaps"]}],
    }
    path = api.VALIDATING_WEBHOOKS.path()
    await client.request("POST", path, body=broken)
    try:
        body = {"metadata": {"name": "x", "namespace": QUEUES.namespace}}
        said = await answer(client, "POST", api.CONFIG_MAPS.path(QUEUES.namespace), body)
    finally:
        await client.request("DELETE", api.VALIDATING_WEBHOOKS.path(name="broken"))
    assert "expression" in said


@pytest.mark.parametrize("kind", ALL)
async def test_what_is_queued_and_created_is_asked_about(client: Client, kind: str) -> None:
    assert await create(client, kind) == "asked"


OTHERS: Final[dict[str, Change]] = {
    "label": lambda obj: obj["metadata"].setdefault("labels", {}).update(team="ml"),
    "annotation": lambda obj: obj["metadata"].setdefault("annotations", {}).update(team="ml"),
    "finalizer": metadata("finalizers", ["example.com/hold"]),
    "owner": metadata("ownerReferences", [{"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "1"}]),
    "nothing": lambda obj: None,
}


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("kind", ALL)
async def test_what_does_not_change_the_gang_passes_though_nobody_answers(
    client: Client, kind: str, other: str
) -> None:
    assert await update(client, kind, OTHERS[other]) == "passes"


@pytest.mark.parametrize("kind", ALL)
async def test_what_a_replace_leaves_out_is_put_back(client: Client, kind: str) -> None:
    assert await update(client, kind, metadata("annotations", {"team": "ml"})) == "asked"
    assert await update(client, kind, metadata("annotations", None)) == "asked"


NOT_QUEUED: Final = both(metadata("labels", {"team": "ml"}), lambda obj: obj["spec"].pop("queueName", None))


@pytest.mark.parametrize("kind", ALL)
async def test_what_names_no_queue_is_created_though_nobody_answers(client: Client, kind: str) -> None:
    assert await create(client, kind, NOT_QUEUED) == "passes"


@pytest.mark.parametrize("kind", ALL)
async def test_the_controllers_keys_are_taken_off_all_the_same(client: Client, kind: str) -> None:
    keys = metadata("annotations", {api.ADMISSION_DEADLINE: "2026-11-29T10:00:00Z"})
    assert await create(client, kind, both(NOT_QUEUED, keys)) == "asked"
