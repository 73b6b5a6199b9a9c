"""Pods as large as they are in life: a training pod with its environment, volumes and managedFields, about 10 KiB."""

from typing import Any

Json = dict[str, Any]


def pod(index: int, *, uid: str = "", exit_code: int | None = None) -> Json:
    """The ``index``-th pod of TrainJob ``train-3``, Running on its node, or ended with ``exit_code``."""
    name = f"train-3-node-0-{index}"
    state: Json = {"running": {"startedAt": "2026-11-29T10:00:00Z"}}
    if exit_code is not None:
        state = {"terminated": {"exitCode": exit_code, "reason": "Error", "finishedAt": "2026-11-29T10:05:00Z"}}
    owned: Json = {f"f:{key}": {} for key in ("image", "name", "resources", "volumeMounts", "env", "ports")}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"{name}-x7k2p",
            "namespace": "team",
            "uid": uid or f"00000000-0000-4000-8000-{index:012d}",
            "resourceVersion": str(1000 + index),
            "creationTimestamp": "2026-11-29T09:59:00Z",
            "labels": {
                "jobset.sigs.k8s.io/jobset-name": "train-3",
                "jobset.sigs.k8s.io/jobset-uid": "js-1",
                "jobset.sigs.k8s.io/replicatedjob-name": "node",
                "jobset.sigs.k8s.io/restart-attempt": "0",
                "batch.kubernetes.io/job-name": "train-3-node-0",
                "dispatch.phpboyscout.uk/job-id": "train",
                "dispatch.phpboyscout.uk/submission": "3",
            },
            "annotations": {
                "dispatch.phpboyscout.uk/admission": "1",
                "batch.kubernetes.io/job-completion-index": str(index),
            },
            "ownerReferences": [
                {
                    "apiVersion": "batch/v1",
                    "kind": "Job",
                    "name": "train-3-node-0",
                    "uid": "job-1",
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
            "managedFields": [
                {
                    "manager": manager,
                    "operation": "Update",
                    "apiVersion": "v1",
                    "time": "2026-11-29T10:00:00Z",
                    "fieldsType": "FieldsV1",
                    "fieldsV1": {"f:spec": {f'k:{{"name":"c{n}"}}': owned for n in range(8)}},
                }
                for manager in ("kube-controller-manager", "kube-scheduler", "kubelet")
            ],
        },
        "spec": {
            "nodeName": f"n{index % 64}",
            "containers": [
                {
                    "name": "node",
                    "image": "registry.example.com/train:1",
                    "command": ["torchrun", "--nnodes=64", "train.py"],
                    "env": [{"name": f"SETTING_{n}", "value": f"value-{n}" * 4} for n in range(40)],
                    "resources": {
                        "requests": {"cpu": "90", "memory": "800Gi", "nvidia.com/gpu": "8"},
                        "limits": {"nvidia.com/gpu": "8"},
                    },
                    "volumeMounts": [{"name": f"v{n}", "mountPath": f"/data/{n}"} for n in range(10)],
                }
            ],
            "volumes": [{"name": f"v{n}", "emptyDir": {}} for n in range(10)],
        },
        "status": {
            "phase": "Running" if exit_code is None else "Failed",
            "conditions": [
                {
                    "type": type_,
                    "status": "True" if exit_code is None else "False",
                    "lastTransitionTime": "2026-11-29T10:00:00Z",
                }
                for type_ in ("PodScheduled", "Initialized", "ContainersReady", "Ready", "PodReadyToStartContainers")
            ],
            "containerStatuses": [
                {
                    "name": "node",
                    "image": "registry.example.com/train:1",
                    "imageID": "registry.example.com/train@sha256:" + "0" * 64,
                    "ready": exit_code is None,
                    "restartCount": 0,
                    "state": state,
                }
            ],
        },
    }
