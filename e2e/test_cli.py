"""The command line against the real cluster: the life of a job as it prints it, and that files give the same answer."""

import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import yaml

from classifier import api
from e2e import builders, view
from e2e.autoscaler import ATOMIC, Autoscaler, NodeGroup, Settings
from e2e.builders import GPU, Document, Queues
from e2e.conftest import runs
from e2e.controlplane.chart import Muster
from e2e.controlplane.cluster import Cluster
from e2e.gangs import Gang
from e2e.shell import Ran, Shell
from e2e.wait import eventually
from tests.schemas import check_schema

ROOM = {GPU: 8}
#: What a dump for preflight holds.
DUMPED = (
    api.CAPACITY_PROFILES,
    api.CLUSTER_QUEUES,
    api.LOCAL_QUEUES,
    api.RESOURCE_FLAVORS,
    api.ADMISSION_CHECKS,
    api.PROVISIONING_REQUEST_CONFIGS,
    api.NAMESPACES,
    api.NODES,
)


@pytest.fixture
def shell(muster: Muster, cluster: Cluster) -> Shell:
    """With Muster in the cluster."""
    return Shell(cluster)


@pytest_asyncio.fixture(loop_scope="session")
async def elastic(cluster: Cluster, muster: Muster, ns: str, names: Queues) -> AsyncIterator[Queues]:
    """A queue that asks for capacity over an empty pool of at most 2 nodes x 8 GPU, with a profile that says so."""
    pool = builders.pool(names.flavor, names, max_nodes=2, allocatable=ROOM)
    made: list[Document] = [
        builders.flavor(names.flavor, names.node_labels),
        *builders.provisioning(names.flavor, class_name=ATOMIC),
        builders.cluster_queue(
            names.cluster_queue, {names.flavor: {"cpu": 1000, "memory": "1000Gi", GPU: 1000}}, checks=[names.flavor]
        ),
        builders.local_queue(names),
        builders.profile(
            names.flavor,
            names.flavor,
            [pool],
            closed=True,
            provisioning={"admissionCheck": names.flavor, "config": names.flavor},
        ),
    ]
    await cluster.applier.apply(made)
    await runs(cluster, names)
    yield names
    await cluster.applier.delete(made)


@contextlib.asynccontextmanager
async def autoscaling(cluster: Cluster, queues: Queues, settings: Settings) -> AsyncIterator[Autoscaler]:
    room = {"cpu": "96", "memory": "1Ti", "pods": "110", GPU: "8"}
    group = NodeGroup(queues.flavor, queues.node_labels, room, max_nodes=2)
    async with Autoscaler(cluster.admin, [group], settings, namespace=queues.namespace) as autoscaler:
        yield autoscaler


async def test_status_follows_a_gang_from_submit_to_success(cluster: Cluster, shell: Shell, elastic: Queues) -> None:
    name = elastic.flavor
    await cluster.applier.apply(
        [builders.job("train", elastic, requests=ROOM, run_for="2s", annotations={api.ADMISSION_TIMEOUT: "5m"})]
    )
    following = await shell.start("status", "job/train", "-n", elastic.namespace, "-w")
    first = await shell.until(following, "requested ")
    async with autoscaling(cluster, elastic, Settings(start_delay=1.0, unneeded_time=2.0)):
        ran = await shell.end(following, first)
    assert (ran.code, ran.err) == (0, ""), ran
    said = ran.out.splitlines()
    assert said[0] == f"preflight: profile {name} ProvisioningReady=True"
    assert said[1] == f"preflight: gang needs 2 node(s) of {name} (max 2): fits"
    for part in (
        "  ✓ Submitted              Job applied (suspended)",
        f"  ✓ Quota reserved         16 {GPU} on ClusterQueue {name} (flavor {name})",
        f"  … Capacity provisioning  0/2 nodes of {name}; requested ",
        "  ✓ Pod scheduling         2/2 on ",
        "  … Running                2/2 pods ready",
        "  ✓ Running                Succeeded (2/2 completions)",
        f"Node pool {name}: 2/2 nodes",
    ):
        assert any(line.startswith(part) for line in said), f"{part!r} is missing in\n{ran.out}"
    assert said.index("  ✓ Running                Succeeded (2/2 completions)") > said.index(
        f"Node pool {name}: 2/2 nodes"
    )


