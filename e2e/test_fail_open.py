"""Whatever becomes of the webhook, jobs are let in: each row of capacity.md §3.12 on the real API server.

One never-fitting gang is submitted in every state; while all is well it is refused, so each test could fail. What the
API server made of a call that failed stands in its audit log. The plain faults of the connection are in
``test_webhook.py`` and, for every kind, in ``test_webhook_kinds.py``.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Final

import aiohttp
import pytest
import pytest_asyncio

from classifier import api
from e2e import builders, view
from e2e.audit import AuditLog
from e2e.builders import GPU, Document, Queues
from e2e.chaos import ChaosProxy
from e2e.conftest import Invariants, further_cluster
from e2e.controlplane.chart import NAMESPACE, WEBHOOK, Muster
from e2e.controlplane.cluster import Cluster
from e2e.controlplane.egress import Fault
from e2e.controlplane.node import Override
from e2e.standin import DOES, FAILURES, StandIn
from e2e.submit import STAMPS, Answer, Person, gang, person
from e2e.wait import eventually

pytestmark = [pytest.mark.timeout(600), pytest.mark.usefixtures("nothing_forbidden")]

QUEUES: Final = Queues("fail-open", "queue", "fail-open", "fail-open")
QUOTA: Final[dict[str, str | int]] = {"cpu": 1000, "memory": "1000Gi", GPU: 1000}
#: Both of Muster's webhooks for Jobs.
JOBS: Final = {"mjob.muster.dev", "vjob.muster.dev"}


@dataclass
class Stage:
    cluster: Cluster
    muster: Muster
    alice: Person
    audit: AuditLog

    async def submit(self, name: str = "train", **annotations: str) -> Answer:
        """A gang that can never fit."""
        return await self.alice.submit(gang(name, QUEUES, 3, annotations), dryRun="All")

    async def refuses(self) -> None:
        """Wait until the gang is refused: the webhook is asked, and knows what it judges by."""

        async def refused() -> bool:
            answer = await self.submit("probe")
            assert answer.status == 403, answer.warnings
            return True

        await eventually(refused, what="a gang that can never fit is refused")

    async def failed_open(self) -> dict[str, set[str]]:
        """By job, the webhooks whose call failed and was ignored, since the last call."""
        found: dict[str, set[str]] = {}
        for event in await self.audit.drain(self.cluster.admin, QUEUES.namespace):
            for key, value in (event.get("annotations") or {}).items():
                if key.startswith("failed-open."):
                    found.setdefault(event["requestObject"]["metadata"]["name"], set()).add(value)
        return found


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def stage(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    """A cluster of its own, one replica of the webhook, and a profile that enforces 2 nodes of 8 GPUs."""
    async with (
        further_cluster(request, "fail-open") as cluster,
        Muster(cluster, {"webhook": {"replicas": 1, "excludedNamespaces": ["left-alone"]}}) as muster,
        person(cluster, "alice", tmp_path_factory.mktemp("alice")) as alice,
    ):
        made = Stage(cluster, muster, alice, AuditLog(cluster.audit_log))
        await cluster.applier.apply(
            [
                builders.namespace(QUEUES.namespace),
                builders.namespace("left-alone"),
                builders.flavor(QUEUES.flavor, QUEUES.node_labels),
                builders.cluster_queue(QUEUES.cluster_queue, {QUEUES.flavor: QUOTA}),
                builders.local_queue(QUEUES),
                profile(QUEUES.flavor),
            ]
        )
        await made.refuses()
        yield made


@pytest.fixture(scope="module")
def invariants_of_stage(stage: Stage) -> Invariants:
    return Invariants(stage.cluster)


@pytest_asyncio.fixture(loop_scope="session")
async def nothing_forbidden(invariants_of_stage: Invariants) -> AsyncIterator[None]:
    yield
    await invariants_of_stage.check()


def profile(flavor: str, *, max_nodes: int = 2) -> Document:
    pool = builders.pool("gpupool", QUEUES, max_nodes=max_nodes, allocatable={GPU: 8})
    return builders.profile(flavor, flavor, [pool], closed=True, preflight="Enforce", admission={"timeout": "30m"})


def let_in_unseen(answer: Answer) -> None:
    assert answer.status == 201, answer.body
    assert not STAMPS & answer.annotations.keys()


# --- answers that are none ------------------------------------------------------------------------------------------


@dataclass
class Told:
    """What became of a job by what the stand-in did to it, and whose calls the API server gave up."""

    answers: dict[str, Answer]
    failed_open: dict[str, set[str]]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def told(stage: Stage) -> Told:
    async with StandIn(stage.muster):
        await stage.failed_open()
        rows = (*FAILURES, "a-denial", "a-patch-that-does-not-apply")
        answers = await asyncio.gather(*(stage.submit(row, **{DOES: row}) for row in rows))
        found = Told(dict(zip(rows, answers, strict=True)), await stage.failed_open())
    await stage.refuses()
    return found


@pytest.mark.parametrize("row", FAILURES)
async def test_an_answer_that_is_none_stops_no_job(told: Told, row: str) -> None:
    let_in_unseen(told.answers[row])
    assert told.failed_open[row] == JOBS


async def test_only_an_answer_to_the_question_refuses(told: Told) -> None:
    assert told.answers["a-denial"].status == 403
    assert (
        'webhook "mjob.muster.dev" denied the request: denied by a stand-in'
        in (told.answers["a-denial"].body["message"])
    )


async def test_a_patch_that_does_not_apply_is_the_one_thing_that_failure_policy_does_not_forgive(told: Told) -> None:
    """Which is why ours are held to apply, whatever the object (``tests/unit/webhook/test_patches.py``)."""
    assert told.answers["a-patch-that-does-not-apply"].status == 500
    assert "a-patch-that-does-not-apply" not in told.failed_open


# --- nobody there ---------------------------------------------------------------------------------------------------


@asynccontextmanager
async def killed(stage: Stage) -> AsyncIterator[None]:
    """The process is gone, and traffic still goes where it was."""
    (pod,) = stage.muster.webhooks
    pod.restart = False
    service = await stage.cluster.service_address(NAMESPACE, WEBHOOK, 443)
    await stage.cluster.egress.stand_in(service, f"{pod.address}:{pod.port('https')}")
    await pod.kill()
    try:
        yield
    finally:
        pod.restart = True
        await stage.cluster.egress.stand_in(service, None)
        await stage.muster.node.wait_ready(WEBHOOK)


@asynccontextmanager
async def frozen(stage: Stage) -> AsyncIterator[None]:
    """The process takes connections and does nothing with them."""
    (pod,) = stage.muster.webhooks
    service = await stage.cluster.service_address(NAMESPACE, WEBHOOK, 443)
    await stage.cluster.egress.stand_in(service, f"{pod.address}:{pod.port('https')}")
    pod.pause()
    try:
        yield
    finally:
        pod.resume()
        await stage.cluster.egress.stand_in(service, None)
        await stage.muster.node.wait_ready(WEBHOOK)


@asynccontextmanager
async def untrusted(stage: Stage) -> AsyncIterator[None]:
    async with StandIn(stage.muster, trusted=False):
        yield


@asynccontextmanager
async def speaks_no_tls(stage: Stage) -> AsyncIterator[None]:
    """Something that speaks HTTP, and no TLS."""
    (pod,) = stage.muster.webhooks
    service = await stage.cluster.service_address(NAMESPACE, WEBHOOK, 443)
    await stage.cluster.egress.stand_in(service, f"{pod.address}:{pod.port('metrics')}")
    try:
        yield
    finally:
        await stage.cluster.egress.stand_in(service, None)


@asynccontextmanager
async def scaled_to_zero(stage: Stage) -> AsyncIterator[None]:
    await stage.muster.node.scale(WEBHOOK, 0)
    try:
        yield
    finally:
        await stage.muster.node.scale(WEBHOOK, 1)
        await stage.muster.node.wait_ready(WEBHOOK)


Way = Callable[[Stage], AbstractAsyncContextManager[None]]


@pytest.mark.parametrize(
    "way",
    [untrusted, speaks_no_tls, frozen, killed, scaled_to_zero],
    ids=lambda way: way.__name__.replace("_", "-"),
)
async def test_without_a_webhook_jobs_are_let_in_and_with_it_refused_again(stage: Stage, way: Way) -> None:
    async with way(stage):
        await stage.failed_open()
        let_in_unseen(await stage.submit(way.__name__.replace("_", "-"), **{DOES: "a-denial"}))
        assert list((await stage.failed_open()).values()) == [JOBS]
    await stage.refuses()


# --- nothing to judge by --------------------------------------------------------------------------------------------

#: What is missing of a chain, by its name.
MISSING: Final = ("no-cluster-queue", "no-flavor", "no-check", "no-pools")


def chain(name: str) -> list[Document]:
    """A queue of this name with a flavor and a profile, less what the name says."""
    queues = Queues(QUEUES.namespace, name, name, name)
    checks = ["nowhere"] if name == "no-check" else []
    made = [
        builders.local_queue(queues),
        builders.cluster_queue(name, {name: QUOTA}, checks=checks),
        builders.flavor(name, QUEUES.node_labels),
        profile(name) if name != "no-pools" else builders.profile(name, name, [], preflight="Enforce"),
    ]
    left_out = {"no-cluster-queue": "ClusterQueue", "no-flavor": "ResourceFlavor"}.get(name)
    return [each for each in made if each["kind"] != left_out]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def chains(stage: Stage) -> AsyncIterator[None]:
    made = [each for name in ("whole", *MISSING) for each in chain(name)]
    await stage.cluster.applier.apply(made)

    async def judged() -> bool:
        answers = await asyncio.gather(*(_into(stage, name) for name in ("whole", *MISSING)))
        assert answers[0].status == 403
        # Without its ClusterQueue nobody knows whose profile speaks for a job.
        assert all(api.PREFLIGHT in answer.annotations for answer in answers[2:])
        return True

    await eventually(judged, what="every profile is known")
    yield
    await stage.cluster.applier.delete(made)


async def _into(stage: Stage, name: str) -> Answer:
    queues = Queues(QUEUES.namespace, name, name, name)
    return await stage.alice.submit(gang(f"in-{name}", queues, 3), dryRun="All")


@pytest.mark.parametrize("name", MISSING)
async def test_what_is_missing_denies_nobody(stage: Stage, chains: None, name: str) -> None:
    answer = await _into(stage, name)
    assert answer.status == 201, answer.body
    assert not [warning for warning in answer.warnings if "internal error" in warning]
    assert answer.annotations.get(api.PREFLIGHT, "unknown").startswith(("unknown", "misconfigured")), answer.annotations


# --- failing closed, where somebody wants that ------------------------------------------------------------------------


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def waiting(stage: Stage) -> Queues:
    """A queue that lets nobody go yet, and in it a job that fits."""
    queues = Queues(QUEUES.namespace, "waiting", "waiting", QUEUES.flavor)
    held = builders.cluster_queue("waiting", {QUEUES.flavor: QUOTA}, stopPolicy="Hold")
    await stage.cluster.applier.apply([held, builders.local_queue(queues)])
    assert (await stage.alice.submit(gang("held", queues, 2))).status == 201

    async def queued() -> bool:
        return bool(await view.every(stage.cluster.admin, api.WORKLOADS, QUEUES.namespace))

    await eventually(queued, what="Kueue has queued the job")
    return queues


@pytest_asyncio.fixture(scope="class", loop_scope="session")
async def closed_and_down(stage: Stage, waiting: Queues) -> AsyncIterator[None]:
    """``webhook.failurePolicy: Fail``, and nobody answers."""
    await stage.muster.apply({"webhook": {"failurePolicy": "Fail", "replicas": 2}})

    async def strict() -> bool:
        await stage.muster.break_webhook(Fault.REFUSE)
        return (await stage.submit("strict")).status == 500

    await eventually(strict, what="the API server has read the configuration")
    yield
    await stage.muster.break_webhook(None)
    await stage.muster.apply({"webhook": {"failurePolicy": "Ignore", "replicas": 1}})
    await stage.muster.node.reconcile()
    await stage.refuses()


def _unlabelled(namespace: str = QUEUES.namespace) -> Document:
    job = builders.job("unlabelled", Queues(namespace, "queue", "none", "none"))
    del job["metadata"]["labels"]
    return job


def _pod(namespace: str = QUEUES.namespace, **labels: str) -> Document:
    container = {"name": "main", "image": "example.com/none"}
    metadata = {"name": "plain", "namespace": namespace, "labels": labels}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}}


def _deployment() -> Document:
    pod = _pod(app="a")
    template = {"metadata": {"labels": {"app": "a"}}, "spec": pod["spec"]}
    spec = {"selector": {"matchLabels": {"app": "a"}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": pod["metadata"], "spec": spec}


def _queued_in(namespace: str) -> Document:
    return gang("queued", Queues(namespace, "queue", "none", "none"), 3)


#: Kubernetes' own, ours, and what the values name: labelled jobs of theirs are not seen either.
SPARED: Final[Mapping[str, Document]] = {
    "unlabelled-job": _unlabelled(),
    "pod": _pod(),
    "deployment": _deployment(),
    "job-of-kube-system": _queued_in("kube-system"),
    "job-of-our-own-namespace": _queued_in(NAMESPACE),
    "pod-of-our-own-namespace": _pod(NAMESPACE, **{api.QUEUE_NAME: "queue"}),
    "job-of-an-excluded-namespace": _queued_in("left-alone"),
}


def _group(api_version: str) -> tuple[str, str]:
    group, _, version = api_version.rpartition("/")
    return group, version


@pytest.mark.usefixtures("closed_and_down")
class TestFailingClosed:
    async def test_it_refuses_queued_jobs_and_says_who_did_not_answer(self, stage: Stage) -> None:
        answer = await stage.submit("closed")
        assert answer.status == 500
        assert 'failed calling webhook "mjob.muster.dev"' in answer.body["message"]

    @pytest.mark.parametrize("what", SPARED)
    async def test_it_stops_nobody_else(self, stage: Stage, what: str) -> None:
        obj = SPARED[what]
        resource = api.Resource(*_group(obj["apiVersion"]), obj["kind"].lower() + "s", obj["kind"])
        answer = await stage.alice.create(resource, obj, dryRun="All")
        assert answer.status == 201, answer.body

    async def test_it_lets_kueue_start_what_was_let_in_and_people_delete_it(
        self, stage: Stage, waiting: Queues
    ) -> None:
        going = builders.cluster_queue("waiting", {QUEUES.flavor: QUOTA}, stopPolicy="None")
        await stage.cluster.applier.apply([going])

        async def started() -> Document:
            job = await view.read(stage.cluster.admin, api.JOBS, QUEUES.namespace, "held")
            assert job["spec"]["suspend"] is False
            assert len(await view.pods_of(stage.cluster.admin, QUEUES.namespace, "held")) == 2
            return job

        await stage.cluster.applier.delete([await eventually(started)])


# --- old and unread copies --------------------------------------------------------------------------------------------


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def proxy(stage: Stage) -> AsyncIterator[ChaosProxy]:
    """Between the webhook and the API server; what is silent for seconds is stale."""
    context = stage.cluster.context
    async with ChaosProxy(context.server, context.folder / "pki" / "ca.crt") as proxy:
        through = Override({"--stale-after": "6s"}, kubeconfig=lambda token: proxy.kubeconfig(token))
        await stage.muster.node.override(WEBHOOK, through)
        await stage.muster.node.wait_ready(WEBHOOK)
        yield proxy
        await stage.muster.node.override(WEBHOOK, None)
        await stage.muster.node.wait_ready(WEBHOOK)


async def test_a_stale_copy_denies_nobody_and_is_told_and_counted(stage: Stage, proxy: ChaosProxy) -> None:
    await stage.refuses()
    cut = proxy.when("GET", r"/localqueues$", times=None).answer(503)
    proxy.break_streams("/localqueues")

    async def let_in() -> Answer:
        answer = await stage.submit("stale")
        assert answer.status == 201
        return answer

    answer = await eventually(let_in)
    (warning,) = answer.warnings
    assert warning.startswith("muster: preflight skipped: its view of the cluster is ")
    assert warning.endswith("s old")
    # A dry run leaves no trace in the counters.
    before = await skipped(stage)
    stays = gang("stays", QUEUES, 3)
    assert (await stage.alice.submit(stays)).status == 201
    assert await skipped(stage) == before + 1
    await stage.cluster.applier.delete([stays])

    cut.stop()
    again = proxy.when("GET", r"/localqueues$", watch=True)
    await again.caught()
    # Whoever has had nothing to say for as long is heard of again.
    proxy.break_streams()
    await stage.refuses()


async def skipped(stage: Stage) -> float:
    (pod,) = stage.muster.webhooks
    return (await view.metrics(pod))['muster_preflight_skipped_total{cause="stale"}']


@pytest.mark.parametrize("plural", ["localqueues", "nodes"])
async def test_before_it_has_read_the_cluster_it_is_not_asked(stage: Stage, proxy: ChaosProxy, plural: str) -> None:
    """Not ready, for nodes that are not read yet could refute any proof; and jobs are let in."""
    (pod,) = stage.muster.webhooks
    unread = proxy.when("GET", rf"/{plural}$", times=None).answer(500)
    await pod.kill()

    async def says_why() -> bool:
        try:
            async with aiohttp.ClientSession() as http, http.get(pod.url("metrics", "/readyz")) as answer:
                text = await answer.text()
        except aiohttp.ClientError as error:
            raise AssertionError("it does not listen yet") from error
        assert answer.status == 503
        assert f"snapshot: not listed yet: {plural}" in text
        return True

    await eventually(says_why)
    let_in_unseen(await stage.submit("unread"))
    unread.stop()
    await stage.muster.node.wait_ready(WEBHOOK)
    proxy.break_streams()
    await stage.refuses()
