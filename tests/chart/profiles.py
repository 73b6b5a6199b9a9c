"""A CapacityProfile that says everything there is to say, and ways to spoil it. The real API server sees it too."""

import copy
from typing import Any, Final

FULL: Final[dict[str, Any]] = {
    "apiVersion": "muster.dev/v1alpha1",
    "kind": "CapacityProfile",
    "metadata": {"name": "gpu-a100-8"},
    "spec": {
        "flavor": "a100-scale",
        "clusterQueues": ["gpu-a100"],
        "closed": True,
        "preflight": "Enforce",
        "pools": [
            {
                "name": "gpupool",
                "nodeLabels": {"agentpool": "gpupool"},
                "maxNodes": 2,
                "node": {
                    "allocatable": {"cpu": "94", "memory": "860Gi", "nvidia.com/gpu": 8, "pods": "110"},
                    "labels": {"example.com/zone": "a"},
                    "labelsComplete": False,
                    "allocatableComplete": False,
                    "taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}],
                    "daemonSetReserve": {"cpu": "500m"},
                },
                "domains": [{"name": "rack-1", "maxNodes": 1}, {"name": "rack-2", "maxNodes": 2}],
                "nodeGroups": ["gpupool-vmss"],
            }
        ],
        "admission": {
            "timeout": "30m",
            "maxTimeout": "4h",
            "requeue": "None",
            "ttlAfterTimeout": "1h",
            "scheduledBy": "10m",
            "countOnPods": True,
        },
        "topology": {
            "nodeLabel": "example.com/rack",
            "workloadLabel": {"key": "capacity.example.com/topology", "value": "same-rack"},
        },
        "management": "Manage",
        "provisioning": {
            "admissionCheck": "capacity",
            "config": "capacity",
            "className": "best-effort-atomic-scale-up.autoscaling.x-k8s.io",
            "managedResources": ["nvidia.com/gpu"],
            "retry": {"limit": 2, "baseSeconds": 60, "maxSeconds": 1800},
            "parameters": {"ValidUntilSeconds": "1200"},
        },
        "deletionPolicy": "Retain",
    },
}

#: What the API server adds to a profile that says only its flavor.
DEFAULTS: Final = {"preflight": "Warn", "closed": False, "management": "External", "deletionPolicy": "Retain"}


class Absent:
    """Stands for a field that is to be left out."""


def changed(changes: dict[str, Any]) -> dict[str, Any]:
    """The full profile with some fields, by dotted path below ``spec`` (numbers index lists), set or left out."""
    profile = copy.deepcopy(FULL)
    for path, value in changes.items():
        *parents, last = path.split(".")
        at: Any = profile["spec"]
        for key in parents:
            at = at[int(key)] if isinstance(at, list) else at[key]
        if value is Absent:
            del at[last]
        else:
            at[int(last) if isinstance(at, list) else last] = copy.deepcopy(value)
    return profile
