"""A wait ends at its deadline, in one write, and says so on the job; nothing else ever ends."""

import json

from classifier import api
from classifier.cluster.client import MERGE_PATCH
from classifier.instant import HOUR, SECOND, format_instant, parse_instant
from e2e import builders, view
from e2e.autoscaler import ATOMIC, Autoscaler, NodeGroup, Settings
from e2e.builders import Document, Queues
from e2e.controlplane.chart import Muster
from e2e.controlplane.cluster import Cluster
from e2e.controlplane.egress import Fault
from e2e.gangs import Gang, add_nodes, remove_nodes
from e2e.wait import eventually

DAY = 24 * HOUR
#: The chart's test values.
NOTICE = SECOND
#: Two clients' views of the server's clock, each right to a second.
CLOCK_ERROR = SECOND


async def test_a_gang_without_capacity_is_ended_at_its_deadline(
    cluster: Cluster, muster: Muster, queues: Queues
) -> None:
    gang = Gang(cluster, queues)
    submitted = await gang.submit(timeout="3s")
    deadline = await gang.announced()
    assert parse_instant(deadline) >= parse_instant(submitted["metadata"]["creationTimestamp"]) + 3 * SECOND

    job = await gang.mirrored()
    workload = await gang.workload()
    at, attempt, uid = view.annotations(workload)[api.COMMITTED].split(" ")
    assert (attempt, uid) == ("attempt=1", f"uid={workload['metadata']['uid']}")
    assert parse_instant(at) >= parse_instant(deadline)
    assert view.annotations(workload)[api.ADMISSION_DEADLINE] == deadline
    assert view.annotations(job)[api.ADMISSION_DEADLINE] == deadline
    assert view.annotations(job)[api.ADMISSION_OUTCOME_OF] == f"{workload['metadata']['uid']}/1"
    message = view.annotations(job)[api.ADMISSION_MESSAGE]
    assert f"patch workloads.kueue.x-k8s.io {workload['metadata']['name']}" in message
    assert "delete and resubmit" in message
    assert job["spec"]["suspend"] is True
    (event,) = await view.timeout_events(cluster.admin, queues.namespace, gang.name)
    assert event["related"]["uid"] == workload["metadata"]["uid"]
    assert event["note"] == message


async def test_a_gang_that_starts_in_time_is_left_alone(cluster: Cluster, muster: Muster, queues: Queues) -> None:
    await add_nodes(cluster, queues, 2)
    gang = Gang(cluster, queues)
    await gang.submit(timeout="1h", requests={builders.GPU: 8}, run_for="4s")
    await gang.started()
    await gang.runs_out()
    await gang.complete()

    async def noted() -> Document:
        job = await gang.job()
        assert json.loads(view.annotations(job)[api.ADMISSION_CLOCK]).get("started"), view.annotations(job)
        return job

    assert api.ADMISSION_OUTCOME not in view.annotations(await eventually(noted))
    assert (await gang.workload())["spec"].get("active", True) is True
    await remove_nodes(cluster, queues)


async def test_quota_reserved_and_provisioning_pending_at_the_deadline(
    cluster: Cluster, muster: Muster, ns: str, names: Queues
) -> None:
    """The case the deadline exists for: the wait holds quota, and the autoscaler never finds capacity."""
    pool = names.cluster_queue
    await cluster.applier.apply(
        [
            builders.flavor(names.flavor, names.node_labels),
            *builders.provisioning(pool, class_name=ATOMIC),
            builders.cluster_queue(pool, {names.flavor: {"cpu": 1000, builders.GPU: 16}}, checks=[pool]),
            builders.local_queue(names),
        ]
    )
    group = NodeGroup(pool, names.node_labels, {"cpu": "94", builders.GPU: "8", "pods": "110"}, max_nodes=2)
    async with Autoscaler(cluster.admin, [group], Settings(), namespace=ns) as autoscaler:
        autoscaler.faults.no_capacity = True
        gang = Gang(cluster, names)
        await gang.submit(timeout="1h", requests={builders.GPU: 8})

        async def pending() -> bool:
            requests = await view.every(cluster.admin, api.PROVISIONING_REQUESTS, ns)
            assert requests, "no ProvisioningRequest yet"
            return view.is_true(await gang.workload(), api.QUOTA_RESERVED)

        await eventually(pending)
        await gang.runs_out()
        await gang.committed()

        async def released() -> bool:
            workload = await gang.workload()
            assert not view.is_true(workload, api.QUOTA_RESERVED), "the quota is still held"
            assert "admission" not in workload["status"]
            return not await view.every(cluster.admin, api.PROVISIONING_REQUESTS, ns)

        await eventually(released, what="quota released and the ProvisioningRequest gone")
        await gang.mirrored()


async def test_reactivation_starts_the_clock_anew_and_the_job_can_run(
    cluster: Cluster, muster: Muster, queues: Queues
) -> None:
    gang = Gang(cluster, queues)
    await gang.submit(timeout="3s", requests={builders.GPU: 600})  # two pods: 1200 of 1000
    await gang.mirrored()
    first = await gang.announced()
    # Room for it, time enough to find it, and somebody who says that it may wait again.
    await gang.asks("1h")
    quota: dict[str, str | int] = {"cpu": 1000, "memory": "1000Gi", builders.GPU: 2000}
    await cluster.applier.apply([builders.cluster_queue(queues.cluster_queue, {queues.flavor: quota})])
    await gang.patch_workload({"spec": {"active": True}})

    async def void() -> bool:
        workload, job = await gang.workload(), await gang.job()
        assert api.COMMITTED not in view.annotations(workload), "the marker is still there"
        assert not set(api.MIRROR_KEYS) & view.annotations(job).keys(), view.annotations(job)
        assert json.loads(view.annotations(job)[api.ADMISSION_CLOCK])["attempt"] == 2
        return True

    await eventually(void)
    assert parse_instant(await gang.announced()) > parse_instant(first)
    await add_nodes(cluster, queues, 2, gpus=600)
    await gang.complete()
    await remove_nodes(cluster, queues)