async def test_every_change_as_json(cluster: Cluster, shell: Shell, elastic: Queues) -> None:
    await cluster.applier.apply([builders.job("train", elastic, requests=ROOM, run_for="500ms")])
    following = await shell.start("status", "job/train", "-n", elastic.namespace, "-w", "-o", "json")
    first = await shell.until(following, "requested ")
    async with autoscaling(cluster, elastic, Settings(start_delay=0.5, unneeded_time=2.0)):
        ran = await shell.end(following, first)
    assert ran.code == 0, ran
    reports = [json.loads(line) for line in ran.out.splitlines()]
    for report in reports:
        check_schema("status.json", report)
    assert len(reports) > 2, ran.out
    assert reports[-1]["result"] == "succeeded"
    assert {report["preflight"]["verdict"] for report in reports} <= {"fits", "fits-after-scale-up"}


async def test_status_says_that_the_wait_was_ended(cluster: Cluster, shell: Shell, elastic: Queues) -> None:
    """Nobody answers the request: the phase that waited has failed, and gives both ways on."""
    gang = Gang(cluster, elastic)
    await gang.submit(timeout="5m", requests=ROOM)
    following = await shell.start("status", "job/train", "-n", elastic.namespace, "-w")
    first = await shell.until(following, "requested ")
    await gang.runs_out()
    ran = await shell.end(following, first)
    assert ran.code == 6, ran
    stored = await view.read(cluster.admin, api.JOBS, elastic.namespace, "train")
    workload = await view.workload_of(cluster.admin, stored)
    assert workload is not None
    last = next(line for line in reversed(ran.out.splitlines()) if "✗" in line)
    assert last.startswith("  ✗ Capacity provisioning ")
    assert "admission timed out at " in last
    assert f"kubectl patch workloads.kueue.x-k8s.io {workload['metadata']['name']} -n {elastic.namespace}" in last

    async def mirrored() -> str:
        now = await view.read(cluster.admin, api.JOBS, elastic.namespace, "train")
        message = view.annotations(now).get(api.ADMISSION_MESSAGE)
        assert message, "no mirror yet"
        return message

    message = await eventually(mirrored)
    again = await shell.run("status", "job/train", "-n", elastic.namespace)
    assert message in again.out, "status and the owner's message use the same words"
    audit = await shell.run("audit", "-n", elastic.namespace, "-o", "json")
    check_schema("audit.json", audit.json)
    assert [(f["problem"], f["owner"]) for f in audit.json] == [("deadline-passed", "Job/train")]
    assert audit.code == 3


async def test_failed_and_deleted(cluster: Cluster, shell: Shell, queues: Queues) -> None:
    node = builders.node(queues.flavor, queues.node_labels, ROOM)
    await cluster.applier.apply([node, builders.job("fails", queues, pods=1, run_for="200ms", ends="Failed")])
    assert (await shell.run("status", "job/fails", "-n", queues.namespace, "-w")).code == 7
    goes = builders.job("goes", queues, requests={GPU: 5000})
    await cluster.applier.apply([goes])
    following = await shell.start("status", "job/goes", "-n", queues.namespace, "-w")
    await shell.until(following, "Running")
    await cluster.applier.delete([goes])
    assert (await shell.end(following)).code == 8
    await cluster.applier.delete([node])


async def test_interrupted_quietly(cluster: Cluster, shell: Shell, queues: Queues) -> None:
    await cluster.applier.apply([builders.job("waits", queues, requests={GPU: 5000})])
    following = await shell.start("status", "job/waits", "-n", queues.namespace, "-w")
    await shell.until(following, "Running")
    following.send_signal(2)
    ran = await shell.end(following)
    assert (ran.code, ran.err) == (130, "")


