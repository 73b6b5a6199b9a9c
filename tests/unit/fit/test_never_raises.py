"""Whatever decodes gets a verdict: odd, missing and absurd values in every field preflight reads."""

import copy
from typing import Any

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from classifier.fit import Outcome, Verdict, World, judge
from classifier.objects import CapacityProfile, ClusterQueue, Job, Node, ResourceFlavor
from tests.builders import cluster_queue, flavor, gpu_profile, gpu_world, job, node

ODD: list[Any] = [
    None,
    "",
    "abc",
    "true",
    "1e30",
    "-1",
    "1e3Ki",
    "9" * 40,
    0,
    -1,
    2**31,
    2**63 - 1,
    10**30,
    1.5,
    True,
    [],
    {},
    [{}],
    {"": ""},
    {"cpu": "abc"},
    {"pods": 0},
    {"kubernetes.io/os": "linux"},
    [{"key": "x", "operator": "Odd", "values": []}],
    [{"operator": "Exists"}],
]

FULL_JOB = (
    job()
    .queue("gpu")
    .pods(3)
    .gpus(8)
    .ports(80)
    .annotate("kueue.x-k8s.io/job-min-parallelism", "2")
    .metadata(ownerReferences=[{"kind": "CronJob", "controller": True}])
    .template_metadata(labels={"app": "train"}, annotations={"a": "b"})
    .pod_spec(
        initContainers=[{"name": "i", "restartPolicy": "Always", "resources": {"limits": {"cpu": 1}}}],
        nodeSelector={"agentpool": "gpupool"},
        tolerations=[{"key": "sku", "operator": "Exists", "effect": "NoSchedule"}],
        overhead={"cpu": "1m"},
        resources={"requests": {"cpu": 1}, "limits": {"cpu": 2}},
        volumes=[],
        affinity={
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [
                        {"matchExpressions": [{"key": "agentpool", "operator": "Gt", "values": ["1"]}]},
                        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]},
                    ]
                }
            },
            "podAntiAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "train"}}}
                ]
            },
        },
    )
    .raw()
)
FULL_PROFILE = (
    gpu_profile().pool(
        "other",
        labels={"agentpool": "gpupool"},
        labelsComplete=True,
        daemonSetReserve={"cpu": 1},
        taints=[{"key": "a"}],
    )
).raw()
FULL_QUEUE = cluster_queue().group(["cpu", "nvidia.com/gpu"], "a100-scale", "b").checks("capacity").raw()
FULL_FLAVOR = flavor().node_labels(agentpool="gpupool").taint("sku", "gpu").tolerate(key="sku").raw()
FULL_NODE = node("gpu-1", agentpool="gpupool").raw()


def paths(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return (
        [at, *(path for key, item in below for path in paths(item, (*at, key)))]
        if at
        else [path for key, item in below for path in paths(item, (key,))]
    )


@st.composite
def mutants(draw: st.DrawFn, raw: dict[str, Any], struct: Any) -> Any:
    """``raw`` with up to three places replaced by something odd; as it was where that does not decode."""
    changed = copy.deepcopy(raw)
    for path in draw(st.lists(st.sampled_from(paths(raw)), max_size=3)):
        before = copy.deepcopy(changed)
        holder = changed
        try:
            for key in path[:-1]:
                holder = holder[key]
            holder[path[-1]] = copy.deepcopy(draw(st.sampled_from(ODD)))
            msgspec.convert(changed, struct)
        except (msgspec.ValidationError, LookupError, TypeError):
            changed = before
    return msgspec.convert(changed, struct)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    mutants(FULL_JOB, Job),
    mutants(FULL_PROFILE, CapacityProfile),
    mutants(FULL_QUEUE, ClusterQueue),
    mutants(FULL_FLAVOR, ResourceFlavor),
    mutants(FULL_NODE, Node),
)
def test_every_object_gets_a_verdict(
    built: Job, told: CapacityProfile, queue: ClusterQueue, offered: ResourceFlavor, live: Node
) -> None:
    cluster = gpu_world()
    cluster.profiles = [told]
    cluster.cluster_queues["gpu-a100"] = queue
    cluster.flavors["a100-scale"] = offered
    cluster.nodes = [live]
    verdict = judge(built, cluster, now=0)
    assert verdict.line.startswith("preflight: ")
    assert verdict.reason
    assert not verdict.denied or verdict.outcome is Outcome.NEVER_FITS
    assert all(len(warning) <= 120 for warning in verdict.warnings)
    assert msgspec.json.decode(msgspec.json.encode(verdict), type=Verdict) == verdict


def test_an_empty_job_in_an_empty_world() -> None:
    assert judge(Job(), World(), now=0).outcome is Outcome.SKIPPED
    assert judge(msgspec.json.decode(b"{}", type=Job), World(), now=0).outcome is Outcome.SKIPPED


def test_the_json_is_the_contract() -> None:
    built = job().queue("gpu").pods(3).gpus(8).done()
    assert msgspec.to_builtins(judge(built, gpu_world(), now=0)) == {
        "verdict": "never-fits",
        "denied": True,
        "mode": "Enforce",
        "profile": "gpu-a100-8",
        "line": "preflight: gang needs 3 node(s) of gpupool (max 2): cannot fit; "
        "request at most 16 nvidia.com/gpu or raise the pool's maximum",
        "reason": "gang needs 3 node(s) of gpupool (max 2)",
        "binding": "nodes",
        "podSets": [
            {
                "name": "main",
                "count": 3,
                "verdict": "never-fits",
                "binding": "nodes",
                "pool": "gpupool",
                "flavor": "a100-scale",
                "resource": "nvidia.com/gpu",
                "needs": 3,
                "limit": 2,
                "source": "CapacityProfile/gpu-a100-8",
                "ageSeconds": 0,
            }
        ],
        "advice": "request at most 16 nvidia.com/gpu or raise the pool's maximum",
        "warnings": [],
    }
