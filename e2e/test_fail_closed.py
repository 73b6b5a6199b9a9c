"""``webhook.failurePolicy: Fail``, where somebody wants that: without a webhook queued jobs are refused, no others."""

from collections.abc import AsyncIterator, Mapping
from typing import Final

import pytest
import pytest_asyncio

from classifier import api
from e2e import builders, view
from e2e.builders import Document, Queues
from e2e.controlplane.chart import NAMESPACE
from e2e.controlplane.egress import Fault
from e2e.letting_in import QUOTA, Stage, left_alone
from e2e.submit import gang
from e2e.wait import eventually

pytestmark = [pytest.mark.timeout(600), pytest.mark.usefixtures("nothing_forbidden")]

QUEUES: Final = Queues("fail-closed", "queue", "fail-closed", "fail-closed")


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
    "job-of-an-excluded-namespace": _queued_in(left_alone(QUEUES)),
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
