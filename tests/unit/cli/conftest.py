"""A small cluster as files, and the command line run on it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from classifier.cli.main import main
from tests.builders import Builder

WORLD = """\
apiVersion: muster.dev/v1alpha1
kind: CapacityProfile
metadata: {name: gpu-a100-8}
spec:
  flavor: a100-scale
  clusterQueues: [gpu-a100]
  closed: true
  preflight: Enforce
  pools:
  - name: gpupool
    nodeLabels: {agentpool: gpupool}
    maxNodes: 2
    node: {allocatable: {cpu: "94", memory: 860Gi, nvidia.com/gpu: "8", pods: "110"}}
  admission: {timeout: 30m}
  provisioning: {admissionCheck: capacity, config: capacity}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: kueue-manager-config, namespace: kueue-system}
data: {controller_manager_config.yaml: ""}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: gpu-a100}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [nvidia.com/gpu, cpu, memory]
    flavors:
    - name: a100-scale
      resources:
      - {name: nvidia.com/gpu, nominalQuota: 64}
      - {name: cpu, nominalQuota: 800}
      - {name: memory, nominalQuota: 8Ti}
  admissionChecksStrategy: {admissionChecks: [{name: capacity}]}
status: {conditions: [{type: Active, status: "True", reason: Ready}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: gpu, namespace: team-a}
spec: {clusterQueue: gpu-a100}
status: {conditions: [{type: Active, status: "True", reason: Ready}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: a100-scale}
spec: {nodeLabels: {agentpool: gpupool}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: AdmissionCheck
metadata: {name: capacity}
spec:
  controllerName: kueue.x-k8s.io/provisioning-request
  parameters: {apiGroup: kueue.x-k8s.io, kind: ProvisioningRequestConfig, name: capacity}
status: {conditions: [{type: Active, status: "True", reason: Active}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ProvisioningRequestConfig
metadata: {name: capacity}
spec: {provisioningClassName: best-effort-atomic-scale-up.autoscaling.x-k8s.io}
---
apiVersion: v1
kind: Namespace
metadata: {name: team-a}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: of-no-interest, namespace: team-a}
"""


def gang(
    name: str = "train", nodes: int = 2, *, uid: str = "", created: str | None = None, **metadata: Any
) -> dict[str, Any]:
    """A Job of ``nodes`` pods that fill a node each."""
    resources = {"limits": {"nvidia.com/gpu": 8}, "requests": {"cpu": "4", "memory": "8Gi"}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": "team-a",
            "labels": {"kueue.x-k8s.io/queue-name": "gpu"},
            **({"uid": uid} if uid else {}),
            **({"creationTimestamp": created} if created else {}),
            **metadata,
        },
        "spec": {
            "suspend": True,
            "parallelism": nodes,
            "completions": nodes,
            "template": {
                "spec": {
                    "restartPolicy": "Never",
                    "containers": [{"name": "main", "image": "x", "resources": resources}],
                }
            },
        },
    }


def waiting(
    name: str, uid: str, *, deadline: str | None = None, labels: dict[str, str] | None = None
) -> dict[str, Any]:
    """The pending Workload of such a Job."""
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {
            "name": f"job-{name}-abcde",
            "namespace": "team-a",
            "uid": f"w-{uid}",
            "creationTimestamp": "2026-11-29T10:00:00Z",
            "labels": {"kueue.x-k8s.io/job-uid": uid, **(labels or {})},
            "annotations": {"muster.dev/admission-deadline": deadline} if deadline else {},
            "ownerReferences": [
                {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": uid, "controller": True}
            ],
        },
        "spec": {"active": True, "queueName": "gpu"},
        "status": {
            "conditions": [
                {
                    "type": "QuotaReserved",
                    "status": "False",
                    "reason": "Pending",
                    "message": "no quota",
                    "lastTransitionTime": "2026-11-29T10:00:01Z",
                }
            ]
        },
    }


class Ran(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Muster = Callable[..., Ran]
#: Writes objects, or text, to a file of that name; its path.
Write = Callable[..., str]


def dumped(*things: Builder[Any]) -> list[dict[str, Any]]:
    """As ``kubectl get -o json`` has them."""
    return [thing.raw() for thing in things]


@pytest.fixture
def muster(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Muster:
    """Run the command; there is no cluster to be found."""
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "no-kubeconfig"))
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)

    def run(*argv: str) -> Ran:
        try:
            code = main([str(a) for a in argv])
        except SystemExit as stop:  # argparse
            code = int(stop.code or 0)
        said = capsys.readouterr()
        return Ran(int(code), said.out, said.err)

    return run


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write objects (or text) to a file; its path."""

    def to_file(name: str, *objects: Any) -> str:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = "---\n".join(o if isinstance(o, str) else yaml.safe_dump(o, sort_keys=False) for o in objects)
        path.write_text(text, "utf-8")
        return str(path)

    return to_file


@pytest.fixture
def world(write: Callable[..., str]) -> str:
    return write("world.yaml", WORLD)
