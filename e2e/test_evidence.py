"""What is still known of pods and TrainJobs that are gone: by a watch that was open, by what they left behind."""

import json
import signal
from collections.abc import AsyncIterator
from typing import NamedTuple

import pytest
import pytest_asyncio

from classifier import api
from classifier.cluster.backend import Backend
from classifier.state.observation import Cause, CauseKind, Observation, Ref, State
from classifier.state.settings import Settings
from e2e import builders, deaths, trainjobs, view
from e2e.builders import Document, Queues
from e2e.conftest import Invariants
from e2e.controlplane.cluster import Cluster
from e2e.lives import HOLD, PATIENCE, Gist, Life, pool, watching
from e2e.shell import Shell
from e2e.wait import eventually
from tests.schemas import check_schema

#: The ring's size.
KEPT = 256
FAILED_JOBS = "FailedJobs: jobset failed due to one or more job failures (first failed job: train-1-node-0)"
CRASHED: Gist = (State.RUNNING, CauseKind.NON_ZERO_EXIT)


@pytest.fixture(scope="module")
def cluster(every_kind: Cluster) -> Cluster:
    return every_kind


@pytest.fixture(scope="module")
def invariants(invariants_of_every_kind: Invariants) -> Invariants:
    return invariants_of_every_kind


@pytest.fixture
def life(cluster: Cluster, names: Queues) -> Life:
    return Life(cluster, names)


class Lost(NamedTuple):
    life: Life
    pod: str  # whose node is gone


@pytest_asyncio.fixture(scope="module", loop_scope="session", autouse=True)
async def lost(cluster: Cluster) -> AsyncIterator[Lost]:
    """A gang that lost a node when this file began, with a watch open: PodGC lets a minute pass before it acts."""
    queues = Queues(namespace="lost", local_queue="queue", cluster_queue="lost", flavor="lost")
    await cluster.applier.apply([builders.namespace("lost")])
    life = Life(cluster, queues)
    async with pool(cluster, queues, gpus=2):
        await life.submit()
        first, _ = await life.runs()
        async with watching(life.backend, "train"):
            await cluster.admin.request("DELETE", api.NODES.path(None, first["spec"]["nodeName"]))
            yield Lost(life, deaths.name(first))


def nobody(life: Life) -> Life:
    """The same, asked of a process that has just started."""
    return life.asked_of(Backend(life.client, life.queues.namespace, Settings()))


async def gone(life: Life) -> None:
    """Wait until the last pod of it is gone."""

    async def none() -> bool:
        return not await life.pods()

    await eventually(none, PATIENCE, what=f"the pods of {life.name} are gone")


async def is_unknown(life: Life) -> None:
    await life.says(State.ENDED, CauseKind.UNKNOWN, detail=f"{FAILED_JOBS}; no pod evidence was captured")


@pytest.mark.usefixtures("ns")
async def test_a_pod_that_was_deleted_under_a_watch(cluster: Cluster, names: Queues, life: Life) -> None:
    """It failed, somebody deleted it, and only then was its job told to have failed."""
    async with pool(cluster, names, gpus=2):
        await life.submit()
        first, _ = await life.runs()
        blind = nobody(life)
        text = f"pod {deaths.name(first)}: exit code 7"
        async with watching(life.backend, "train") as sent:
            await life.dies(first, deaths.exits(7))
            await life.client.request("DELETE", api.PODS.path(names.namespace, deaths.name(first)))
            await gone(life)
            await life.says(State.ENDED, CauseKind.NON_ZERO_EXIT, "container", text, run=(1, 0), over=[CRASHED])
            # Later questions are answered alike; others, who saw nothing, know nothing.
            assert (await life.said()).observation.cause.kind is CauseKind.NON_ZERO_EXIT
            await is_unknown(blind)
            await is_unknown(nobody(life))

            async def told() -> bool:
                return sent[-1].same((await life.said()).observation)

            await eventually(told, what="the watch told the end as well")
            states = [observation.state for observation in sent]
            assert (states[0], states[-1]) == (State.RUNNING, State.ENDED)
        # What a watch saw goes with it.
        assert life.backend.ring.of(life.uid) == ()
        await is_unknown(life.asked_of(life.backend))


