"""The autoscaler double in its place: the real Kueue asks it, the real kube-scheduler uses the nodes it gives."""

import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import pytest
import yaml

from classifier.api import ADMITTED, EVICTED, JOBS, NODES, PROVISIONING_REQUESTS, QUOTA_RESERVED
from classifier.cluster.client import ApiError, Client
from classifier.objects import Node, Workload
from e2e import builders
from e2e.autoscaler import ATOMIC, CHECK, Autoscaler, NodeGroup, Settings
from e2e.autoscaler.nodes import NODE_GROUP
from e2e.autoscaler.publish import CONFIG_MAPS
from e2e.builders import GPU, Queues
from e2e.controlplane.apply import Applier
from e2e.story import Story
from e2e.wait import eventually

pytestmark = pytest.mark.usefixtures("ns")

#: Short enough for a test.
QUICK = Settings(start_delay=0.5, initial_backoff=0.2, max_backoff=0.4, unneeded_time=1.0)
#: As the provider does that answers once the machines are there.
WAITS = replace(QUICK, provision_when_ready=True)
#: One retry, soon; then Kueue rejects.
RETRY = {"backoffLimitCount": 1, "backoffBaseSeconds": 1, "backoffMaxSeconds": 1}

SUCCESS = "Provisioned=True/CapacityIsProvisioned"
FOUND = "Provisioned=True/CapacityIsFound"
NOT_FOUND = "Provisioned=False/CapacityIsNotFound"


@dataclass
class Stage:
    """A queue with a provisioning check over an empty pool of at most 2 nodes x 8 GPU, and the autoscaler beside it."""

    client: Client
    queues: Queues
    autoscaler: Autoscaler
    story: Story

    async def submit(
        self, name: str, pods: int, *, gpus: int = 8, run_for: str = "500ms", ends: str | None = None
    ) -> None:
        job = builders.job(name, self.queues, pods=pods, requests={GPU: gpus}, run_for=run_for, ends=ends)
        await self.client.request("POST", JOBS.path(self.queues.namespace), body=job)

    def complete(self, name: str) -> bool:
        job = self.story.jobs.objects.get(f"{self.queues.namespace}/{name}")
        return job is not None and job.status is not None and job.status.is_true("Complete")

    def workload(self) -> Workload | None:
        return next(iter(self.story.workloads.objects.values()), None)

    def check(self) -> tuple[str, str]:
        """State and message of the provisioning check of the only Workload."""
        workload = self.workload()
        states = (workload.status.admission_checks if workload and workload.status else None) or []
        return (states[0].state, states[0].message or "") if states else ("", "")

    def holds(self, condition: str) -> bool:
        workload = self.workload()
        return workload is not None and workload.is_true(condition)

    async def status(self) -> dict[str, Any]:
        """The status ConfigMap's entry of the pool."""
        path = CONFIG_MAPS.path("kube-system", "cluster-autoscaler-status")
        found = msgspec.json.decode(await self.client.request("GET", path))
        (group,) = yaml.safe_load(found["data"]["status"])["nodeGroups"]
        assert isinstance(group, dict)
        return group


@contextlib.asynccontextmanager
async def stage(
    client: Client,
    queues: Queues,
    settings: Settings,
    *,
    class_name: str = ATOMIC,
    parameters: Mapping[str, str] | None = None,
) -> AsyncIterator[Stage]:
    pool = queues.flavor
    objects = [
        builders.flavor(pool, queues.node_labels),
        *builders.provisioning(pool, class_name=class_name, parameters=dict(parameters or {}), retryStrategy=RETRY),
        builders.cluster_queue(queues.cluster_queue, {pool: {GPU: 1000}}, checks=[pool]),
        builders.local_queue(queues),
    ]
    applier = Applier(client)
    await applier.apply(objects)
    group = NodeGroup(pool, queues.node_labels, {"cpu": "94", "memory": "860Gi", GPU: "8", "pods": "110"}, max_nodes=2)

    def ours(node: Node) -> bool:
        return node.annotation(NODE_GROUP) == pool

    async with (
        Autoscaler(client, [group], settings, namespace=queues.namespace) as autoscaler,
        Story(client, queues.namespace, ours).told() as story,
    ):
        yield Stage(client, queues, autoscaler, story)
    await applier.delete(objects)


