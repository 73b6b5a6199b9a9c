"""What timed out is deleted where a policy says so, in two steps and as it was seen; what would come back stays."""

import json
import signal
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Final

import pytest
import pytest_asyncio

from classifier import api, scope
from classifier.cluster.client import MERGE_PATCH, ApiError
from classifier.instant import SECOND, parse_instant
from e2e import kinds, view
from e2e.builders import Queues
from e2e.chaos import ChaosProxy, Exchange, Rule
from e2e.conftest import Invariants
from e2e.controlplane.chart import CONTROLLER, Muster
from e2e.controlplane.cluster import Cluster
from e2e.controlplane.node import Override
from e2e.gangs import TOO_MUCH, Gang
from e2e.wait import eventually

#: The least that the chart's test values allow.
TTL: Final = "2s"
POLICY: Final = {api.ADMISSION_TIMEOUT: "3s", api.TTL_AFTER_TIMEOUT: TTL}
TRACKING: Final = "argocd.argoproj.io/tracking-id"
BOUNDED: Final = [kind for kind in kinds.KINDS if (kind.resource.group, kind.kind) in scope.BOUNDED]


@pytest.fixture(scope="module")
def cluster(every_kind: Cluster) -> Cluster:
    return every_kind


@pytest.fixture(scope="module")
def invariants(invariants_of_every_kind: Invariants) -> Invariants:
    return invariants_of_every_kind


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def proxy(cluster: Cluster, muster_of_every_kind: Muster) -> AsyncIterator[ChaosProxy]:
    """The controller talks to the API server through this proxy while this module runs."""
    muster = muster_of_every_kind
    async with ChaosProxy(cluster.context.server, cluster.folder / "pki" / "ca.crt") as proxy:

        def through(token: str) -> Path:
            return proxy.kubeconfig(token, namespace="muster-system")

        await muster.node.override(CONTROLLER, Override(kubeconfig=through))
        await muster.node.wait_ready(CONTROLLER)
        yield proxy
        await muster.node.override(CONTROLLER, None)
        await muster.node.wait_ready(CONTROLLER)


@pytest_asyncio.fixture(loop_scope="session")
async def policy(cluster: Cluster, queues: Queues) -> Queues:
    """The test's queue ends waits and deletes what it ended."""
    path = api.LOCAL_QUEUES.path(queues.namespace, queues.local_queue)
    await cluster.admin.request("PATCH", path, body={"metadata": {"annotations": POLICY}}, content_type=MERGE_PATCH)
    return queues


async def is_there(cluster: Cluster, resource: api.Resource, namespace: str, name: str) -> bool:
    try:
        await view.read(cluster.admin, resource, namespace, name)
    except ApiError as error:
        if error.missing:
            return False
        raise
    return True


async def gone(cluster: Cluster, resource: api.Resource, namespace: str, name: str) -> None:
    async def absent() -> bool:
        return not await is_there(cluster, resource, namespace, name)

    await eventually(absent, what=f"{resource.kind} {name} is gone")


def deletions(proxy: ChaosProxy, gang: Gang) -> list[Exchange]:
    """The controller's deletions of a job."""
    path = api.JOBS.path(gang.queues.namespace, gang.name)
    return [e for e in proxy.requests if e.method == "DELETE" and e.path == path]


async def submitted_and_held(proxy: ChaosProxy, gang: Gang) -> Rule:
    """When this returns the controller's deletion is on its way."""
    rule = proxy.when("DELETE", api.JOBS.path(gang.queues.namespace, gang.name)).hold()
    await gang.submit()
    await rule.caught()
    return rule


async def test_every_kind_goes_with_its_workload_when_its_time_has_come(
    cluster: Cluster, muster_of_every_kind: Muster, policy: Queues
) -> None:
    await cluster.applier.apply(kinds.runtimes(policy))
    requests = {key: str(value) for key, value in TOO_MUCH.items()}
    made = [
        (kind.resource, document["metadata"]["name"], document)
        for kind in BOUNDED
        for document in kind.make(f"gone-{kind.id}", policy, requests)
    ]
    await cluster.applier.apply([document for _, _, document in made])
    for resource, name, _ in made:
        await gone(cluster, resource, policy.namespace, name)

    async def nothing_left() -> bool:
        left = await view.every(cluster.admin, api.WORKLOADS, policy.namespace)
        assert not left, [workload["metadata"]["name"] for workload in left]
        return True

    await eventually(nothing_left)
    events = await view.every(cluster.admin, api.EVENTS, policy.namespace)
    told = {event["regarding"]["kind"] for event in events if event["reason"] == api.EVENT_DELETED}
    # They may be dropped, where the API server has other things to do.
    assert told
    assert told <= {kind.resource.kind for kind in BOUNDED}


