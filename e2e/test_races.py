"""Races, placed: between the controller's look and its write, and between any two of its writes."""

import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from classifier import api
from classifier.instant import SECOND, parse_instant
from e2e import builders, view
from e2e.builders import Queues
from e2e.chaos import ChaosProxy, contains
from e2e.controlplane.chart import CONTROLLER, Muster
from e2e.controlplane.cluster import Cluster
from e2e.controlplane.node import Override
from e2e.gangs import Gang, add_nodes, remove_nodes
from e2e.wait import eventually

COMMIT = contains('"active":false')
MIRROR = contains(api.ADMISSION_OUTCOME_OF)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def proxy(cluster: Cluster, muster: Muster) -> AsyncIterator[ChaosProxy]:
    """The controller talks to the API server through this proxy while this module runs."""
    async with ChaosProxy(cluster.context.server, cluster.folder / "pki" / "ca.crt") as proxy:

        def through(token: str) -> Path:
            return proxy.kubeconfig(token, namespace="muster-system")

        await muster.node.override(CONTROLLER, Override(kubeconfig=through))
        await muster.node.wait_ready(CONTROLLER)
        yield proxy
        await muster.node.override(CONTROLLER, None)
        await muster.node.wait_ready(CONTROLLER)


async def test_an_admission_between_read_and_write_wins(
    cluster: Cluster, muster: Muster, proxy: ChaosProxy, queues: Queues
) -> None:
    """The patch conflicts, nothing is written anywhere, the Job runs, no annotation says otherwise."""
    gang = Gang(cluster, queues)
    rule = proxy.when("PATCH", r"/workloads/", body=COMMIT).hold()
    await gang.submit(timeout="2s", requests={builders.GPU: 600}, run_for="3s")  # two pods: 1200 of 1000
    await rule.caught()
    # The controller has decided; only now there is room, and Kueue admits.
    await add_nodes(cluster, queues, 2, gpus=600)
    quota: dict[str, str | int] = {"cpu": 1000, "memory": "1000Gi", builders.GPU: 2000}
    await cluster.applier.apply([builders.cluster_queue(queues.cluster_queue, {queues.flavor: quota})])

    async def admitted() -> bool:
        return view.is_true(await gang.workload(), api.ADMITTED)

    await eventually(admitted)
    rule.release()
    job = await gang.complete()
    workload = await gang.workload()
    assert workload["spec"].get("active", True) is True
    assert api.COMMITTED not in view.annotations(workload)
    assert not set(api.MIRROR_KEYS) & view.annotations(job).keys()
    assert not await view.timeout_events(cluster.admin, queues.namespace, gang.name)
    answers = [e.status for e in proxy.requests if e.method == "PATCH" and "/workloads/" in e.path]
    assert 409 in answers, answers
    await remove_nodes(cluster, queues)


#: Where the controller dies: method, path, body, and whether the API server has carried the request out.
CRASHES = {
    "commit-carried-out": ("PATCH", r"/workloads/", COMMIT, True),
    "before-the-last-look": ("GET", r"/workloads/", None, False),
    "before-the-event": ("POST", r"/events", None, False),
    "event-carried-out": ("POST", r"/events", None, True),
    "before-the-mirror": ("PATCH", r"/jobs/", MIRROR, False),
    "mirror-carried-out": ("PATCH", r"/jobs/", MIRROR, True),
}


@pytest.mark.parametrize("point", CRASHES)
async def test_a_controller_killed_after_its_commit_completes_the_mirror_once(
    cluster: Cluster, muster: Muster, proxy: ChaosProxy, queues: Queues, point: str
) -> None:
    method, path, body, after = CRASHES[point]
    gang = Gang(cluster, queues)
    rule = proxy.when(method, path, body=body, watch=False).hold(after=after)
    await gang.submit(timeout="1500ms")
    await rule.caught()
    (controller,) = muster.controllers
    await controller.kill(signal.SIGKILL)
    # Whatever was held reaches the API server late, as it may in life.
    rule.release()
    await gang.committed()
    job = await gang.mirrored()
    workload = await gang.workload()
    assert view.annotations(job)[api.ADMISSION_OUTCOME_OF] == f"{workload['metadata']['uid']}/1"
    assert view.annotations(job)[api.ADMISSION_MESSAGE]
    (event,) = await view.timeout_events(cluster.admin, queues.namespace, gang.name)
    assert event["related"]["uid"] == workload["metadata"]["uid"]
    await muster.node.wait_ready(CONTROLLER)


async def test_a_controller_killed_before_its_commit_enforces_the_deadline_after_restart_not_early(
    cluster: Cluster, muster: Muster, proxy: ChaosProxy, queues: Queues
) -> None:
    gang = Gang(cluster, queues)
    await gang.submit(timeout="5s")
    deadline = await gang.announced()
    (controller,) = muster.controllers
    await controller.kill(signal.SIGKILL)
    await muster.node.wait_ready(CONTROLLER)
    workload = await gang.committed()
    assert view.annotations(workload)[api.ADMISSION_DEADLINE] == deadline
    assert parse_instant(view.annotations(workload)[api.COMMITTED].split(" ")[0]) >= parse_instant(deadline)


async def test_a_controller_down_over_the_deadline_enforces_it_when_it_is_back(
    cluster: Cluster, muster: Muster, proxy: ChaosProxy, queues: Queues
) -> None:
    gang = Gang(cluster, queues)
    # Long enough to be killed after it was shown.
    await gang.submit(timeout="8s")
    deadline = parse_instant(await gang.announced())
    (controller,) = muster.controllers
    controller.restart = False
    await controller.kill(signal.SIGKILL)

    async def passed() -> bool:
        assert (await gang.workload())["spec"].get("active", True) is True
        return cluster.admin.time.now() > deadline + SECOND

    await eventually(passed)
    controller.restart = True
    await gang.mirrored()


async def test_a_commit_whose_answer_is_lost_counts_once(
    cluster: Cluster, muster: Muster, proxy: ChaosProxy, queues: Queues
) -> None:
    """The connection breaks after the API server applied the patch: the controller finds its own marker."""
    (controller,) = muster.controllers
    series = f'muster_timeouts_total{{cluster_queue="{queues.cluster_queue}"}}'
    rule = proxy.when("PATCH", r"/workloads/", body=COMMIT).reset(after=True)
    gang = Gang(cluster, queues)
    await gang.submit(timeout="1500ms")
    await rule.caught()
    await gang.mirrored()
    assert len(await view.timeout_events(cluster.admin, queues.namespace, gang.name)) == 1
    assert (await view.metrics(controller))[series] == 1
    patches = [
        e for e in proxy.requests if e.method == "PATCH" and queues.namespace in e.path and "/workloads/" in e.path
    ]
    assert patches


async def test_a_broken_watch_loses_nothing(
    cluster: Cluster, muster: Muster, proxy: ChaosProxy, queues: Queues
) -> None:
    gang = Gang(cluster, queues)
    await gang.submit(timeout="3s")
    await gang.announced()
    proxy.when("GET", r"/workloads$", watch=True, times=2).gone()
    assert proxy.break_streams("/workloads") > 0
    await gang.mirrored()