@pytest.mark.usefixtures("ns")
async def test_with_the_stock_restart_policy_only_a_watch_sees_the_failure(
    cluster: Cluster, names: Queues, life: Life
) -> None:
    """``OnFailure``: the Job controller deletes the pod; what it ends with is the kill, and the failure came before."""
    async with pool(cluster, names, gpus=2, more=[trainjobs.runtime("stock", names.namespace, restart_policy=None)]):
        await life.submit(runtime="stock")
        first, _ = await life.runs()
        blind = nobody(life)
        async with watching(life.backend, "train"):
            await life.hold(first)
            # The default backoffLimit is 6.
            for _ in range(6):
                await life.dies(first, deaths.crashes(1))
                await life.dies(first, deaths.runs_again)
            await life.dies(first, deaths.crashes(1))
            await life.deleted(first)
            await life.dies(first, deaths.is_stopped)
            await life.let_go(first)
            await gone(life)
            text = f"pod {deaths.name(first)}: exit code 1"
            await life.says(State.ENDED, CauseKind.NON_ZERO_EXIT, "container", text, run=(1, 0), over=[CRASHED])
            await is_unknown(blind)


@pytest.mark.usefixtures("ns")
async def test_of_300_deleted_pods_the_latest_256_are_evidence(cluster: Cluster, names: Queues, life: Life) -> None:
    async with pool(cluster, names, gpus=2):
        await life.submit()
        first, _ = await life.runs()
        part = {key: value for key, value in first["metadata"]["labels"].items() if key in PART_OF}
        ranks = [bare_pod(names.namespace, f"rank-{number:03}", part) for number in range(300)]
        await cluster.applier.apply(ranks)
        async with watching(life.backend, "train"):
            # The first one died first, but is forgotten; of those that are kept, the oldest is the first.
            oldest = ranks[300 - KEPT]
            await life.dies(ranks[0], exited(9, "2020-01-01T00:00:00Z"))
            await life.dies(oldest, exited(11, "2020-01-02T00:00:00Z"))
            for rank in ranks:
                await life.client.request("DELETE", api.PODS.path(names.namespace, deaths.name(rank)))

            async def kept() -> bool:
                expected = [deaths.name(rank) for rank in ranks[300 - KEPT :]]
                return [pod.name for pod in life.backend.ring.of(life.uid)] == expected

            await eventually(kept, what="the latest 256 are kept, in the order of their deletion")
            text = f"pod {deaths.name(oldest)}: exit code 11"
            await life.asked_of(life.backend).says(
                State.RUNNING, CauseKind.NON_ZERO_EXIT, "container", text, run=(1, 0)
            )
            await nobody(life).runs()


#: What makes a pod one of a TrainJob's.
PART_OF = {
    trainjobs.JOB_ID,
    trainjobs.SUBMISSION,
    "jobset.sigs.k8s.io/jobset-uid",
    "jobset.sigs.k8s.io/restart-attempt",
}


def bare_pod(namespace: str, name: str, labels: dict[str, str]) -> Document:
    """Nobody's, and nobody schedules it: its death is all there is to it."""
    annotations = {trainjobs.ADMISSION: "1"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": labels, "annotations": annotations},
        "spec": {"schedulerName": "nobody", "containers": [{"name": "node", "image": "example.com/train:1"}]},
    }


def exited(code: int, at: str) -> deaths.Death:
    def death(pod: Document, now: str) -> Document:
        ended = {"exitCode": code, "reason": "Error", "finishedAt": at}
        container = {"name": "node", "image": "", "imageID": "", "ready": False, "restartCount": 0}
        return {
            **pod["status"],
            "phase": "Failed",
            "containerStatuses": [{**container, "state": {"terminated": ended}}],
        }

    return death


