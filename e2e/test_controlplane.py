"""The stage all scenarios stand on: Kueue, KWOK, credentials, the audit log and the node that plays Deployments."""

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from classifier import api
from classifier.cluster.client import ApiError, Client
from e2e import builders
from e2e.audit import AuditLog, revision
from e2e.builders import GPU, Queues
from e2e.controlplane.cluster import Cluster
from e2e.controlplane.node import Kubelet, Override
from e2e.wait import eventually

#: An HTTP server that is ready at once and tells its argument and environment.
SERVER = """
import http.server, os, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(f"{os.environ['POD_NAME']} {sys.argv[1]}".encode())
http.server.HTTPServer((os.environ["POD_IP"], 8080), Handler).serve_forever()
"""


async def get(client: Client, path: str) -> Any:
    return msgspec.json.decode(await client.request("GET", path))


async def finished(client: Client, queues: Queues, name: str) -> str:
    """The type of a job's final condition."""

    async def check() -> str | None:
        found = await get(client, api.JOBS.path(queues.namespace, name))
        true = {c["type"] for c in found["status"].get("conditions") or [] if c["status"] == "True"}
        return next(iter(true & {"Complete", "Failed"}), None)

    return await eventually(check, what=f"job {name} ended") or ""


async def started(client: Client, queues: Queues, name: str) -> bool:
    """The job controller, and nobody else, says when a job started."""
    return "startTime" in (await get(client, api.JOBS.path(queues.namespace, name)))["status"]


async def admitted(client: Client, queues: Queues) -> bool:
    found = (await get(client, api.WORKLOADS.path(queues.namespace)))["items"]
    return bool(found) and any(c["type"] == api.ADMITTED for c in found[0].get("status", {}).get("conditions", []))


@pytest_asyncio.fixture(loop_scope="session")
async def nodes(cluster: Cluster, queues: Queues) -> AsyncIterator[None]:
    """Two nodes of 8 GPU."""
    made = [builders.node(f"{queues.flavor}-{i}", queues.node_labels, {GPU: 8}) for i in range(2)]
    await cluster.applier.apply(made)
    yield
    await cluster.applier.delete(made)


@pytest.mark.usefixtures("nodes")
async def test_a_gang_is_queued_and_runs_as_its_pods_say(cluster: Cluster, queues: Queues, audit: AuditLog) -> None:
    await cluster.applier.apply(
        [
            builders.job("good", queues, pods=2, requests={GPU: 8}, run_for="1s"),
            builders.job("bad", queues, pods=2, requests={GPU: 8}, run_for="1s", ends="Failed"),
        ]
    )
    assert await finished(cluster.admin, queues, "good") == "Complete"
    assert await finished(cluster.admin, queues, "bad") == "Failed"
    events = await audit.drain(cluster.admin, queues.namespace)
    versions = [revision(event) for event in events if revision(event)]
    assert versions == sorted(versions)
    writers = {event["user"]["username"] for event in events}
    assert {
        "admin",
        "kwok",
        "system:kube-scheduler",
        "system:serviceaccount:kube-system:job-controller",
        "system:serviceaccount:kueue-system:kueue-controller-manager",
    } <= writers


async def test_a_person_has_the_rights_of_their_groups(cluster: Cluster) -> None:
    kubeconfig = cluster.kubeconfig_for("alice", ["researchers"])
    async with await Client.connect(kubeconfig=str(kubeconfig)) as alice:
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        answer = await alice.request("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", body=body)
        info = msgspec.json.decode(answer)["status"]["userInfo"]
        assert (info["username"], "researchers" in info["groups"]) == ("alice", True)
        with pytest.raises(ApiError) as refused:
            await alice.request("GET", api.NODES.path())
        assert refused.value.status == 403


async def test_a_paused_program_does_nothing_and_goes_on(cluster: Cluster, queues: Queues) -> None:
    cluster.processes["controller-manager"].pause()
    try:
        await cluster.applier.apply([builders.job("j", queues, pods=1, requests={"cpu": 1})])
        # Kueue goes on meanwhile.
        await eventually(lambda: admitted(cluster.admin, queues))
        assert not await started(cluster.admin, queues, "j")
    finally:
        cluster.processes["controller-manager"].resume()
    await eventually(lambda: started(cluster.admin, queues, "j"))


def deployment(namespace: str, replicas: int) -> dict[str, Any]:
    labels = {"app": "server"}
    fields = {"POD_NAME": "metadata.name", "POD_IP": "status.podIP"}
    container = {
        "name": "server",
        "image": "none",
        "command": ["python"],
        "args": ["-c", SERVER, "--greet=$(POD_NAME)"],
        "env": [{"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}} for name, path in fields.items()],
        "ports": [{"name": "http", "containerPort": 8080}],
        "readinessProbe": {"httpGet": {"path": "/", "port": "http"}},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "server", "namespace": namespace},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"serviceAccountName": "default", "containers": [container]},
            },
        },
    }


async def test_the_node_plays_deployments(cluster: Cluster, ns: str) -> None:
    async def account() -> bool:
        return bool(await get(cluster.admin, f"/api/v1/namespaces/{ns}/serviceaccounts/default"))

    await eventually(account)
    await cluster.applier.apply([deployment(ns, 2)])
    async with Kubelet(cluster, ns) as node:
        await node.wait_ready("server")
        first, second = node.pods("server")
        assert first.address != second.address

        pid = first.process.pid
        await first.kill()
        await node.wait_ready("server")
        assert first.process.pid not in (None, pid)
        assert first.restarts == 1

        await node.override("server", Override(arguments={"--greet": "changed"}))
        await node.wait_ready("server")
        assert first not in node.pods("server")
        assert all(pod.process.command[-1] == "--greet=changed" for pod in node.pods("server"))

        await node.scale("server", 0)
        assert node.pods("server") == []
        assert not first.process.running
