"""KWOK: plays the nodes, and the pods bound to them."""

from pathlib import Path

import yaml

from e2e.controlplane import manifests, stages
from e2e.controlplane.context import ADMINISTRATORS, Context, answers
from e2e.controlplane.processes import Check, Process

MODULE = "sigs.k8s.io/kwok"
#: A Node with this annotation is KWOK's: Ready within a second.
NODE_ANNOTATION = ("kwok.x-k8s.io/node", "fake")


def kwok(context: Context) -> tuple[Process, Check]:
    upstream = context.modules[MODULE] / "kustomize" / "stage" / "node"
    nodes = [
        document
        for document in manifests.documents(upstream / "fast", upstream / "heartbeat-with-lease")
        if document["kind"] == "Stage"
    ]
    config = context.file("kwok.yaml", yaml.safe_dump_all([*nodes, *stages.pod_stages()]).encode())
    address, port = context.subnet.address, context.subnet.free_port()
    command: list[str | Path] = [
        context.programs["kwok"],
        f"--kubeconfig={context.kubeconfig('kwok', 'kwok', [ADMINISTRATORS])}",
        f"--config={config}",
        f"--manage-nodes-with-annotation-selector={'='.join(NODE_ANNOTATION)}",
        # Nobody here watches over leases; hundreds of nodes that renew theirs would be a tenth of the server's work.
        "--node-lease-duration-seconds=0",
        "--node-ip=127.0.0.1",
        "--cidr=10.128.0.0/16",
        f"--server-address={address}:{port}",
    ]
    return Process("kwok", command, log=context.logs / "kwok.log"), answers(f"http://{address}:{port}/healthz")