async def test_a_gang_that_runs_out_of_time_again_is_ended_again(
    cluster: Cluster, muster: Muster, queues: Queues
) -> None:
    gang = Gang(cluster, queues)
    await gang.submit(timeout="2s")
    await gang.mirrored()
    await gang.patch_workload({"spec": {"active": True}})

    async def second() -> str:
        of = view.annotations(await gang.job()).get(api.ADMISSION_OUTCOME_OF, "")
        assert of.endswith("/2"), of
        return of

    await eventually(second)
    assert len(await view.timeout_events(cluster.admin, queues.namespace, gang.name)) == 2


async def test_without_webhook_the_queue_still_bounds_the_wait(
    cluster: Cluster, muster: Muster, queues: Queues
) -> None:
    await policy(cluster, queues, {api.ADMISSION_TIMEOUT: "3s"})
    await muster.break_webhook(Fault.REFUSE)
    try:
        gang = Gang(cluster, queues)
        job = await gang.submit()
    finally:
        await muster.break_webhook(None)
    assert not [key for key in view.annotations(job) if key.startswith(api.PREFIX)], "stamped by a dead webhook"
    await gang.mirrored()


async def test_a_policy_on_a_full_queue_gives_notice_first(cluster: Cluster, muster: Muster, queues: Queues) -> None:
    """50 Jobs that have waited for days: none is ended before its deadline was shown for the notice (1 s here)."""
    gangs = [Gang(cluster, queues, f"old-{number}") for number in range(50)]
    for gang in gangs:
        job = await gang.submit()
        long_ago = format_instant(cluster.admin.time.now() - 3 * DAY)
        ledger = json.dumps({"uid": job["metadata"]["uid"], "origin": long_ago, "attempt": 1})
        await annotate(cluster, api.JOBS.path(queues.namespace, gang.name), {api.ADMISSION_CLOCK: ledger})
    # The server's own clock, as the deadlines are: its Date has whole seconds, cut off.
    written = cluster.admin.time.now()
    await policy(cluster, queues, {api.ADMISSION_TIMEOUT: "1h"})
    for gang in gangs:
        workload = await gang.committed()
        at = parse_instant(view.annotations(workload)[api.COMMITTED].split(" ")[0])
        shown = parse_instant(view.annotations(workload)[api.ADMISSION_DEADLINE])
        assert shown >= written + NOTICE - CLOCK_ERROR
        assert at >= shown
    assert all([await gang.mirrored() for gang in gangs])


async def test_a_stopped_queue_stops_the_clock(cluster: Cluster, muster: Muster, queues: Queues) -> None:
    gang = Gang(cluster, queues)
    await gang.submit(timeout="10s")
    first = parse_instant(await gang.announced())
    queue = api.LOCAL_QUEUES.path(queues.namespace, queues.local_queue)
    await cluster.admin.request("PATCH", queue, body={"spec": {"stopPolicy": "Hold"}}, content_type=MERGE_PATCH)

    async def paused() -> bool:
        ledger = json.loads(view.annotations(await gang.job())[api.ADMISSION_CLOCK])
        assert ledger.get("paused"), ledger
        return True

    await eventually(paused)

    async def past_it_and_active() -> bool:
        workload = await gang.workload()
        assert workload["spec"].get("active", True) is True, "ended while its queue stood still"
        return cluster.admin.time.now() > first + 2 * SECOND

    await eventually(past_it_and_active)
    await cluster.admin.request("PATCH", queue, body={"spec": {"stopPolicy": "None"}}, content_type=MERGE_PATCH)
    workload = await gang.committed()
    assert parse_instant(view.annotations(workload)[api.ADMISSION_DEADLINE]) >= first + 2 * SECOND


async def test_a_person_who_pauses_the_job_is_not_overruled(cluster: Cluster, muster: Muster, queues: Queues) -> None:
    """``active=false`` by somebody else: nothing is marked, nothing mirrored; a marker that was there is void."""
    gang = Gang(cluster, queues)
    await gang.submit(timeout="2s")
    await gang.mirrored()
    # Between the two it is not to be ended once more.
    await gang.asks("1h")
    await gang.patch_workload({"spec": {"active": True}})
    await gang.patch_workload({"spec": {"active": False}})

    async def theirs() -> bool:
        workload, job = await gang.workload(), await gang.job()
        assert workload["spec"]["active"] is False
        assert api.COMMITTED not in view.annotations(workload), "the marker is still there"
        assert not set(api.MIRROR_KEYS) & view.annotations(job).keys(), view.annotations(job)
        return True

    await eventually(theirs)


async def annotate(cluster: Cluster, path: str, annotations: dict[str, str]) -> None:
    body = {"metadata": {"annotations": annotations}}
    await cluster.admin.request("PATCH", path, body=body, content_type=MERGE_PATCH)


async def policy(cluster: Cluster, queues: Queues, annotations: dict[str, str]) -> None:
    """Set a policy on the test's LocalQueue."""
    await annotate(cluster, api.LOCAL_QUEUES.path(queues.namespace, queues.local_queue), annotations)
