"""Whatever decodes is a gang, or says why it is none; nothing else is ever raised."""

import copy
from typing import Any

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from classifier import api
from classifier.fit.gang import GangError, Unresolved
from classifier.objects import (
    AppWrapper,
    ClusterTrainingRuntime,
    Job,
    JobSet,
    KubeflowJob,
    LeaderWorkerSet,
    Meta,
    MPIJob,
    Pod,
    PodGroup,
    PyTorchJob,
    RayCluster,
    RayJob,
    TrainJob,
    Workload,
)
from tests.unit.fit.kinds.shapes import NAMESPACE, Json, podsets, template

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
ODD = ["", "x", "head", "worker", "/", "template.spec.a[0]", "\ud800", "9" * 5000, 0, -1, 3, 2**31, 10**30, 1.5]
ODDER: list[Any] = [None, True, False, [], {}, [None], [{}], {"a": None}, {"": {}}, {"spec": {}}, POD]


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = [at] if at else []
    return found + [place for key, item in below for place in places(item, (*at, key))]


@st.composite
def mutants(draw: st.DrawFn, raw: Json, struct: type[Meta]) -> Any:
    """``raw`` with some places replaced by something odd, or gone; as it was where that does not decode."""
    found = copy.deepcopy(raw)
    for place in draw(st.lists(st.sampled_from(places(raw)), max_size=4)):
        changed = copy.deepcopy(found)
        holder = changed
        odd = draw(st.sampled_from([*ODD, *ODDER, KeyError]))
        try:
            for key in place[:-1]:
                holder = holder[key]
            if odd is KeyError:
                del holder[place[-1]]
            else:
                holder[place[-1]] = copy.deepcopy(odd)
            msgspec.convert(changed, struct)
        except (msgspec.ValidationError, LookupError, TypeError, UnicodeEncodeError):
            continue
        found = changed
    return msgspec.convert(found, struct)


def holds(obj: Meta, *runtimes: ClusterTrainingRuntime) -> None:
    try:
        found = podsets(obj, *runtimes)
    except (GangError, Unresolved):
        return
    assert found
    assert len({podset.name for podset in found}) == len(found)
    assert all(podset.name for podset in found)
    assert all(0 <= podset.fewest <= podset.min_count <= podset.count < 2**31 for podset in found)
    assert sum(podset.min_count < podset.count for podset in found) <= 1


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_every_object_is_a_gang_or_says_why_not(data: st.DataObject) -> None:
    struct = data.draw(st.sampled_from(list(FULL)))
    runtime = data.draw(mutants(RUNTIME, ClusterTrainingRuntime)) if struct is TrainJob else None
    obj = data.draw(mutants(FULL[struct], struct))
    holds(obj, *([runtime] if runtime is not None else []))


@settings(max_examples=100, deadline=None)
@given(st.lists(mutants(FULL[Pod], Pod), max_size=3))
def test_every_group_of_pods(pods: list[Pod]) -> None:
    holds(PodGroup(pods=pods))


def test_full_objects_are_gangs() -> None:
    """Or the test above would show nothing."""
    runtime = msgspec.convert(RUNTIME, ClusterTrainingRuntime)
    for struct, raw in FULL.items():
        assert podsets(msgspec.convert(raw, struct), runtime), struct


def test_empty_objects() -> None:
    structs: list[type[Meta]] = [*FULL, *KubeflowJob.__subclasses__(), PodGroup]
    for struct in structs:
        holds(struct())
        holds(msgspec.json.decode(b'{"spec": null, "metadata": {}}', type=struct))
        holds(msgspec.json.decode(b'{"spec": {}, "metadata": {"annotations": null}}', type=struct))
