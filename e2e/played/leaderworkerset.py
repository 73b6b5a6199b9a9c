"""LeaderWorkerSet. Its StatefulSets stand for ownership alone: no controller makes their pods, so that is done here.

lws: pkg/controllers/{leaderworkerset,pod}_controller.go, pkg/webhooks/pod_webhook.go.
"""

from collections.abc import Mapping
from typing import Final

from classifier import api
from e2e.builders import Document
from e2e.played.hands import Hands, of

STATEFUL_SETS: Final = api.Resource("apps", "v1", "statefulsets", "StatefulSet")
LWS: Final = "leaderworkerset.sigs.k8s.io/"


async def create(hands: Hands, job: Document) -> None:
    """It does not wait for admission: Kueue's webhook gates the pods."""
    name, _ = of(job)
    spec = job["spec"]
    size, template = spec["leaderWorkerTemplate"]["size"], spec["leaderWorkerTemplate"]
    common = {f"{LWS}name": name, f"{LWS}template-revision-hash": "5f7b9d8c6d"}
    leaders = await _stateful_set(hands, name, job, common, spec["replicas"], template["leaderTemplate"])
    for group in range(spec["replicas"]):
        own = {**common, f"{LWS}group-index": str(group), f"{LWS}group-key": f"key-{group}"}
        leader = await hands.pod(
            f"{name}-{group}",
            leaders,
            template["leaderTemplate"],
            {**own, f"{LWS}worker-index": "0"},
            {f"{LWS}size": str(size)},
        )
        workers = await _stateful_set(hands, f"{name}-{group}", leader, own, size - 1, template["workerTemplate"])
        for index in range(1, size):
            await hands.pod(
                f"{name}-{group}-{index}",
                workers,
                template["workerTemplate"],
                {**own, f"{LWS}worker-index": str(index)},
                {f"{LWS}size": str(size), f"{LWS}leader-name": f"{name}-{group}"},
            )


async def start(hands: Hands, job: Document) -> None:
    name, _ = of(job)
    replicas = job["spec"]["replicas"]
    await hands.running(name, replicas * job["spec"]["leaderWorkerTemplate"]["size"])
    available = hands.condition("Available", True, "AllGroupsReady", "All replicas are ready")
    del available["lastUpdateTime"]
    counts = dict.fromkeys(("replicas", "readyReplicas", "updatedReplicas"), replicas)
    await hands.status(api.LEADER_WORKER_SETS, name, {**counts, "conditions": [available]})


async def _stateful_set(
    hands: Hands, name: str, owner: Document, labels: Mapping[str, str], count: int, template: Document
) -> Document:
    meta = template["metadata"]
    pods = {
        "metadata": {"labels": {**meta["labels"], **labels}, "annotations": meta["annotations"]},
        "spec": template["spec"],
    }
    selector = {"matchLabels": dict(labels)}
    spec = {"replicas": count, "serviceName": name, "selector": selector, "template": pods}
    return await hands.make(STATEFUL_SETS, name, owner, labels=labels, spec=spec)