async def test_a_gang_waits_for_both_nodes_starts_together_and_gives_them_back(client: Client, names: Queues) -> None:
    async with stage(client, names, WAITS) as scene:
        story = scene.story
        await scene.submit("train", 2, run_for="3s")
        await story.until("the Job completes", lambda: scene.complete("train"))
        assert len(story.ready) == 2
        assert max(story.ready.values()) < story.said[SUCCESS] < story.unsuspended["train"]
        assert story.unsuspended["train"] < min(story.made.values())
        # Together: both ran before either had ended.
        assert len(story.running) == len(story.ended) == 2
        assert max(story.running.values()) < min(story.ended.values())
        await story.until("the pool is empty again", lambda: not story.pool())
        assert (await scene.status())["health"]["maxSize"] == 2


async def test_by_default_capacity_is_provisioned_before_there_are_nodes(client: Client, names: Queues) -> None:
    """As Cluster Autoscaler has it: admitted and unsuspended with Pending pods, which the nodes pick up later."""
    async with stage(client, names, QUICK) as scene:
        story = scene.story
        await scene.submit("train", 2)
        await story.until("the Job completes", lambda: scene.complete("train"))
        assert story.said[SUCCESS] < min(story.registered.values())
        assert "BookingExpired=True/CapacityBookingConsumed" in story.said
        await story.until("the pool is empty again", lambda: not story.pool())


async def test_nodes_that_are_there_are_found(client: Client, names: Queues) -> None:
    async with stage(client, names, replace(QUICK, unneeded_time=60)) as scene:
        await scene.submit("first", 2)
        await scene.story.until("the first Job completes", lambda: scene.complete("first"))
        await scene.submit("second", 16, gpus=1)
        await scene.story.until("the second Job completes", lambda: scene.complete("second"))
        assert FOUND in scene.story.said
        assert len(scene.story.registered) == 2


async def test_without_capacity_the_check_stays_pending_and_quota_is_held(client: Client, names: Queues) -> None:
    async with stage(client, names, QUICK) as scene:
        story = scene.story
        await scene.submit("too-large", 3)
        await story.until("the check says so", lambda: "will try to find it later" in scene.check()[1])
        assert scene.check()[0] == "Pending"
        assert scene.holds(QUOTA_RESERVED)
        assert not story.registered
        assert "Failed" not in " ".join(story.said)


async def test_no_capacity_until_there_is(client: Client, names: Queues) -> None:
    async with stage(client, names, QUICK) as scene:
        scene.autoscaler.faults.no_capacity = True
        await scene.submit("train", 2)
        await scene.story.until("it is not found", lambda: NOT_FOUND in scene.story.said)
        assert not scene.story.unsuspended
        scene.autoscaler.faults.no_capacity = False
        await scene.story.until("the Job completes", lambda: scene.complete("train"))


async def test_nobody_answers_until_somebody_does(client: Client, names: Queues) -> None:
    async with stage(client, names, QUICK) as scene:
        scene.autoscaler.faults.never_answers = True
        await scene.submit("train", 2)
        await scene.story.until("there is a request", lambda: bool(scene.story.requests.objects))
        await scene.story.until("its check is pending", lambda: scene.check() == ("Pending", ""))
        assert not scene.story.said
        scene.autoscaler.faults.never_answers = False
        await scene.story.until("the Job completes", lambda: scene.complete("train"))


