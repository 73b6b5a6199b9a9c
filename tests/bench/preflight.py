"""One decision of preflight: 18 podsets before 100 flavors of 20 pools each, as they come and at their worst."""

import statistics
import time
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from classifier import api
from classifier.fit import Outcome, World, judge
from classifier.objects import JobSet
from tests.bench import Figure, Say
from tests.builders import GPU, GPU_NODE, NAMESPACE, T0, flavor, local_queue, namespace, node, profile, world
from tests.builders import cluster_queue as a_cluster_queue

FLAVORS: Final = 100
POOLS: Final = 20
PODSETS: Final = 18
#: More than a resource group may have is refused by Kueue (apis/kueue/v1beta2: clusterqueue_types.go).
GROUPS: Final = (64, FLAVORS - 64)
NETWORK: Final = "example.com/hca"
NODES: Final = 5000
ROUNDS: Final = 300
#: Microseconds for a decision as they come, milliseconds for the worst.
MEDIAN_BAR: Final = 200.0
WORST_BAR: Final = 50.0

Json = dict[str, Any]


def run(say: Say) -> Iterator[Figure]:
    cluster = _world(_nodes(NODES))
    yield from _as_they_come(cluster)
    yield from _at_their_worst(cluster, say)
    yield from _after_a_change(say)


# --- worlds ---------------------------------------------------------------------------------------------------------


def _world(nodes: Sequence[Any] = (), quota: str = "100k", limit: int | None = 100) -> World:
    """``quota`` of everything in each flavor; ``limit`` nodes in each pool."""
    names = [f"flavor-{index}" for index in range(FLAVORS)]
    queue = a_cluster_queue("bench")
    queue.group(["cpu", "memory", GPU], *names[: GROUPS[0]], quota=quota)
    queue.group([NETWORK], *names[GROUPS[0] :], quota=quota)
    for flavor_ in queue.spec["resourceGroups"][0]["flavors"]:
        for resource in flavor_["resources"]:
            resource["nominalQuota"] = quota if resource["name"] != "memory" else "1000Ti"
    made: list[Any] = [local_queue("bench", "bench"), queue, namespace()]
    for name in names:
        described = profile(name, name).closed().mode("Enforce")
        for index in range(POOLS):
            described.pool(
                f"{name}-{index}",
                limit,
                GPU_NODE | {NETWORK: "8", "memory": f"{400 + 20 * index}Gi"},
                labels={"flavor": name, "agentpool": f"{name}-{index}"},
                labelsComplete=True,
            )
        made += [flavor(name).node_labels(flavor=name), described]
    return world(*made, *nodes)


def _nodes(count: int) -> list[Any]:
    """Nodes of the first 20 pools."""
    return [_node(index) for index in range(count)]


def _node(index: int, **more: str) -> Any:
    return node(f"node-{index}", flavor="flavor-0", agentpool=f"flavor-0-{index % POOLS}", **more)


def _gang(counts: Sequence[int], specs: Sequence[Json]) -> JobSet:
    steps = [
        {
            "name": f"step-{index}",
            "replicas": 1,
            "template": {"spec": {"parallelism": count, "completions": count, "template": {"spec": spec}}},
        }
        for index, (count, spec) in enumerate(zip(counts, specs, strict=True))
    ]
    return msgspec.convert(
        {
            "apiVersion": api.JOBSETS.api_version,
            "kind": api.JOBSETS.kind,
            "metadata": {"name": "train", "namespace": NAMESPACE, "labels": {api.QUEUE_NAME: "bench"}},
            "spec": {"suspend": True, "replicatedJobs": steps},
        },
        JobSet,
    )


def _spec(requests: Json, **more: Any) -> Json:
    resources = {"requests": requests, "limits": requests}
    return {"containers": [{"name": "main", "image": "train", "resources": resources}], **more}


def _plain(index: int) -> Json:
    return _spec({"cpu": str(1 + index % 6), "memory": f"{10 * (1 + index % 6)}Gi", GPU: str(1 + index % 8)})


# --- figures --------------------------------------------------------------------------------------------------------


def _as_they_come(cluster: World) -> Iterator[Figure]:
    """Never the same counts twice: of shapes that were judged before, beside each other or beside others, and of
    shapes nobody has seen."""
    specs = [_plain(index) for index in range(PODSETS)]
    gangs = [_gang(_counts(index), specs) for index in range(ROUNDS)]
    cold = _seconds(cluster, gangs[0])
    times = [_seconds(cluster, gang) for gang in gangs[1:]]
    label = f"{PODSETS} podsets, {FLAVORS} flavors x {POOLS} pools"
    yield Figure(f"{label}: median of {len(times)} decisions", statistics.median(times) * 1e6, "us", most=MEDIAN_BAR)
    turned = [_gang(_counts(turn), [*specs[turn:], *specs[:turn]]) for turn in range(1, PODSETS)]
    times = [_seconds(cluster, gang) for gang in turned]
    yield Figure("the same shapes beside each other for the first time", statistics.median(times) * 1e6, "us")
    unseen = [_gang(_counts(turn), [_never_seen(spec, turn + 10) for spec in specs]) for turn in range(9)]
    times = [_seconds(cluster, gang) for gang in unseen]
    yield Figure("shapes that were never seen", statistics.median(times) * 1e6, "us")
    yield Figure(f"the very first in a world of {NODES:,} nodes", cold * 1e3, "ms")


