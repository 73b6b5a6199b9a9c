"""What is said of a TrainJob while it waits, runs and is stopped, under the real Trainer, JobSet and Kueue."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from classifier import api, clock
from classifier.cluster.client import MERGE_PATCH
from classifier.instant import format_instant
from classifier.state.observation import CauseKind, State
from e2e import builders, deaths, trainjobs, view
from e2e.autoscaler import ATOMIC, Autoscaler, NodeGroup, Settings
from e2e.builders import GPU, Document, Queues
from e2e.conftest import Invariants
from e2e.controlplane.cluster import Cluster
from e2e.lives import PATIENCE, Life, no_room, pool
from e2e.wait import eventually

pytestmark = pytest.mark.usefixtures("ns")

PENDING = (State.PENDING, CauseKind.NONE)
#: What Kueue says once a Workload is inactive.
DEACTIVATED = "The workload is deactivated"
STOPPED = f"Workload QuotaReserved: Pending: {DEACTIVATED}; Workload Evicted: Deactivated: {DEACTIVATED}"
NOT_FOUND = "Capacity is not found, CA will try to find it later."


@pytest.fixture(scope="module")
def cluster(every_kind: Cluster) -> Cluster:
    return every_kind


@pytest.fixture(scope="module")
def invariants(invariants_of_every_kind: Invariants) -> Invariants:
    return invariants_of_every_kind


@pytest.fixture
def life(cluster: Cluster, names: Queues) -> Life:
    return Life(cluster, names)


@asynccontextmanager
async def taken(cluster: Cluster, queues: Queues, *, priority: str | None = None) -> AsyncIterator[Document]:
    """One GPU of the queue is another's until the block ends; that one's Workload."""
    labels = {"kueue.x-k8s.io/priority-class": priority} if priority else {}
    other = builders.job("other", queues, pods=1, ends="Never", labels=labels)
    await cluster.applier.apply([other])

    async def admitted() -> Document:
        job = await view.read(cluster.admin, api.JOBS, queues.namespace, "other")
        workload = await view.workload_of(cluster.admin, job)
        assert workload is not None, "no Workload yet"
        assert view.is_true(workload, api.ADMITTED), "not admitted yet"
        return workload

    try:
        yield await eventually(admitted, PATIENCE)
    finally:
        path = api.JOBS.path(queues.namespace, "other")
        await cluster.admin.request("DELETE", path, params={"propagationPolicy": "Background"})


async def test_from_the_gate_to_its_completion(cluster: Cluster, names: Queues, life: Life) -> None:
    async with pool(cluster, names, gpus=2):
        async with taken(cluster, names):
            await life.submit(annotations={api.ADMISSION_GATED_BY: trainjobs.P + "open"})
            # Without waiting: the gate is read from the TrainJob alone, whatever Kueue has made of it.
            assert (await life.said()).observation.state is State.GATED
            await life.says(State.GATED)
            await life.patch(api.TRAIN_JOBS, life.name, {"metadata": {"annotations": {api.ADMISSION_GATED_BY: None}}})
            await life.says(State.PENDING, detail=no_room(names, 1))
        for pod in await life.runs():
            await life.dies(pod, deaths.exits(0))
        words = "AllJobsCompleted: jobset completed successfully"
        await life.says(State.ENDED, CauseKind.COMPLETED, "trainjob", words, run=(1, 0))


async def test_another_ones_gate_is_told_and_nothing_more(cluster: Cluster, names: Queues, life: Life) -> None:
    async with pool(cluster, names, gpus=2):
        await life.submit(annotations={api.ADMISSION_GATED_BY: "example.com/budget"})
        gated = "Workload QuotaReserved: AdmissionGated: Admission is gated by: example.com/budget"
        await life.says(State.PENDING, detail=gated)


@asynccontextmanager
async def empty_pool(cluster: Cluster, queues: Queues) -> AsyncIterator[Autoscaler]:
    """A queue behind a provisioning check, over nodes that an autoscaler would have to make, and at first cannot."""
    pace = Settings(start_delay=0.5, initial_backoff=0.2, max_backoff=0.4, unneeded_time=600, provision_when_ready=True)
    check = queues.cluster_queue
    group = NodeGroup(check, queues.node_labels, {"cpu": "94", GPU: "1", "pods": "110"}, max_nodes=2)
    retry = {"backoffLimitCount": 1, "backoffBaseSeconds": 1, "backoffMaxSeconds": 1}
    more = builders.provisioning(check, class_name=ATOMIC, retryStrategy=retry)
    async with (
        pool(cluster, queues, gpus=2, nodes=0, checks=[check], more=more),
        Autoscaler(cluster.admin, [group], pace, namespace=queues.namespace) as autoscaler,
    ):
        autoscaler.faults.no_capacity = True
        yield autoscaler


async def test_capacity_that_has_to_be_made_first(cluster: Cluster, names: Queues, life: Life) -> None:
    async with empty_pool(cluster, names) as autoscaler:
        await life.submit()
        waiting = f"admission check {names.cluster_queue} Pending: {NOT_FOUND}"
        told = await life.says(State.PENDING, detail=waiting, over=[PENDING])
        assert told.workload == (await life.workload())["metadata"]["name"]
        autoscaler.faults.no_capacity = False
        await life.runs()


async def test_capacity_that_is_refused_for_good(cluster: Cluster, names: Queues, life: Life) -> None:
    """Kueue asks once more, then deactivates the Workload: nobody did that by hand."""
    check = names.cluster_queue
    async with empty_pool(cluster, names) as autoscaler:
        autoscaler.faults.failed = "OutOfResources"
        await life.submit()
        words = (
            f'The workload is deactivated due to AdmissionCheck in Rejected state: "{check}" '
            "(the provider gave up: OutOfResources)"
        )
        detail = f"Workload Evicted: DeactivatedDueToAdmissionCheck: {words}; Workload QuotaReserved: Pending: {words}"
        retried = (State.PENDING, CauseKind.NO_CAPACITY)
        await life.says(State.SUSPENDED, CauseKind.NO_CAPACITY, "workload", detail, over=[PENDING, retried])


async def test_a_wait_that_our_deadline_ended(cluster: Cluster, names: Queues, life: Life) -> None:
    """The controller bounds batch Jobs so far: its write is played here, as ``controller/act.py`` makes it."""
    async with empty_pool(cluster, names):
        await life.submit()
        waiting = f"admission check {names.cluster_queue} Pending: {NOT_FOUND}"
        await life.says(State.PENDING, detail=waiting, over=[PENDING])

        workload = await life.workload()
        uid, at = workload["metadata"]["uid"], cluster.admin.time.now()
        await cluster.admin.request(
            "PATCH",
            api.WORKLOADS.path(names.namespace, workload["metadata"]["name"]),
            params={"fieldManager": api.CONTROLLER_MANAGER},
            body={
                "metadata": {
                    "annotations": {api.COMMITTED: clock.format_marker(clock.Marker(at=at, attempt=1, uid=uid))},
                    "resourceVersion": workload["metadata"]["resourceVersion"],
                },
                "spec": {"active": False},
            },
            content_type=MERGE_PATCH,
        )
        ended = f"admission deadline exceeded: {format_instant(at)}"
        detail = f"{ended}; Workload QuotaReserved: Pending: {DEACTIVATED}"
        await life.says(State.SUSPENDED, CauseKind.TIMEOUT, "workload", detail)

        # Whoever lets it wait again makes the marker void, though it is still there.
        await life.patch_workload({"spec": {"active": True}})
        await life.says(State.PENDING, detail=waiting)


async def test_preempted_by_a_higher_priority_and_back(cluster: Cluster, names: Queues, life: Life) -> None:
    """Its pods take their time to go: they say nothing of a waiting object, and nothing of the run that follows."""
    high = names.cluster_queue
    priority = {"apiVersion": builders.KUEUE, "kind": "WorkloadPriorityClass", "metadata": {"name": high}, "value": 9}
    preemption = {"withinClusterQueue": "LowerPriority"}
    async with pool(cluster, names, gpus=2, nodes=4, more=[priority], preemption=preemption):
        await life.submit()
        old = await life.runs()
        await life.hold(*old)
        async with taken(cluster, names, priority=high) as other:
            await life.deleted(*old)
            for pod in old:
                await life.dies(pod, deaths.is_stopped)
            uid, job = other["metadata"]["uid"], other["metadata"]["ownerReferences"][0]["uid"]
            words = (
                f"InClusterQueue: Preempted to accommodate a workload (UID: {uid}, JobUID: {job}) due to "
                f"prioritization in the ClusterQueue; preemptor path: /{high}; preemptee path: /{high}"
            )
            await life.says(
                State.PENDING,
                CauseKind.PREEMPTED,
                "workload",
                f"Workload Preempted: {words}; {no_room(names, 1)}",
                run=(1, 0),
                over=[(State.RUNNING, CauseKind.PREEMPTED)],
            )
            await life.admit_as(2)
        # Until the first pod of the new run is made the latest execution is still the old one (C10).
        await life.runs((2, 0), over=[(State.RUNNING, CauseKind.NON_ZERO_EXIT)])
        assert len(await life.pods()) == 4, "the pods of the run before are still there"
        await life.let_go(*old)
        await life.runs((2, 0))


async def test_a_stopped_cluster_queue_and_its_restart(cluster: Cluster, names: Queues, life: Life) -> None:
    queue = names.cluster_queue
    async with pool(cluster, names, gpus=2):
        await life.submit()
        await life.runs()
        await life.patch(api.CLUSTER_QUEUES, queue, {"spec": {"stopPolicy": "HoldAndDrain"}})
        evicted = "Workload Evicted: ClusterQueueStopped: The ClusterQueue is stopped"
        inactive = f"Workload QuotaReserved: Inadmissible: ClusterQueue {queue} is inactive"
        await life.says(State.SUSPENDED, detail=f"{evicted}; {inactive}", admin_held=True)
        await life.admit_as(2)
        await life.patch(api.CLUSTER_QUEUES, queue, {"spec": {"stopPolicy": "None"}})
        await life.runs((2, 0))


async def test_a_restarted_local_queue_without_room_holds_nobody(cluster: Cluster, names: Queues, life: Life) -> None:
    """Kueue leaves the eviction as it was until the next reservation: that the queue was restarted is what counts."""
    queue = names.local_queue
    async with pool(cluster, names, gpus=2):
        await life.submit()
        await life.runs()
        await life.patch(api.LOCAL_QUEUES, queue, {"spec": {"stopPolicy": "HoldAndDrain"}})
        evicted = "Workload Evicted: LocalQueueStopped: The LocalQueue is stopped"
        inactive = f"Workload QuotaReserved: Inadmissible: LocalQueue {queue} is inactive"
        await life.says(State.SUSPENDED, detail=f"{evicted}; {inactive}", admin_held=True)
        quota = builders.cluster_queue(names.cluster_queue, {names.flavor: {GPU: 1}})
        await cluster.applier.apply([quota])
        await life.patch(api.LOCAL_QUEUES, queue, {"spec": {"stopPolicy": "None"}})
        too_much = (
            "Workload QuotaReserved: Pending: couldn't assign flavors to pod set node: insufficient quota for "
            f"{GPU} in flavor {names.flavor}, previously considered podsets requests (0) + current podset request "
            "(2) > maximum capacity (1)"
        )
        await life.says(State.PENDING, detail=f"{too_much}; {evicted}")


async def test_deactivated_by_a_person_held_by_dispatch_and_back(cluster: Cluster, names: Queues, life: Life) -> None:
    async with pool(cluster, names, gpus=2):
        await life.submit()
        await life.runs()
        await life.patch_workload({"spec": {"active": False}})
        await life.says(State.SUSPENDED, detail=STOPPED, admin_held=True)

        hold = trainjobs.P + "hold-instance"
        await life.patch_workload({"metadata": {"annotations": {hold: "7"}}})
        await life.says(State.HELD, detail=STOPPED, hold_instance=7)

        await life.admit_as(2)
        await life.patch_workload({"spec": {"active": True}})
        marked = "hold 7 is set but the Workload is active"
        await life.says(State.RUNNING, detail=marked, run=(2, 0), hold_instance=7, over=[PENDING])
        await life.patch_workload({"metadata": {"annotations": {hold: None}}})
        await life.runs((2, 0))


async def test_the_first_death_is_the_cause(cluster: Cluster, names: Queues) -> None:
    """Three submissions of one job, each ending in its own way, told apart and in order."""
    async with pool(cluster, names, gpus=6):
        crashed, starved, evicted = (Life(cluster, names, submission=number) for number in (1, 2, 3))

        await crashed.submit()
        first, _ = await crashed.runs()
        await crashed.dies(first, deaths.exits(3, message="boom\ntraceback"))
        text = f"pod {deaths.name(first)}: exit code 3: boom"
        failing = (State.RUNNING, CauseKind.NON_ZERO_EXIT)
        await crashed.says(State.ENDED, CauseKind.NON_ZERO_EXIT, "container", text, run=(1, 0), over=[failing])

        await starved.submit()
        first, peer = await starved.runs()
        await starved.hold(peer)
        await starved.dies(first, deaths.exits(deaths.SIGKILL, deaths.OOM_KILLED))
        # What fails next is the peer: its Job is over, and whoever obeys SIGTERM ends with 143.
        await starved.deleted(peer)
        await starved.dies(peer, deaths.is_stopped)
        text = (
            f"pod {deaths.name(first)}: exit code 137 (OOMKilled); "
            f"other ranks: {deaths.name(peer)} non-zero-exit (exit code 143)"
        )
        failing = (State.RUNNING, CauseKind.OUT_OF_MEMORY)
        await starved.says(State.ENDED, CauseKind.OUT_OF_MEMORY, "container", text, run=(1, 0), over=[failing])
        await starved.let_go(peer)

        await evicted.submit()
        first, _ = await evicted.runs()
        await evicted.dies(first, deaths.is_evicted)
        # The message of the kubelet ends in a blank, the detail does not.
        text = (
            f"pod {deaths.name(first)}: TerminationByKubelet: {deaths.LOW_MEMORY.rstrip()}; "
            f"other ranks: {deaths.name(first)} non-zero-exit (exit code 137)"
        )
        await evicted.says(State.ENDED, CauseKind.OUT_OF_MEMORY, "pod", text, run=(1, 0), over=[failing])

        found = [explanation.observation for explanation in await evicted.backend.find("train")]
        assert [(o.ref.name, o.submission) for o in found] == [("train-1", 1), ("train-2", 2), ("train-3", 3)]


async def test_each_restart_is_an_execution(cluster: Cluster, names: Queues, life: Life) -> None:
    """What ended the first attempt is not what ended the job."""
    async with pool(cluster, names, gpus=2, more=[trainjobs.runtime("again", names.namespace, max_restarts=1)]):
        await life.submit(runtime="again")
        first, _ = await life.runs((1, 0))
        await life.dies(first, deaths.exits(deaths.SIGKILL, deaths.OOM_KILLED))
        second, _ = await life.runs((1, 1), over=[(State.RUNNING, CauseKind.OUT_OF_MEMORY)])
        await life.dies(second, deaths.exits(5))
        text = f"pod {deaths.name(second)}: exit code 5"
        failing = (State.RUNNING, CauseKind.NON_ZERO_EXIT)
        await life.says(State.ENDED, CauseKind.NON_ZERO_EXIT, "container", text, run=(1, 1), over=[failing])
        failed = view.condition(await life.trainjob(), "Failed") or {}
        assert failed["reason"] == "ReachedMaxRestarts"


async def test_a_node_that_is_deleted_tells_before_its_pod_does(cluster: Cluster, names: Queues, life: Life) -> None:
    async with pool(cluster, names, gpus=2):
        await life.submit()
        first, _ = await life.runs()
        node = first["spec"]["nodeName"]
        await cluster.admin.request("DELETE", api.NODES.path(None, node))
        text = f"pod {deaths.name(first)}: node {node} not found"
        await life.says(State.RUNNING, CauseKind.NODE_LOST, "node", text, run=(1, 0))
        # The pod itself knows nothing: until PodGC comes for it, about a minute later, it runs.
        (pod,) = [p for p in await life.pods() if deaths.name(p) == deaths.name(first)]
        assert pod["status"]["phase"] == "Running"
        await cluster.applier.apply([builders.node(node, names.node_labels, {GPU: 1})])
        await life.runs()


async def test_a_pod_that_the_scheduler_preempts(cluster: Cluster, names: Queues, life: Life) -> None:
    """The scheduler knows nothing of gangs: it takes one pod, and the Job fails with it."""
    urgent = names.cluster_queue
    priority = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": urgent}, "value": 9}
    async with pool(cluster, names, gpus=2, more=[priority]):
        await life.submit()
        pods = await life.runs()
        await life.hold(*pods)
        one = {"requests": {GPU: "1"}, "limits": {GPU: "1"}}
        container = {"name": "main", "image": "example.com/urgent:1", "resources": one}
        spec = {"priorityClassName": urgent, "nodeSelector": names.node_labels, "containers": [container]}
        metadata = {"name": "urgent", "namespace": names.namespace}
        await cluster.applier.apply([{"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}])

        await life.deleted(*pods)
        victim, peer = sorted(await life.pods(), key=lambda pod: not view.is_true(pod, "DisruptionTarget"))
        text = (
            f"pod {deaths.name(victim)}: "
            "PreemptionByScheduler: default-scheduler: preempting to accommodate a higher priority pod"
        )
        await life.says(State.RUNNING, CauseKind.PREEMPTED, "pod", text, run=(1, 0))
        await life.dies(victim, deaths.is_stopped)
        await life.dies(peer, deaths.is_stopped)
        # In the same second or not, the preemption is older; of two that end together the name decides.
        ends = {deaths.name(pod): _ended_at(pod) for pod in await life.pods()}
        others = ", ".join(
            f"{name} non-zero-exit (exit code 143)" for name in sorted(ends, key=lambda each: (ends[each], each))
        )
        detail = f"{text}; other ranks: {others}"
        await life.says(State.ENDED, CauseKind.PREEMPTED, "pod", detail, run=(1, 0))
        await life.let_go(*pods)


def _ended_at(pod: Document) -> str:
    at: str = pod["status"]["containerStatuses"][0]["state"]["terminated"]["finishedAt"]
    return at


async def test_trainers_own_deadline(cluster: Cluster, names: Queues) -> None:
    """Trainer deletes the JobSet at once; whatever its pods are called until they are gone, the verdict stands."""
    life = Life(cluster, names, alone=False)
    async with pool(cluster, names, gpus=2):
        await life.submit(activeDeadlineSeconds=1)
        words = "DeadlineExceeded: TrainJob exceeded its active deadline"
        running = (State.RUNNING, CauseKind.NONE)
        await life.says(State.ENDED, CauseKind.TIMEOUT, "trainjob", words, over=[PENDING, running])
