"""One replica of the webhook, and a gang that can never fit: refused while all is well, let in when it is not."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from e2e import builders
from e2e.audit import AuditLog
from e2e.builders import GPU, Document, Queues
from e2e.controlplane.chart import Muster
from e2e.controlplane.cluster import Cluster
from e2e.submit import STAMPS, Answer, Person, gang, person
from e2e.wait import eventually

QUOTA: Final[dict[str, str | int]] = {"cpu": 1000, "memory": "1000Gi", GPU: 1000}
#: Both of Muster's webhooks for Jobs.
JOBS: Final = {"mjob.muster.dev", "vjob.muster.dev"}


def left_alone(queues: Queues) -> str:
    """A namespace beside the queue's, which the values leave out."""
    return f"{queues.namespace}-left-alone"


@dataclass
class Stage:
    cluster: Cluster
    muster: Muster
    alice: Person
    audit: AuditLog
    queues: Queues

    async def submit(self, name: str = "train", **annotations: str) -> Answer:
        """A gang that can never fit."""
        return await self.alice.submit(gang(name, self.queues, 3, annotations), dryRun="All")

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
        for event in await self.audit.drain(self.cluster.admin, self.queues.namespace):
            for key, value in (event.get("annotations") or {}).items():
                if key.startswith("failed-open."):
                    found.setdefault(event["requestObject"]["metadata"]["name"], set()).add(value)
        return found


@asynccontextmanager
async def staged(cluster: Cluster, muster: Muster, queues: Queues, folder: Path) -> AsyncIterator[Stage]:
    """A queue of this name whose profile enforces 2 nodes of 8 GPUs. Afterwards Muster is as it was."""
    made = [
        builders.namespace(queues.namespace),
        builders.namespace(left_alone(queues)),
        builders.flavor(queues.flavor, queues.node_labels),
        builders.cluster_queue(queues.cluster_queue, {queues.flavor: QUOTA}),
        builders.local_queue(queues),
        profile(queues.flavor, queues),
    ]
    await muster.apply({"webhook": {"replicas": 1, "excludedNamespaces": [left_alone(queues)]}})
    await muster.wait_ready()
    async with person(cluster, "alice", folder) as alice:
        await cluster.applier.apply(made)
        stage = Stage(cluster, muster, alice, AuditLog(cluster.audit_log), queues)
        await stage.refuses()
        yield stage
    await cluster.applier.delete(made)
    await muster.apply({"webhook": {"replicas": 2, "excludedNamespaces": []}})
    await muster.wait_ready()


def profile(flavor: str, queues: Queues) -> Document:
    pool = builders.pool("gpupool", queues, max_nodes=2, allocatable={GPU: 8})
    return builders.profile(flavor, flavor, [pool], closed=True, preflight="Enforce", admission={"timeout": "30m"})


def let_in_unseen(answer: Answer) -> None:
    assert answer.status == 201, answer.body
    assert not STAMPS & answer.annotations.keys()
