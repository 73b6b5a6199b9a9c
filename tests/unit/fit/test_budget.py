"""No gang, however it is written, takes more than its share of work; no ordinary one is refused an answer for it."""

import sys
from types import FrameType
from typing import Any

import pytest

from classifier.fit import Outcome, Verdict, World, judge
from classifier.fit.budget import STEPS, Budget, OverBudget
from classifier.objects import JobSet
from tests.builders import (
    GPU,
    GPU_NODE,
    Builder,
    JobBuilder,
    NodeBuilder,
    cluster_queue,
    flavor,
    gpu_profile,
    gpu_world,
    job,
    node,
    profile,
)
from tests.unit.fit.gangs import gang as together
from tests.unit.fit.gangs import part

HOSTNAME = "kubernetes.io/hostname"
OVER = f"main asks too much of its nodes to be judged in time: over {STEPS} steps"


def members(count: int, **labels: str) -> list[NodeBuilder]:
    found = []
    for i in range(count):
        one = node(f"n{i}", **({"agentpool": "gpupool"} | labels)).label(HOSTNAME, f"n{i}").label("rack", f"r{i % 9}")
        found.append(one.allocatable({**GPU_NODE, "memory": f"{900_000_000 + i}Ki"}))
    return found


def gang() -> JobBuilder:
    return job().queue("gpu").gpus(8)


def choosing(terms: int, keys: int = 1, values: int = 1) -> JobBuilder:
    """``terms`` of required node affinity that no node meets."""
    selector = [
        {"matchExpressions": [{"key": f"key-{i % keys}", "operator": "In", "values": [f"v{n}" for n in range(values)]}]}
        for i in range(terms)
    ]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": selector}}
    return gang().pod_spec(affinity={"nodeAffinity": required})


def carrying(count: int, keys: int) -> list[NodeBuilder]:
    found = members(count)
    for i, one in enumerate(found):
        for key in range(keys):
            one.label(f"key-{key}", f"of-{i}")
    return found


def complete(*more: Builder[Any]) -> World:
    return gpu_world(*more, profile=profile().closed().mode("Enforce").pool(max_nodes=5000, labelsComplete=True))


def many_flavors(count: int) -> World:
    names = [f"f{i}" for i in range(count)]
    queue = cluster_queue().group([GPU], *names)
    flavors = [flavor(name).node_labels(x="z") for name in names]
    profiles = [profile(name, name).closed().pool() for name in names]
    return gpu_world(queue, *flavors, *profiles)


def flavors_apart(count: int, pools: int) -> World:
    """Each with labels of its own, so that no pool is of two."""
    names = [f"f{i}" for i in range(count)]
    flavors = [flavor(name).node_labels(x=name) for name in names]
    profiles = [profile(name, name).closed() for name in names]
    for told in profiles:
        for i in range(pools):
            told.pool(f"p{i}", node_labels={"agentpool": f"p{i}"})
    return gpu_world(cluster_queue().group([GPU], *names), *flavors, *profiles)


def tainted(pools: int, taints: int) -> World:
    told = profile().closed()
    for i in range(pools):
        told.pool(f"p{i}", taints=[{"key": f"t{n}", "effect": "NoSchedule"} for n in range(taints)])
    return gpu_world(flavor(), profile=told)


def tolerating(count: int) -> JobBuilder:
    return gang().pod_spec(tolerations=[{"key": f"k{i}", "operator": "Exists"} for i in range(count)])


def crowded(containers: int) -> JobBuilder:
    some = [{"name": f"c{i}", "resources": {"requests": {"cpu": f"{i + 1}m"}}} for i in range(containers)]
    return gang().pod_spec(containers=some)


def apart(terms: int) -> JobBuilder:
    term = {"topologyKey": "rack", "labelSelector": {"matchLabels": {"app": "x"}}}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term] * terms}
    return gang().pod_spec(affinity={"podAntiAffinity": required})


def strays(count: int) -> World:
    return gpu_world(flavor(), *members(count, agentpool="elsewhere"), profile=gpu_profile())


def many_podsets(count: int, pods: int, gpus: int = 1) -> JobSet:
    """All of them different."""
    return together(
        *(part(f"p{i}", pods, {"cpu": f"{i + 1}", GPU: gpus, "memory": f"{i + 1}Gi"}) for i in range(count))
    )


HOSTILE: dict[str, tuple[JobBuilder, World]] = {
    "terms against nodes": (choosing(1000, keys=5), complete(*carrying(300, 5))),
    "terms of many keys against nodes": (choosing(2000, keys=400), complete(*carrying(40, 400))),
    "long lists against nodes": (choosing(50, keys=5, values=1000), complete(*carrying(300, 5))),
    "terms against flavors": (choosing(2000), many_flavors(60)),
    "tolerations against taints": (tolerating(20_000), tainted(20, 50)),
    "containers": (crowded(20_000), gpu_world()),
    "anti-affinities": (apart(20_000), gpu_world()),
    "one group a node": (gang().pod_spec(nodeSelector={HOSTNAME: "n7"}), strays(4000)),
}


