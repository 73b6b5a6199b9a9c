"""Thousands of pending Workloads with their Jobs, written in Kueue's place: it would take hours for as many.

Kueue and the other managers are stopped first, and Kueue's webhooks removed, so that what is measured is Muster's own
and the API server's.
"""

import asyncio
import itertools
import math
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator
from typing import Any, Final

import msgspec

from classifier import api
from classifier.objects import Job
from e2e import builders, view
from e2e.builders import GPU, Document, Queues
from e2e.controlplane.cluster import Cluster
from e2e.wait import eventually

#: Requests in flight while everything is written.
HANDS: Final = 24
#: Whatever would act on what is written here, or answer in Kueue's place.
MANAGERS: Final = ("kueue", "controller-manager", "scheduler", "kwok")

Say = Callable[[str], None]


async def quiet(cluster: Cluster, crowd: Iterable[Queues]) -> None:
    """Queues that run; then stop whatever would act on what is queued there."""
    queues = list(crowd)
    flavor, cluster_queue = queues[0].flavor, queues[0].cluster_queue
    await cluster.applier.apply(
        [
            *(builders.namespace(each.namespace) for each in queues),
            builders.flavor(flavor, queues[0].node_labels),
            builders.cluster_queue(cluster_queue, {flavor: {"cpu": 1, "memory": "1Gi", GPU: 1}}),
            *(builders.local_queue(each) for each in queues),
        ]
    )

    async def run() -> bool:
        found = [await view.read(cluster.admin, api.LOCAL_QUEUES, q.namespace, q.local_queue) for q in queues]
        return all(view.is_true(queue, api.ACTIVE) for queue in found)

    await eventually(run, what="all LocalQueues run")
    await asyncio.gather(*(cluster.stop(name) for name in MANAGERS))
    for resource in (api.MUTATING_WEBHOOKS, api.VALIDATING_WEBHOOKS):
        for hook in msgspec.json.decode(await cluster.admin.request("GET", resource.path()))["items"]:
            if hook["metadata"]["name"].startswith("kueue"):
                await cluster.admin.request("DELETE", resource.path(name=hook["metadata"]["name"]))


async def fill(cluster: Cluster, queues: Queues, numbers: Iterable[int], say: Say) -> None:
    """One suspended Job and its pending Workload for each number."""
    wanted = list(numbers)
    done = itertools.count(1)

    async def one(number: int) -> None:
        admin = cluster.admin
        body = await admin.request(
            "POST", api.JOBS.path(queues.namespace), body=job(f"train-{number}", queues), timeout=60
        )
        owner = msgspec.json.decode(body, type=Job)
        made = workload(owner.name, owner.uid, queues)
        await admin.request("POST", api.WORKLOADS.path(queues.namespace), body=made, timeout=60)
        count = next(done)
        if count % 1000 == 0:
            say(f"    {queues.namespace}: {count} of {len(wanted)} written")

    await hands(one(number) for number in wanted)


async def hands(work: Iterator[Coroutine[Any, Any, None]], count: int = HANDS) -> None:
    """Do all of it, ``count`` at a time."""

    async def one() -> None:
        for each in work:
            await each

    await asyncio.gather(*(one() for _ in range(count)))


async def paced(rate: float, seconds: float, do: Callable[[int], Coroutine[Any, Any, None]]) -> int:
    """``do(n)``, ``rate`` times a second for so long, each on time whatever others take; how many were done.

    The first that fails ends it (an ExceptionGroup).
    """
    began = time.monotonic()
    async with asyncio.TaskGroup() as group:
        for number in range(math.ceil(rate * seconds)):
            await asyncio.sleep(max(0.0, began + number / rate - time.monotonic()))
            group.create_task(do(number))
    return math.ceil(rate * seconds)


def job(name: str, queues: Queues) -> Document:
    return builders.job(name, queues, requests={GPU: 8, "cpu": 90, "memory": "800Gi"})


def workload(owner: str, uid: str, queues: Queues) -> Document:
    """As Kueue makes it of a Job (``kubectl get workload -o yaml``), environment included: 3 KB are usual."""
    template = job(owner, queues)["spec"]["template"]
    container = {**template["spec"]["containers"][0], "env": [_setting(number) for number in range(24)]}
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {
            "name": f"job-{owner}-{uid[:5]}",
            "namespace": queues.namespace,
            "labels": {api.JOB_UID: uid},
            "finalizers": ["kueue.x-k8s.io/resource-in-use"],
            "ownerReferences": [
                {
                    "apiVersion": "batch/v1",
                    "kind": "Job",
                    "name": owner,
                    "uid": uid,
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": {
            "active": True,
            "queueName": queues.local_queue,
            "priority": 0,
            "podSets": [
                {
                    "name": "main",
                    "count": 2,
                    "template": {**template, "spec": {**template["spec"], "containers": [container]}},
                }
            ],
        },
    }


def _setting(number: int) -> dict[str, str]:
    return {"name": f"SETTING_{number}", "value": f"value-{number}" * 4}