async def test_what_was_let_go_by_hand_is_kept_though_it_says_so_by_no_condition(
    cluster: Cluster, muster_of_every_kind: Muster, queues: Queues
) -> None:
    """Kueue stops it again at once, and nothing of its run is left."""
    queue = api.LOCAL_QUEUES.path(queues.namespace, queues.local_queue)

    async def policy(**annotations: str) -> None:
        body = {"metadata": {"annotations": annotations}}
        await cluster.admin.request("PATCH", queue, body=body, content_type=MERGE_PATCH)

    await policy(**{api.ADMISSION_TIMEOUT: "3s"})
    requests = {key: str(value) for key, value in TOO_MUCH.items()}
    makers = {api.RAY_JOBS: kinds.ray_job, api.APP_WRAPPERS: kinds.app_wrapper}
    for make in makers.values():
        await cluster.applier.apply([*make("ran", queues, requests), *make("rested", queues, requests)])

    async def told(resource: api.Resource, name: str) -> bool:
        made = await view.read(cluster.admin, resource, queues.namespace, name)
        assert api.ADMISSION_OUTCOME_OF in view.annotations(made), name
        return True

    async def stopped(resource: api.Resource, generation: int) -> bool:
        made = await view.read(cluster.admin, resource, queues.namespace, "ran")
        assert made["metadata"]["generation"] > generation
        assert made["spec"]["suspend"] is True
        return True

    for resource in makers:
        for name in ("ran", "rested"):
            await eventually(partial(told, resource, name))
        path = resource.path(queues.namespace, "ran")
        raw = await cluster.admin.request("PATCH", path, body={"spec": {"suspend": False}}, content_type=MERGE_PATCH)
        await eventually(partial(stopped, resource, json.loads(raw)["metadata"]["generation"]))
    await policy(**POLICY)
    for resource in makers:
        await gone(cluster, resource, queues.namespace, "rested")

    async def kept() -> bool:
        events = await view.every(cluster.admin, api.EVENTS, queues.namespace)
        found = {each["regarding"]["kind"] for each in events if each["reason"] == api.EVENT_KEPT}
        assert found == {resource.kind for resource in makers}
        return True

    await eventually(kept)
    for resource in makers:
        assert await is_there(cluster, resource, queues.namespace, "ran")


async def test_it_is_announced_on_the_job_and_not_early(
    cluster: Cluster, muster_of_every_kind: Muster, policy: Queues
) -> None:
    gang = Gang(cluster, policy)
    await gang.submit(annotations={api.ADMISSION_TIMEOUT: "1s"})
    committed = await gang.committed()

    async def announced() -> str:
        job = await gang.job()
        at = view.annotations(job).get(api.DELETE_AFTER)
        assert at is not None, view.annotations(job)
        assert f"to be deleted at {at}" in view.annotations(job)[api.ADMISSION_MESSAGE]
        return at

    at = parse_instant(await eventually(announced))
    assert at >= parse_instant(view.annotations(committed)[api.COMMITTED].split(" ")[0]) + 2 * SECOND
    await gone(cluster, api.JOBS, policy.namespace, gang.name)
    # The API server's own clock, whose Date has whole seconds, cut off.
    assert cluster.admin.time.now() >= at - SECOND