@pytest.mark.parametrize(("pods", "code"), [(2, 0), (3, 3)])
async def test_preflight_of_a_dump_is_that_of_the_cluster(
    cluster: Cluster, shell: Shell, elastic: Queues, tmp_path: Path, pods: int, code: int
) -> None:
    job = tmp_path / "job.yaml"
    job.write_text(yaml.safe_dump(builders.job("train", elastic, pods=pods, requests=ROOM)))
    items = [
        {"apiVersion": resource.api_version, "kind": resource.kind, **item}
        for resource in DUMPED
        for item in await view.every(cluster.admin, resource)
    ]
    dump = tmp_path / "dump.yaml"
    dump.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": items}))
    online = await shell.run("preflight", "-f", str(job), "-o", "json")
    offline = await shell.run("preflight", "-f", str(job), "--with", str(dump), "-o", "json")
    assert (online.code, offline.code) == (code, code), (online, offline)
    check_schema("preflight.json", online.json)
    assert _ageless(online.json) == _ageless(offline.json)


def _ageless(verdict: Any) -> Any:
    return {**verdict, "podSets": [{**p, "ageSeconds": None} for p in verdict["podSets"]]}


async def test_a_user_of_one_namespace_gets_an_answer(cluster: Cluster, shell: Shell, elastic: Queues) -> None:
    """What they may not read is named, and the verdict is the one stamped at submit."""
    namespace = elastic.namespace
    rules = [
        {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["get", "list", "watch"]},
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]},
        {
            "apiGroups": ["kueue.x-k8s.io"],
            "resources": ["workloads", "localqueues"],
            "verbs": ["get", "list", "watch"],
        },
    ]
    metadata = {"name": "reader", "namespace": namespace}
    group = "rbac.authorization.k8s.io"
    await cluster.applier.apply(
        [
            {"apiVersion": f"{group}/v1", "kind": "Role", "metadata": metadata, "rules": rules},
            {
                "apiVersion": f"{group}/v1",
                "kind": "RoleBinding",
                "metadata": metadata,
                "roleRef": {"apiGroup": group, "kind": "Role", "name": "reader"},
                "subjects": [{"apiGroup": group, "kind": "User", "name": "alice"}],
            },
        ]
    )
    job = builders.job("train", elastic, requests=ROOM, annotations={api.ADMISSION_TIMEOUT: "5m"})
    await cluster.applier.apply([job])

    async def reserved() -> Ran:
        ran = await shell.run("status", "job/train", "-n", namespace, "--as", "alice")
        assert (ran.code, ran.err) == (0, ""), ran
        assert "✓ Quota reserved" in ran.out, ran.out
        assert "deadline in " in ran.out, ran.out
        return ran

    ran = await eventually(reserved)
    assert f"preflight: gang needs 2 node(s) of {elastic.flavor} (max 2): fits (as stamped at submit)" in ran.out
    assert "note: nodes may not be read" in ran.out
    refused = await shell.run("audit", "-A", "--as", "nobody-knows")
    assert (refused.code, refused.out) == (1, "")
    assert "workloads may not be read in all namespaces" in refused.err


async def test_errors_of_the_cluster_are_one_line(cluster: Cluster, shell: Shell, queues: Queues) -> None:
    missing = await shell.run("status", "job/none", "-n", queues.namespace)
    assert (missing.code, missing.out) == (1, "")
    assert f"there is no Job {queues.namespace}/none; see kubectl get jobs" in missing.err
    forbidden = await shell.run("status", "job/none", "-n", queues.namespace, "--as", "nobody")
    assert forbidden.code == 1
    assert "403" in forbidden.err
    assert "--as" in forbidden.err
    context = await shell.run("status", "job/none", "--context", "no-such")
    assert context.code == 1
    for ran in (missing, forbidden, context):
        assert len(ran.err.splitlines()) == 1, ran.err
