"""One object of every kind with what Muster's controller writes on it, the policies, and whom they hold."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from classifier import api
from classifier.cluster.client import MERGE_PATCH
from e2e import builders, kinds, view
from e2e.builders import GPU, Document, Queues
from e2e.controlplane.chart import NAMESPACE
from e2e.controlplane.cluster import Cluster
from e2e.controlplane.context import ADMINISTRATORS
from e2e.members import RBAC, Member, certified, member, path_of
from e2e.submit import Answer
from e2e.wait import eventually
from tests.chart.render import of_kind, render

QUEUES: Final = Queues("protection", "queue", "protection", "protection")
REQUESTS: Final = {"cpu": "1", GPU: "1"}
POLICIES: Final = ("muster-keys", "muster-cleanup", "muster-controller")
#: All but the name of a decision, which would have to be true.
OURS: Final = {key: "by the controller" for key in api.PROTECTED_KEYS if key != api.ADMISSION_OUTCOME_OF}
JOBS: Final = {kind.id: kind for kind in kinds.KINDS if kind.id != "podgroup"}
DRY: Final = {"dryRun": "All"}


def resource_of(kind: str) -> api.Resource:
    return api.WORKLOADS if kind == "workload" else JOBS[kind].resource


@dataclass
class Stage:
    """``dev`` may do all in the namespace that RBAC can give; ``thief`` has the controller's token, and may as much."""

    cluster: Cluster
    dev: Member
    thief: Member
    editor: Member
    batch: Member
    boss: Member
    names: dict[str, str]

    async def read(self, kind: str) -> Document:
        return await view.read(self.cluster.admin, resource_of(kind), QUEUES.namespace, self.names[kind])

    def path(self, kind: str, subresource: str | None = None) -> str:
        return resource_of(kind).path(QUEUES.namespace, self.names[kind], subresource)


def policies() -> list[Document]:
    rendered = render()
    kinds_ = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
    return [obj for kind in kinds_ for obj in of_kind(rendered, kind) if obj["metadata"]["name"] in POLICIES]


@asynccontextmanager
async def staged(cluster: Cluster, folder: Path) -> AsyncIterator[Stage]:
    """One object of every kind that waits, carrying the controller's keys, and the policies in force. ``folder`` keeps
    a certificate."""
    await cluster.applier.apply([builders.namespace(QUEUES.namespace), builders.namespace(NAMESPACE)])
    quota: dict[str, dict[str, str | int]] = {QUEUES.flavor: {"cpu": 1000, "memory": "1000Gi", GPU: 1000}}
    await cluster.applier.apply(
        [
            builders.flavor(QUEUES.flavor, QUEUES.node_labels),
            builders.cluster_queue(QUEUES.cluster_queue, quota, stopPolicy="Hold"),
            builders.local_queue(QUEUES),
            *kinds.runtimes(QUEUES),
        ]
    )
    everything = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
    all_rights: Document = {
        "apiVersion": RBAC,
        "kind": "ClusterRole",
        "metadata": {"name": "protection-all"},
        "rules": [everything],
    }
    await cluster.applier.apply([all_rights])
    names = {}
    for kind in JOBS.values():
        (obj,) = kind.make(f"{kind.id}-kept", QUEUES, REQUESTS)
        obj["metadata"]["annotations"] = {**(obj["metadata"].get("annotations") or {}), **OURS}
        await cluster.admin.request("POST", kind.resource.path(QUEUES.namespace), body=obj)
        names[kind.id] = obj["metadata"]["name"]
    job = await view.read(cluster.admin, api.JOBS, QUEUES.namespace, names["job"])

    async def made() -> Document:
        found = await view.workload_of(cluster.admin, job)
        assert found is not None
        return found

    workload = await eventually(made, what="Kueue makes a Workload")
    names["workload"] = workload["metadata"]["name"]
    await cluster.admin.request(
        "PATCH", path_of(api.WORKLOADS, workload), body={"metadata": {"annotations": OURS}}, content_type=MERGE_PATCH
    )
    async with AsyncExitStack() as stack:

        async def of(account: str, *roles: str, home: str | None = None) -> Member:
            return await stack.enter_async_context(member(cluster, QUEUES.namespace, account, roles, home))

        made_ = Stage(
            cluster,
            dev=await of("dev", "protection-all"),
            thief=await of("muster-controller", "protection-all", home=NAMESPACE),
            editor=await of("editor", "edit", "kueue-batch-user-role"),
            batch=await of("batch", "edit", "kueue-batch-admin-role"),
            boss=await stack.enter_async_context(certified(cluster, "boss", [ADMINISTRATORS], folder)),
            names=names,
        )
        await cluster.applier.apply(policies())

        async def in_force() -> bool:
            """All three, on the one API server there is."""
            probes = [
                await made_.dev.annotate(made_.path("job"), {api.ADMISSION_CLOCK: "probe"}, **DRY),
                await made_.thief.annotate(made_.path("job"), {"team": "probe"}, **DRY),
                await made_.batch.patch(made_.path("workload"), {"spec": {"active": True}}, **DRY),
            ]
            return [probe.status for probe in probes[:2]] == [403, 403]

        await eventually(in_force, what="the policies are in force")
        yield made_
        await cluster.applier.delete([*policies(), all_rights, builders.namespace(QUEUES.namespace)])


def fresh(kind: str) -> Document:
    """A new one, as a person makes it."""
    if kind != "workload":
        (obj,) = JOBS[kind].make("fresh", QUEUES, REQUESTS)
        return obj
    template = kinds.template(REQUESTS, restartPolicy="Never")
    spec = {"queueName": QUEUES.local_queue, "podSets": [{"name": "main", "count": 1, "template": template}]}
    return kinds.job_object(api.WORKLOADS, "fresh", QUEUES, spec)


def refused(answer: Answer, policy: str, *texts: str) -> str:
    """ "" if this policy refused it with these words, else what came instead."""
    message = str(answer.body.get("message", ""))
    whole = answer.status == 403 and f"ValidatingAdmissionPolicy '{policy}'" in message
    return "" if whole and all(text in message for text in texts) else f"{answer.status} {message[:300]}"