async def test_killed_between_the_two_steps_the_next_life_completes_it(
    cluster: Cluster, muster_of_every_kind: Muster, proxy: ChaosProxy, policy: Queues
) -> None:
    """The deletion that was on its way arrives late, at a job that somebody has touched meanwhile: it conflicts."""
    gang = Gang(cluster, policy)
    rule = await submitted_and_held(proxy, gang)
    assert api.CLEANUP_COMMITTED in view.annotations(await gang.workload())
    for controller in muster_of_every_kind.controllers:
        await controller.kill(signal.SIGKILL)
    path = api.JOBS.path(policy.namespace, gang.name)
    body = {"metadata": {"annotations": {"example.com/seen": "yes"}}}
    await cluster.admin.request("PATCH", path, body=body, content_type=MERGE_PATCH)
    rule.release()
    await gone(cluster, api.JOBS, policy.namespace, gang.name)
    await muster_of_every_kind.node.wait_ready(CONTROLLER)


async def test_a_job_that_somebody_touched_since_is_looked_at_again_before_it_goes(
    cluster: Cluster, muster_of_every_kind: Muster, proxy: ChaosProxy, policy: Queues
) -> None:
    gang = Gang(cluster, policy)
    rule = await submitted_and_held(proxy, gang)
    path = api.JOBS.path(policy.namespace, gang.name)
    body = {"metadata": {"annotations": {TRACKING: "app:batch/Job:team/train"}}}
    await cluster.admin.request("PATCH", path, body=body, content_type=MERGE_PATCH)
    rule.release()

    async def kept() -> bool:
        job, workload = await gang.job(), await gang.workload()
        assert f"not deleted by Muster: it carries {TRACKING}" in view.annotations(job)[api.ADMISSION_MESSAGE]
        assert api.DELETE_AFTER not in view.annotations(job)
        # Whoever may reactivate it may again.
        assert api.CLEANUP_COMMITTED not in view.annotations(workload)
        return True

    await eventually(kept)
    assert 409 in {each.status for each in deletions(proxy, gang)}


async def test_a_new_job_of_the_same_name_is_another_job(
    cluster: Cluster, muster_of_every_kind: Muster, proxy: ChaosProxy, policy: Queues
) -> None:
    gang = Gang(cluster, policy)
    rule = await submitted_and_held(proxy, gang)
    path = api.JOBS.path(policy.namespace, gang.name)
    await cluster.admin.request("DELETE", path, params={"propagationPolicy": "Background"})
    await gone(cluster, api.JOBS, policy.namespace, gang.name)
    made = await gang.submit(timeout="1h")
    rule.release()

    async def arrived() -> bool:
        return all(each.forwarded for each in deletions(proxy, gang))

    await eventually(arrived)
    # None: who asked did not wait for the answer.
    assert {each.status for each in deletions(proxy, gang)} <= {409, None}
    assert (await gang.job())["metadata"]["uid"] == made["metadata"]["uid"]


async def test_what_something_else_keeps_stays_and_says_why(
    cluster: Cluster, muster_of_every_kind: Muster, policy: Queues
) -> None:
    gang = Gang(cluster, policy)
    await gang.submit(annotations={TRACKING: "app:batch/Job:team/train"})
    other = Gang(cluster, policy, "other")
    await other.submit()

    async def says() -> bool:
        message = view.annotations(await gang.job()).get(api.ADMISSION_MESSAGE, "")
        assert f"not deleted by Muster: it carries {TRACKING}" in message, message
        return True

    await eventually(says)
    # Its neighbour's time has come; so has its own.
    await gone(cluster, api.JOBS, policy.namespace, other.name)
    assert await is_there(cluster, api.JOBS, policy.namespace, gang.name)
    events = await view.every(cluster.admin, api.EVENTS, policy.namespace)
    (event,) = [event for event in events if event["reason"] == api.EVENT_KEPT]
    assert event["regarding"]["name"] == gang.name
    assert TRACKING in event["note"]
    assert api.CLEANUP_COMMITTED not in view.annotations(await gang.workload())


async def test_nobody_reactivates_what_is_about_to_go(
    cluster: Cluster, muster_of_every_kind: Muster, proxy: ChaosProxy, policy: Queues
) -> None:
    """Not even an administrator: the chart's policy says what to do instead."""
    gang = Gang(cluster, policy)
    rule = await submitted_and_held(proxy, gang)
    with pytest.raises(ApiError) as refused:
        await gang.patch_workload({"spec": {"active": True}})
    assert refused.value.status == 403
    assert api.CLEANUP_COMMITTED in str(refused.value)
    rule.release()
    await gone(cluster, api.JOBS, policy.namespace, gang.name)