@pytest.mark.usefixtures("ns")
async def test_what_a_deletion_in_the_background_leaves(cluster: Cluster, names: Queues, life: Life) -> None:
    """Each object left is told of for as long as it lasts, even when a TrainJob of that name is there again."""
    async with pool(cluster, names, gpus=2, nodes=4):
        await life.submit()
        pods = await life.runs()
        jobset = await view.read(cluster.admin, api.JOBSETS, names.namespace, life.name)
        await life.patch(api.JOBSETS, life.name, {"metadata": {"finalizers": [HOLD]}})
        await life.hold(*pods)
        await life.delete("Background")

        text = f"JobSet train-1 has no live TrainJob, its owner was uid {life.uid}"
        first = orphan("JobSet", jobset, State.RUNNING, text)
        rest = [orphan("Pod", pod, State.RUNNING, f"pod {deaths.name(pod)} has no live TrainJob") for pod in pods]
        await finds(life, [first, *rest])
        await life.patch(api.JOBSETS, life.name, {"metadata": {"finalizers": None}})
        await finds(life, rest)

        # Another one of that name runs with pods of its own: those that are left are no part of it.
        again = Life(cluster, names, alone=False)
        await again.submit()
        others = f"pods of another JobSet: {', '.join(map(deaths.name, pods))}"
        await again.says(State.RUNNING, detail=others, run=(1, 0), foreign=True, over=[(State.PENDING, CauseKind.NONE)])
        await finds(again, rest, but=again.uid)
        await life.let_go(*pods)
        await finds(again, [], but=again.uid)
        await again.runs()


def orphan(kind: str, obj: Document, state: State, text: str) -> Observation:
    meta = obj["metadata"]
    return Observation(
        ref=Ref(kind, meta["namespace"], meta["name"], meta["uid"]),
        state=state,
        cause=Cause(CauseKind.UNKNOWN, "", text),
        foreign=True,
        submission=1,
    )


async def finds(life: Life, expected: list[Observation], *, but: str = "") -> None:
    """Wait until these are all objects of the job, in this order, besides the TrainJob of the UID ``but``."""

    async def check() -> bool:
        found = [e.observation for e in await life.backend.find(life.job)]
        rest = [observation for observation in found if observation.ref.uid != but]
        assert len(rest) == len(expected), f"\n found {rest}\n expected {expected}"
        assert all(a.same(b) for a, b in zip(rest, expected, strict=True)), f"\n found {rest}\n expected {expected}"
        return True

    await eventually(check, PATIENCE)


@pytest.mark.usefixtures("ns")
async def test_explain_follows_a_job_as_it_goes(cluster: Cluster, names: Queues, life: Life) -> None:
    shell = Shell(cluster)
    async with pool(cluster, names, gpus=2):
        await life.submit()
        first, _ = await life.runs()
        following = await shell.start("explain", "train", "-w", "-o", "json", "-n", names.namespace)
        said = await shell.until(following, '"running"')
        await life.dies(first, deaths.exits(7))
        await life.client.request("DELETE", api.PODS.path(names.namespace, deaths.name(first)))
        await gone(life)
        said += await shell.until(following, '"ended"')
        following.send_signal(signal.SIGINT)
        ran = await shell.end(following, said)

    told = [json.loads(line) for line in ran.out.splitlines()]
    for document in told:
        check_schema("explain.json", document)
    assert [document["state"] for document in told[:1] + told[-1:]] == ["running", "ended"]
    assert told[-1]["cause"]["kind"] == "non-zero-exit"
    assert told[-1]["cause"]["detail"] == f"pod {deaths.name(first)}: exit code 7"


async def test_a_pod_that_went_with_its_node(lost: Lost) -> None:
    """PodGC marks it and deletes it at once; its peer, deleted by the Job controller, says nothing."""
    text = f"pod {lost.pod}: DeletionByPodGC: PodGC: node no longer exists"
    before: Gist = (State.RUNNING, CauseKind.NODE_LOST)
    await lost.life.says(State.ENDED, CauseKind.NODE_LOST, "pod", text, run=(1, 0), over=[before])
    await is_unknown(nobody(lost.life))