def calls(built: JobBuilder | JobSet, world: World) -> tuple[int, Verdict]:
    """Python functions called and resumed by one judgement, once the world is worked out."""
    obj, count = built if isinstance(built, JobSet) else built.done(), 0

    def seen(frame: FrameType, event: str, arg: Any) -> None:
        nonlocal count
        count += event == "call"

    judge(gang().done(), world, now=0)
    sys.setprofile(seen)
    try:
        verdict = judge(obj, world, now=0)
    finally:
        sys.setprofile(None)
    return count, verdict


@pytest.mark.parametrize(("built", "world"), HOSTILE.values(), ids=HOSTILE)
def test_past_the_budget_a_gang_is_unknown(built: JobBuilder, world: World) -> None:
    work, verdict = calls(built, world)
    assert (verdict.outcome, verdict.denied, verdict.reason) == (Outcome.UNKNOWN, False, OVER)
    assert work < 4 * STEPS


@pytest.mark.parametrize(("built", "world"), HOSTILE.values(), ids=HOSTILE)
def test_the_same_verdict_warm_and_cold(built: JobBuilder, world: World) -> None:
    """Steps are counted, not microseconds."""
    obj = built.done()
    warm = judge(obj, world, now=0)
    world.profiles = list(world.profiles)
    assert judge(obj, world, now=0) == warm


ORDINARY: dict[str, tuple[JobBuilder, World, str]] = {
    "many nodes": (gang(), gpu_world(*members(3000)), "fits"),
    "nodes in no pool": (gang(), strays(3000), "fits"),
    "a node by name": (gang().pod_spec(nodeSelector={HOSTNAME: "n7"}), gpu_world(*members(3000)), "unknown"),
    "a rack": (gang().pod_spec(nodeSelector={"rack": "r3"}), strays(3000), "fits"),
    "a label nobody has": (gang().pod_spec(nodeSelector={"model": "x"}), complete(*members(3000)), "never-fits"),
    "many terms, all in vain": (choosing(1000), complete(*members(1000)), "never-fits"),
    "many flavors": (gang(), many_flavors(200), "fits-after-scale-up"),
    "many containers": (crowded(500), gpu_world(), "never-fits"),
}


@pytest.mark.parametrize(("built", "world", "outcome"), ORDINARY.values(), ids=ORDINARY)
def test_within_the_budget_large_worlds_are_judged(built: JobBuilder, world: World, outcome: str) -> None:
    work, verdict = calls(built, world)
    assert verdict.reason != OVER
    assert verdict.outcome == outcome
    assert work < 4 * STEPS


def test_a_common_gang_costs_the_same_whatever_the_number_of_nodes() -> None:
    few, _ = calls(gang().pods(2), gpu_world(*members(2)))
    many, _ = calls(gang().pods(2), gpu_world(*members(2000)))
    assert many == few


def test_flavors_whose_nodes_nobody_else_may_use_are_looked_at_once() -> None:
    """Looking at what a proof asks for besides took twice the steps, also where there was nothing besides."""
    verdict = judge(gang().gpus(9).done(), flavors_apart(60, 30), now=0)
    assert verdict.reason == "each pod of main needs 9 nvidia.com/gpu, a node of p0 has 8"


def test_a_proof_found_before_the_budget_ends_stands() -> None:
    built = job().queue("gpu").pods(3).gpus(8).done()
    assert judge(built, gpu_world(), now=0, steps=100).denied
    spent = judge(built, gpu_world(), now=0, steps=0)
    assert (spent.outcome, spent.denied) == (Outcome.UNKNOWN, False)
    assert spent.reason == "main asks too much of its nodes to be judged in time: over 0 steps"


def test_work_is_paid_for_before_it_is_done() -> None:
    budget = Budget(3)
    budget.spend(2)
    budget.glance(16)
    with pytest.raises(OverBudget):
        budget.glance(1)


@pytest.mark.parametrize(
    ("built", "world"),
    [
        (many_podsets(18, 2), many_flavors(100)),
        (many_podsets(18, 7), many_flavors(2)),
        (many_podsets(18, 2, gpus=5), many_flavors(9)),
        (many_podsets(6, 3, gpus=3), many_flavors(3)),
    ],
)
def test_gangs_of_many_podsets_cost_no_more_and_are_judged_alike_warm_and_cold(built: JobSet, world: World) -> None:
    work, verdict = calls(built, world)
    assert work < 5 * STEPS
    assert judge(built, world, now=0) == verdict
    world.profiles = list(world.profiles)
    assert judge(built, world, now=0) == verdict


def test_a_gang_in_too_many_ways_is_unknown_or_proven_at_once() -> None:
    """Each of 18 podsets may get any of 9 flavors, and no two find room in one."""
    found = judge(many_podsets(18, 2, gpus=8), many_flavors(9), now=0)
    assert found.outcome in (Outcome.UNKNOWN, Outcome.NEVER_FITS)