def _counts(turn: int) -> list[int]:
    return [1 + (turn + step) % 7 + turn for step in range(PODSETS)]


def _at_their_worst(cluster: World, say: Say) -> Iterator[Figure]:
    """Gangs made to be hard, each of shapes never seen before, in worlds made to be hard."""
    tight = _world(quota="40", limit=2)
    _seconds(tight, _gang([1] * PODSETS, [_plain(index) for index in range(PODSETS)]))
    worst = 0.0
    for name, place, counts, specs in _hard(cluster, tight):
        times = []
        for turn in range(3):
            gang = _gang(counts, [_never_seen(spec, turn) for spec in specs])
            began = time.thread_time()
            verdict = judge(gang, place, T0)
            times.append(time.thread_time() - began)
        took = statistics.median(times)
        say(f"    {name}: {took * 1e3:.1f} ms, {verdict.outcome.value}: {verdict.reason[:110]}")
        worst = max(worst, took)
    yield Figure("hard gangs: the worst of them", worst * 1e3, "ms", most=WORST_BAR)


def _never_seen(spec: Json, turn: int) -> Json:
    """The same with a little more memory: nothing was worked out about it before."""
    containers = []
    for container in spec["containers"]:
        amounts = container["resources"]["requests"]
        memory = int(amounts.get("memory", "1Gi").removesuffix("Gi")) * 1024 + turn + 1
        more = amounts | {"memory": f"{memory}Mi"}
        containers.append(container | {"resources": {"requests": more, "limits": more}})
    return spec | {"containers": containers}


def _hard(cluster: World, tight: World) -> Iterator[tuple[str, World, list[int], list[Json]]]:
    every = range(PODSETS)
    yield "as they come, new shapes", cluster, [3] * PODSETS, [_plain(index) for index in every]
    networked = [_spec({GPU: str(1 + index % 8), "cpu": str(index + 1), NETWORK: "1"}) for index in every]
    yield "two resource groups", cluster, [3] * PODSETS, networked
    yield "two resource groups, tight", tight, [3] * PODSETS, networked
    several = [_spec({GPU: str(3 + index % 5), "cpu": str(7 + index), "memory": f"{50 + index}Gi"}) for index in every]
    yield "nodes do not suffice", tight, [200] * PODSETS, several
    whole = [_spec({GPU: "8", "cpu": str(1 + index)}) for index in range(3)]
    yield "more nodes than a flavor has", cluster, [4 * NODES // 5] * 3, whole
    yield "quota as a knapsack", tight, [5] * PODSETS, several
    yield "quota as a tight knapsack", tight, [3 + index % 3 for index in every], several
    for terms, expressions, values in ((1, 1, 1), (16, 16, 16), (2, 2, 2000), (64, 1, 1)):
        affine = [one | {"affinity": _affinity(terms, expressions, values, index)} for index, one in enumerate(several)]
        label = f"affinity of {terms} x {expressions} x {values}"
        yield label, cluster, [3] * PODSETS, affine
        yield f"{label}, tight", tight, [2] * PODSETS, affine
    tolerant = [one | {"tolerations": [{"key": f"t-{n}", "operator": "Exists"} for n in range(500)]} for one in several]
    yield "500 tolerations each", cluster, [3] * PODSETS, tolerant
    wide = [{**one, "containers": [one["containers"][0] | {"name": f"c{n}"} for n in range(30)]} for one in several]
    yield "30 containers each", cluster, [3] * PODSETS, wide


def _affinity(terms: int, expressions: int, values: int, salt: int) -> Json:
    """Satisfied by the last value of the last term alone."""

    def expression(term: int, at: int) -> Json:
        named = [f"flavor-0-{POOLS + n}" for n in range(values - 1)]
        last = term == terms - 1
        key = "agentpool" if at == 0 else "flavor"
        found = f"flavor-{salt}-{salt}" if at == 0 else f"flavor-{salt}"
        return {"key": key, "operator": "In", "values": [*named, found if last else "none"]}

    made = [{"matchExpressions": [expression(term, at) for at in range(expressions)]} for term in range(terms)]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": made}}}


def _after_a_change(say: Say) -> Iterator[Figure]:
    """A world of 5,000 nodes of which one is another, and a gang that was judged in the one before."""
    before = [each.done() for each in _nodes(NODES)]
    cluster = _world()
    cluster.nodes = before
    specs = [_plain(index) for index in range(PODSETS)]
    _seconds(cluster, _gang([2] * PODSETS, specs))
    times = []
    for turn in range(20):
        changed = _node(turn).allocatable(GPU_NODE | {"cpu": str(90 - turn)}).done()
        began = time.thread_time()
        cluster.supply.look(changed)
        cluster.nodes = [*cluster.nodes[:turn], changed, *cluster.nodes[turn + 1 :]]
        judge(_gang([3 + turn] * PODSETS, specs), cluster, T0)
        times.append(time.thread_time() - began)
    yield Figure(f"the same after one node of {NODES:,} has changed: median", statistics.median(times) * 1e3, "ms")
    yield Figure("the same after one node has changed: worst of 20", max(times) * 1e3, "ms")


def _seconds(cluster: World, gang: JobSet) -> float:
    began = time.thread_time()
    verdict = judge(gang, cluster, T0)
    took = time.thread_time() - began
    if verdict.outcome not in (Outcome.FITS, Outcome.FITS_AFTER_SCALE_UP):
        raise AssertionError(f"a gang that should fit: {verdict.line}")
    return took
