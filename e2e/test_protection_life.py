"""A member of the team and the controller at work on the same job, under the policies and the webhook as installed."""

from collections.abc import AsyncIterator
from typing import Final

import pytest_asyncio

from classifier import api
from classifier.cluster.client import MERGE_PATCH
from e2e import builders, view
from e2e.builders import GPU, Document, Queues
from e2e.controlplane.chart import Muster
from e2e.controlplane.cluster import Cluster
from e2e.controlplane.egress import Fault
from e2e.gangs import Gang
from e2e.members import Member, member, path_of
from e2e.wait import eventually
from webhook.restore import PUT_BACK

#: Two pods of it: more than there is, until there is twice as much.
MUCH: Final = {GPU: 600}


@pytest_asyncio.fixture(loop_scope="session")
async def editor(cluster: Cluster, ns: str) -> AsyncIterator[Member]:
    """What a team gets from its administrator: edit, and Kueue's role for those who submit."""
    async with member(cluster, ns, "editor", ["edit", "kueue-batch-user-role"]) as who:
        yield who


@pytest_asyncio.fixture(loop_scope="session")
async def batch(cluster: Cluster, ns: str) -> AsyncIterator[Member]:
    async with member(cluster, ns, "batch", ["edit", "kueue-batch-admin-role"]) as who:
        yield who


def manifest(job: Document) -> Document:
    """What somebody has in a file, which knows nothing of what was written since."""
    kept = {key: job["metadata"][key] for key in ("name", "namespace", "labels")}
    metadata = {**kept, "annotations": {api.ADMISSION_TIMEOUT: "1h"}}
    return {**{key: job[key] for key in ("apiVersion", "kind", "spec")}, "metadata": metadata}


async def test_a_plain_replace_loses_nothing(cluster: Cluster, muster: Muster, queues: Queues, editor: Member) -> None:
    gang = Gang(cluster, queues)
    await gang.submit(timeout="1h", requests=MUCH)
    await gang.announced()
    before = view.annotations(await gang.job())
    assert {api.ADMISSION_CLOCK, api.ADMISSION_DEADLINE} <= before.keys()

    path = path_of(api.JOBS, await gang.job())
    answer = await editor.replace(path, manifest(await gang.job()))
    assert answer.status == 200, answer.body
    kept = (api.ADMISSION_TIMEOUT, api.ADMISSION_CLOCK, api.ADMISSION_DEADLINE)
    assert answer.annotations == {key: before[key] for key in kept}
    assert answer.warnings == [PUT_BACK + "admission-clock, admission-deadline"]

    # What is only taken off is put back as well, and what is changed is refused.
    answer = await editor.annotate(path, {api.ADMISSION_CLOCK: None})
    assert answer.annotations[api.ADMISSION_CLOCK] == before[api.ADMISSION_CLOCK]
    answer = await editor.annotate(path, {api.ADMISSION_DEADLINE: "2099-01-01T00:00:00Z"})
    assert answer.status == 403
    assert f"only Muster's controller writes {api.ADMISSION_DEADLINE}:" in answer.body["message"]

    # An administrator's word counts: it is gone, and the controller writes it anew.
    await cluster.admin.request(
        "PATCH", path, body={"metadata": {"annotations": {api.ADMISSION_CLOCK: None}}}, content_type=MERGE_PATCH
    )

    async def written_again() -> bool:
        return api.ADMISSION_CLOCK in view.annotations(await gang.job())

    await eventually(written_again, what="the controller writes the ledger again")

    # While the webhook is away, the policy has the word.
    await muster.break_webhook(Fault.REFUSE)
    try:
        answer = await editor.replace(path, manifest(await gang.job()))
    finally:
        await muster.break_webhook(None)
    assert answer.status == 403
    assert f"{api.ADMISSION_CLOCK}, {api.ADMISSION_DEADLINE}: leave out" in answer.body["message"]


async def test_a_team_takes_a_mirror_off_and_a_batch_admin_reactivates(
    cluster: Cluster, muster: Muster, queues: Queues, editor: Member, batch: Member
) -> None:
    gang = Gang(cluster, queues)
    await gang.submit(timeout="3s", requests=MUCH)
    job = await gang.mirrored()
    workload = await gang.workload()
    path = path_of(api.WORKLOADS, workload)
    answer = await editor.annotate(path_of(api.JOBS, job), dict.fromkeys(api.MIRROR_KEYS))
    assert answer.status == 200
    assert api.ADMISSION_OUTCOME not in answer.annotations
    # It copies a decision that lives: the controller completes it again.
    await gang.mirrored()

    forged = {api.COMMITTED: None, api.ADMISSION_DEADLINE: "2099-01-01T00:00:00Z"}
    answer = await batch.annotate(path, forged)
    assert answer.status == 403
    assert api.ADMISSION_DEADLINE in answer.body["message"]
    await cluster.applier.apply(
        [builders.cluster_queue(queues.cluster_queue, {queues.flavor: {"cpu": 1000, "memory": "1000Gi", GPU: 2000}})]
    )
    answer = await batch.patch(path, {"spec": {"active": True}})
    assert answer.status == 200, answer.body

    async def void() -> bool:
        return api.COMMITTED not in view.annotations(await gang.workload())

    await eventually(void, what="the decision is void")
