"""One object of each kind with every field its podsets are read from."""

from typing import Any

from classifier import api
from classifier.objects import (
    AppWrapper,
    Job,
    JobSet,
    LeaderWorkerSet,
    Meta,
    MPIJob,
    Pod,
    PyTorchJob,
    RayCluster,
    RayJob,
    TrainJob,
    Workload,
)
from tests.unit.fit.kinds.shapes import NAMESPACE, Json, template

NOTES = {
    api.ELASTIC_JOB: "true",
    api.MIN_PARALLELISM: "1",
    api.POD_GROUP_NAME: "gang",
    api.POD_GROUP_TOTAL: "2",
    "ray.io/ft-enabled": "true",
}
ASKED = {
    api.TOPOLOGY_REQUIRED: "rack",
    api.TOPOLOGY_SLICE: "rack",
    api.TOPOLOGY_SLICE_SIZE: "2",
    api.TOPOLOGY_SLICES: '[{"topology": "rack", "size": 2}]',
}
POD: Json = {
    "metadata": {"annotations": ASKED, "labels": {"app": "train"}},
    "spec": {
        **template({"cpu": "1"})["spec"],
        "nodeSelector": {"a": "b"},
        "tolerations": [{"key": "gpu", "tolerationSeconds": 3}],
        "topologySpreadConstraints": [{"maxSkew": 1}],
        "volumes": [{"name": "data"}],
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": []}]},
                "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": {}}],
            },
            "podAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 1, "podAffinityTerm": {"labelSelector": {"matchLabels": {"a": "b"}}}}
                ]
            },
        },
    },
}
STEP = {"metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}}, "spec": {"template": POD}}
JOB = {"parallelism": 2, "completions": 3, "template": POD}
STEPS = {
    "replicatedJobs": [
        {"name": "node", "replicas": 2, "template": {"spec": JOB}},
        {"name": "b", "template": STEP, "dependsOn": [{"name": "node", "status": "Complete"}]},
    ]
}
RAY = {
    "headGroupSpec": {"template": POD},
    "workerGroupSpecs": [{"groupName": "a", "replicas": 2, "minReplicas": 1, "numOfHosts": 2, "template": POD}],
    "enableInTreeAutoscaling": True,
    "autoscalerOptions": {"resources": {"requests": {"cpu": "1"}}},
    "gcsFaultToleranceOptions": {},
}
REPLICAS = {"Master": {"template": POD}, "Launcher": {}, "Worker": {"replicas": 2, "template": POD}}
PATCH = {"template": {"spec": {"replicatedJobs": [{"name": "node", "template": {"spec": {"template": POD}}}]}}}
WRAPPED = [
    {"template": {"apiVersion": resource.api_version, "kind": resource.kind, "spec": spec}}
    for resource, spec in (
        (api.JOBS, JOB),
        (api.JOBSETS, STEPS),
        (api.RAY_CLUSTERS, RAY),
        (api.RAY_JOBS, {"rayClusterSpec": RAY}),
        (api.PYTORCH_JOBS, {"pytorchReplicaSpecs": REPLICAS}),
        (api.PODS, POD["spec"]),
    )
]
SPECS: dict[type[Meta], Any] = {
    Job: JOB,
    JobSet: STEPS,
    RayCluster: RAY,
    RayJob: {"rayClusterSpec": RAY, "submissionMode": "K8sJobMode", "submitterPodTemplate": POD},
    PyTorchJob: {"pytorchReplicaSpecs": REPLICAS, "elasticPolicy": {"minReplicas": 1}},
    MPIJob: {"mpiReplicaSpecs": REPLICAS},
    TrainJob: {
        "runtimeRef": {"name": "rt"},
        "trainer": {"numNodes": 2, "resourcesPerNode": {"requests": {"cpu": "1"}}},
        "runtimePatches": [{"manager": "a.b/c", "trainingRuntimeSpec": PATCH}],
    },
    LeaderWorkerSet: {"replicas": 1, "leaderWorkerTemplate": {"size": 3, "leaderTemplate": POD, "workerTemplate": POD}},
    AppWrapper: {
        "components": [*WRAPPED, {**WRAPPED[0], "podSets": [{"path": "template.spec.template", "replicas": 2}]}]
    },
    Pod: POD["spec"],
    Workload: {"podSets": [{"count": 3, "minCount": 2, "template": POD, "topologyRequest": {"required": "rack"}}]},
}
RUNTIME = {
    "metadata": {"name": "rt"},
    "spec": {
        "mlPolicy": {"numNodes": 2, "mpi": {"runLauncherAsNode": True}, "flux": {}},
        "podGroupPolicy": {"coscheduling": {}},
        "template": {"spec": STEPS},
    },
}
FULL = {
    struct: {"metadata": {"name": "train", "namespace": NAMESPACE, "annotations": NOTES}, "spec": spec}
    for struct, spec in SPECS.items()
}