async def test_a_provider_that_gives_up_ends_in_deactivation_by_kueue(client: Client, names: Queues) -> None:
    async with stage(client, names, QUICK) as scene:
        scene.autoscaler.faults.failed = "OutOfResources"
        await scene.submit("train", 2)
        await scene.story.until("Kueue evicts it", lambda: scene.holds(EVICTED))
        assert "Failed=True/OutOfResources" in scene.story.said

        def deactivated() -> bool:
            workload = scene.workload()
            return workload is not None and not workload.active

        # One retry (backoffLimitCount), then Rejected.
        await scene.story.until("Kueue deactivates it", deactivated)
        assert not scene.story.unsuspended


async def test_nodes_slower_than_their_booking(client: Client, names: Queues) -> None:
    """The gap after admission: the booking lapses, the gang stays admitted, and its pods wait."""
    settings = replace(QUICK, unneeded_time=60)
    async with stage(client, names, settings) as scene:
        scene.autoscaler.faults.slow_nodes = 3600
        await scene.submit("train", 2)
        await scene.story.until("it is admitted", lambda: scene.holds(ADMITTED))
        scene.autoscaler.settings = replace(settings, booking=0)
        expired = "BookingExpired=True/CapacityReservationTimeExpired"
        await scene.story.until("the booking expires", lambda: expired in scene.story.said)
        assert not scene.story.registered
        scene.autoscaler.faults.slow_nodes = 0
        await scene.story.until("the Job completes", lambda: scene.complete("train"))
        assert not scene.holds(EVICTED)


async def test_check_capacity_never_grows_a_pool_and_fails_where_it_may_not_retry(
    client: Client, names: Queues
) -> None:
    async with stage(client, names, QUICK, class_name=CHECK, parameters={"noRetry": "true"}) as scene:
        await scene.submit("train", 2)
        await scene.story.until("Kueue evicts it", lambda: scene.holds(EVICTED))
        assert "Failed=True/CapacityIsNotFound" in scene.story.said
        assert not scene.story.registered


async def test_nodes_with_pods_stay(client: Client, names: Queues) -> None:
    async with stage(client, names, replace(QUICK, unneeded_time=0.3)) as scene:
        await scene.submit("for-ever", 1, ends="Never")
        await scene.story.until("it runs", lambda: bool(scene.story.running))
        await scene.submit("short", 1)
        await scene.story.until("the other Job completes", lambda: scene.complete("short"))
        await scene.story.until("its node goes", lambda: len(scene.story.pool()) == 1)
        (node,) = scene.story.pool()
        (pod,) = [pod for pod in scene.story.pods.objects.values() if pod.name.startswith("for-ever")]
        assert pod.spec is not None
        assert pod.spec.node_name == node.name

        async def told() -> bool:
            return bool((await scene.status())["health"]["cloudProviderTarget"] == 1)

        await eventually(told, what="the status ConfigMap says that one is left")


async def test_a_request_without_its_pod_template_fails(client: Client, names: Queues) -> None:
    async with stage(client, names, QUICK) as scene:
        body = {
            "apiVersion": PROVISIONING_REQUESTS.api_version,
            "kind": PROVISIONING_REQUESTS.kind,
            "metadata": {"name": "bare", "namespace": names.namespace},
            "spec": {"provisioningClassName": ATOMIC, "podSets": [{"count": 1, "podTemplateRef": {"name": "missing"}}]},
        }
        await client.request("POST", PROVISIONING_REQUESTS.path(names.namespace), body=body)
        await scene.story.until("it fails", lambda: "Failed=True/FailedToCreatePods" in scene.story.said)


async def test_leaving_takes_the_nodes_and_the_status_along(client: Client, names: Queues) -> None:
    async with stage(client, names, replace(QUICK, unneeded_time=60)) as scene:
        await scene.submit("train", 2)
        await scene.story.until("the Job completes", lambda: scene.complete("train"))
        nodes = [node.name for node in scene.story.pool()]
        assert len(nodes) == 2
    with pytest.raises(ApiError, match="not found"):
        await scene.status()
    for name in nodes:
        with pytest.raises(ApiError, match="not found"):
            await client.request("GET", NODES.path(name=name))
